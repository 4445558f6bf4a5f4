/* SPDX-License-Identifier: MIT */
#include "trees/cobtree.h"

/* Goes through the segments as they lie: which places of an extent are used, its index says once. */

struct scan {
        const struct cobtree *tree;
        const struct bpnode_key *from; /* NULL: the first */
        const struct bpnode_key *to;   /* NULL: to the last */
        struct leaf_visitor visitor;
        unsigned seen; /* segments so far */
        bool is_last;  /* there is nothing behind this segment that is asked for */
        int result;
};

/* `next`: the one behind it, if it is known by now. */
static int scan_segment(struct scan *scan, const struct bpnode *leaf, unsigned end, const struct bpnode *next)
{
        const struct bpnode_shape *shape = &scan->tree->index.shape;
        unsigned i = 0;
        bool is_equal;
        if (!scan->seen && scan->from)
                i = bpnode_find(shape, leaf, *scan->from, &is_equal);
        scan->seen++;
        return leaf_scan(shape, leaf, i, end, next, &scan->visitor);
}

/* From a place of an extent on. The segment behind is asked for before its turn, so that it can be fetched meanwhile
 * (and is not looked into, as that would have to be waited for); not yet from the first one: short scans do not come
 * there. */
static int scan_extent(struct scan *scan, struct cobindex_place place, const struct pma_map *map)
{
        const struct cobindex *index = &scan->tree->index;
        const struct bpnode *leaf = NULL, *next;
        unsigned i = pma_next(map, place.i), behind, end;
        place.i = 0;
        const page_no first = cobtree_page(scan->tree, place);
        for (; i < index->segments && !scan->result && !scan->is_last; i = behind, leaf = next) {
                if (!leaf)
                        leaf = arena_read(index->arena, first + i);
                if (!leaf)
                        return ARENA_LOST;
                if (!cobtree_is_segment(scan->tree, leaf))
                        return XAC_CORRUPT;
                scan->is_last = leaf_find_end(&index->shape, leaf, scan->to, &end);
                behind = pma_next(map, i + 1);
                next = NULL;
                if (scan->seen && !scan->is_last && behind < index->segments) {
                        next = arena_read(index->arena, first + behind);
                        if (!next)
                                return ARENA_LOST;
                }
                scan->result = scan_segment(scan, leaf, end, next);
        }
        return 0;
}

static int find_first(const struct scan *scan, struct cobindex_place *place)
{
        bool is_used;
        if (!scan->from)
                return cobindex_first(&scan->tree->index, place);
        int err = cobindex_find(&scan->tree->index, *scan->from, place, &is_used);
        return err ? err : is_used ? 0 : -ENOENT;
}

static int scan_extents(struct scan *scan)
{
        const struct cobindex *index = &scan->tree->index;
        struct cobindex_place place;
        struct pma_map map;
        uint32_t extents = 0;
        int err = find_first(scan, &place);
        if (!err)
                err = cobindex_extents(index, &extents);
        while (!err && place.extent < extents && !scan->result && !scan->is_last) {
                err = cobindex_extent(index, place.extent, &place.group, &map);
                if (!err)
                        err = scan_extent(scan, place, &map);
                place.extent++;
                place.i = 0;
        }
        return err == -ENOENT ? 0 : err;
}

static int scan_body(void *arg)
{
        struct scan *scan = arg;
        scan->seen = 0;
        scan->is_last = false;
        scan->result = 0;
        int err = scan_extents(scan);
        return err ? tree_settle(&scan->result, err) : 0;
}

static int scan_tree(struct cobtree *tree, struct bpnode_key from, struct bpnode_key to,
                     const struct leaf_visitor *visitor)
{
        const struct bpnode_shape *shape = &tree->index.shape;
        struct scan scan = {
                .tree = tree, .from = from.bytes ? &from : NULL, .to = to.bytes ? &to : NULL, .visitor = *visitor
        };
        if ((from.bytes && !leaf_takes_key(shape, from.len)) || (to.bytes && !leaf_takes_key(shape, to.len)))
                return -EINVAL;
        int err = tree_enter(&tree->handle);
        if (!err)
                err = arena_run(tree->index.arena, XAC_RDONLY, scan_body, &scan);
        return err ? err : scan.result;
}

int cobtree_scan(struct xac_tree *handle, const void *from, size_t from_len, const void *to, size_t to_len,
                 int (*visit)(void *arg, const xac_tree_record *record), void *arg)
{
        struct cobtree *tree = handle->tree;
        const struct leaf_visitor visitor = { .visit = visit, .arg = arg };
        return scan_tree(tree, (struct bpnode_key){ from, from_len }, (struct bpnode_key){ to, to_len }, &visitor);
}

int cobtree_scan_runs(struct xac_tree *handle, const void *from, size_t from_len, const void *to, size_t to_len,
                      int (*visit)(void *arg, const void *records, size_t count), void *arg)
{
        struct cobtree *tree = handle->tree;
        const struct leaf_visitor visitor = { .visit_run = visit, .arg = arg };
        if (!tree->index.shape.is_fixed)
                return -EINVAL;
        return scan_tree(tree, (struct bpnode_key){ from, from_len }, (struct bpnode_key){ to, to_len }, &visitor);
}
