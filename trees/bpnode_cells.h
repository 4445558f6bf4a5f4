/* SPDX-License-Identifier: MIT */
#ifndef TREES_BPNODE_CELLS_H
#define TREES_BPNODE_CELLS_H

/*
 * The variable layout (bpnode.h draws it): slots in key order, cells wherever there was room.
 *
 * 1. A record with the empty key is the first of an inner node, and no other.
 * 2. prefix_len is at most what all other keys of the node have in common; all heads are those behind it.
 * 3. page_bytes - cells_begin = the bytes of all cells + dead_bytes.
 *
 * Knows no `last` and `run`: bpnode.c keeps them for both layouts.
 */

#include <string.h>

#include "trees/bpnode.h"

static inline size_t bpnode_cell_bytes(const struct bpnode *node, unsigned i)
{
        size_t value_len = node->level ? 0 : bpnode_cell_value(bpnode_cell(node, i)) & ~(unsigned)BPNODE_OVERFLOW;

        return bpnode_cell_front(node->level) + bpnode_slots(node)[i].key_len + value_len;
}

/* How many records at the beginning have the empty key: 0 or 1. */
static inline unsigned bpnode_cells_empty(const struct bpnode *node)
{
        return node->count && bpnode_slots(node)->key_len == 0;
}

/* The four bytes behind the prefix, as a number that is ordered as they are. */
static inline uint32_t bpnode_head(struct bpnode_key key, size_t prefix_len)
{
        uint32_t head = 0;

        if (key.len <= prefix_len)
                return 0;
        size_t len = key.len - prefix_len;
        memcpy(&head, (const unsigned char *)key.bytes + prefix_len, len < sizeof(head) ? len : sizeof(head));
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
        head = __builtin_bswap32(head);
#endif
        return head;
}

/* How many bytes two keys have in common at their beginnings. */
static inline size_t bpnode_common(struct bpnode_key a, struct bpnode_key b)
{
        const unsigned char *bytes_a = a.bytes;
        const unsigned char *bytes_b = b.bytes;
        size_t shorter = a.len < b.len ? a.len : b.len;
        size_t len = 0;

        while (len < shorter && bytes_a[len] == bytes_b[len])
                len++;
        return len;
}

/* A cell and its slot, the key filled in: the caller fills in what stands before the key, and the
 * value_len bytes behind it. */
unsigned char *bpnode_cells_insert(const struct bpnode_shape *shape, struct bpnode *node, unsigned i,
                                   struct bpnode_key key, size_t value_len);
/* The same cell for a value of another length, if it is large enough; else NULL. */
unsigned char *bpnode_cells_reuse(struct bpnode *node, unsigned i, size_t value_len);
void bpnode_cells_remove(const struct bpnode_shape *shape, struct bpnode *node, unsigned i);
/* Moves the records from `first` on into `right`, which has none. */
void bpnode_cells_move(const struct bpnode_shape *shape, struct bpnode *node, unsigned first, struct bpnode *right);
/* The records from `first` on go to the beginning of `right`; those before `first` to the end of `left`. Leaves. */
void bpnode_cells_give_right(const struct bpnode_shape *shape, struct bpnode *node, unsigned first,
                             struct bpnode *right);
void bpnode_cells_give_left(const struct bpnode_shape *shape, struct bpnode *node, unsigned first, struct bpnode *left);
/* The first record of an inner node loses its key. */
void bpnode_cells_drop_key(struct bpnode *node);
void bpnode_cells_append(const struct bpnode_shape *shape, struct bpnode *left, const struct bpnode *right,
                         struct bpnode_key separator);

#endif
