/* SPDX-License-Identifier: MIT */
#include "trees/cobindex_top.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

/*
 * Another number of extents: all that stands in the top is read, changed, and written as the layout for that number
 * wants it.
 */

/* What the top knows of an extent. */
struct entry {
        uint32_t group;
        struct separator before;
};

static int entries_read(const struct top *top, struct entry *entries)
{
        int err = 0;
        for (uint32_t i = 0; !err && i < top->extents; i++) {
                err = top_group(top, i, &entries[i].group);
                if (!err && i)
                        err = top_separator(top, i, &entries[i].before);
        }
        return err;
}

/* The array, as it is to be. NULL: no memory. */
static unsigned char *array_make(const struct cobindex *index, const struct entry *entries, uint32_t extents,
                                 size_t *bytes)
{
        const unsigned height = top_height(extents);
        assert(extents);
        unsigned char *array = calloc(1, *bytes = top_group_offset(index, height, extents));
        if (!array)
                return NULL;
        for (uint32_t i = 0; i < extents; i++) {
                memcpy(array + top_group_offset(index, height, i), &entries[i].group, sizeof(entries[i].group));
                if (i)
                        separator_copy(index, array + top_node_offset(index, height, veb_node_of_gap(height, i)),
                                       entries[i].before.bytes);
        }
        return array;
}

/* A top page that is new, or is to be changed. */
static int part_write(const struct cobindex *index, page_no number, const unsigned char *part, size_t bytes)
{
        const struct cobindex_page header = { PAGE_IS_INDEX, COBINDEX_TOP, 0, 0, index->shape.tree_id };
        const unsigned char *before = arena_read(index->arena, number);
        if (!before)
                return ARENA_LOST;
        if (!memcmp(before, &header, sizeof(header)) && !memcmp(before + TOP_PAGE_BEGIN, part, bytes))
                return 0;
        unsigned char *page = arena_write(index->arena, number);
        if (!page)
                return ARENA_LOST;
        memcpy(page, &header, sizeof(header));
        memcpy(page + TOP_PAGE_BEGIN, part, bytes);
        return 0;
}

/* Pages that are not needed any more: written to, as whoever read them must notice. */
static int pages_free(const struct cobindex *index, const page_no *pages, uint32_t count)
{
        int err = 0;
        for (uint32_t i = 0; !err && i < count; i++) {
                unsigned char *page = arena_write(index->arena, pages[i]);
                if (!page)
                        return ARENA_LOST;
                *page = PAGE_FRESH;
                err = page_alloc_free(index->arena, pages[i]);
        }
        return err;
}

/* Everything that can fail for want of room or memory has been done. */
static int array_write(struct top *top, const unsigned char *array, size_t bytes, const page_no *pages, uint32_t count)
{
        const struct cobindex *index = top->index;
        const size_t in_root = top_part_bytes(index, 0), in_page = top_part_bytes(index, 1);
        struct cobindex_root *root = arena_write(index->arena, index->root);
        if (!root)
                return ARENA_LOST;
        memcpy((unsigned char *)root + TOP_ROOT_BEGIN, array, bytes < in_root ? bytes : in_root);
        root->extents = top->extents;
        root->top_pages = count;
        memset(root->top, 0, sizeof(root->top));
        memcpy(root->top, pages, count * sizeof(*pages));
        top->root = root;
        int err = 0;
        for (uint32_t i = 0; !err && i < count; i++) {
                const size_t begin = in_root + i * in_page;
                err = part_write(index, pages[i], array + begin, bytes - begin < in_page ? bytes - begin : in_page);
        }
        return err;
}

static int entries_write(struct top *top, const struct entry *entries, uint32_t extents)
{
        const struct cobindex *index = top->index;
        const uint32_t before = top->root->top_pages;
        const uint32_t needed = top_pages_needed(index, extents);
        page_no pages[COBINDEX_TOP_PAGES_MAX];
        size_t bytes;
        if (needed > COBINDEX_TOP_PAGES_MAX || extents > COBINDEX_EXTENTS_MAX)
                return -ENOSPC;
        unsigned char *array = array_make(index, entries, extents, &bytes);
        if (!array)
                return -ENOMEM;
        memcpy(pages, top->root->top, before * sizeof(*pages));
        int err = needed > before ? page_alloc_take_many(index->arena, pages + before, needed - before) : 0;
        if (!err) {
                top->extents = extents;
                top->height = top_height(extents);
                err = array_write(top, array, bytes, pages, needed);
        }
        free(array);
        return err || needed >= before ? err : pages_free(index, pages + needed, before - needed);
}

static int with_entries(struct top *top, uint32_t extent, const struct entry *added)
{
        struct entry *entries = malloc((top->extents + 1) * sizeof(*entries));
        if (!entries)
                return -ENOMEM;
        int err = entries_read(top, entries);
        const size_t behind = top->extents - extent;
        if (!err && added) {
                memmove(entries + extent + 1, entries + extent, behind * sizeof(*entries));
                entries[extent] = *added;
                if (!extent)
                        entries[1].before = added->before;
                err = entries_write(top, entries, top->extents + 1);
        } else if (!err) {
                memmove(entries + extent, entries + extent + 1, (behind - 1) * sizeof(*entries));
                err = entries_write(top, entries, top->extents - 1);
        }
        free(entries);
        return err;
}

int top_insert(struct top *top, uint32_t extent, const struct separator *separator)
{
        struct xac_arena *arena = top->index->arena;
        struct entry entry = { 0, *separator };
        int err = page_group_take(arena, &entry.group);
        if (err)
                return err;
        err = with_entries(top, extent, &entry);
        if (!err)
                return extent_make(top->index, entry.group);
        if (err == ARENA_LOST)
                return err;
        int bad = page_group_free(arena, entry.group);
        return bad ? bad : err;
}

int top_remove(struct top *top, uint32_t extent)
{
        return with_entries(top, extent, NULL);
}

/* ---- whole tops ---- */

int top_make(const struct cobindex *index, uint32_t group)
{
        struct cobindex_root *root = arena_write(index->arena, index->root);
        if (!root)
                return ARENA_LOST;
        memset(root, 0, index->shape.page_bytes);
        root->kind = PAGE_IS_COBTREE;
        root->tree_id = index->shape.tree_id;
        root->extents = 1;
        memcpy((unsigned char *)root + TOP_ROOT_BEGIN + top_group_offset(index, 0, 0), &group, sizeof(group));
        return 0;
}

int top_drop(const struct top *top)
{
        const struct cobindex *index = top->index;
        int err = pages_free(index, top->root->top, top->root->top_pages);
        return err ? err : pages_free(index, &index->root, 1);
}
