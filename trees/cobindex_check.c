/* SPDX-License-Identifier: MIT */
#include "trees/cobindex.h"

#include "trees/cobindex_extent.h"
#include "trees/cobindex_top.h"

struct walk {
        const struct cobindex *index;
        int (*visit)(void *arg, page_no page);
        void *arg;
        const char *fault;
        page_no page;          /* where that is */
        struct separator last; /* the one before what is looked at */
        bool has_last;
        bool has_segment;
};

static int fail(struct walk *walk, page_no page, const char *fault)
{
        walk->fault = fault;
        walk->page = page;
        return XAC_CORRUPT;
}

/* The next separator in the order of keys. */
static int follow(struct walk *walk, page_no page, const unsigned char *node)
{
        if (!separator_is_sound(walk->index, node))
                return fail(walk, page, "a separator that is none");
        if (walk->has_last && !separator_may_precede(walk->index, walk->last.bytes, node))
                return fail(walk, page, "separators out of order");
        separator_copy(walk->index, walk->last.bytes, node);
        walk->has_last = true;
        return 0;
}

/* ---- extents ---- */

/* The nodes from one gap to another are all like that. */
static int expect(struct walk *walk, struct extent *extent, unsigned gap, unsigned last, const unsigned char *expected)
{
        const unsigned char *node;
        int err = 0;
        for (; !err && gap <= last; gap++) {
                err = extent_node(extent, veb_gap_table[gap], &node);
                if (!err && !separator_is_equal(walk->index, node, expected))
                        err = fail(walk, extent->group * GROUP_PAGES + 1,
                                   "the separator before an empty segment is wrong");
        }
        return err;
}

static int check_nodes(struct walk *walk, struct extent *extent)
{
        const struct pma_map *used = extent_used(extent);
        const unsigned segments = walk->index->segments, first = pma_next(used, 0);
        const unsigned char *node;
        unsigned gap = 1;
        int err = 0;
        for (unsigned i = pma_next(used, first + 1); !err && i < segments; i = pma_next(used, i + 1)) {
                err = extent_node(extent, veb_gap_table[i], &node);
                if (!err)
                        err = follow(walk, extent->group * GROUP_PAGES + 1, node);
                if (!err)
                        err = expect(walk, extent, gap, i - 1, node);
                gap = i + 1;
        }
        return err ? err : expect(walk, extent, gap, VEB_TABLE_NODES - 1, separator_none.bytes);
}

/* The index pages, until all that is read is known to be there. */
static int visit_pages(struct walk *walk, uint32_t group)
{
        int err = 0;
        for (unsigned i = 0; !err && i < walk->index->index_pages; i++)
                err = walk->visit(walk->arg, group * GROUP_PAGES + 1 + i);
        return err;
}

/* The separator before an extent that is not empty, nor the first. */
static int check_first(struct walk *walk, const unsigned char *before)
{
        struct separator least;
        separator_make_least(walk->index, &least);
        if (!walk->has_segment && !separator_is_equal(walk->index, before, least.bytes))
                return fail(walk, walk->index->root, "the separator before the first segment is wrong");
        return follow(walk, walk->index->root, before);
}

static int check_extent(struct walk *walk, const struct top *top, uint32_t number)
{
        const page_no root = walk->index->root;
        struct extent extent;
        struct separator before = separator_none, next = separator_none;
        uint32_t group;
        int err = top_group(top, number, &group);
        if (!err)
                err = page_group_reach(walk->index->arena, group);
        if (err)
                return err == XAC_CORRUPT ? fail(walk, root, "an extent that cannot be") : err;
        err = visit_pages(walk, group);
        if (!err)
                err = extent_open(walk->index, group, &extent);
        if (!err && number)
                err = top_separator(top, number, &before);
        if (!err && number + 1 < top->extents)
                err = top_separator(top, number + 1, &next);
        if (err)
                return err == XAC_CORRUPT && !walk->fault ? fail(walk, group * GROUP_PAGES + 1, "no index page") : err;
        if (number && pma_next(extent_used(&extent), 0) < PMA_PLACES)
                err = check_first(walk, before.bytes);
        else if (number && !separator_is_equal(walk->index, before.bytes, next.bytes))
                err = fail(walk, root, "the separator before an empty extent is wrong");
        walk->has_segment |= pma_next(extent_used(&extent), 0) < PMA_PLACES;
        if (!err)
                err = check_nodes(walk, &extent);
        return err == XAC_CORRUPT && !walk->fault ? fail(walk, group * GROUP_PAGES + 1, "no index page") : err;
}

/* ---- the top ---- */

static int check_top_pages(struct walk *walk, const struct top *top)
{
        int err = 0;
        for (uint32_t i = 0; !err && i < top->root->top_pages; i++) {
                page_no number = top->root->top[i];
                err = page_alloc_reach(walk->index->arena, number);
                if (err == XAC_CORRUPT)
                        fail(walk, walk->index->root, "a top page that cannot be");
                if (!err)
                        err = walk->visit(walk->arg, number);
                if (err)
                        return err;
                const struct cobindex_page *page = arena_read(walk->index->arena, number);
                if (!page)
                        return ARENA_LOST;
                if (!cobindex_page_is(walk->index, page, COBINDEX_TOP))
                        err = fail(walk, number, "no top page");
        }
        return err;
}

/* Behind the last extent (C4). */
static int check_top_end(struct walk *walk, const struct top *top)
{
        struct separator separator;
        int err = 0;
        for (uint32_t gap = top->extents; !err && gap < 1U << top->height; gap++) {
                err = top_separator(top, gap, &separator);
                if (!err && !separator_is_equal(walk->index, separator.bytes, separator_none.bytes))
                        err = fail(walk, walk->index->root, "a separator behind the last extent");
        }
        return err;
}

static int walk_all(struct walk *walk)
{
        struct top top;
        int err = walk->visit(walk->arg, walk->index->root);
        if (err)
                return err;
        err = top_open(walk->index, &top);
        if (err)
                return err == ARENA_LOST ? err : fail(walk, walk->index->root, "no root of this tree");
        if (!top_is_sound(&top))
                return fail(walk, walk->index->root, "too many top pages, or too few");
        err = check_top_pages(walk, &top);
        if (!err)
                err = check_top_end(walk, &top);
        for (uint32_t i = 0; !err && i < top.extents; i++)
                err = check_extent(walk, &top, i);
        return err;
}

int cobindex_walk(const struct cobindex *index, int (*visit)(void *arg, page_no page), void *arg, const char **fault,
                  page_no *page)
{
        struct walk walk = { .index = index, .visit = visit, .arg = arg };
        int err = page_alloc_reach(index->arena, index->root);
        if (err == XAC_CORRUPT)
                fail(&walk, index->root, "a root that cannot be");
        if (!err)
                err = walk_all(&walk);
        *fault = walk.fault;
        *page = walk.page;
        return err;
}

/* ---- bounds ---- */

/* As the node has it. */
static void show(const struct cobindex *index, const unsigned char *node, struct cobindex_bound *bound)
{
        if (index->shape.compare)
                return;
        bound->key.bytes = bound->bytes;
        if (index->shape.is_fixed) {
                const uint64_t number = ~separator_number(node);
                for (unsigned i = 0; i < BPNODE_FIXED_KEY; i++)
                        bound->bytes[i] = (unsigned char)(number >> (56 - 8 * i));
                bound->key.len = BPNODE_FIXED_KEY;
                return;
        }
        memcpy(bound->bytes, node + 1, SEPARATOR_KEPT);
        bound->key.len = node[0] & ~(unsigned)SEPARATOR_CUT;
        if (bound->key.len > SEPARATOR_KEPT)
                bound->key.len = SEPARATOR_KEPT;
        bound->is_cut = node[0] & SEPARATOR_CUT;
}

int cobindex_bound(const struct cobindex *index, struct cobindex_place place, struct cobindex_bound *bound)
{
        struct extent extent;
        struct top top;
        struct separator separator;
        const unsigned char *node = separator.bytes;
        *bound = (struct cobindex_bound){ .is_cut = index->shape.compare };
        int err = extent_open(index, place.group, &extent);
        if (err)
                return err;
        if (pma_next(extent_used(&extent), 0) < place.i) {
                err = extent_node(&extent, veb_gap_table[place.i % VEB_TABLE_NODES], &node);
        } else {
                err = top_open(index, &top);
                if (!err && (!place.extent || place.extent >= top.extents))
                        return 0;
                if (!err)
                        err = top_separator(&top, place.extent, &separator);
        }
        if (!err)
                show(index, node, bound);
        return err;
}
