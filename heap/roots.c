/* SPDX-License-Identifier: MIT */
#include "heap/roots.h"

#include <errno.h>
#include <string.h>

#include "heap/objects.h"

/* ---- pages ---- */

const struct roots_page *roots_page_at(const struct xac_heap *heap, page_no page)
{
        if (page_alloc_reach(heap->arena, page))
                return NULL;
        const struct roots_page *roots = arena_read(heap->arena, page);
        return roots && roots->kind == PAGE_IS_ROOTS ? roots : NULL;
}

static int make_page(struct xac_heap *heap, page_no page, const void *base)
{
        struct roots_page *roots = arena_write(heap->arena, page);
        if (!roots)
                return ARENA_LOST;
        memset(roots, 0, heap->arena->page_bytes);
        roots->kind = PAGE_IS_ROOTS;
        roots->base = (uintptr_t)base;
        return 0;
}

int roots_make(struct xac_heap *heap, const void *base)
{
        return make_page(heap, PAGE_CATALOG, base);
}

int roots_check_place(struct xac_heap *heap)
{
        const struct roots_page *roots = roots_page_at(heap, PAGE_CATALOG);
        if (!roots)
                return XAC_CORRUPT;
        return roots->base && roots->base != (uintptr_t)heap->arena->base ? -EADDRNOTAVAIL : 0;
}

/* ---- entries ---- */

/* Where an entry stands. */
struct spot {
        page_no page;
        uint32_t at;
};

/* Whether its object, first to last byte, is where the heap is. */
static bool is_inside(const struct xac_heap *heap, const struct root_entry *entry)
{
        const uint64_t last = entry->offset + entry->size - 1, number = last >> heap->arena->page_shift;
        return last >= entry->offset && number < UINT32_MAX && !page_alloc_reach(heap->arena, (page_no)number);
}

/* XAC_CORRUPT: nothing can be there. */
static int describe(const struct xac_heap *heap, const struct root_entry *entry, xac_heap_root *root)
{
        if (!is_inside(heap, entry))
                return XAC_CORRUPT;
        memcpy(root->name, entry->name, sizeof(root->name));
        root->name[XAC_HEAP_NAME_MAX] = 0;
        root->object = xac_heap_address(heap, entry->offset);
        root->size = entry->size;
        root->tag = entry->tag;
        return 0;
}

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

/* -ENOENT: then `free` is a free entry, or the last page. */
static int find(const struct xac_heap *heap, const char *name, struct spot *found, struct spot *free)
{
        const struct roots_page *roots;
        struct chain chain = { PAGE_NONE, 0, 0 };
        *free = (struct spot){ PAGE_NONE, UINT32_MAX };
        for (page_no page = PAGE_CATALOG; page != PAGE_NONE; page = roots->next) {
                roots = roots_page_at(heap, page);
                if (!roots || is_circle(&chain, page))
                        return XAC_CORRUPT;
                for (uint32_t i = 0; i < roots_per_page(heap); i++) {
                        const struct root_entry *entry = &roots->entry[i];
                        if (!entry->offset && free->at == UINT32_MAX)
                                *free = (struct spot){ page, i };
                        if (entry->offset && !strncmp(entry->name, name, sizeof(entry->name))) {
                                *found = (struct spot){ page, i };
                                return 0;
                        }
                }
                if (free->at == UINT32_MAX)
                        free->page = page;
        }
        return -ENOENT;
}

static const struct root_entry *entry_at(const struct xac_heap *heap, struct spot spot)
{
        const struct roots_page *roots = arena_read(heap->arena, spot.page);
        return &roots->entry[spot.at];
}

/* A page more, behind the last. */
static int append_page(struct xac_heap *heap, struct spot *spot)
{
        page_no page;
        int err = page_alloc_take_many(heap->arena, &page, 1);
        if (!err)
                err = heap_label(heap, page, 1, LABEL_ROOTS, LABEL_NONE);
        if (!err)
                err = make_page(heap, page, NULL);
        struct roots_page *last = err ? NULL : arena_write(heap->arena, spot->page);
        if (!last)
                return err ? err : ARENA_LOST;
        last->next = page;
        *spot = (struct spot){ page, 0 };
        return 0;
}

static int write_entry(struct xac_heap *heap, struct spot spot, const struct root_entry *entry)
{
        struct roots_page *roots = arena_write(heap->arena, spot.page);
        if (!roots)
                return ARENA_LOST;
        roots->entry[spot.at] = *entry;
        return 0;
}

/* ---- calls ---- */

struct wish {
        struct xac_heap *heap;
        const char *name;
        size_t size;
        uint64_t tag;
        xac_heap_root *root;
        int (*each)(void *arg, const xac_heap_root *root);
        void *arg;
};

static int find_body(void *wish_)
{
        struct wish *wish = wish_;
        struct spot found, free;
        int err = find(wish->heap, wish->name, &found, &free);
        return err ? err : describe(wish->heap, entry_at(wish->heap, found), wish->root);
}

int xac_heap_root_find(xac_heap *heap, const char *name, xac_heap_root *root)
{
        if (!heap || !name || !root)
                return -EINVAL;
        return arena_run(heap->arena, XAC_RDONLY, find_body,
                         &(struct wish){ .heap = heap, .name = name, .root = root });
}

/* What can fail comes first: nothing half done is left in a transaction that goes on. */
static int create_body(void *wish_)
{
        struct wish *wish = wish_;
        struct xac_heap *heap = wish->heap;
        struct spot spot, free;
        int err = find(heap, wish->name, &spot, &free);
        if (!err) {
                err = describe(heap, entry_at(heap, spot), wish->root);
                return err ? err : -EEXIST;
        }
        if (err == -ENOENT)
                err = free.at == UINT32_MAX ? append_page(heap, &free) : 0;
        void *object = err ? NULL : object_take(heap, wish->size, &err);
        if (!object)
                return err;
        object_zero(object, wish->size);
        struct root_entry entry = { .offset = xac_heap_offset(heap, object), .size = wish->size, .tag = wish->tag };
        memcpy(entry.name, wish->name, strlen(wish->name));
        err = write_entry(heap, free, &entry);
        return err ? err : describe(heap, &entry, wish->root);
}

static bool is_name(const char *name)
{
        return name && *name && strnlen(name, XAC_HEAP_NAME_MAX + 1) <= XAC_HEAP_NAME_MAX;
}

int xac_heap_root_create(xac_heap *heap, const char *name, size_t size, uint64_t tag, xac_heap_root *root)
{
        if (!heap || !root || !size || !is_name(name))
                return -EINVAL;
        return arena_run(heap->arena, 0, create_body,
                         &(struct wish){ .heap = heap, .name = name, .size = size, .tag = tag, .root = root });
}

static int remove_body(void *wish_)
{
        struct wish *wish = wish_;
        struct spot spot, free;
        int err = find(wish->heap, wish->name, &spot, &free);
        xac_heap_root root;
        if (!err)
                err = describe(wish->heap, entry_at(wish->heap, spot), &root);
        if (err)
                return err;
        object_give_back(wish->heap, root.object);
        return write_entry(wish->heap, spot, &(struct root_entry){ .offset = 0 });
}

int xac_heap_root_remove(xac_heap *heap, const char *name)
{
        if (!heap || !name)
                return -EINVAL;
        return arena_run(heap->arena, 0, remove_body, &(struct wish){ .heap = heap, .name = name });
}

static int list_body(void *wish_)
{
        struct wish *wish = wish_;
        const struct roots_page *roots;
        struct chain chain = { PAGE_NONE, 0, 0 };
        int result = 0;
        for (page_no page = PAGE_CATALOG; !result && page != PAGE_NONE; page = roots->next) {
                roots = roots_page_at(wish->heap, page);
                if (!roots || is_circle(&chain, page))
                        return XAC_CORRUPT;
                for (uint32_t i = 0; !result && i < roots_per_page(wish->heap); i++) {
                        xac_heap_root root;
                        if (!roots->entry[i].offset)
                                continue;
                        result = describe(wish->heap, &roots->entry[i], &root);
                        if (!result)
                                result = wish->each(wish->arg, &root);
                        roots = roots_page_at(wish->heap, page); /* it may have written */
                }
        }
        return result;
}

int xac_heap_root_list(xac_heap *heap, int (*each)(void *arg, const xac_heap_root *root), void *arg)
{
        if (!heap || !each)
                return -EINVAL;
        return arena_run(heap->arena, XAC_RDONLY, list_body, &(struct wish){ .heap = heap, .each = each, .arg = arg });
}
