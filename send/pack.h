/* SPDX-License-Identifier: MIT */
#ifndef SEND_PACK_H
#define SEND_PACK_H

/*
 * Frames in batches: records of leaves, packed or shown; leaf pages; pages of files.
 */

#include <stdbool.h>
#include <stdint.h>

#include <xac/send.h>

#include "send/batch.h"
#include "send/outlet.h"
#include "send/plan.h"
#include "send/send_format.h"

struct packer {
        struct outlet *outlet;
        xac_snapshot *snapshot; /* NULL: given up; nothing can be shown then */
        xac_tree *tree;
        size_t copy_below; /* smaller pieces are copied, others are shown; PACK_ALL: all are copied */
        bool is_zerocopy;  /* what is shown is lent */
        const void *lent;  /* the page that the last piece was of, */
        bool may_show;     /* and whether it could be */
        uint32_t frames;   /* of records, so far */
};

#define PACK_ALL SIZE_MAX

/* ---- frames ---- */

struct frame {
        void *at; /* in the room of the batch */
        uint32_t kind, count;
        uint64_t byte_len;
};

/* There is room for the frame, and a piece left. */
void frame_open(struct frame *frame, struct batch *batch, enum send_kind kind);
void frame_close(const struct frame *frame);
/* A frame of which all is known. */
void frame_put(struct batch *batch, enum send_kind kind, uint32_t count, const void *bytes, size_t byte_len);

/* ---- what is in them ---- */

/* Lengths of records; `at` is anywhere in the room. */
void pack_lengths(void *at, size_t key_len, size_t value_len);
/* Bytes of a page, shown or copied, as the packer does it: there is a piece left, and room for a copy. */
int pack_bytes(struct packer *packer, struct batch *batch, const void *page, const void *bytes, size_t byte_len);

/* A place among the records of a plan's stretch. */
struct pack_place {
        size_t leaf;
        uint32_t index; /* counted from the leaf's `first` */
};

/* Puts frames with records into the batch, from the place on, as many as go; the place moves. 0; -ENOMEM. A record
 * whose value lies in overflow pages ends it: pack_large() puts it into a batch of its own. */
int pack_records(struct packer *packer, struct batch *batch, const struct plan *plan, struct pack_place *place);
/* The bytes of room that the next record takes, if it is such a one; else 0. */
size_t pack_large_room(const struct plan *plan, struct pack_place *place);
int pack_large(struct packer *packer, struct batch *batch, const struct plan *plan, struct pack_place *place);
/* Is there another record? Moves to its leaf. */
bool pack_find(const struct plan *plan, struct pack_place *place, xac_tree_record *record);

#endif
