/* SPDX-License-Identifier: MIT */
#ifndef TREES_OVERFLOW_H
#define TREES_OVERFLOW_H

/*
 * Values that are too long for a leaf: chains of pages, each full but the last.
 *
 *      leaf     ... | key | first page, length |
 *      page     | kind | tree_id | next | used | bytes ... |        next: PAGE_NONE in the last
 */

#include <string.h>

#include "trees/bpnode.h"

struct overflow_page {
        uint8_t kind; /* PAGE_IS_OVERFLOW */
        uint8_t unused[3];
        uint32_t tree_id;
        uint32_t next;
        uint32_t used; /* bytes of the value in this page */
};

/* Where in a chain a reader was, so that it can go on there. Zeroed: nowhere. */
struct overflow_place {
        page_no page;
        uint64_t offset; /* of the page's first byte in the value */
};

/* What stands in a leaf in place of the value: the record's value there. */
static inline struct bpnode_overflow overflow_of(const void *value)
{
        struct bpnode_overflow chain;
        memcpy(&chain, value, sizeof(chain));
        return chain;
}

/* How many pages a value takes. */
uint64_t overflow_pages(const struct xac_arena *arena, uint64_t byte_len);
/* How many bytes a page of the chain has that begins with byte `offset` of the value. */
uint32_t overflow_used(const struct xac_arena *arena, uint64_t byte_len, uint64_t offset);

/* Takes pages and writes a value into them. -ENOSPC, -ENOMEM (nothing has happened), ARENA_LOST, XAC_CORRUPT. */
int overflow_write(struct xac_arena *arena, uint32_t tree_id, const void *bytes, size_t byte_len,
                   struct bpnode_overflow *chain);
/* Copies bytes from `offset` on; *len is how many there were, up to `room`. ARENA_LOST, XAC_CORRUPT. */
int overflow_read(struct xac_arena *arena, uint32_t tree_id, struct bpnode_overflow chain, struct overflow_place *place,
                  uint64_t offset, void *bytes, size_t room, size_t *len);
/* Each page of the chain; a visit that does not return 0 ends it. ARENA_LOST, XAC_CORRUPT. */
int overflow_walk(struct xac_arena *arena, uint32_t tree_id, struct bpnode_overflow chain,
                  int (*visit)(void *arg, page_no page), void *arg);
/* Whether the chain is what it should be: before overflow_free. */
int overflow_probe(struct xac_arena *arena, uint32_t tree_id, struct bpnode_overflow chain);
/* ARENA_LOST, XAC_CORRUPT (a page of it was free). */
int overflow_free(struct xac_arena *arena, uint32_t tree_id, struct bpnode_overflow chain);

#endif
