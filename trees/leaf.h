/* SPDX-License-Identifier: MIT */
#ifndef TREES_LEAF_H
#define TREES_LEAF_H

/*
 * What the operations of all kinds of trees do once they have come to a leaf: records shown, found, put where there
 * is room; values that do not lie in the leaf. Knows no way to a leaf.
 */

#include <errno.h>
#include <string.h>

#include "trees/bpnode.h"

/* A place on a way through a tree: a record, or one behind the last, of a leaf; a child of an inner node. */
struct leaf_place {
        const struct bpnode *node;
        page_no page;
        unsigned i;
};

/* Whether a key of this length can be in such a tree, and a value of that. */
static inline bool leaf_takes_key(const struct bpnode_shape *shape, size_t len)
{
        return shape->is_fixed ? len == 8 : len && len <= XAC_TREE_KEY_MAX;
}

static inline bool leaf_takes_value(const struct bpnode_shape *shape, size_t len)
{
        return shape->is_fixed ? len == shape->value_bytes : len <= XAC_TREE_VALUE_MAX;
}

/* ---- records ---- */

/* How a record of a leaf is shown to the world. Inline, as it is done for each one in a scan. */
static inline void leaf_show(const struct bpnode_record *stored, xac_tree_record *record)
{
        struct bpnode_overflow chain;
        record->key = stored->key.bytes;
        record->key_len = stored->key.len;
        record->value = stored->value;
        record->value_len = stored->value_len;
        if (stored->is_overflow) {
                memcpy(&chain, stored->value, sizeof(chain));
                record->value = NULL;
                record->value_len = chain.byte_len;
        }
}

/* Bytes that a record takes as it stands in a leaf. */
static inline size_t leaf_bytes(const struct bpnode_shape *shape, const struct bpnode_record *record)
{
        return bpnode_leaf_bytes(shape, record->key.len, record->value_len);
}

/* Room in the leaf for a record that is to be at i, in place of the one that is there or before it. */
static inline size_t leaf_room_at(const struct bpnode_shape *shape, const struct bpnode *leaf, unsigned i,
                                  bool is_equal)
{
        size_t room = bpnode_room(shape, leaf);
        if (is_equal) {
                struct bpnode_record old = bpnode_record_at(shape, leaf, i);
                room += leaf_bytes(shape, &old);
        }
        return room;
}

/* ---- loads ---- */

/* Whether a record may be put behind the last one of a tree, which is that of this leaf (NULL, or empty: there is
 * none). -EINVAL: by its lengths, or its order. */
static inline int leaf_check_next(const struct bpnode_shape *shape, const struct bpnode *leaf,
                                  const xac_tree_record *record)
{
        struct bpnode_key key = { record->key, record->key_len };
        if (!leaf_takes_key(shape, key.len) || !leaf_takes_value(shape, record->value_len))
                return -EINVAL;
        if (!leaf || !leaf->count)
                return 0;
        struct bpnode_key last = bpnode_key_at(shape, leaf, leaf->count - 1u);
        return bpnode_compare(shape, last, key) < 0 ? 0 : -EINVAL;
}

/* ---- scans ---- */

/* Who sees the records of a scan: one of the two. */
struct leaf_visitor {
        int (*visit)(void *arg, const xac_tree_record *record);
        int (*visit_run)(void *arg, const void *records, size_t count); /* fixed size: all of a leaf at once */
        void *arg;
};

/* leaf_scan.c: shows the records from i to before end; what a visit returned that was not 0. `ahead`: the leaf that
 * comes next, which is fetched meanwhile, and whose header is at hand then if records are shown one by one; NULL:
 * nobody knows. */
int leaf_scan(const struct bpnode_shape *shape, const struct bpnode *leaf, unsigned i, unsigned end,
              const struct bpnode *ahead, const struct leaf_visitor *visitor);

/* Where the records of this leaf end that are before `to` (NULL: all are); true: no later leaf has any. */
static inline bool leaf_find_end(const struct bpnode_shape *shape, const struct bpnode *leaf,
                                 const struct bpnode_key *to, unsigned *end)
{
        bool is_equal;
        *end = leaf->count;
        if (!to || !leaf->count)
                return false;
        if (bpnode_compare(shape, bpnode_key_at(shape, leaf, leaf->count - 1u), *to) < 0)
                return false;
        *end = bpnode_find(shape, leaf, *to, &is_equal);
        return true;
}

/* ---- puts ---- */

/* Puts a record where that is a matter of this leaf alone: there is room, and no value lies in overflow pages.
 * -EAGAIN: it is not, and nothing was done. */
static inline int leaf_put(const struct bpnode_shape *shape, struct bpnode *leaf, const struct bpnode_record *record)
{
        bool is_equal;
        if (!bpnode_is_inline(shape, record->key.len, record->value_len))
                return -EAGAIN;
        unsigned i = bpnode_find(shape, leaf, record->key, &is_equal);
        size_t room = bpnode_room(shape, leaf);
        if (is_equal) {
                struct bpnode_record old = bpnode_record_at(shape, leaf, i);
                if (old.is_overflow || room + leaf_bytes(shape, &old) < leaf_bytes(shape, record))
                        return -EAGAIN;
                bpnode_replace(shape, leaf, i, record);
                return 0;
        }
        if (room < leaf_bytes(shape, record))
                return -EAGAIN;
        bpnode_insert(shape, leaf, i, record);
        return 0;
}

/* Whether something lies in the page: a cursor's record, say, whose key is put again. */
static inline bool leaf_is_inside(const struct bpnode_shape *shape, const struct bpnode *leaf, const void *bytes)
{
        return (uintptr_t)bytes - (uintptr_t)leaf < shape->page_bytes;
}

/* Key and value in memory of their own, which begins at copy->key.bytes and is to be freed. -ENOMEM. */
int leaf_copy_record(const struct bpnode_record *record, struct bpnode_record *copy);

/* ---- values that may lie in overflow pages ---- */

/* Copies the value of a key, or its beginning (-ERANGE); *value_len is its whole length. -ENOENT. */
int leaf_get(struct xac_arena *arena, const struct bpnode_shape *shape, const struct bpnode *leaf,
             struct bpnode_key key, void *value, size_t room, size_t *value_len);

/* The chain of the record at i, which was followed to its end (T3); byte_len 0: it has none. */
int leaf_chain(struct xac_arena *arena, const struct bpnode_shape *shape, const struct bpnode *leaf, unsigned i,
               struct bpnode_overflow *chain);

/* The record as it will stand in a leaf: a value too long for that is written into overflow pages, and *chain is in its
 * place. -ENOSPC, -ENOMEM: nothing has happened. */
int leaf_store_value(struct xac_arena *arena, const struct bpnode_shape *shape, struct bpnode_record *record,
                     struct bpnode_overflow *chain);

/* Bytes that a record takes in a leaf, whose value may be too long for that. */
static inline size_t leaf_bytes_to_store(const struct bpnode_shape *shape, const struct bpnode_record *record)
{
        bool is_inline = bpnode_is_inline(shape, record->key.len, record->value_len);
        return bpnode_leaf_bytes(shape, record->key.len,
                                 is_inline ? record->value_len : sizeof(struct bpnode_overflow));
}

#endif
