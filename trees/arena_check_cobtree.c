/* SPDX-License-Identifier: MIT */
#include "trees/arena_check.h"

#include "trees/cobtree.h"

struct check_segments {
        const struct check_tree *of;
        struct cobtree tree;
        struct bpnode_key last; /* of the segments so far; NULL bytes: they have none */
};

static int fail(const struct check_segments *segments, page_no page, const char *what)
{
        return check_fail(segments->of->check, page, segments->of->name, what);
}

/* The index, which the walk finds sound before anything else is asked of it. */
static int reach_index_page(void *tree_, page_no page)
{
        const struct check_tree *tree = tree_;
        return check_reach(tree->check, page, tree->name);
}

/* C1: a search for the key ends here. */
static int check_way(const struct check_segments *segments, struct cobindex_place place, struct bpnode_key key)
{
        const struct cobtree *tree = &segments->tree;
        struct cobindex_place found;
        bool is_used;
        int err = cobindex_find(&tree->index, key, &found, &is_used);
        if (err == ARENA_LOST)
                return err;
        if (err || !is_used || found.extent != place.extent || found.i != place.i)
                return fail(segments, cobtree_page(tree, place), "the index leads elsewhere for a key of this segment");
        return 0;
}

static int check_used(struct check_segments *segments, struct cobindex_place place)
{
        const struct bpnode_shape *shape = &segments->tree.index.shape;
        const page_no page = cobtree_page(&segments->tree, place);
        const struct bpnode_key none = { NULL, 0 };
        const struct bpnode *leaf = arena_read(segments->tree.index.arena, page);
        if (!leaf)
                return ARENA_LOST;
        const char *fault = bpnode_fault(shape, leaf, 0, none, none);
        if (!fault && !leaf->count)
                fault = "a segment that is used, and empty";
        if (fault)
                return fail(segments, page, fault);
        struct bpnode_key first = bpnode_key_at(shape, leaf, 0);
        if (segments->last.bytes && bpnode_compare(shape, segments->last, first) >= 0)
                return fail(segments, page, "a key that is not greater than those of the segment before");
        segments->last = bpnode_key_at(shape, leaf, leaf->count - 1u);
        int err = segments->of->is_ordered ? check_way(segments, place, first) : 0;
        if (!err && segments->of->is_ordered)
                err = check_way(segments, place, segments->last);
        return err ? err : check_leaf(segments->of, shape, page, leaf);
}

static int check_extent(struct check_segments *segments, uint32_t extent)
{
        const struct cobtree *tree = &segments->tree;
        struct cobindex_place place = { .extent = extent };
        struct pma_map map;
        int err = cobindex_extent(&tree->index, extent, &place.group, &map);
        for (place.i = 0; !err && place.i < tree->index.segments; place.i++) {
                const page_no page = cobtree_page(tree, place);
                err = check_reach(segments->of->check, page, segments->of->name);
                if (!err && pma_is_used(&map, place.i)) /* what is in the others means nothing (C3) */
                        err = check_used(segments, place);
        }
        return err;
}

int check_cobtree(const struct check_tree *tree)
{
        struct check_segments segments = { .of = tree };
        const char *fault = "its index is damaged";
        page_no page = tree->record.root;
        uint32_t extents;
        cobtree_init(tree->check->arena, &tree->record, tree->compare, tree->compare_arg, &segments.tree);
        int err = cobindex_walk(&segments.tree.index, reach_index_page, (void *)tree, &fault, &page);
        if (!err)
                err = cobindex_extents(&segments.tree.index, &extents);
        for (uint32_t extent = 0; !err && extent < extents; extent++)
                err = check_extent(&segments, extent);
        if (err == XAC_CORRUPT || err == -ESTALE)
                return fail(&segments, page, fault);
        return err;
}
