/* SPDX-License-Identifier: MIT */
#include "trees/bptree.h"

#include <stdlib.h>
#include <string.h>

#include "trees/overflow.h"

struct put {
        struct bptree *tree;
        struct bpnode_key key;
        const void *value;
        size_t value_len;
        int flags;
        int result;
};

static size_t stored_bytes(const struct bptree *tree, const struct bpnode_record *record)
{
        return bpnode_leaf_bytes(&tree->shape, record->key.len, record->value_len);
}

/* Room in the leaf for a record that is to be at i, in place of the one that is there or before it. */
static size_t room_at(const struct bptree *tree, const struct bpnode *leaf, unsigned i, bool is_equal)
{
        size_t room = bpnode_room(&tree->shape, leaf);
        if (is_equal) {
                struct bpnode_record old = bpnode_record_at(&tree->shape, leaf, i);
                room += stored_bytes(tree, &old);
        }
        return room;
}

/* The change itself, when everything is ready for it (T3). */
static int store_at(const struct bptree *tree, struct bptree_path *path, bool is_equal,
                    const struct bpnode_record *record, struct page_reserve *reserve)
{
        const struct bptree_step *at = bptree_path_leaf(path);
        struct bpnode *leaf;
        int err = bptree_write_node(tree, at->page, 0, &leaf);
        if (err)
                return err;
        if (stored_bytes(tree, record) <= room_at(tree, leaf, at->i, is_equal)) {
                if (is_equal)
                        bpnode_replace(&tree->shape, leaf, at->i, record);
                else
                        bpnode_insert(&tree->shape, leaf, at->i, record);
                return 0;
        }
        if (is_equal)
                bpnode_remove(&tree->shape, leaf, at->i);
        return bptree_split(tree, path, record, reserve);
}

/* The value that is replaced, when it lies in overflow pages; its chain was followed to its end (T3). */
static int old_chain(const struct bptree *tree, const struct bptree_step *at, bool is_equal,
                     struct bpnode_overflow *chain)
{
        *chain = (struct bpnode_overflow){ 0 };
        if (!is_equal)
                return 0;
        struct bpnode_record old = bpnode_record_at(&tree->shape, at->node, at->i);
        if (!old.is_overflow)
                return 0;
        *chain = overflow_of(old.value);
        return overflow_probe(tree->arena, tree->shape.tree_id, *chain);
}

/* What a put needs before it changes anything. */
struct supplies {
        struct page_reserve reserve;  /* for splits */
        struct bpnode_overflow place; /* of the value, which nothing leads to yet */
        struct bpnode_record record;
        struct bpnode_overflow old; /* the value that goes */
};

static int store_value(const struct bptree *tree, struct supplies *supplies)
{
        struct bpnode_record *record = &supplies->record;
        const void *value = record->value;
        size_t value_len = record->value_len;
        if (bpnode_is_inline(&tree->shape, record->key.len, value_len))
                return 0;
        record->value = &supplies->place;
        record->value_len = sizeof(supplies->place);
        record->is_overflow = true;
        return overflow_write(tree->arena, tree->shape.tree_id, value, value_len, &supplies->place);
}

/* Leaves no page taken when it fails. */
static int prepare(const struct bptree *tree, struct bptree_path *path, bool is_equal, struct supplies *supplies)
{
        const struct bptree_step *at = bptree_path_leaf(path);
        const struct bpnode_record *record = &supplies->record;
        bool is_inline = bpnode_is_inline(&tree->shape, record->key.len, record->value_len);
        size_t stored = is_inline ? record->value_len : sizeof(supplies->place);
        int err = old_chain(tree, at, is_equal, &supplies->old);
        if (!err && bpnode_leaf_bytes(&tree->shape, record->key.len, stored) > room_at(tree, at->node, at->i, is_equal))
                err = bptree_split_reserve(tree, path, &supplies->reserve);
        if (err)
                return err;
        err = store_value(tree, supplies);
        if (!err || err == ARENA_LOST)
                return err;
        int release_err = page_alloc_release(tree->arena, &supplies->reserve);
        return release_err ? release_err : err;
}

int bptree_store(const struct bptree *tree, struct bptree_path *path, bool is_equal, struct bpnode_key key,
                 const void *value, size_t value_len)
{
        struct supplies supplies;
        supplies.reserve.count = 0;
        supplies.record = (struct bpnode_record){ .key = key, .value = value, .value_len = value_len };
        int err = prepare(tree, path, is_equal, &supplies);
        if (!err)
                err = store_at(tree, path, is_equal, &supplies.record, &supplies.reserve);
        if (!err && supplies.old.byte_len)
                err = overflow_free(tree->arena, tree->shape.tree_id, supplies.old);
        if (!err && supplies.reserve.count)
                err = page_alloc_release(tree->arena, &supplies.reserve);
        return err;
}

/* A leaf that is full, or a value in overflow pages: the new one or the old. */
static int put_slowly(const struct put *put)
{
        struct bptree_path path;
        bool is_equal;
        int err = bptree_path_seek(put->tree, put->key, &path, &is_equal);
        return err ? err : bptree_store(put->tree, &path, is_equal, put->key, put->value, put->value_len);
}

/* The leaf is the right one, and may be written. */
static int put_into(const struct put *put, struct bpnode *leaf)
{
        const struct bpnode_shape *shape = &put->tree->shape;
        struct bpnode_record record = { .key = put->key, .value = put->value, .value_len = put->value_len };
        bool is_equal;
        if (!bpnode_is_inline(shape, put->key.len, put->value_len))
                return put_slowly(put);
        unsigned i = bpnode_find(shape, leaf, put->key, &is_equal);
        size_t room = bpnode_room(shape, leaf);
        if (is_equal) {
                struct bpnode_record old = bpnode_record_at(shape, leaf, i);
                if (old.is_overflow || room + stored_bytes(put->tree, &old) < stored_bytes(put->tree, &record))
                        return put_slowly(put);
                bpnode_replace(shape, leaf, i, &record);
                return 0;
        }
        if (room < stored_bytes(put->tree, &record))
                return put_slowly(put);
        bpnode_insert(shape, leaf, i, &record);
        return 0;
}

/* Whether something lies in the page: a cursor's record, say, whose key is put again. */
static bool is_inside(const struct bptree *tree, const struct bpnode *leaf, const void *bytes)
{
        return (uintptr_t)bytes - (uintptr_t)leaf < tree->shape.page_bytes;
}

/* From a copy, as the page is going to be rearranged under the original. */
static int put_copy(const struct put *put, struct bpnode *leaf)
{
        struct put copy = *put;
        char *bytes = malloc(put->key.len + put->value_len + 1);
        if (!bytes)
                return -ENOMEM;
        memcpy(bytes, put->key.bytes, put->key.len);
        if (put->value_len)
                memcpy(bytes + put->key.len, put->value, put->value_len);
        copy.key.bytes = bytes;
        copy.value = bytes + put->key.len;
        int err = put_into(&copy, leaf);
        free(bytes);
        return err;
}

/* BPTREE_NOOVERWRITE: looks before it writes. */
static int look_first(const struct put *put, page_no page)
{
        bool is_equal;
        const struct bpnode *leaf = arena_read(put->tree->arena, page);
        if (!leaf)
                return ARENA_LOST;
        if (!bpnode_is_of(&put->tree->shape, leaf, 0))
                return XAC_CORRUPT;
        bpnode_find(&put->tree->shape, leaf, put->key, &is_equal);
        return is_equal ? -EEXIST : 0;
}

static int put_body(void *arg)
{
        struct put *put = arg;
        page_no page;
        put->result = 0;
        int err = bptree_leaf_page(put->tree, put->key, &page);
        if (!err && put->flags & BPTREE_NOOVERWRITE)
                err = look_first(put, page);
        if (err)
                return bptree_settle(&put->result, err);
        err = bptree_before_change(put->tree);
        if (err)
                return err;
        struct bpnode *leaf;
        err = bptree_write_node(put->tree, page, 0, &leaf);
        if (err)
                return err;
        if (is_inside(put->tree, leaf, put->key.bytes) || is_inside(put->tree, leaf, put->value))
                return put_copy(put, leaf);
        return put_into(put, leaf);
}

int bptree_put_value(struct bptree *tree, struct bpnode_key key, const void *value, size_t value_len, int flags)
{
        struct put put = { tree, key, value, value_len, flags, 0 };
        int err = put_body(&put);
        return err ? err : put.result;
}

int bptree_put(bptree *tree, const void *key, size_t key_len, const void *value, size_t value_len, int flags)
{
        struct put put = { tree, { key, key_len }, value, value_len, flags, 0 };
        if (!bptree_takes_key(tree, key_len) || !bptree_takes_value(tree, value_len) || flags & ~BPTREE_NOOVERWRITE)
                return -EINVAL;
        int err = bptree_enter(tree);
        if (!err)
                err = arena_run(tree->arena, 0, put_body, &put);
        return err ? err : put.result;
}
