/* SPDX-License-Identifier: MIT */
#include "trees/bptree.h"

#include <string.h>

#include "trees/overflow.h"

struct get {
        struct bptree *tree;
        struct bpnode_key key;
        void *value;
        size_t room;
        size_t value_len;
        int result;
};

static int copy_bytes(const void *stored, size_t len, void *value, size_t room, size_t *value_len)
{
        size_t part = len < room ? len : room;
        *value_len = len;
        if (part)
                memcpy(value, stored, part);
        return part < len ? -ERANGE : 0;
}

static int copy_chain(const struct bptree *tree, struct bpnode_overflow chain, void *value, size_t room,
                      size_t *value_len)
{
        struct overflow_place place = { 0 };
        size_t copied;
        *value_len = chain.byte_len;
        int err = overflow_read(tree->arena, tree->shape.tree_id, chain, &place, 0, value, room, &copied);
        return err ? err : chain.byte_len > room ? -ERANGE : 0;
}

int bptree_get_value(const struct bptree *tree, struct bpnode_key key, void *value, size_t room, size_t *value_len)
{
        page_no page;
        bool is_equal;
        int err = bptree_leaf_page(tree, key, &page);
        if (err)
                return err;
        const struct bpnode *leaf = arena_read(tree->arena, page);
        if (!leaf)
                return ARENA_LOST;
        if (!bpnode_is_of(&tree->shape, leaf, 0))
                return XAC_CORRUPT;
        unsigned i = bpnode_find(&tree->shape, leaf, key, &is_equal);
        if (!is_equal)
                return -ENOENT;
        struct bpnode_record record = bpnode_record_at(&tree->shape, leaf, i);
        if (record.is_overflow)
                return copy_chain(tree, overflow_of(record.value), value, room, value_len);
        return copy_bytes(record.value, record.value_len, value, room, value_len);
}

static int get_body(void *arg)
{
        struct get *get = arg;
        return bptree_settle(&get->result,
                             bptree_get_value(get->tree, get->key, get->value, get->room, &get->value_len));
}

int bptree_get(bptree *tree, const void *key, size_t key_len, void *value, size_t room, size_t *value_len)
{
        struct get get = { .tree = tree, .key = { key, key_len }, .value = value, .room = room };
        if (!bptree_takes_key(tree, key_len))
                return -EINVAL;
        int err = bptree_enter(tree);
        if (!err)
                err = arena_run(tree->arena, XAC_RDONLY, get_body, &get);
        if (!err)
                err = get.result;
        if (value_len && (!err || err == -ERANGE))
                *value_len = get.value_len;
        return err;
}
