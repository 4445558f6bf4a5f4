/* SPDX-License-Identifier: MIT */
#include "trees/bptree.h"

/*
 * Sorted records, at the right edge: the last leaf stays at hand and is filled to its end. The next one is made by
 * an ordinary split at the very end, which leaves the left node as full as it is (bpnode_split_leaf), so that the
 * tree is a tree after each record.
 */

struct load {
        struct bptree *tree;
        int (*next)(void *arg, bptree_record *record);
        void *arg;
        struct bptree_path path;
        struct bpnode *leaf; /* the last one, to be written */
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

static int append(struct load *load, const bptree_record *given)
{
        const struct bpnode_shape *shape = &load->tree->shape;
        struct leaf_place *at = bptree_path_leaf(&load->path);
        struct bpnode_record record = { .key = { given->key, given->key_len },
                                        .value = given->value,
                                        .value_len = given->value_len };
        if (bpnode_is_inline(shape, record.key.len, record.value_len) &&
            bpnode_leaf_bytes(shape, record.key.len, record.value_len) <= bpnode_room(shape, load->leaf)) {
                bpnode_insert(shape, load->leaf, at->i++, &record);
                return 0;
        }
        int err = bptree_store(load->tree, &load->path, false, record.key, record.value, record.value_len);
        return err ? err : reach_end(load);
}

static int load_body(void *arg)
{
        struct load *load = arg;
        bptree_record record;
        int err = leaf_cursors_before_change(&load->tree->handle);
        if (!err)
                err = reach_end(load);
        while (!err) {
                record = (bptree_record){ 0 };
                int more = load->next(load->arg, &record);
                if (more <= 0)
                        return more;
                err = leaf_check_next(&load->tree->shape, load->leaf, &record);
                if (!err)
                        err = append(load, &record);
        }
        return err;
}

int bptree_load(bptree *tree, int (*next)(void *arg, bptree_record *record), void *arg)
{
        struct load load = { .tree = tree, .next = next, .arg = arg };
        uint64_t txn = arena_txn(tree->arena);
        int err = handle_enter(&tree->handle);
        if (!err)
                err = arena_run_once(tree->arena, 0, load_body, &load);
        leaf_cursors_carry(&tree->handle, txn); /* it was a level of its own */
        return err;
}
