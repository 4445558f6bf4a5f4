/* SPDX-License-Identifier: MIT */
#ifndef SEND_BASE_H
#define SEND_BASE_H

/*
 * What a client has of a range after a response of pages: its segments, as of a snapshot that stays open, so that the
 * next response can say what has changed (docs/SEND.md).
 *
 *      base     | leaf 3 | leaf 7 | leaf 4 |            where they lie in the base's snapshot
 *      now      | leaf 3 | leaf 9 | leaf 4'|            and in the newer one
 *      response   keep 1   drop 1   delta
 *                          page
 *
 * A leaf that is at the same address in both snapshots is the same. One that has changed is compared with what it was,
 * record by record.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <xac/send.h>

#include "send/source.h"

struct segment {
        const void *page;
        uint64_t page_no;
        uint32_t count; /* of its records */
        uint32_t deltas;
        bool is_records; /* it was sent as records, which say nothing of values in overflow pages */
};

struct base {
        struct source source;
        char *file, *tree;
        unsigned char *from, *to; /* NULL as in a request */
        size_t from_len, to_len;
        struct segment *segments; /* in the order of the keys */
        size_t count, room;
        size_t max;      /* segments; a client that has more gets its next response in full, too, */
        bool is_partial; /* as nobody notes what it has */
        size_t *by_page; /* their indices in the order of page numbers; made when it is needed */
};

/* What each segment costs, so that nobody has more of them than memory for a client. */
enum { BASE_SEGMENT_BYTES = sizeof(struct segment) + sizeof(size_t) };

/* Takes over the source when it returns 0. -ENOMEM. */
int base_new(const xac_send_request *request, struct source *source, size_t max, struct base **made);
void base_free(struct base *base);
/* The client has one segment more. -ENOMEM. */
int base_add(struct base *base, struct segment segment);
/* Keeps the source alone: this is no base of a later response. */
void base_forget_segments(struct base *base);
/* Bytes of memory. */
size_t base_bytes(const struct base *base);
/* Is the request for the same range, by who has what is here? */
bool base_serves(const struct base *base, const xac_send_request *request);
/* The index of the segment of this page, `from` or behind it. False: there is none. -ENOMEM counts as that. */
bool base_find(struct base *base, uint64_t page_no, size_t from, size_t *index);

/* ---- what has changed in a leaf ---- */

struct change {
        xac_tree_record record;
        bool is_gone;
};

struct changes {
        struct change *list;
        size_t count, room;
        size_t byte_len; /* of keys and values of all of them */
};

/* What makes one leaf, in which no value lies in overflow pages, of the other. False: it is more than max_bytes with
 * their lengths, the other one has such a value, or there is no memory. */
bool changes_find(struct changes *changes, const xac_tree_leaf *before, const xac_tree_leaf *now, size_t max_bytes);
void changes_free(struct changes *changes);

#endif
