/* SPDX-License-Identifier: MIT */
#include "heap/roots_tree.h"

#include <errno.h>
#include <string.h>

#include "heap/objects.h"

/* ---- hashes ---- */

/* The end of splitmix64 (G. Steele et al., OOPSLA 2014): no two values become one. */
static uint64_t mix(uint64_t value)
{
        value = (value ^ value >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
        value = (value ^ value >> 27) * UINT64_C(0x94d049bb133111eb);
        return value ^ value >> 31;
}

/* FNV-1a (G. Fowler, L. Noll, P. Vo), mixed: its first bits alone are poor. */
uint64_t tree_hash_name(const char *name)
{
        uint64_t hash = UINT64_C(0xcbf29ce484222325);
        for (size_t i = 0; i <= XAC_HEAP_NAME_MAX && name[i]; i++)
                hash = (hash ^ (unsigned char)name[i]) * UINT64_C(0x100000001b3);
        return mix(hash);
}

uint64_t tree_hash_place(uint64_t offset)
{
        return mix(offset);
}

uint64_t tree_hash(enum tree tree, const void *entry)
{
        return tree == BY_NAME ? tree_hash_name(((const struct root_entry *)entry)->name)
                               : tree_hash_place(((const struct place_entry *)entry)->offset);
}

/* ---- buckets ---- */

enum { ENTRY_ALIGNMENT = 8 };

/* Bytes before the entries of a bucket that has room for so many. */
static size_t bytes_before(uint32_t room)
{
        const size_t tags = room * sizeof(uint16_t);
        return sizeof(struct tree_bucket) + (tags + ENTRY_ALIGNMENT - 1) / ENTRY_ALIGNMENT * ENTRY_ALIGNMENT;
}

uint32_t tree_room(const struct xac_heap *heap, enum tree tree)
{
        const uint32_t usable = heap->arena->page_bytes - (uint32_t)sizeof(struct tree_bucket) - ENTRY_ALIGNMENT;
        return tree == BY_NAME ? usable / (uint32_t)(sizeof(struct root_entry) + sizeof(uint16_t))
                               : usable / (uint32_t)(sizeof(struct place_entry) + sizeof(uint16_t));
}

void *tree_entry(const struct xac_heap *heap, struct tree_bucket *bucket, uint32_t at)
{
        const enum tree tree = bucket->is.tree;
        return (char *)bucket + bytes_before(tree_room(heap, tree)) + at * tree_entry_bytes(tree);
}

static const void *entry_at(const struct xac_heap *heap, const struct tree_bucket *bucket, uint32_t at)
{
        return tree_entry(heap, (struct tree_bucket *)(uintptr_t)bucket, at);
}

const void *tree_at(const struct xac_heap *heap, const struct tree_spot *spot)
{
        return entry_at(heap, arena_read(heap->arena, spot->bucket), spot->at);
}

/* ---- pages ---- */

const struct roots_top *tree_top(const struct xac_heap *heap)
{
        if (page_alloc_reach(heap->arena, PAGE_CATALOG))
                return NULL;
        const struct roots_top *top = arena_read(heap->arena, PAGE_CATALOG);
        return top && top->kind == PAGE_IS_ROOTS_TOP ? top : NULL;
}

int tree_make(struct xac_heap *heap, uint64_t base)
{
        struct roots_top *top = arena_write(heap->arena, PAGE_CATALOG);
        if (!top)
                return ARENA_LOST;
        memset(top, 0, heap->arena->page_bytes);
        top->kind = PAGE_IS_ROOTS_TOP;
        top->base = base;
        return 0;
}

const struct tree_page *tree_page_at(const struct xac_heap *heap, enum tree tree, page_no page)
{
        if (page < PAGES_FIXED || page_alloc_reach(heap->arena, page))
                return NULL;
        const struct tree_page *at = arena_read(heap->arena, page);
        if (!at || at->tree != tree || at->depth > DEPTH_MAX || (at->depth ? at->prefix << at->depth : at->prefix))
                return NULL;
        if (at->kind == PAGE_IS_ROOTS_NODE)
                return at->depth % NODE_BITS == 0 && at->depth + NODE_BITS <= DEPTH_MAX ? at : NULL;
        return at->kind == PAGE_IS_ROOTS_BUCKET && at->count <= tree_room(heap, tree) ? at : NULL;
}

/* One more page, written by nobody; its label says what it will be. */
static int take_page(struct xac_heap *heap, page_no *page)
{
        int err = page_alloc_take_many(heap->arena, page, 1);
        return err ? err : heap_label(heap, *page, 1, LABEL_ROOTS, LABEL_NONE);
}

static void *make_page(struct xac_heap *heap, page_no page, uint8_t kind, const struct tree_page *like)
{
        struct tree_page *made = arena_write(heap->arena, page);
        if (!made)
                return NULL;
        memset(made, 0, heap->arena->page_bytes);
        *made = *like;
        made->kind = kind;
        made->count = 0;
        return made;
}

/* ---- the way down ---- */

/* Q2: a bucket has at least the bits of the node above it, and no more than a node has; a node has just these. */
int tree_descend(const struct xac_heap *heap, enum tree tree, uint64_t hash, struct tree_spot *spot)
{
        const struct roots_top *top = tree_top(heap);
        unsigned least = 0, most = 0;
        if (!top)
                return XAC_CORRUPT;
        *spot = (struct tree_spot){ PAGE_NONE, top->tree[tree], 0 };
        if (spot->bucket == PAGE_NONE)
                return -ENOENT;
        for (;;) {
                const struct tree_page *at = tree_page_at(heap, tree, spot->bucket);
                if (!at || !tree_page_is_for(at, hash) || at->depth < least || at->depth > most)
                        return XAC_CORRUPT;
                if (at->kind == PAGE_IS_ROOTS_BUCKET)
                        return 0;
                if (at->depth != most)
                        return XAC_CORRUPT;
                least = most;
                most += NODE_BITS;
                spot->node = spot->bucket;
                spot->bucket = ((const struct tree_node *)at)->slot[tree_slot_of(at, hash)];
        }
}

static bool has_key(enum tree tree, const void *entry, const void *key)
{
        if (tree == BY_PLACE)
                return ((const struct place_entry *)entry)->offset == *(const uint64_t *)key;
        return !strncmp(((const struct root_entry *)entry)->name, key, XAC_HEAP_NAME_MAX + 1);
}

int tree_find(const struct xac_heap *heap, enum tree tree, uint64_t hash, const void *key, struct tree_spot *spot)
{
        int err = tree_descend(heap, tree, hash, spot);
        if (err)
                return err;
        const struct tree_bucket *bucket = arena_read(heap->arena, spot->bucket);
        for (spot->at = 0; spot->at < bucket->is.count; spot->at++)
                if (bucket->tag[spot->at] == (uint16_t)hash && has_key(tree, entry_at(heap, bucket, spot->at), key))
                        return 0;
        return -ENOENT;
}

int tree_find_both(const struct xac_heap *heap, uint64_t name_hash, uint64_t offset, struct tree_spot *spot)
{
        int err = tree_descend(heap, BY_NAME, name_hash, spot);
        if (err)
                return err;
        const struct tree_bucket *bucket = arena_read(heap->arena, spot->bucket);
        for (spot->at = 0; spot->at < bucket->is.count; spot->at++) {
                const struct root_entry *entry = entry_at(heap, bucket, spot->at);
                if (bucket->tag[spot->at] == (uint16_t)name_hash && entry->offset == offset)
                        return 0;
        }
        return -ENOENT;
}

/* ---- growth ---- */

/* Neighbouring slots above a bucket lead elsewhere: those for the hashes that begin as `prefix` does. */
static int lead_to(struct xac_heap *heap, enum tree tree, page_no above, const struct tree_page *below, page_no page)
{
        if (above == PAGE_NONE) {
                struct roots_top *top = arena_write(heap->arena, PAGE_CATALOG);
                if (!top)
                        return ARENA_LOST;
                top->tree[tree] = page;
                return 0;
        }
        struct tree_node *node = arena_write(heap->arena, above);
        if (!node)
                return ARENA_LOST;
        const uint32_t first = tree_slot_of(&node->is, below->prefix);
        const uint32_t count = NODE_SLOTS >> (below->depth - node->is.depth);
        for (uint32_t i = 0; i < count; i++)
                node->slot[first + i] = page;
        return 0;
}

static int make_first(struct xac_heap *heap, enum tree tree)
{
        const struct tree_page is = { .tree = (uint8_t)tree };
        page_no page;
        int err = take_page(heap, &page);
        if (!err)
                err = make_page(heap, page, PAGE_IS_ROOTS_BUCKET, &is) ? 0 : ARENA_LOST;
        return err ? err : lead_to(heap, tree, PAGE_NONE, &is, page);
}

/*  before  | ... | bucket |          after  | ... | node |    and  | bucket | bucket | ... | bucket |  */
static int put_node_above(struct xac_heap *heap, const struct tree_spot *spot, const struct tree_page *is)
{
        page_no page;
        int err = take_page(heap, &page);
        struct tree_node *node = err ? NULL : make_page(heap, page, PAGE_IS_ROOTS_NODE, is);
        if (!node)
                return err ? err : ARENA_LOST;
        for (uint32_t i = 0; i < NODE_SLOTS; i++)
                node->slot[i] = spot->bucket;
        return lead_to(heap, is->tree, spot->node, is, page);
}

static void append(const struct xac_heap *heap, struct tree_bucket *to, uint16_t tag, const void *entry)
{
        to->tag[to->is.count] = tag;
        memmove(tree_entry(heap, to, to->is.count), entry, tree_entry_bytes(to->is.tree));
        to->is.count++;
}

/* Entries whose next bit is 1 move. */
static void divide(const struct xac_heap *heap, struct tree_bucket *low, struct tree_bucket *high)
{
        const uint32_t count = low->is.count;
        low->is.count = 0;
        for (uint32_t i = 0; i < count; i++) {
                const void *entry = entry_at(heap, low, i);
                const bool is_high = tree_page_is_for(&high->is, tree_hash(low->is.tree, entry));
                append(heap, is_high ? high : low, low->tag[i], entry);
        }
}

/*  before  | bucket | bucket | bucket | bucket |    after  | bucket | bucket | new | new |  */
static int split(struct xac_heap *heap, const struct tree_spot *spot)
{
        page_no page;
        int err = take_page(heap, &page);
        struct tree_bucket *low = err ? NULL : arena_write(heap->arena, spot->bucket);
        if (!low)
                return err ? err : ARENA_LOST;
        low->is.depth++;
        struct tree_page is = low->is;
        is.prefix |= UINT64_C(1) << (HASH_BITS - is.depth);
        struct tree_bucket *high = make_page(heap, page, PAGE_IS_ROOTS_BUCKET, &is);
        if (!high)
                return ARENA_LOST;
        divide(heap, low, high);
        return lead_to(heap, is.tree, spot->node, &is, page);
}

/* Whether a bucket has all bits that the node above it can tell apart. */
static bool is_alone(const struct xac_heap *heap, const struct tree_spot *spot, const struct tree_page *is)
{
        if (spot->node == PAGE_NONE)
                return true;
        const struct tree_page *node = arena_read(heap->arena, spot->node);
        return is->depth == node->depth + NODE_BITS;
}

int tree_make_room(struct xac_heap *heap, enum tree tree, uint64_t hash)
{
        for (;;) {
                struct tree_spot spot;
                int err = tree_descend(heap, tree, hash, &spot);
                if (err == -ENOENT) {
                        err = make_first(heap, tree);
                } else if (!err) {
                        const struct tree_page is = *(const struct tree_page *)arena_read(heap->arena, spot.bucket);
                        if (is.count < tree_room(heap, tree))
                                return 0;
                        if (is.depth == DEPTH_MAX)
                                return -ENOMEM;
                        err = is_alone(heap, &spot, &is) ? put_node_above(heap, &spot, &is) : split(heap, &spot);
                }
                if (err)
                        return err;
        }
}

/* ---- entries ---- */

int tree_put(struct xac_heap *heap, enum tree tree, uint64_t hash, const void *entry)
{
        struct tree_spot spot;
        int err = tree_descend(heap, tree, hash, &spot);
        struct tree_bucket *bucket = err ? NULL : arena_write(heap->arena, spot.bucket);
        if (!bucket)
                return err ? err : ARENA_LOST;
        append(heap, bucket, (uint16_t)hash, entry);
        return 0;
}

/* The last one takes its place. */
int tree_remove(struct xac_heap *heap, const struct tree_spot *spot)
{
        struct tree_bucket *bucket = arena_write(heap->arena, spot->bucket);
        if (!bucket)
                return ARENA_LOST;
        const uint32_t last = --bucket->is.count;
        bucket->tag[spot->at] = bucket->tag[last];
        memmove(tree_entry(heap, bucket, spot->at), entry_at(heap, bucket, last), tree_entry_bytes(bucket->is.tree));
        return 0;
}

int tree_add_root(struct xac_heap *heap, const struct root_entry *entry)
{
        const uint64_t hash = tree_hash_name(entry->name), place_hash = tree_hash_place(entry->offset);
        const struct place_entry place = { entry->offset, hash };
        int err = tree_make_room(heap, BY_NAME, hash);
        if (!err)
                err = tree_make_room(heap, BY_PLACE, place_hash);
        if (!err)
                err = object_mark(heap, xac_heap_address(heap, entry->offset), true);
        if (!err)
                err = tree_put(heap, BY_NAME, hash, entry);
        return err ? err : tree_put(heap, BY_PLACE, place_hash, &place);
}
