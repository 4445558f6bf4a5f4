/* SPDX-License-Identifier: MIT */
#include "trees/cobindex_top.h"

#include "trees/cobindex_extent.h"

/* ---- reading ---- */

/* The number of the page that holds a byte of the array, and where in it. */
static int page_at(const struct top *top, size_t *offset, page_no *page)
{
        const size_t in_root = top_part_bytes(top->index, 0), in_page = top_part_bytes(top->index, 1);
        *page = top->index->root;
        if (*offset < in_root) {
                *offset += TOP_ROOT_BEGIN;
                return 0;
        }
        const size_t part = (*offset - in_root) / in_page;
        if (part >= top->root->top_pages)
                return XAC_CORRUPT;
        *offset = (*offset - in_root) % in_page + TOP_PAGE_BEGIN;
        *page = top->root->top[part];
        return page_alloc_reach(top->index->arena, *page);
}

int top_read_page(const struct top *top, size_t offset, const unsigned char **bytes)
{
        page_no page;
        int err = page_at(top, &offset, &page);
        if (err)
                return err;
        *bytes = arena_read(top->index->arena, page);
        if (!*bytes)
                return ARENA_LOST;
        if (!cobindex_page_is(top->index, (const struct cobindex_page *)*bytes, COBINDEX_TOP))
                return XAC_CORRUPT;
        *bytes += offset;
        return 0;
}

int top_separator(const struct top *top, uint32_t extent, struct separator *separator)
{
        const unsigned char *bytes;
        uint32_t node = veb_node_of_gap(top->height, extent);
        int err = top_read(top, top_node_offset(top->index, top->height, node), &bytes);
        if (!err)
                separator_copy(top->index, separator->bytes, bytes);
        return err;
}

/* The separator does not say all: looks at the first key of the extent whose separator it is (C2). */
static int look_behind(const struct top *top, uint32_t extent, struct bpnode_key key, bool *is_right)
{
        *is_right = false;
        for (; extent < top->extents; extent++) {
                struct extent found;
                struct bpnode_key first;
                int err = top_extent(top, extent, &found);
                if (err)
                        return err;
                unsigned i = pma_next(extent_used(&found), 0);
                if (i == PMA_PLACES)
                        continue;
                err = extent_first_key(&found, i, &first);
                if (!err)
                        *is_right = bpnode_compare(&top->index->shape, key, first) >= 0;
                return err;
        }
        return 0;
}

static int find_step(const struct top *top, struct bpnode_key key, unsigned level, uint32_t node, bool *is_right)
{
        const unsigned char *bytes;
        int err = top_read(top, top_node_offset(top->index, top->height, node), &bytes);
        if (err)
                return err;
        if (top->index->shape.is_fixed) {
                *is_right = separator_number(bytes) >= separator_number_of(key);
                return 0;
        }
        int order = separator_compare(bytes, key, separator_head(key));
        *is_right = order > 0;
        if (order)
                return 0;
        uint32_t gap = (2 * (node - (1U << level)) + 1) << (top->height - 1 - level);
        return look_behind(top, gap, key, is_right);
}

/* 8-byte keys, all nodes in the root page, as is usual: halves (veb.h) that are small are searched by counting. */
static uint32_t find_in_root(const unsigned char *nodes, unsigned height, uint64_t number)
{
        enum { SMALL = 4 };
        uint32_t found = 0;
        while (height > SMALL) {
                const unsigned above = height / 2, below = height - above;
                const uint32_t tree = find_in_root(nodes, above, number);
                nodes += (((size_t)1 << above) - 1 + tree * (((size_t)1 << below) - 1)) * BPNODE_FIXED_KEY;
                found += tree << below;
                height = below;
        }
        return found + separator_count(nodes, (1U << height) - 1, number);
}

static bool is_in_root(const struct top *top)
{
        return top_group_offset(top->index, top->height, 0) <= top_part_bytes(top->index, 0);
}

int top_find(const struct top *top, struct bpnode_key key, uint32_t *extent)
{
        uint32_t node = 1;
        unsigned level = 0;
        if (top->index->shape.is_fixed && is_in_root(top)) {
                const unsigned char *nodes = (const unsigned char *)top->root + TOP_ROOT_BEGIN;
                node = (1U << top->height) + find_in_root(nodes, top->height, separator_number_of(key));
                level = top->height;
        }
        for (; level < top->height; level++) {
                bool is_right;
                int err = find_step(top, key, level, node, &is_right);
                if (err)
                        return err;
                node = 2 * node + is_right;
        }
        *extent = node - (1U << top->height);
        if (*extent >= top->extents)
                *extent = top->extents - 1; /* behind the last one are zeros */
        return 0;
}

/* ---- changing a separator ---- */

static int node_write(struct top *top, uint32_t extent, const struct separator *separator)
{
        size_t offset = top_node_offset(top->index, top->height, veb_node_of_gap(top->height, extent));
        struct separator before;
        int err = top_separator(top, extent, &before);
        if (err || separator_is_equal(top->index, before.bytes, separator->bytes))
                return err;
        page_no number;
        err = page_at(top, &offset, &number);
        if (err)
                return err;
        unsigned char *page = arena_write(top->index->arena, number);
        if (!page)
                return ARENA_LOST;
        if (number == top->index->root)
                top->root = (const struct cobindex_root *)page;
        separator_copy(top->index, page + offset, separator->bytes);
        return 0;
}

static int is_empty(const struct top *top, uint32_t extent, bool *result)
{
        struct extent found;
        int err = top_extent(top, extent, &found);
        if (!err)
                *result = pma_next(extent_used(&found), 0) == PMA_PLACES;
        return err;
}

int top_separate(struct top *top, uint32_t extent, const struct separator *separator)
{
        bool before_is_empty = true;
        int err = 0;
        for (; !err && extent && before_is_empty; extent--) {
                err = node_write(top, extent, separator);
                if (!err && extent > 1)
                        err = is_empty(top, extent - 1, &before_is_empty);
        }
        return err;
}
