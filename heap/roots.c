/* SPDX-License-Identifier: MIT */
#include "heap/roots.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "heap/objects.h"

int roots_make(struct xac_heap *heap, const void *base)
{
        return tree_make(heap, (uintptr_t)base);
}

int roots_check_place(struct xac_heap *heap)
{
        const struct roots_top *top = tree_top(heap);
        const struct roots_page *chain = top ? NULL : chain_page_at(heap, PAGE_CATALOG);
        heap->was_chained = chain != NULL;
        if (!top && !chain)
                return XAC_CORRUPT;
        const uint64_t base = top ? top->base : chain->base;
        return base && base != (uintptr_t)heap->arena->base ? -EADDRNOTAVAIL : 0;
}

/* ---- entries ---- */

/* Where an entry stands: in a tree, or in a chain. */
struct spot {
        struct tree_spot tree;
        struct chain_spot chain;
        bool is_chained;
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
        if (!entry->offset || !is_inside(heap, entry))
                return XAC_CORRUPT;
        memcpy(root->name, entry->name, sizeof(root->name));
        root->name[XAC_HEAP_NAME_MAX] = 0;
        root->object = xac_heap_address(heap, entry->offset);
        root->size = entry->size;
        root->tag = entry->tag;
        memset(root->reserved, 0, sizeof(root->reserved));
        return 0;
}

static const struct root_entry *entry_at(const struct xac_heap *heap, const struct spot *spot)
{
        return spot->is_chained ? chain_at(heap, spot->chain) : tree_at(heap, &spot->tree);
}

static int find(const struct xac_heap *heap, const char *name, struct spot *spot)
{
        spot->is_chained = heap->was_chained && chain_is_there(heap);
        if (spot->is_chained)
                return chain_find(heap, name, &spot->chain);
        return tree_find(heap, BY_NAME, tree_hash_name(name), name, &spot->tree);
}

static int find_place(const struct xac_heap *heap, uint64_t offset, struct spot *spot)
{
        struct tree_spot place;
        spot->is_chained = heap->was_chained && chain_is_there(heap);
        if (spot->is_chained)
                return offset ? chain_find_place(heap, offset, &spot->chain) : -ENOENT;
        int err = tree_find(heap, BY_PLACE, tree_hash_place(offset), &offset, &place);
        if (err)
                return err;
        const struct place_entry *entry = tree_at(heap, &place);
        err = tree_find_both(heap, entry->name_hash, offset, &spot->tree);
        return err == -ENOENT ? XAC_CORRUPT : err;
}

bool roots_have(struct xac_heap *heap, const void *object)
{
        struct spot spot;
        return find_place(heap, xac_heap_offset(heap, object), &spot) == 0;
}

void roots_shorten(struct xac_heap *heap)
{
        const struct roots_page *first = heap->listing ? NULL : chain_page_at(heap, PAGE_CATALOG);
        if (first && first->next != PAGE_NONE)
                (void)chain_convert(heap);
}

/* ---- find ---- */

struct wish {
        struct xac_heap *heap;
        const char *name;
        const void *object;
        size_t size;
        uint64_t tag;
        xac_heap_root *root;
};

static int find_body(void *wish_)
{
        struct wish *wish = wish_;
        struct spot spot;
        int err = find(wish->heap, wish->name, &spot);
        return err ? err : describe(wish->heap, entry_at(wish->heap, &spot), wish->root);
}

int xac_heap_root_find(xac_heap *heap, const char *name, xac_heap_root *root)
{
        if (!heap || !name || !root)
                return -EINVAL;
        return arena_run(heap->arena, XAC_RDONLY, find_body,
                         &(struct wish){ .heap = heap, .name = name, .root = root });
}

static int find_place_body(void *wish_)
{
        struct wish *wish = wish_;
        struct spot spot;
        int err = find_place(wish->heap, xac_heap_offset(wish->heap, wish->object), &spot);
        return err ? err : describe(wish->heap, entry_at(wish->heap, &spot), wish->root);
}

int xac_heap_root_of(xac_heap *heap, const void *object, xac_heap_root *root)
{
        if (!heap || !object || !root)
                return -EINVAL;
        return arena_run(heap->arena, XAC_RDONLY, find_place_body,
                         &(struct wish){ .heap = heap, .object = object, .root = root });
}

/* ---- create ---- */

/* The entry of a new object. */
static int add(struct xac_heap *heap, bool is_chained, const struct root_entry *entry)
{
        struct chain_spot spot;
        if (!is_chained)
                return tree_add_root(heap, entry);
        int err = chain_make_room(heap, &spot);
        return err ? err : chain_write(heap, spot, entry);
}

/* A failure leaves nothing of it in a transaction that goes on. An older heap that cannot be converted, or is just
 * being listed, goes on as it is. */
static int create_new(const struct wish *wish, bool is_chained)
{
        struct xac_heap *heap = wish->heap;
        struct root_entry entry = { .size = wish->size, .tag = wish->tag };
        int err = 0;
        if (is_chained && !heap->listing)
                is_chained = chain_convert(heap) != 0;
        void *object = object_take(heap, wish->size, &err);
        if (!object)
                return err;
        object_zero(object, wish->size);
        entry.offset = xac_heap_offset(heap, object);
        memcpy(entry.name, wish->name, strlen(wish->name));
        err = add(heap, is_chained, &entry);
        if (err)
                object_give_back(heap, object, true);
        return err ? err : describe(heap, &entry, wish->root);
}

static int create_body(void *wish_)
{
        struct wish *wish = wish_;
        struct spot spot;
        int err = find(wish->heap, wish->name, &spot);
        if (err == -ENOENT)
                return create_new(wish, spot.is_chained);
        if (!err)
                err = describe(wish->heap, entry_at(wish->heap, &spot), wish->root);
        return err ? err : -EEXIST;
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

/* ---- remove ---- */

static int remove_from_trees(struct xac_heap *heap, const struct tree_spot *spot, const xac_heap_root *root)
{
        struct tree_spot place;
        const uint64_t offset = xac_heap_offset(heap, root->object);
        int err = tree_find(heap, BY_PLACE, tree_hash_place(offset), &offset, &place);
        if (err)
                return err == -ENOENT ? XAC_CORRUPT : err;
        (void)object_size(heap, root->object); /* ends the program if it is none: nothing is changed yet */
        err = object_mark(heap, root->object, false);
        if (!err)
                err = tree_remove(heap, &place);
        return err ? err : tree_remove(heap, spot);
}

static int remove_body(void *wish_)
{
        struct wish *wish = wish_;
        struct spot spot;
        xac_heap_root root;
        int err = find(wish->heap, wish->name, &spot);
        if (!err)
                err = describe(wish->heap, entry_at(wish->heap, &spot), &root);
        if (!err)
                err = spot.is_chained ? chain_write(wish->heap, spot.chain, &(struct root_entry){ .offset = 0 })
                                      : remove_from_trees(wish->heap, &spot.tree, &root);
        if (!err)
                object_give_back(wish->heap, root.object, true);
        return err;
}

int xac_heap_root_remove(xac_heap *heap, const char *name)
{
        if (!heap || !name)
                return -EINVAL;
        return arena_run(heap->arena, 0, remove_body, &(struct wish){ .heap = heap, .name = name });
}

/* ---- list ---- */

struct list {
        struct xac_heap *heap;
        int (*each)(void *arg, const xac_heap_root *root);
        void *arg;
        struct tree_bucket *bucket; /* a copy: a call may create and remove roots */
};

static int list_entry(const struct list *list, const struct root_entry *entry)
{
        xac_heap_root root;
        int err = describe(list->heap, entry, &root);
        return err ? err : list->each(list->arg, &root);
}

static int list_chained(void *list, struct chain_spot spot, const struct root_entry *entry)
{
        (void)spot;
        return list_entry(list, entry);
}

/* Whether it is still there. */
static bool is_there(const struct xac_heap *heap, const struct root_entry *entry)
{
        struct tree_spot spot;
        return tree_find_both(heap, tree_hash_name(entry->name), entry->offset, &spot) == 0;
}

static int list_bucket(const struct list *list)
{
        int result = 0;
        for (uint32_t i = 0; !result && i < list->bucket->is.count; i++) {
                const struct root_entry *entry = tree_entry(list->heap, list->bucket, i);
                if (!i || is_there(list->heap, entry))
                        result = list_entry(list, entry);
        }
        return result;
}

/* Bucket after bucket in the order of hashes, whatever the calls do to the tree: each begins where the one before ended
 * when it was copied. */
static int list_tree(const struct list *list)
{
        for (uint64_t hash = 0;;) {
                struct tree_spot spot;
                int err = tree_descend(list->heap, BY_NAME, hash, &spot);
                if (err)
                        return err == -ENOENT ? 0 : err;
                memcpy(list->bucket, arena_read(list->heap->arena, spot.bucket), list->heap->arena->page_bytes);
                const struct tree_page is = list->bucket->is;
                err = list_bucket(list);
                const uint64_t width = is.depth ? UINT64_C(1) << (HASH_BITS - is.depth) : 0;
                hash = is.prefix + width;
                if (err || !hash)
                        return err;
        }
}

static int list_body(void *list_)
{
        struct list *list = list_;
        struct xac_heap *heap = list->heap;
        int result;
        if (heap->was_chained && chain_is_there(heap)) {
                heap->listing++;
                result = chain_walk(heap, list_chained, list);
                heap->listing--;
                return result;
        }
        list->bucket = malloc(heap->arena->page_bytes);
        if (!list->bucket)
                return -ENOMEM;
        result = list_tree(list);
        free(list->bucket);
        return result;
}

int xac_heap_root_list(xac_heap *heap, int (*each)(void *arg, const xac_heap_root *root), void *arg)
{
        if (!heap || !each)
                return -EINVAL;
        return arena_run(heap->arena, XAC_RDONLY, list_body, &(struct list){ .heap = heap, .each = each, .arg = arg });
}
