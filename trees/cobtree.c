/* SPDX-License-Identifier: MIT */
#include "trees/cobtree.h"

void cobtree_init(struct page_arena *arena, const struct catalog_record *record, bptree_compare compare,
                  void *compare_arg, struct cobtree *tree)
{
        const struct bpnode_shape shape = { .page_bytes = arena->page_bytes,
                                            .tree_id = record->tree_id,
                                            .is_fixed = record->key_bytes != 0,
                                            .value_bytes = record->value_bytes,
                                            .compare = compare,
                                            .compare_arg = compare_arg };
        memset(tree, 0, sizeof(*tree));
        tree->thin_extent = COBTREE_NO_EXTENT;
        cobindex_init(&tree->index, arena, record->root, &shape);
}

struct get {
        const struct cobtree *tree;
        struct bpnode_key key;
        void *value;
        size_t room;
        size_t value_len;
        int result;
};

static int get_value(struct get *get)
{
        const struct cobtree *tree = get->tree;
        const struct bpnode *leaf;
        struct cobindex_place place;
        bool is_used;
        int err = cobindex_find(&tree->index, get->key, &place, &is_used);
        if (!err && !is_used)
                err = -ENOENT;
        if (!err)
                err = cobtree_read(tree, cobtree_page(tree, place), &leaf);
        if (err)
                return err;
        return leaf_get(tree->index.arena, &tree->index.shape, leaf, get->key, get->value, get->room, &get->value_len);
}

static int get_body(void *arg)
{
        struct get *get = arg;
        return handle_settle(&get->result, get_value(get));
}

int cobtree_get(cobtree *tree, const void *key, size_t key_len, void *value, size_t room, size_t *value_len)
{
        struct get get = { .tree = tree, .key = { key, key_len }, .value = value, .room = room };
        if (!leaf_takes_key(&tree->index.shape, key_len))
                return -EINVAL;
        int err = handle_enter(&tree->handle);
        if (!err)
                err = arena_run(tree->index.arena, XAC_RDONLY, get_body, &get);
        if (!err)
                err = get.result;
        if (value_len && (!err || err == -ERANGE))
                *value_len = get.value_len;
        return err;
}
