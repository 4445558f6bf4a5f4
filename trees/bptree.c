/* SPDX-License-Identifier: MIT */
#include "trees/bptree.h"

void bptree_init(struct xac_arena *arena, const struct catalog_record *record, xac_tree_compare compare,
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
        return tree_settle(&get->result, bptree_get_value(get->tree, get->key, get->value, get->room, &get->value_len));
}

int bptree_get(struct xac_tree *handle, const void *key, size_t key_len, void *value, size_t room, size_t *value_len)
{
        struct bptree *tree = handle->tree;
        struct get get = { .tree = tree, .key = { key, key_len }, .value = value, .room = room };
        if (!leaf_takes_key(&tree->shape, key_len))
                return -EINVAL;
        int err = tree_enter(&tree->handle);
        if (!err)
                err = arena_run(tree->arena, XAC_RDONLY, get_body, &get);
        if (!err)
                err = get.result;
        if (value_len && (!err || err == -ERANGE))
                *value_len = get.value_len;
        return err;
}

/* ---- as a kind of tree ---- */

static int make(struct xac_arena *arena, const struct catalog_record *record)
{
        struct bptree tree;
        struct bpnode *root = arena_write(arena, record->root);
        if (!root)
                return ARENA_LOST;
        bptree_init(arena, record, NULL, NULL, &tree);
        bpnode_init(&tree.shape, root, 0);
        return 0;
}

static struct xac_tree *begin(struct xac_arena *arena, const struct catalog_record *record, xac_tree_compare compare,
                              void *compare_arg, void *tree_)
{
        struct bptree *tree = tree_;
        bptree_init(arena, record, compare, compare_arg, tree);
        return &tree->handle;
}

static const struct bpnode_shape *shape(const void *tree)
{
        return &((const struct bptree *)tree)->shape;
}

const struct tree_kind bptree_kind = { .number = XAC_TREE_BPLUS,
                                       .tree_bytes = sizeof(struct bptree),
                                       .make = make,
                                       .begin = begin,
                                       .shape = shape,
                                       .ways = &bptree_ways,
                                       .put = bptree_put,
                                       .get = bptree_get,
                                       .delete = bptree_delete,
                                       .scan = bptree_scan,
                                       .scan_runs = bptree_scan_runs,
                                       .scan_leaves = bptree_scan_leaves,
                                       .load = bptree_load,
                                       .stat = bptree_stat };
