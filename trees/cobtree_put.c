/* SPDX-License-Identifier: MIT */
#include "trees/cobtree.h"

#include <stdlib.h>

#include "trees/overflow.h"

/* Internal outcome, outside of an open transaction: one step of cobindex_make_room is not enough. They come first,
 * each in a transaction of its own, and then the put again. */
enum { NEEDS_ROOM = -4094 };

struct put {
        struct cobtree *tree;
        struct bpnode_record record; /* as given: the value is not in overflow */
        int flags;
        bool is_outside; /* the transaction is the put's own */
        int result;
};

/* ---- room behind a segment ---- */

/* Where the next records are likely to come, if the one that is to be at i is as the last ones were. */
static enum cobindex_trend trend_of(const struct bpnode *leaf, unsigned i)
{
        enum { RUN = 2 };
        if (i == (uint16_t)(leaf->last + 1) && leaf->run >= RUN)
                return COBINDEX_UPWARDS;
        return i == leaf->last && i < leaf->count ? COBINDEX_DOWNWARDS : COBINDEX_ANYWHERE;
}

/* Whether the record that is to be at i will be the tree's last. */
static int is_append(const struct cobtree *tree, struct cobindex_place place, const struct bpnode *leaf, unsigned i,
                     bool *is_last)
{
        struct cobindex_place last;
        *is_last = false;
        if (i < leaf->count)
                return 0;
        int err = cobindex_last(&tree->index, &last);
        if (!err)
                *is_last = last.extent == place.extent && last.i == place.i;
        return err;
}

/* One step; *place follows the segment. -EAGAIN: there have to be more. */
static int room_step(const struct put *put, struct cobindex_place *place, const struct bpnode *leaf)
{
        const struct cobtree *tree = put->tree;
        bool is_equal, is_last;
        unsigned i = bpnode_find(&tree->index.shape, leaf, put->record.key, &is_equal);
        int err = is_append(tree, *place, leaf, i, &is_last);
        return err ? err : cobindex_make_room(&tree->index, place, is_last ? COBINDEX_AT_END : trend_of(leaf, i));
}

/* Inside of the transaction that the put is part of. Mostly one step is enough: a few pages move along to the next
 * gap. */
static int make_room(const struct put *put, struct cobindex_place *place)
{
        const struct bpnode *leaf;
        int err;
        do {
                err = cobtree_read(put->tree, cobtree_page(put->tree, *place), &leaf);
                if (!err)
                        err = room_step(put, place, leaf);
        } while (err == -EAGAIN && !put->is_outside);
        return err == -EAGAIN ? NEEDS_ROOM : err;
}

/* A step in a transaction of its own: finds the segment again, as others may have made room, or changed everything. */
static int room_body(void *arg)
{
        struct put *put = arg;
        const struct cobtree *tree = put->tree;
        const struct bpnode_shape *shape = &tree->index.shape;
        const struct bpnode *leaf;
        struct cobindex_place place;
        bool is_used, is_equal;
        put->result = 0;
        int err = cobindex_find(&tree->index, put->record.key, &place, &is_used);
        if (!err && is_used)
                err = cobtree_read(tree, cobtree_page(tree, place), &leaf);
        if (err || !is_used)
                return tree_settle(&put->result, err);
        unsigned i = bpnode_find(shape, leaf, put->record.key, &is_equal);
        if (leaf_bytes_to_store(shape, &put->record) <= leaf_room_at(shape, leaf, i, is_equal))
                return 0;
        err = room_step(put, &place, leaf);
        put->result = err == -EAGAIN ? err : 0;
        return err == -EAGAIN ? 0 : err;
}

/* No step waits for the disk: should the machine crash, the put, which does, has not happened either. */
static int make_room_outside(struct put *put)
{
        int err;
        do {
                err = arena_run(put->tree->index.arena, XAC_NOSYNC, room_body, put);
        } while (!err && put->result == -EAGAIN);
        return err ? err : put->result;
}

/* ---- the change itself ---- */

/* The upper records go to the empty place behind. */
static int split(const struct cobtree *tree, struct cobindex_place place, struct bpnode *leaf, unsigned i,
                 const struct bpnode_record *record)
{
        const struct bpnode_shape *shape = &tree->index.shape;
        struct bpnode_split split; /* not zeroed: 1 KiB */
        struct cobindex_place next;
        const enum cobindex_trend trend = trend_of(leaf, i);
        bool is_free;
        int err = cobindex_place_behind(&tree->index, place, trend, &next, &is_free);
        if (err || !is_free)
                return err ? err : XAC_CORRUPT;
        struct bpnode *right = arena_write(tree->index.arena, cobtree_page(tree, next));
        if (!right)
                return ARENA_LOST;
        bpnode_split_leaf(shape, leaf, right, i, record, &split);
        bpnode_insert(shape, split.is_right ? right : leaf, split.i, record);
        const struct bpnode_key separator = { split.separator, split.separator_len };
        return cobindex_use_next(&tree->index, place, separator, trend, &next);
}

/* Everything is ready for it (T3): there is room in the segment, or beside it, or behind it. */
static int store_at(const struct cobtree *tree, struct cobindex_place place, const struct bpnode_record *record,
                    const struct cobtree_share *share)
{
        const struct bpnode_shape *shape = &tree->index.shape;
        struct bpnode *leaf;
        bool is_equal;
        int err = cobtree_write(tree, cobtree_page(tree, place), &leaf);
        if (err)
                return err;
        unsigned i = bpnode_find(shape, leaf, record->key, &is_equal);
        bool has_room = leaf_bytes(shape, record) <= leaf_room_at(shape, leaf, i, is_equal);
        if (has_room && is_equal)
                bpnode_replace(shape, leaf, i, record);
        else if (has_room)
                bpnode_insert(shape, leaf, i, record);
        else if (is_equal)
                bpnode_remove(shape, leaf, i);
        else if (share->is_possible)
                return cobtree_share(tree, share, i, record);
        return has_room ? 0 : split(tree, place, leaf, i, record);
}

/* ---- what comes before it ---- */

/* What a put needs before it changes anything. */
struct supplies {
        struct bpnode_overflow chain; /* of the value, which nothing leads to yet */
        struct bpnode_record record;
        struct bpnode_overflow old; /* the value that goes */
        struct cobtree_share share;
};

/* Room for the record in the segment, or beside it, or behind it, inside of this transaction. */
static int supply_room(const struct put *put, struct cobindex_place *place, struct supplies *supplies)
{
        const struct cobtree *tree = put->tree;
        const struct bpnode_shape *shape = &tree->index.shape;
        const struct bpnode *leaf;
        struct cobindex_place next;
        bool is_equal, is_free;
        int err = cobtree_read(tree, cobtree_page(tree, *place), &leaf);
        if (err)
                return err;
        unsigned i = bpnode_find(shape, leaf, put->record.key, &is_equal);
        if (is_equal)
                err = leaf_chain(tree->index.arena, shape, leaf, i, &supplies->old);
        if (err || leaf_bytes_to_store(shape, &put->record) <= leaf_room_at(shape, leaf, i, is_equal))
                return err;
        if (!is_equal && trend_of(leaf, i) == COBINDEX_ANYWHERE)
                err = cobtree_plan_share(tree, *place, i, leaf_bytes_to_store(shape, &put->record), &supplies->share);
        if (err || supplies->share.is_possible)
                return err;
        err = cobindex_place_behind(&tree->index, *place, COBINDEX_ANYWHERE, &next, &is_free);
        return err || is_free ? err : make_room(put, place);
}

/* Key and value are not in a page that may move. */
static int put_prepared(const struct put *put, struct cobindex_place place)
{
        const struct cobtree *tree = put->tree;
        struct supplies supplies;
        supplies.old.byte_len = 0;
        supplies.share.is_possible = false;
        supplies.record = put->record;
        int err = supply_room(put, &place, &supplies);
        if (!err)
                err = leaf_store_value(tree->index.arena, &tree->index.shape, &supplies.record, &supplies.chain);
        if (!err)
                err = store_at(tree, place, &supplies.record, &supplies.share);
        if (!err && supplies.old.byte_len)
                err = overflow_free(tree->index.arena, tree->index.shape.tree_id, supplies.old);
        return err;
}

/* A segment that is full, or a value in overflow pages: the new one or the old. Pages may move, and what was given
 * may be in one of them: a cursor's record, say. A value that is too long for a segment is in none. */
static int put_slowly(const struct put *put, struct cobindex_place place)
{
        struct bpnode_record moving = put->record;
        struct put copy = *put;
        bool is_inline = bpnode_is_inline(&put->tree->index.shape, moving.key.len, moving.value_len);
        if (!is_inline)
                moving.value_len = 0;
        int err = leaf_copy_record(&moving, &copy.record);
        if (err)
                return err;
        if (!is_inline) {
                copy.record.value = put->record.value;
                copy.record.value_len = put->record.value_len;
        }
        err = put_prepared(&copy, place);
        free((void *)copy.record.key.bytes);
        return err;
}

/* The first record of all. */
static int put_first(const struct put *put)
{
        const struct cobtree *tree = put->tree;
        const struct bpnode_shape *shape = &tree->index.shape;
        struct supplies supplies = { .record = put->record };
        struct cobindex_place place;
        int err = leaf_store_value(tree->index.arena, shape, &supplies.record, &supplies.chain);
        if (!err)
                err = cobindex_use_first(&tree->index, &place);
        if (err)
                return err;
        struct bpnode *leaf = arena_write(tree->index.arena, cobtree_page(tree, place));
        if (!leaf)
                return ARENA_LOST;
        bpnode_init(shape, leaf, 0);
        bpnode_insert(shape, leaf, 0, &supplies.record);
        return 0;
}

/* ---- putting ---- */

/* XAC_TREE_NOOVERWRITE: looks before it writes. */
static int look_first(const struct put *put, page_no page)
{
        const struct bpnode *leaf;
        bool is_equal;
        int err = cobtree_read(put->tree, page, &leaf);
        if (err)
                return err;
        bpnode_find(&put->tree->index.shape, leaf, put->record.key, &is_equal);
        return is_equal ? -EEXIST : 0;
}

static int put_into(const struct put *put, struct cobindex_place place)
{
        const struct bpnode_shape *shape = &put->tree->index.shape;
        struct bpnode *leaf;
        int err = cobtree_write(put->tree, cobtree_page(put->tree, place), &leaf);
        if (err)
                return err;
        if (leaf_is_inside(shape, leaf, put->record.key.bytes) || leaf_is_inside(shape, leaf, put->record.value))
                return put_slowly(put, place);
        err = leaf_put(shape, leaf, &put->record);
        return err == -EAGAIN ? put_slowly(put, place) : err;
}

static int put_body(void *arg)
{
        struct put *put = arg;
        struct cobindex_place place;
        bool is_used;
        put->result = 0;
        int err = cobindex_find(&put->tree->index, put->record.key, &place, &is_used);
        if (!err && is_used && put->flags & XAC_TREE_NOOVERWRITE)
                err = look_first(put, cobtree_page(put->tree, place));
        if (err)
                return tree_settle(&put->result, err);
        err = tree_cursors_before_change(&put->tree->handle);
        if (err)
                return err;
        return is_used ? put_into(put, place) : put_first(put);
}

int cobtree_put(struct xac_tree *handle, const void *key, size_t key_len, const void *value, size_t value_len,
                int flags)
{
        struct cobtree *tree = handle->tree;
        const struct bpnode_shape *shape = &tree->index.shape;
        struct put put = { .tree = tree, .record = { { key, key_len }, value, value_len, false }, .flags = flags };
        if (!leaf_takes_key(shape, key_len) || !leaf_takes_value(shape, value_len) || flags & ~XAC_TREE_NOOVERWRITE)
                return -EINVAL;
        int err = tree_enter(&tree->handle);
        if (err)
                return err;
        put.is_outside = !arena_txn(tree->index.arena);
        do {
                err = arena_run(tree->index.arena, 0, put_body, &put);
        } while (err == NEEDS_ROOM && !(err = make_room_outside(&put)));
        return err ? err : put.result;
}
