/* SPDX-License-Identifier: MIT */
#include "trees/cobtree.h"

#include "trees/bpnode_cells.h"
#include "trees/overflow.h"

/*
 * Sorted records, behind the last one: the last segment stays at hand and is filled to its end. The next one is the
 * place behind it, but every eighth place stays empty, for puts to come:
 *
 *      | full | full | full | full | full | full | full |      | full | ...
 *
 * The tree is a tree after each record.
 */

enum { LOAD_GAP = 8 };

struct load {
        struct cobtree *tree;
        int (*next)(void *arg, xac_tree_record *record);
        void *arg;
        struct cobindex_place place;
        struct bpnode *leaf; /* the last one, to be written; NULL: the tree is empty */
};

static int reach_end(struct load *load)
{
        int err = cobindex_last(&load->tree->index, &load->place);
        load->leaf = NULL;
        if (!err)
                err = cobtree_write(load->tree, cobtree_page(load->tree, load->place), &load->leaf);
        return err == -ENOENT ? 0 : err;
}

/* The shortest key that is greater than the last one and not than this. */
static struct bpnode_key separator_before(const struct load *load, struct bpnode_key key)
{
        const struct bpnode_shape *shape = &load->tree->index.shape;
        if (!shape->is_fixed && !shape->compare)
                key.len = bpnode_common(bpnode_key_at(shape, load->leaf, load->leaf->count - 1u), key) + 1;
        return key;
}

/* The first segment of another extent. */
static int begin_extent(struct load *load, struct bpnode_key separator)
{
        const struct cobindex *index = &load->tree->index;
        struct pma_map map;
        uint32_t extents;
        int err = cobindex_append_extent(index, separator);
        if (!err)
                err = cobindex_extents(index, &extents);
        if (err)
                return err;
        load->place = (struct cobindex_place){ .extent = extents - 1 };
        err = cobindex_extent(index, extents - 1, &load->place.group, &map);
        return err ? err : cobindex_append(index, load->place, separator);
}

/* A segment more, for the keys from this one on. */
static int next_place(struct load *load, struct bpnode_key key)
{
        const struct cobindex *index = &load->tree->index;
        struct cobindex_place *place = &load->place;
        if (!load->leaf)
                return cobindex_use_first(index, place);
        struct bpnode_key separator = separator_before(load, key);
        place->i += place->i % LOAD_GAP == LOAD_GAP - 2 ? 2 : 1;
        if (place->i < index->segments)
                return cobindex_append(index, *place, separator);
        return begin_extent(load, separator);
}

static int begin_segment(struct load *load, struct bpnode_key key)
{
        int err = next_place(load, key);
        if (err)
                return err;
        load->leaf = arena_write(load->tree->index.arena, cobtree_page(load->tree, load->place));
        if (!load->leaf)
                return ARENA_LOST;
        bpnode_init(&load->tree->index.shape, load->leaf, 0);
        return 0;
}

static int append(struct load *load, const xac_tree_record *given)
{
        const struct bpnode_shape *shape = &load->tree->index.shape;
        struct bpnode_overflow chain;
        struct bpnode_record record = { .key = { given->key, given->key_len },
                                        .value = given->value,
                                        .value_len = given->value_len };
        int err = leaf_store_value(load->tree->index.arena, shape, &record, &chain);
        if (err)
                return err;
        if (!load->leaf || leaf_bytes(shape, &record) > bpnode_room(shape, load->leaf))
                err = begin_segment(load, record.key);
        if (!err)
                bpnode_insert(shape, load->leaf, load->leaf->count, &record);
        else if (err != ARENA_LOST && record.is_overflow)
                overflow_free(load->tree->index.arena, shape->tree_id, chain);
        return err;
}

static int load_body(void *arg)
{
        struct load *load = arg;
        xac_tree_record record;
        int err = reach_end(load);
        while (!err) {
                record = (xac_tree_record){ 0 };
                int more = load->next(load->arg, &record);
                if (more <= 0)
                        return more;
                err = leaf_check_next(&load->tree->index.shape, load->leaf, &record);
                if (!err)
                        err = append(load, &record);
        }
        return err;
}

int cobtree_load(struct xac_tree *handle, int (*next)(void *arg, xac_tree_record *record), void *arg)
{
        struct cobtree *tree = handle->tree;
        struct load load = { .tree = tree, .next = next, .arg = arg };
        uint64_t txn = arena_txn(tree->index.arena);
        int err = tree_enter(&tree->handle);
        if (!err)
                err = tree_cursors_before_change(&tree->handle);
        if (!err)
                err = arena_run_once(tree->index.arena, 0, load_body, &load);
        tree_cursors_carry(&tree->handle, txn); /* the load was a level of its own */
        return err;
}
