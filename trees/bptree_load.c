/* SPDX-License-Identifier: MIT */
#include "trees/bptree.h"

/*
 * Sorted records, at the right edge: the last leaf stays at hand and is filled to its end. The next one is made by
 * an ordinary split at the very end, which leaves the left node as full as it is (bpnode_split_leaf), so that the
 * tree is a tree after each record. Pages are taken many at a time, the more, the longer it takes; what is left of
 * them in the end is given back.
 */

enum { SPARE_MAX = 32 };

struct load {
        struct bptree *tree;
        int (*next)(void *arg, xac_tree_record *record);
        void *arg;
        struct bptree_path path;
        struct bpnode *leaf; /* the last one, to be written */
        uint32_t spare;      /* pages that are taken beyond those that are needed */
        struct page_reserve reserve;
};

static int reach_end(struct load *load)
{
        int err = bptree_path_last(load->tree, &load->path);
        if (err)
                return err;
        struct leaf_place *at = bptree_path_leaf(&load->path);
        load->leaf = arena_write(load->tree->arena, at->page);
        if (!load->leaf)
                return ARENA_LOST;
        at->node = load->leaf;
        at->i = load->leaf->count;
        return 0;
}

/* After a split: the new leaf is the parent's last child, unless the parent was split as well. */
static int reach_next(struct load *load)
{
        struct bptree_path *path = &load->path;
        struct leaf_place *parent = &path->steps[path->depth - 1];
        struct leaf_place *at = bptree_path_leaf(path);
        int err = bptree_node(load->tree, parent->page, 1, &parent->node);
        if (err)
                return err;
        if (parent->i + 2 != parent->node->count)
                return reach_end(load);
        err = bptree_child(load->tree, parent->node, ++parent->i, &at->page);
        if (!err)
                err = bptree_write_node(load->tree, at->page, 0, &load->leaf);
        if (err)
                return err;
        at->node = load->leaf;
        at->i = load->leaf->count;
        return 0;
}

/* A record for which the last leaf has no room, but a fresh one has. */
static int begin_leaf(struct load *load, const struct bpnode_record *record)
{
        int err = bptree_split_reserve(load->tree, &load->path, load->spare, &load->reserve);
        if (err)
                return err;
        if (load->spare < SPARE_MAX)
                load->spare++;
        err = bptree_split(load->tree, &load->path, record, &load->reserve);
        return err ? err : reach_next(load);
}

static int append(struct load *load, const xac_tree_record *given)
{
        const struct bpnode_shape *shape = &load->tree->shape;
        struct leaf_place *at = bptree_path_leaf(&load->path);
        struct bpnode_record record = { .key = { given->key, given->key_len },
                                        .value = given->value,
                                        .value_len = given->value_len };
        if (bpnode_is_inline(shape, record.key.len, record.value_len)) {
                if (leaf_bytes(shape, &record) > bpnode_room(shape, load->leaf))
                        return begin_leaf(load, &record);
                bpnode_insert(shape, load->leaf, at->i++, &record);
                return 0;
        }
        int err = bptree_store(load->tree, &load->path, false, record.key, record.value, record.value_len);
        return err ? err : reach_end(load);
}

static int load_all(struct load *load)
{
        xac_tree_record record;
        int err = reach_end(load);
        while (!err) {
                record = (xac_tree_record){ 0 };
                int more = load->next(load->arg, &record);
                if (more <= 0)
                        return more;
                err = leaf_check_next(&load->tree->shape, load->leaf, &record);
                if (!err)
                        err = append(load, &record);
        }
        return err;
}

static int load_body(void *arg)
{
        struct load *load = arg;
        int err = load_all(load);
        int release_err = page_alloc_release(load->tree->arena, &load->reserve);
        return release_err ? release_err : err;
}

int bptree_load(struct xac_tree *handle, int (*next)(void *arg, xac_tree_record *record), void *arg)
{
        struct bptree *tree = handle->tree;
        struct load load = { .tree = tree, .next = next, .arg = arg };
        uint64_t txn = arena_txn(tree->arena);
        int err = tree_enter(&tree->handle);
        if (!err)
                err = tree_cursors_before_change(&tree->handle);
        if (!err)
                err = arena_run_once(tree->arena, 0, load_body, &load);
        tree_cursors_carry(&tree->handle, txn); /* the load was a level of its own */
        return err;
}
