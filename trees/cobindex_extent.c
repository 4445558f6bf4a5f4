/* SPDX-License-Identifier: MIT */
#include "trees/cobindex_extent.h"

enum { HEIGHT = VEB_TABLE_HEIGHT };

/* Where nodes begin, so that none of them crosses the end of a page. */
static size_t nodes_begin(const struct cobindex *index, unsigned number)
{
        size_t header = number ? sizeof(struct cobindex_page) : sizeof(struct cobindex_first);
        return (header + index->node_bytes - 1) & ~(size_t)(index->node_bytes - 1);
}

/* ---- pages ---- */

static page_no page_of(const struct extent *extent, unsigned number)
{
        return extent->group * GROUP_PAGES + 1 + number;
}

static int page_read(struct extent *extent, unsigned number)
{
        const struct cobindex_page *page = arena_read(extent->index->arena, page_of(extent, number));
        if (!page)
                return ARENA_LOST;
        if (!cobindex_page_is(extent->index, page, number))
                return XAC_CORRUPT;
        extent->pages[number] = (const unsigned char *)page;
        return 0;
}

static int page_write(struct extent *extent, unsigned number, unsigned char **page)
{
        if (!extent->is_written[number]) {
                extent->pages[number] = arena_write(extent->index->arena, page_of(extent, number));
                extent->is_written[number] = true;
        }
        *page = (unsigned char *)extent->pages[number];
        return *page ? 0 : ARENA_LOST;
}

int extent_make(const struct cobindex *index, uint32_t group)
{
        for (unsigned i = 0; i < index->index_pages; i++) {
                struct cobindex_page *page = arena_write(index->arena, group * GROUP_PAGES + 1 + i);
                if (!page)
                        return ARENA_LOST;
                memset(page, 0, index->shape.page_bytes);
                *page = (struct cobindex_page){ PAGE_IS_INDEX, (uint8_t)i, 0, 0, index->shape.tree_id };
        }
        return 0;
}

int extent_drop(struct extent *extent)
{
        for (unsigned i = 0; i < extent->index->index_pages; i++) {
                unsigned char *page;
                if (page_write(extent, i, &page))
                        return ARENA_LOST;
                *page = PAGE_FRESH;
        }
        return page_group_free(extent->index->arena, extent->group);
}

/* ---- nodes ---- */

struct node_place {
        unsigned page;
        size_t offset;
};

static inline struct node_place node_place_of(const struct cobindex *index, unsigned place)
{
        if (place < index->first_nodes)
                return (struct node_place){ 0, nodes_begin(index, 0) + (size_t)place * index->node_bytes };
        place -= index->first_nodes;
        return (struct node_place){ 1 + place / index->page_nodes,
                                    nodes_begin(index, 1) + (size_t)(place % index->page_nodes) * index->node_bytes };
}

static inline int node_at(struct extent *extent, unsigned place, const unsigned char **node)
{
        struct node_place at = node_place_of(extent->index, place);
        if (!extent->pages[at.page]) {
                int err = page_read(extent, at.page);
                if (err)
                        return err;
        }
        *node = extent->pages[at.page] + at.offset;
        return 0;
}

int extent_node(struct extent *extent, unsigned place, const unsigned char **node)
{
        return node_at(extent, place, node);
}

/* Nothing is written that is so already. */
static int node_set(struct extent *extent, unsigned gap, const unsigned char *bytes)
{
        const struct cobindex *index = extent->index;
        const unsigned place = veb_gap_table[gap];
        const unsigned char *node;
        unsigned char *page;
        int err = node_at(extent, place, &node);
        if (err || separator_is_equal(index, node, bytes))
                return err;
        struct node_place at = node_place_of(index, place);
        err = page_write(extent, at.page, &page);
        if (!err)
                separator_copy(index, page + at.offset, bytes);
        return err;
}

/* ---- finding ---- */

int extent_first_key(const struct extent *extent, unsigned i, struct bpnode_key *key)
{
        const struct bpnode_shape *shape = &extent->index->shape;
        const struct bpnode *leaf = arena_read(extent->index->arena, extent_segment_page(extent, i));
        if (!leaf)
                return ARENA_LOST;
        if (!bpnode_is_of(shape, leaf, 0) || !leaf->count)
                return XAC_CORRUPT;
        *key = bpnode_key_at(shape, leaf, 0);
        size_t begin = (size_t)((const unsigned char *)key->bytes - (const unsigned char *)leaf);
        return begin + key->len <= shape->page_bytes ? 0 : XAC_CORRUPT;
}

/* The node does not say all: looks at the segment whose separator it has (C2), and to the left where there is none. */
static int look_behind(const struct extent *extent, unsigned gap, struct bpnode_key key, bool *is_right)
{
        const struct pma_map *used = extent_used(extent);
        struct bpnode_key first;
        unsigned i = pma_next(used, gap);
        if (i < PMA_PLACES && pma_previous(used, i - 1) == PMA_PLACES)
                i = pma_next(used, i + 1);
        *is_right = false;
        if (i >= extent->index->segments)
                return 0;
        int err = extent_first_key(extent, i, &first);
        if (!err)
                *is_right = bpnode_compare(&extent->index->shape, key, first) >= 0;
        return err;
}

static int find_variable(struct extent *extent, struct bpnode_key key, unsigned *place)
{
        const uint64_t head = separator_head(key);
        unsigned n = 1;
        for (unsigned level = 0; level < HEIGHT; level++) {
                const unsigned char *node;
                int err = node_at(extent, veb_table[VEB_TABLE_NODES + n], &node);
                if (err)
                        return err;
                int order = separator_compare(node, key, head);
                bool is_right = order > 0;
                if (!order)
                        err = look_behind(extent, (2 * (n - (1U << level)) + 1) << (HEIGHT - 1 - level), key,
                                          &is_right);
                if (err)
                        return err;
                n = 2 * n + is_right;
        }
        *place = n - VEB_TABLE_NODES;
        return 0;
}

/* The rest of the way, where a page ends in the middle of it. */
static int find_rest(struct extent *extent, uint64_t number, unsigned n, unsigned *place)
{
        while (n < VEB_TABLE_NODES) {
                const unsigned char *node;
                int err = node_at(extent, veb_table[VEB_TABLE_NODES + n], &node);
                if (err)
                        return err;
                n = 2 * n + (separator_number(node) >= number);
        }
        *place = n - VEB_TABLE_NODES;
        return 0;
}

/*
 * As the layout goes: the upper half, and then the bottom tree that it leads to, likewise cut in two. Each of the
 * three is searched by counting, which has no order, and so no step that waits for another:
 *
 *      | 15 nodes, 4 levels | tree 0: 3 nodes, 2 levels; 4 times 7 nodes, 3 levels | tree 1 ... | ... tree 15 |
 *
 * Among 6,000 segments whose index was in a cache a whole search took 38 ns so, and level by level 72 ns without
 * branches, 90 with branches.
 */
static int find_fixed(struct extent *extent, uint64_t number, unsigned *place)
{
        enum { UPPER = 15, TREE = 31, MIDDLE = 3, LOWER = 7 };
        const struct cobindex *index = extent->index;
        const unsigned char *nodes = extent->pages[0] + nodes_begin(index, 0);
        const unsigned tree = separator_count(nodes, UPPER, number);
        const unsigned tree_begin = UPPER + tree * TREE;
        const unsigned branch = separator_count(nodes + (size_t)tree_begin * BPNODE_FIXED_KEY, MIDDLE, number);
        const unsigned begin = tree_begin + MIDDLE + branch * LOWER;
        const unsigned found = tree * (MIDDLE + 1) + branch;
        if (begin + LOWER > index->first_nodes)
                return find_rest(extent, number, (UPPER + 1) * (MIDDLE + 1) + found, place);
        *place = found * (LOWER + 1) + separator_count(nodes + (size_t)begin * BPNODE_FIXED_KEY, LOWER, number);
        return 0;
}

int extent_find(struct extent *extent, struct bpnode_key key, unsigned *place)
{
        if (extent->index->shape.is_fixed)
                return find_fixed(extent, separator_number_of(key), place);
        return find_variable(extent, key, place);
}

/* ---- changing ---- */

int extent_set_used(struct extent *extent, unsigned i, bool is_used)
{
        unsigned char *page;
        int err = page_write(extent, 0, &page);
        if (err)
                return err;
        struct pma_map *used = &((struct cobindex_first *)page)->used;
        if (is_used)
                pma_set(used, i);
        else
                pma_clear(used, i);
        return 0;
}

int extent_set_turn(struct extent *extent, unsigned turn)
{
        unsigned char *page;
        int err = page_write(extent, 0, &page);
        if (!err)
                ((struct cobindex_page *)page)->turn = (uint8_t)turn;
        return err;
}

int extent_set_streak(struct extent *extent, unsigned streak)
{
        unsigned char *page;
        int err = page_write(extent, 0, &page);
        if (!err)
                ((struct cobindex_page *)page)->streak = (uint8_t)streak;
        return err;
}

int extent_separate(struct extent *extent, unsigned i, const struct separator *separator)
{
        const struct pma_map *used = extent_used(extent);
        const unsigned before = pma_previous(used, i - 1);
        int err = 0;
        for (unsigned gap = before == pma_next(used, 0) ? 1 : before + 1; !err && gap <= i; gap++)
                err = node_set(extent, gap, separator->bytes);
        return err;
}

int extent_load(struct extent *extent, struct draft *draft, unsigned begin, unsigned end)
{
        const unsigned segments = extent->index->segments;
        int err = 0;
        draft->begin = begin;
        draft->end = end;
        draft->used = *extent_used(extent);
        const unsigned behind = pma_next(&draft->used, end);
        unsigned i = pma_next(&draft->used, begin ? begin : 1); /* before the place 0 is no node */
        for (; !err && i < segments && i <= behind; i = pma_next(&draft->used, i + 1)) {
                const unsigned char *node;
                err = node_at(extent, veb_gap_table[i], &node);
                if (!err)
                        separator_copy(extent->index, draft->before[i].bytes, node);
        }
        return err;
}

/* From the last node that may change to the first: each has the separator of the next segment (C2). */
int extent_store(struct extent *extent, const struct draft *draft)
{
        const unsigned segments = extent->index->segments;
        const unsigned first = pma_next(&draft->used, 0), behind = pma_next(&draft->used, draft->end);
        const unsigned ahead = draft->begin ? pma_previous(&draft->used, draft->begin - 1) : PMA_PLACES;
        const unsigned low = ahead < PMA_PLACES && ahead != first ? ahead + 1 : 1;
        const struct separator *separator = behind < segments ? &draft->before[behind] : &separator_none;
        unsigned char *page;
        int err = page_write(extent, 0, &page);
        if (err)
                return err;
        ((struct cobindex_first *)page)->used = draft->used;
        for (unsigned gap = draft->end < segments ? draft->end : segments - 1; !err && gap >= low; gap--) {
                if (gap != first && gap < draft->end && pma_is_used(&draft->used, gap))
                        separator = &draft->before[gap];
                err = node_set(extent, gap, separator->bytes);
        }
        return err;
}

int extent_move(const struct extent *from, struct draft *from_draft, unsigned i, const struct extent *to,
                struct draft *to_draft, unsigned k)
{
        int err = arena_move(from->index->arena, extent_segment_page(to, k), extent_segment_page(from, i));
        if (err)
                return err;
        separator_copy(from->index, to_draft->before[k].bytes, from_draft->before[i].bytes);
        pma_clear(&from_draft->used, i);
        pma_set(&to_draft->used, k);
        return 0;
}
