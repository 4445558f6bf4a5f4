/* SPDX-License-Identifier: MIT */
#ifndef TREES_BPNODE_H
#define TREES_BPNODE_H

/*
 * One node of a B+-tree, as the bytes of one page. Knows no arena and no other page: pure functions on
 * memory.
 *
 * Every node begins with struct bpnode. The rest comes in two layouts; a tree has one of them in all its
 * nodes.
 *
 * Fixed (8-byte keys): records side by side, so that an insert is one memmove (one shift in the log), a
 * key and its value are in the same cache line, and a scan is a walk through an array.
 *
 *      leaf     | struct bpnode | key value | key value | ...                   | free |
 *      inner    | struct bpnode | key child | key child | ...                   | free |   12 bytes each
 *
 * Keys are compared as big-endian integers, which is their memcmp order.
 *
 * Variable: an array of slots in key order, and cells that grow from the end of the page towards it.
 *
 *      leaf     | struct bpnode | slot | slot | ... >  free  < ... | cell | cell |
 *      slot     | head : 4 | cell offset : 2 | key length : 2 |
 *      cell     | value length : 2 | key | value |                      leaf
 *               | BPNODE_OVERFLOW + length : 2 | key | struct bpnode_overflow |
 *      cell     | child : 4 | key |                                     inner
 *
 * A slot's head is the four bytes of the key behind `prefix_len`, big-endian, padded with zeros: a search
 * compares heads, and looks at a cell only where they are equal. prefix_len bytes are common to all keys
 * of the node (to all but the first of an inner node, which has none); they are kept in each cell all the
 * same, so that keys can be handed out as pointers. Trees with a comparison of their own have no heads
 * and prefix_len 0.
 *
 * Inner nodes: the record at 0 has the empty key, which is less than all. The child for a key is that of
 * the last record whose key is not greater. Separators are the shortest keys that separate (R. Bayer, K.
 * Unterauer, "Prefix B-trees", 1977), or whole keys where the tree has its own comparison.
 *
 * Capacity: no record takes more than half of a page's room, so that a page that overflows can always be
 * split in two that do not (bpnode_split.c). Where a page of few records does harm, as their number must be a power of
 * two (hash tables) or pages must not be full (cache-oblivious B-trees), no value takes more than a quarter page.
 *
 * Searching. A leaf is seldom in a cache, and then the misses that come one after the other are all that
 * counts: the keys that the next three halvings may need are fetched at once, the first ones before the
 * node's count has arrived, and the halvings are branches, on which the processor goes on with a guess.
 * Whole lookups among 1,000,000 8/8 records took 427 ns, by plain halving 688, by halving without
 * branches 952, by interpolation 520. Inner nodes are mostly in a cache: there interpolation is best by a
 * little (bpnode_fixed.c has all the figures).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <xac/tree.h>

#include "pages/arena.h"

/* What an insert into a fixed leaf changes is in the first eight bytes, one word of the log. */
struct bpnode {
        uint8_t kind;         /* PAGE_IS_LEAF, PAGE_IS_INNER */
        uint8_t level;        /* 0: leaf */
        uint16_t count;       /* records */
        uint16_t last;        /* where the last insert went ... */
        uint16_t run;         /* ... and how many went just behind the one before: ascending keys */
        uint32_t cells_begin; /* variable: offset of the lowest cell; page_bytes when there is none */
        uint16_t dead_bytes;  /* variable: in cells that no slot names */
        uint16_t prefix_len;  /* variable: bytes before the heads */
        uint32_t tree_id;
};

struct bpnode_slot {
        uint32_t head;
        uint16_t offset; /* of the cell; a page of 65,536 bytes ends a cell there at most */
        uint16_t key_len;
};

/* What all nodes of a tree have in common. */
struct bpnode_shape {
        uint32_t page_bytes;
        uint32_t tree_id;
        bool is_fixed;
        uint32_t value_bytes;     /* fixed: of a leaf's records */
        bool has_quarters;        /* variable: a value that is longer than a quarter page is not in the leaf */
        xac_tree_compare compare; /* NULL: memcmp */
        void *compare_arg;
};

/* In place of a value that is not in the leaf. */
struct bpnode_overflow {
        uint32_t first; /* page; not aligned */
        uint32_t byte_len;
};

enum { BPNODE_OVERFLOW = 0x8000 }; /* flag in a cell's value length */

/* A key, and what stands beside it. */
struct bpnode_key {
        const void *bytes;
        size_t len;
};

/* A record of a leaf, read or to be written. */
struct bpnode_record {
        struct bpnode_key key;
        const void *value; /* in overflow: a struct bpnode_overflow, unaligned */
        size_t value_len;  /* in overflow: its size */
        bool is_overflow;
};

/* ---- where things lie ---- */

enum { BPNODE_FIXED_KEY = 8 };

/* Bytes of a record at this level. */
static inline size_t bpnode_fixed_stride(const struct bpnode_shape *shape, unsigned level)
{
        return BPNODE_FIXED_KEY + (level ? sizeof(page_no) : shape->value_bytes);
}

static inline unsigned char *bpnode_fixed_at(const struct bpnode_shape *shape, const struct bpnode *node, unsigned i)
{
        return (unsigned char *)(node + 1) + i * bpnode_fixed_stride(shape, node->level);
}

static inline struct bpnode_slot *bpnode_slots(const struct bpnode *node)
{
        return (struct bpnode_slot *)(node + 1);
}

static inline unsigned char *bpnode_cell(const struct bpnode *node, unsigned i)
{
        return (unsigned char *)node + bpnode_slots(node)[i].offset;
}

/* Bytes of a cell before its key: the value's length, or the child. */
static inline size_t bpnode_cell_front(unsigned level)
{
        return level ? sizeof(page_no) : sizeof(uint16_t);
}

/* Leaf: the value's length as it stands in the cell, with the flag. */
static inline unsigned bpnode_cell_value(const unsigned char *cell)
{
        uint16_t value_len;

        memcpy(&value_len, cell, sizeof(value_len));
        return value_len;
}

static inline struct bpnode_key bpnode_cell_key(const struct bpnode *node, unsigned i)
{
        return (struct bpnode_key){ bpnode_cell(node, i) + bpnode_cell_front(node->level),
                                    bpnode_slots(node)[i].key_len };
}

/* ---- what there is room for ---- */

static inline size_t bpnode_capacity(const struct bpnode_shape *shape)
{
        return shape->page_bytes - sizeof(struct bpnode);
}

/* Bytes that a leaf record takes. */
static inline size_t bpnode_leaf_bytes(const struct bpnode_shape *shape, size_t key_len, size_t stored_value_len)
{
        if (shape->is_fixed)
                return bpnode_fixed_stride(shape, 0);
        return sizeof(struct bpnode_slot) + bpnode_cell_front(0) + key_len + stored_value_len;
}

/* Bytes that an inner record takes. */
static inline size_t bpnode_inner_bytes(const struct bpnode_shape *shape, size_t key_len)
{
        if (shape->is_fixed)
                return bpnode_fixed_stride(shape, 1);
        return sizeof(struct bpnode_slot) + bpnode_cell_front(1) + key_len;
}

/* Whether a value of this length lies in the leaf, beside a key of this length. */
static inline bool bpnode_is_inline(const struct bpnode_shape *shape, size_t key_len, size_t value_len)
{
        if (shape->is_fixed)
                return true;
        return bpnode_leaf_bytes(shape, key_len, value_len) <= bpnode_capacity(shape) / 2 &&
               (!shape->has_quarters || value_len <= shape->page_bytes / 4);
}

/* Or may be in overflow pages: until 0.1.0 all trees had quarters. */
static inline bool bpnode_may_overflow(const struct bpnode_shape *shape, size_t key_len, size_t value_len)
{
        return value_len > shape->page_bytes / 4 || !bpnode_is_inline(shape, key_len, value_len);
}

/* Bytes used by records. */
static inline size_t bpnode_used(const struct bpnode_shape *shape, const struct bpnode *node)
{
        if (shape->is_fixed)
                return node->count * bpnode_fixed_stride(shape, node->level);
        return node->count * sizeof(struct bpnode_slot) + shape->page_bytes - node->cells_begin - node->dead_bytes;
}

/* Bytes free, dead ones included. */
static inline size_t bpnode_room(const struct bpnode_shape *shape, const struct bpnode *node)
{
        return bpnode_capacity(shape) - bpnode_used(shape, node);
}

/* ---- reading ---- */

/* Whether the page is a node of this tree at this level, with a possible count: looked at on every way
 * down. */
static inline bool bpnode_is_of(const struct bpnode_shape *shape, const struct bpnode *node, uint8_t level)
{
        return node->tree_id == shape->tree_id && node->level == level &&
               node->kind == (level ? PAGE_IS_INNER : PAGE_IS_LEAF) &&
               bpnode_used(shape, node) <= bpnode_capacity(shape);
}

/* Where the key is or would be: the first record that is not less. */
unsigned bpnode_find(const struct bpnode_shape *shape, const struct bpnode *node, struct bpnode_key key,
                     bool *is_equal);
/* The record whose child leads to the key. */
unsigned bpnode_find_child(const struct bpnode_shape *shape, const struct bpnode *node, struct bpnode_key key);
int bpnode_compare(const struct bpnode_shape *shape, struct bpnode_key a, struct bpnode_key b);

static inline page_no bpnode_child(const struct bpnode_shape *shape, const struct bpnode *node, unsigned i)
{
        page_no child;

        memcpy(&child, shape->is_fixed ? bpnode_fixed_at(shape, node, i) + BPNODE_FIXED_KEY : bpnode_cell(node, i),
               sizeof(child));
        return child;
}

static inline struct bpnode_key bpnode_key_at(const struct bpnode_shape *shape, const struct bpnode *node, unsigned i)
{
        if (!shape->is_fixed)
                return bpnode_cell_key(node, i);
        return (struct bpnode_key){ bpnode_fixed_at(shape, node, i), node->level && i == 0 ? 0 : BPNODE_FIXED_KEY };
}

static inline struct bpnode_record bpnode_record_at(const struct bpnode_shape *shape, const struct bpnode *node,
                                                    unsigned i)
{
        struct bpnode_record record = { .key = bpnode_key_at(shape, node, i) };

        record.value = (const unsigned char *)record.key.bytes + record.key.len;
        if (shape->is_fixed) {
                record.value_len = shape->value_bytes;
        } else {
                unsigned value_len = bpnode_cell_value(bpnode_cell(node, i));

                record.is_overflow = (value_len & BPNODE_OVERFLOW) != 0;
                record.value_len = value_len & ~(unsigned)BPNODE_OVERFLOW;
        }
        return record;
}

/* ---- changing ---- */

/* An insert moves what is behind it by one record or slot, and writes the header: short changes for the
 * log. Cells stay where they are, in splits too: a new one goes into the gap or a hole that is large enough, and only
 * where there is none the page is compacted. */

/* The whole page: nothing of what was in it is left. */
void bpnode_init(const struct bpnode_shape *shape, struct bpnode *node, uint8_t level);
/* The caller has asked for room (bpnode_room); compacts the page when it is scattered. `record` must not
 * point into the page. */
void bpnode_insert(const struct bpnode_shape *shape, struct bpnode *node, unsigned i,
                   const struct bpnode_record *record);
void bpnode_insert_child(const struct bpnode_shape *shape, struct bpnode *node, unsigned i, struct bpnode_key key,
                         page_no child);
/* Another value for the key at i, which record->key is; the caller has asked whether the difference fits. */
void bpnode_replace(const struct bpnode_shape *shape, struct bpnode *node, unsigned i,
                    const struct bpnode_record *record);
/* Another child for the key at i. */
void bpnode_set_child(const struct bpnode_shape *shape, struct bpnode *node, unsigned i, page_no child);
/* The first record of an inner node takes the next one's key with it: that has the empty key then. */
void bpnode_remove(const struct bpnode_shape *shape, struct bpnode *node, unsigned i);

/* ---- splitting and merging ---- */

/* What a split found: which half the new record belongs to and where, and the separator (its bytes in
 * `separator`). */
struct bpnode_split {
        bool is_right; /* the record that had no room belongs into the right node ... */
        unsigned i;    /* ... at this place */
        size_t separator_len;
        unsigned char separator[XAC_TREE_KEY_MAX];
};

/* Splits a leaf so that `record`, to be inserted at i, has room in one of the halves: moves the upper
 * records of `node` into `right`, which is overwritten. The record itself is not inserted, but the
 * separator reckons with it. Where inserts ascend (run), the left node stays as full as it is.
 *
 *      before  | hdr | 1 2 3 5 6 7 |                    4 has no room
 *      after   | hdr | 1 2 3 |  and  | hdr | 5 6 7 |    4: left, at 3; or right, at 0 */
void bpnode_split_leaf(const struct bpnode_shape *shape, struct bpnode *node, struct bpnode *right, unsigned i,
                       const struct bpnode_record *record, struct bpnode_split *split);
/* Moves the records from `first` on into `right`, which is overwritten. */
void bpnode_cut(const struct bpnode_shape *shape, struct bpnode *node, unsigned first, struct bpnode *right);
/* Splits an inner node likewise, for a key that is to be inserted at i > 0. The separator is the first
 * key of the right half, which becomes the empty key there; when that is the new key itself, is_right and
 * i = 0 say so: the caller puts the new child at 0 with the empty key. Each half has two children at
 * least, the new one counted. */
void bpnode_split_inner(const struct bpnode_shape *shape, struct bpnode *node, struct bpnode *right, unsigned i,
                        struct bpnode_key key, struct bpnode_split *split);
/* Two leaves side by side, of which one (is_right: the right one) has no room for a record at i, share all their
 * records instead of a split: about as many bytes are in each of them then, the new record reckoned in.
 *
 *      before  | 1 2 3 5 6 7 |  and  | 8 9 |            4 has no room
 *      after   | 1 2 3 |    and    | 5 6 7 8 9 |        4: left, at 3
 *
 * False: the other one is too full for that to be worth it. bpnode_share() is for those of which that was asked. */
bool bpnode_may_share(const struct bpnode_shape *shape, const struct bpnode *left, const struct bpnode *right,
                      bool is_right, unsigned i, size_t record_bytes);
void bpnode_share(const struct bpnode_shape *shape, struct bpnode *left, struct bpnode *right, bool is_right,
                  unsigned i, const struct bpnode_record *record, struct bpnode_split *split);
/* The same without a new record: so that the fuller one (is_right: the right one) has room for others of the leaf on
 * its other side, which has, or wants to have, so many bytes. True: the two could share then. Of the split only the
 * separator counts. */
bool bpnode_may_even(const struct bpnode_shape *shape, const struct bpnode *left, const struct bpnode *right,
                     bool is_right, size_t its_bytes);
void bpnode_even(const struct bpnode_shape *shape, struct bpnode *left, struct bpnode *right, bool is_right,
                 struct bpnode_split *split);
/* Appends all of `right` to `left`, where there is room for bpnode_used(right) (inner: and for the
 * separator, which becomes the key of its first). */
void bpnode_merge(const struct bpnode_shape *shape, struct bpnode *left, const struct bpnode *right,
                  struct bpnode_key separator);

/* ---- bpnode_check.c ---- */

/* What is wrong with a page that may be damaged in any way, or NULL: header, offsets, overlaps, order,
 * heads, the bounds (NULL bytes: none; low <= key < high). Reads nothing outside the page. Calls the
 * comparison with the lesser key first: one that always says -1 leaves the order unchecked. */
const char *bpnode_fault(const struct bpnode_shape *shape, const struct bpnode *node, uint8_t level,
                         struct bpnode_key low, struct bpnode_key high);

#endif
