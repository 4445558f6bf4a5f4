/* SPDX-License-Identifier: MIT */
#include "trees/cobtree.h"

void cobtree_init(struct xac_arena *arena, const struct catalog_record *record, xac_tree_compare compare,
                  void *compare_arg, struct cobtree *tree)
{
        const struct bpnode_shape shape = { .page_bytes = arena->page_bytes,
                                            .tree_id = record->tree_id,
                                            .is_fixed = record->key_bytes != 0,
                                            .value_bytes = record->value_bytes,
                                            .has_quarters = true,
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
        return tree_settle(&get->result, get_value(get));
}

int cobtree_get(struct xac_tree *handle, const void *key, size_t key_len, void *value, size_t room, size_t *value_len)
{
        struct cobtree *tree = handle->tree;
        struct get get = { .tree = tree, .key = { key, key_len }, .value = value, .room = room };
        if (!leaf_takes_key(&tree->index.shape, key_len))
                return -EINVAL;
        int err = tree_enter(&tree->handle);
        if (!err)
                err = arena_run(tree->index.arena, XAC_RDONLY, get_body, &get);
        if (!err)
                err = get.result;
        if (value_len && (!err || err == -ERANGE))
                *value_len = get.value_len;
        return err;
}

/* ---- as a kind of tree ---- */

static int make(struct xac_arena *arena, const struct catalog_record *record)
{
        struct cobtree tree;
        cobtree_init(arena, record, NULL, NULL, &tree);
        return cobindex_create(&tree.index);
}

static struct xac_tree *begin(struct xac_arena *arena, const struct catalog_record *record, xac_tree_compare compare,
                              void *compare_arg, void *tree_)
{
        struct cobtree *tree = tree_;
        cobtree_init(arena, record, compare, compare_arg, tree);
        return &tree->handle;
}

static const struct bpnode_shape *shape(const void *tree)
{
        return &((const struct cobtree *)tree)->index.shape;
}

const struct tree_kind cobtree_kind = { .number = XAC_TREE_COBTREE,
                                        .flag = CATALOG_COBTREE,
                                        .tree_bytes = sizeof(struct cobtree),
                                        .make = make,
                                        .begin = begin,
                                        .shape = shape,
                                        .ways = &cobtree_ways,
                                        .put = cobtree_put,
                                        .get = cobtree_get,
                                        .delete = cobtree_delete,
                                        .scan = cobtree_scan,
                                        .scan_runs = cobtree_scan_runs,
                                        .load = cobtree_load,
                                        .stat = cobtree_stat };
