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

/* The change itself, when everything is ready for it (T3). */
static int store_at(const struct bptree *tree, struct bptree_path *path, bool is_equal,
                    const struct bpnode_record *record, struct page_reserve *reserve)
{
        const struct leaf_place *at = bptree_path_leaf(path);
        struct bpnode *leaf;
        int err = bptree_write_node(tree, at->page, 0, &leaf);
        if (err)
                return err;
        if (leaf_bytes(&tree->shape, record) <= leaf_room_at(&tree->shape, leaf, at->i, is_equal)) {
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

/* What a put needs before it changes anything. */
struct supplies {
        struct page_reserve reserve;  /* for splits */
        struct bpnode_overflow place; /* of the value, which nothing leads to yet */
        struct bpnode_record record;
        struct bpnode_overflow old; /* the value that goes */
};

/* Leaves no page taken when it fails. */
static int prepare(const struct bptree *tree, struct bptree_path *path, bool is_equal, struct supplies *supplies)
{
        const struct bpnode_shape *shape = &tree->shape;
        const struct leaf_place *at = bptree_path_leaf(path);
        int err = is_equal ? leaf_chain(tree->arena, shape, at->node, at->i, &supplies->old) : 0;
        if (!err && leaf_bytes_to_store(shape, &supplies->record) > leaf_room_at(shape, at->node, at->i, is_equal))
                err = bptree_split_reserve(tree, path, 0, &supplies->reserve);
        if (err)
                return err;
        err = leaf_store_value(tree->arena, shape, &supplies->record, &supplies->place);
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
        supplies.old.byte_len = 0;
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
static inline int put_into(const struct put *put, struct bpnode *leaf)
{
        struct bpnode_record record = { .key = put->key, .value = put->value, .value_len = put->value_len };
        int err = leaf_put(&put->tree->shape, leaf, &record);
        return err == -EAGAIN ? put_slowly(put) : err;
}

/* From a copy, as the page is going to be rearranged under the original. */
static int put_copy(const struct put *put, struct bpnode *leaf)
{
        struct bpnode_record record = { .key = put->key, .value = put->value, .value_len = put->value_len };
        struct put copy = *put;
        int err = leaf_copy_record(&record, &record);
        if (err)
                return err;
        copy.key = record.key;
        copy.value = record.value;
        err = put_into(&copy, leaf);
        free((void *)record.key.bytes);
        return err;
}

/* XAC_TREE_NOOVERWRITE: looks before it writes. */
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
        if (!err && put->flags & XAC_TREE_NOOVERWRITE)
                err = look_first(put, page);
        if (err)
                return tree_settle(&put->result, err);
        err = tree_cursors_before_change(&put->tree->handle);
        if (err)
                return err;
        struct bpnode *leaf;
        err = bptree_write_node(put->tree, page, 0, &leaf);
        if (err)
                return err;
        if (leaf_is_inside(&put->tree->shape, leaf, put->key.bytes) ||
            leaf_is_inside(&put->tree->shape, leaf, put->value))
                return put_copy(put, leaf);
        return put_into(put, leaf);
}

int bptree_put_value(struct bptree *tree, struct bpnode_key key, const void *value, size_t value_len, int flags)
{
        struct put put = { tree, key, value, value_len, flags, 0 };
        int err = put_body(&put);
        return err ? err : put.result;
}

int bptree_put(struct xac_tree *handle, const void *key, size_t key_len, const void *value, size_t value_len, int flags)
{
        struct bptree *tree = handle->tree;
        struct put put = { tree, { key, key_len }, value, value_len, flags, 0 };
        if (!leaf_takes_key(&tree->shape, key_len) || !leaf_takes_value(&tree->shape, value_len) ||
            flags & ~XAC_TREE_NOOVERWRITE)
                return -EINVAL;
        int err = tree_enter(&tree->handle);
        if (!err)
                err = arena_run(tree->arena, 0, put_body, &put);
        return err ? err : put.result;
}
