/* SPDX-License-Identifier: MIT */
#include "trees/bptree.h"

void bptree_init(struct page_arena *arena, const struct catalog_record *record, bptree_compare compare,
                 void *compare_arg, struct bptree *tree)
{
        memset(tree, 0, sizeof(*tree));
        tree->arena = arena;
        tree->root = record->root;
        tree->shape = (struct bpnode_shape){ .page_bytes = arena->page_bytes,
                                             .tree_id = record->tree_id,
                                             .is_fixed = record->key_bytes != 0,
                                             .value_bytes = record->value_bytes,
                                             .compare = compare,
                                             .compare_arg = compare_arg };
}

struct get {
        struct bptree *tree;
        struct bpnode_key key;
        void *value;
        size_t room;
        size_t value_len;
        int result;
};

int bptree_get_value(const struct bptree *tree, struct bpnode_key key, void *value, size_t room, size_t *value_len)
{
        page_no page;
        int err = bptree_leaf_page(tree, key, &page);
        if (err)
                return err;
        const struct bpnode *leaf = arena_read(tree->arena, page);
        if (!leaf)
                return ARENA_LOST;
        if (!bpnode_is_of(&tree->shape, leaf, 0))
                return XAC_CORRUPT;
        return leaf_get(tree->arena, &tree->shape, leaf, key, value, room, value_len);
}

static int get_body(void *arg)
{
        struct get *get = arg;
        return handle_settle(&get->result,
                             bptree_get_value(get->tree, get->key, get->value, get->room, &get->value_len));
}

int bptree_get(bptree *tree, const void *key, size_t key_len, void *value, size_t room, size_t *value_len)
{
        struct get get = { .tree = tree, .key = { key, key_len }, .value = value, .room = room };
        if (!leaf_takes_key(&tree->shape, key_len))
                return -EINVAL;
        int err = handle_enter(&tree->handle);
        if (!err)
                err = arena_run(tree->arena, XAC_RDONLY, get_body, &get);
        if (!err)
                err = get.result;
        if (value_len && (!err || err == -ERANGE))
                *value_len = get.value_len;
        return err;
}
