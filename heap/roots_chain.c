/* SPDX-License-Identifier: MIT */
#include "heap/roots_chain.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "heap/objects.h"

const struct roots_page *chain_page_at(const struct xac_heap *heap, page_no page)
{
        if (page_alloc_reach(heap->arena, page))
                return NULL;
        const struct roots_page *roots = arena_read(heap->arena, page);
        return roots && roots->kind == PAGE_IS_ROOTS ? roots : NULL;
}

/* ---- a walk ---- */

/* A chain of pages, as it is followed. Who lies in a circle comes to the page again that was noted last, however many
 * pages the file has (R. Brent, 1980). */
struct chain {
        page_no noted;
        uint32_t pages, next; /* the next one that is noted */
};

static bool is_circle(struct chain *chain, page_no page)
{
        if (page == chain->noted)
                return true;
        if (++chain->pages >= chain->next) {
                chain->noted = page;
                chain->next = 2 * chain->pages;
        }
        return false;
}

/* All entries, also the free ones. */
static int walk_all(const struct xac_heap *heap, page_no page, chain_each each, void *arg)
{
        const struct roots_page *roots;
        struct chain chain = { PAGE_NONE, 0, 0 };
        for (; page != PAGE_NONE; page = roots->next) {
                roots = chain_page_at(heap, page);
                if (!roots || is_circle(&chain, page))
                        return XAC_CORRUPT;
                for (uint32_t i = 0; i < chain_per_page(heap); i++) {
                        int result = each(arg, (struct chain_spot){ page, i }, &roots->entry[i]);
                        if (result)
                                return result;
                        roots = arena_read(heap->arena, page); /* it may have written */
                }
        }
        return 0;
}

struct walk {
        chain_each each;
        void *arg;
};

static int if_taken(void *walk_, struct chain_spot spot, const struct root_entry *entry)
{
        const struct walk *walk = walk_;
        return entry->offset ? walk->each(walk->arg, spot, entry) : 0;
}

int chain_walk(const struct xac_heap *heap, chain_each each, void *arg)
{
        return walk_all(heap, PAGE_CATALOG, if_taken, &(struct walk){ each, arg });
}

/* ---- entries ---- */

struct search {
        const char *name;
        uint64_t offset;
        struct chain_spot found, last;
};

enum { FOUND = 1 };

static int has_name(void *search_, struct chain_spot spot, const struct root_entry *entry)
{
        struct search *search = search_;
        search->found = spot;
        return entry->offset && !strncmp(entry->name, search->name, sizeof(entry->name)) ? FOUND : 0;
}

static int has_offset(void *search_, struct chain_spot spot, const struct root_entry *entry)
{
        struct search *search = search_;
        search->found = spot;
        return entry->offset == search->offset ? FOUND : 0;
}

static int result_of(int err, const struct search *search, struct chain_spot *found)
{
        *found = search->found;
        return err == FOUND ? 0 : err ? err : -ENOENT;
}

int chain_find(const struct xac_heap *heap, const char *name, struct chain_spot *found)
{
        struct search search = { .name = name };
        return result_of(walk_all(heap, PAGE_CATALOG, has_name, &search), &search, found);
}

int chain_find_place(const struct xac_heap *heap, uint64_t offset, struct chain_spot *found)
{
        struct search search = { .offset = offset };
        return result_of(walk_all(heap, PAGE_CATALOG, has_offset, &search), &search, found);
}

const struct root_entry *chain_at(const struct xac_heap *heap, struct chain_spot spot)
{
        const struct roots_page *roots = arena_read(heap->arena, spot.page);
        return &roots->entry[spot.at];
}

static int make_page(struct xac_heap *heap, page_no page)
{
        struct roots_page *roots = arena_write(heap->arena, page);
        if (!roots)
                return ARENA_LOST;
        memset(roots, 0, heap->arena->page_bytes);
        roots->kind = PAGE_IS_ROOTS;
        return 0;
}

/* A page more, behind the last. */
static int append_page(struct xac_heap *heap, struct chain_spot *spot)
{
        page_no page;
        int err = page_alloc_take_many(heap->arena, &page, 1);
        if (!err)
                err = heap_label(heap, page, 1, LABEL_ROOTS, LABEL_NONE);
        if (!err)
                err = make_page(heap, page);
        struct roots_page *last = err ? NULL : arena_write(heap->arena, spot->page);
        if (!last)
                return err ? err : ARENA_LOST;
        last->next = page;
        *spot = (struct chain_spot){ page, 0 };
        return 0;
}

int chain_make_room(struct xac_heap *heap, struct chain_spot *spot)
{
        struct search search = { .offset = 0 };
        int err = result_of(walk_all(heap, PAGE_CATALOG, has_offset, &search), &search, spot);
        return err == -ENOENT ? append_page(heap, spot) : err;
}

int chain_write(struct xac_heap *heap, struct chain_spot spot, const struct root_entry *entry)
{
        struct roots_page *roots = arena_write(heap->arena, spot.page);
        if (!roots)
                return ARENA_LOST;
        roots->entry[spot.at] = *entry;
        return 0;
}

/* ---- conversion ---- */

/* What is not as it should be stays a chain: so xac_heap_check() tells of it. */
static bool may_be_added(const struct xac_heap *heap, const struct root_entry *entry)
{
        struct tree_spot spot;
        const uint64_t room = object_room(heap, entry->offset);
        return entry->name[0] && !entry->name[XAC_HEAP_NAME_MAX] && entry->size && entry->size <= room &&
               tree_find(heap, BY_NAME, tree_hash_name(entry->name), entry->name, &spot) == -ENOENT &&
               tree_find(heap, BY_PLACE, tree_hash_place(entry->offset), &entry->offset, &spot) == -ENOENT;
}

static int move_entry(void *heap, struct chain_spot spot, const struct root_entry *entry)
{
        (void)spot;
        return !entry->offset ? 0 : may_be_added(heap, entry) ? tree_add_root(heap, entry) : XAC_CORRUPT;
}

static int free_pages(struct xac_heap *heap, page_no page)
{
        for (int err = 0; page != PAGE_NONE;) {
                struct roots_page *roots = arena_write(heap->arena, page);
                if (!roots)
                        return ARENA_LOST;
                const page_no next = roots->next;
                roots->kind = PAGE_FRESH;
                err = heap_label(heap, page, 1, LABEL_NONE, LABEL_NONE);
                if (!err)
                        err = page_alloc_free(heap->arena, page);
                if (err)
                        return err;
                page = next;
        }
        return 0;
}

/* The first page, which becomes the top, is copied; the others are read where they are. */
static int convert(void *heap_)
{
        struct xac_heap *heap = heap_;
        const uint32_t page_bytes = heap->arena->page_bytes;
        struct roots_page *first = malloc(page_bytes);
        if (!first)
                return -ENOMEM;
        memcpy(first, arena_read(heap->arena, PAGE_CATALOG), page_bytes);
        int err = tree_make(heap, first->base);
        for (uint32_t i = 0; !err && i < chain_per_page(heap); i++)
                err = move_entry(heap, (struct chain_spot){ PAGE_CATALOG, i }, &first->entry[i]);
        if (!err)
                err = walk_all(heap, first->next, move_entry, heap);
        if (!err)
                err = free_pages(heap, first->next);
        free(first);
        return err;
}

int chain_convert(struct xac_heap *heap)
{
        return arena_run_once(heap->arena, 0, convert, heap);
}
