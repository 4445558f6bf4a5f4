/* SPDX-License-Identifier: MIT */
#include "trees/cobtree.h"

#include <string.h>

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

/* Where runs are shown, memory delivers about so much while a segment is visited. */
enum { REACH_BYTES = 8 * 4096, REACH_MAX = REACH_BYTES / 4096 };

/* A segment that it comes to: its place in the extent, and what arena_read has said, if it was asked already. */
struct coming {
        unsigned i; /* PMA_PLACES: there is none */
        const struct bpnode *leaf;
};

static struct coming coming_behind(const struct pma_map *map, unsigned i)
{
        return (struct coming){ i + 1 < PMA_PLACES ? pma_next(map, i + 1) : PMA_PLACES, NULL };
}

/* How many segments ahead it asks: the more it has seen, so that short scans do not ask for what they do not need. */
static unsigned reach_of(const struct scan *scan)
{
        if (scan->is_last || !scan->seen)
                return 0;
        if (!scan->visitor.visit_run)
                return 1;
        const unsigned most = 1 + (REACH_BYTES - 1) / scan->tree->index.shape.page_bytes;
        return 2 * (scan->seen - 1) < most ? 2 * (scan->seen - 1) : most;
}

static void fetch(const struct bpnode_shape *shape, const struct coming *coming, const struct bpnode *leaf)
{
        if (!leaf_follows(shape, coming[-1].leaf, coming->leaf))
                leaf_fetch(shape, coming->leaf, leaf);
}

/* Asks early for segments that it will come to, unless the visitor ends the scan, and has them fetched. */
static int look_ahead(const struct scan *scan, page_no first, struct coming *coming)
{
        const struct cobindex *index = &scan->tree->index;
        const unsigned reach = reach_of(scan);
        for (unsigned i = 1; i <= reach && coming[i].i != PMA_PLACES; i++) {
                if (coming[i].leaf)
                        continue;
                coming[i].leaf = arena_read(index->arena, first + coming[i].i);
                if (!coming[i].leaf)
                        return ARENA_LOST;
                if (scan->visitor.visit_run)
                        fetch(&index->shape, &coming[i], coming[0].leaf);
                else
                        __builtin_prefetch(coming[i].leaf); /* leaf_scan does the rest, when it sees how much there is */
        }
        return 0;
}

/* The first of those that are coming. */
static int scan_segment(struct scan *scan, page_no first, struct coming *coming)
{
        const struct cobtree *tree = scan->tree;
        const struct bpnode_shape *shape = &tree->index.shape;
        unsigned i = 0, end;
        bool is_equal;
        int err = 0;
        if (!coming->leaf || !cobtree_is_segment(tree, coming->leaf))
                err = cobtree_read(tree, first + coming->i, &coming->leaf);
        if (err)
                return err;
        const struct bpnode *leaf = coming->leaf;
        if (!scan->seen && scan->from)
                i = bpnode_find(shape, leaf, *scan->from, &is_equal);
        scan->is_last = leaf_find_end(shape, leaf, scan->to, &end);
        err = look_ahead(scan, first, coming);
        if (err)
                return err;
        scan->seen++;
        scan->result = leaf_scan(shape, leaf, i, end, scan->is_last ? NULL : coming[1].leaf, &scan->visitor);
        if (scan->visitor.visit_run && coming[1].leaf && leaf_follows(shape, leaf, coming[1].leaf))
                leaf_fetch_gap(shape, leaf);
        return 0;
}

/* From a place of an extent on. */
static int scan_extent(struct scan *scan, struct cobindex_place place, const struct pma_map *map)
{
        struct coming coming[REACH_MAX + 1] = { { pma_next(map, place.i), NULL } };
        for (unsigned i = 0; i < REACH_MAX; i++)
                coming[i + 1] = coming_behind(map, coming[i].i);
        place.i = 0;
        const page_no first = cobtree_page(scan->tree, place);
        int err = 0;
        while (!err && coming[0].i < scan->tree->index.segments && !scan->result && !scan->is_last) {
                err = scan_segment(scan, first, coming);
                memmove(&coming[0], &coming[1], sizeof(coming) - sizeof(coming[0]));
                coming[REACH_MAX] = coming_behind(map, coming[REACH_MAX - 1].i);
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
