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

/* A segment that it comes to: its place in the extent, and what arena_read has said, if it was asked already. */
struct coming {
        unsigned i; /* PMA_PLACES: there is none */
        const struct bpnode *leaf;
};

static struct coming coming_behind(const struct pma_map *map, unsigned i)
{
        return (struct coming){ i + 1 < PMA_PLACES ? pma_next(map, i + 1) : PMA_PLACES, NULL };
}

/* Asks early for a segment that it will come to, unless the visitor ends the scan: after so many others, so that
 * short scans do not ask for what they do not need. Its header says how many records are to be fetched, and is on its
 * way then. */
static int look_ahead(const struct scan *scan, page_no first, struct coming *coming, unsigned after)
{
        if (coming->leaf || coming->i == PMA_PLACES || scan->is_last || scan->seen < after)
                return 0;
        coming->leaf = arena_read(scan->tree->index.arena, first + coming->i);
        if (!coming->leaf)
                return ARENA_LOST;
        __builtin_prefetch(coming->leaf);
        return 0;
}

/* What is fetched while the first of these is visited: the next one; where that is over soon, as runs are, the next
 * but one. */
static const struct bpnode *fetched(const struct scan *scan, const struct coming *coming)
{
        if (scan->is_last)
                return NULL;
        return scan->visitor.visit_run && coming[2].leaf ? coming[2].leaf : coming[1].leaf;
}

/* The first of those that are coming. */
static int scan_segment(struct scan *scan, page_no first, struct coming *coming)
{
        enum { NEXT_AFTER = 1, NEXT_BUT_ONE_AFTER = 3 };
        const struct cobtree *tree = scan->tree;
        const struct bpnode_shape *shape = &tree->index.shape;
        const struct bpnode *leaf = coming[0].leaf;
        unsigned i = 0, end;
        bool is_equal;
        int err = leaf && cobtree_is_segment(tree, leaf) ? 0 : cobtree_read(tree, first + coming[0].i, &leaf);
        if (err)
                return err;
        if (!scan->seen && scan->from)
                i = bpnode_find(shape, leaf, *scan->from, &is_equal);
        scan->is_last = leaf_find_end(shape, leaf, scan->to, &end);
        err = look_ahead(scan, first, &coming[1], NEXT_AFTER);
        if (!err)
                err = look_ahead(scan, first, &coming[2], NEXT_BUT_ONE_AFTER);
        if (err)
                return err;
        scan->seen++;
        scan->result = leaf_scan(shape, leaf, i, end, fetched(scan, coming), &scan->visitor);
        return 0;
}

/* From a place of an extent on. */
static int scan_extent(struct scan *scan, struct cobindex_place place, const struct pma_map *map)
{
        struct coming coming[3] = { { pma_next(map, place.i), NULL } };
        coming[1] = coming_behind(map, coming[0].i);
        coming[2] = coming_behind(map, coming[1].i);
        place.i = 0;
        const page_no first = cobtree_page(scan->tree, place);
        int err = 0;
        while (!err && coming[0].i < scan->tree->index.segments && !scan->result && !scan->is_last) {
                err = scan_segment(scan, first, coming);
                coming[0] = coming[1];
                coming[1] = coming[2];
                coming[2] = coming_behind(map, coming[1].i);
        }
        return err;
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
        return err ? handle_settle(&scan->result, err) : 0;
}

static int scan_tree(cobtree *tree, struct bpnode_key from, struct bpnode_key to, const struct leaf_visitor *visitor)
{
        const struct bpnode_shape *shape = &tree->index.shape;
        struct scan scan = { .tree = tree,
                             .from = from.bytes ? &from : NULL,
                             .to = to.bytes ? &to : NULL,
                             .visitor = *visitor };
        if ((from.bytes && !leaf_takes_key(shape, from.len)) || (to.bytes && !leaf_takes_key(shape, to.len)))
                return -EINVAL;
        int err = handle_enter(&tree->handle);
        if (!err)
                err = arena_run(tree->index.arena, XAC_RDONLY, scan_body, &scan);
        return err ? err : scan.result;
}

int cobtree_scan(cobtree *tree, const void *from, size_t from_len, const void *to, size_t to_len,
                 int (*visit)(void *arg, const bptree_record *record), void *arg)
{
        const struct leaf_visitor visitor = { .visit = visit, .arg = arg };
        return scan_tree(tree, (struct bpnode_key){ from, from_len }, (struct bpnode_key){ to, to_len }, &visitor);
}

int cobtree_scan_runs(cobtree *tree, const void *from, size_t from_len, const void *to, size_t to_len,
                      int (*visit)(void *arg, const void *records, size_t count), void *arg)
{
        const struct leaf_visitor visitor = { .visit_run = visit, .arg = arg };
        if (!tree->index.shape.is_fixed)
                return -EINVAL;
        return scan_tree(tree, (struct bpnode_key){ from, from_len }, (struct bpnode_key){ to, to_len }, &visitor);
}
