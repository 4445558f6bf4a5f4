/* SPDX-License-Identifier: MIT */
#include "heap/check.h"

/*
 * Roots, whatever bytes stand there. A walk of a tree comes to no page twice (Q1), and is as deep as Q2 allows: so it
 * ends, in memory that does not grow.
 */

#include <errno.h>
#include <string.h>

#include "heap/objects.h"
#include "heap/roots.h"

/* ---- marks ---- */

static bool has_name(const struct xac_heap *heap, uint64_t offset)
{
        struct tree_spot spot;
        return tree_top(heap) && !tree_find(heap, BY_PLACE, tree_hash_place(offset), &offset, &spot);
}

void check_named(struct check *check, page_no page, const struct slab *slab, const struct size_class *class)
{
        const uint64_t first = ((uint64_t)page << check->heap->arena->page_shift) + class->first;
        uint32_t named = 0;
        for (uint32_t i = 0; i < class->count; i++)
                named += !slab_is_free(slab, i) && has_name(check->heap, first + (uint64_t)i * class->size);
        if (named != slab->named_count)
                check_find(check, "page %u: it counts %u objects that are roots, but %u are", page, slab->named_count,
                           named);
}

void check_named_run(struct check *check, page_no page)
{
        if (!has_name(check->heap, (uint64_t)page << check->heap->arena->page_shift))
                check_find(check, "page %u: its object is labelled a root, but is none", page);
}

/* ---- a root ---- */

static bool check_root(struct check *check, const struct root_entry *entry)
{
        check->stats->roots++;
        if (!entry->name[0] || entry->name[XAC_HEAP_NAME_MAX]) {
                check_find(check, "a root has no name that ends");
                return false;
        }
        const uint64_t room = object_room(check->heap, entry->offset);
        if (!entry->size || entry->size > room) {
                check_find(check, "root '%s': its object of %llu bytes is not there", entry->name,
                           (unsigned long long)entry->size);
                return false;
        }
        return true;
}

/* ---- trees ---- */

/* Its place leads back to its name, and its object is marked. */
static void check_named_entry(struct check *check, const struct root_entry *entry, uint64_t hash)
{
        struct tree_spot spot;
        if (!check_root(check, entry))
                return;
        const bool is_found = !tree_find(check->heap, BY_PLACE, tree_hash_place(entry->offset), &entry->offset, &spot);
        const struct place_entry *place = is_found ? tree_at(check->heap, &spot) : NULL;
        if (!place || place->name_hash != hash)
                check_find(check, "root '%s': its object is not known to be a root", entry->name);
        if (!object_is_marked(check->heap, xac_heap_address(check->heap, entry->offset)))
                check_find(check, "root '%s': its object is not marked as one", entry->name);
}

static void check_place(struct check *check, const struct place_entry *place)
{
        struct tree_spot spot;
        check->places++;
        if (tree_find_both(check->heap, place->name_hash, place->offset, &spot))
                check_find(check, "an object at offset %llu is said to be a root, but has no name",
                           (unsigned long long)place->offset);
}

static bool is_same(enum tree tree, const void *one, const void *other)
{
        const struct place_entry *place = one, *other_place = other;
        return tree == BY_NAME ? !strncmp(one, other, XAC_HEAP_NAME_MAX + 1) : place->offset == other_place->offset;
}

/* Among those before it in its bucket. */
static bool is_double(const struct check *check, struct tree_bucket *bucket, uint32_t at)
{
        for (uint32_t i = 0; i < at; i++)
                if (bucket->tag[i] == bucket->tag[at] &&
                    is_same(bucket->is.tree, tree_entry(check->heap, bucket, i), tree_entry(check->heap, bucket, at)))
                        return true;
        return false;
}

static void check_bucket(struct check *check, enum tree tree, const struct tree_page *page, page_no number)
{
        struct tree_bucket *bucket = (struct tree_bucket *)(uintptr_t)page;
        for (uint32_t i = 0; i < bucket->is.count && !check_is_too_much(check); i++) {
                const void *entry = tree_entry(check->heap, bucket, i);
                const uint64_t hash = tree_hash(tree, entry);
                if (!tree_page_is_for(page, hash) || bucket->tag[i] != (uint16_t)hash)
                        check_find(check, "page %u: its entry %u belongs elsewhere", number, i);
                if (is_double(check, bucket, i))
                        check_find(check, "page %u: its entry %u is there twice", number, i);
                if (tree == BY_NAME)
                        check_named_entry(check, entry, hash);
                else
                        check_place(check, entry);
        }
}

/* Where a page of a tree hangs, and so what it has to say of itself. */
struct position {
        enum tree tree;
        unsigned least, most; /* bits of a bucket; a node has `most` */
        uint64_t prefix;
};

/* The page there if Q1 and Q2 hold for it; NULL. */
static const struct tree_page *check_position(struct check *check, const struct position *position, page_no page)
{
        const struct tree_page *at = tree_page_at(check->heap, position->tree, page);
        const bool is_node = at && at->kind == PAGE_IS_ROOTS_NODE;
        if (at && !at->zero && at->prefix == position->prefix && at->depth <= position->most &&
            at->depth >= (is_node ? position->most : position->least) && (!is_node || !at->count)) {
                check->roots_seen++;
                return at;
        }
        check_find(check, "page %u: it is not the page of roots that it should be", page);
        return NULL;
}

/* Buckets of a node; nodes of the node are left to the caller's loop, one level deeper. */
struct level {
        const struct tree_node *node;
        uint32_t slot;
};

/* The slots of a bucket all lead to it; returns how many they are. */
static uint32_t check_slots(struct check *check, const struct level *level, const struct tree_page *below)
{
        const page_no page = level->node->slot[level->slot];
        const unsigned bits = below ? below->depth - level->node->is.depth : NODE_BITS;
        const uint32_t count = below && below->kind == PAGE_IS_ROOTS_BUCKET ? NODE_SLOTS >> bits : 1;
        for (uint32_t i = 1; i < count; i++)
                if (level->node->slot[level->slot + i] != page) {
                        check_find(check, "page %u: not all of its slots lead to it", page);
                        return count;
                }
        return count;
}

static struct position position_of(enum tree tree, const struct level *level)
{
        const struct tree_page *node = &level->node->is;
        return (struct position){ .tree = tree,
                                  .least = node->depth,
                                  .most = node->depth + NODE_BITS,
                                  .prefix = node->prefix | (uint64_t)level->slot
                                                                   << (HASH_BITS - NODE_BITS - node->depth) };
}

enum { LEVELS = DEPTH_MAX / NODE_BITS + 1 };

/* From node to node, without recursion: level[n] is where the walk stands n nodes below the top; it is in `count`. */
static void check_nodes(struct check *check, enum tree tree, const struct tree_page *first)
{
        struct level level[LEVELS] = { { (const struct tree_node *)first, 0 } };
        for (unsigned count = 1; count && !check_is_too_much(check);) {
                struct level *here = &level[count - 1];
                if (here->slot >= NODE_SLOTS) {
                        count--;
                        continue;
                }
                const struct position position = position_of(tree, here);
                const page_no page = here->node->slot[here->slot];
                const struct tree_page *below = check_position(check, &position, page);
                here->slot += check_slots(check, here, below);
                if (below && below->kind == PAGE_IS_ROOTS_NODE)
                        level[count++] = (struct level){ (const struct tree_node *)below, 0 };
                else if (below)
                        check_bucket(check, tree, below, page);
        }
}

static void check_tree(struct check *check, enum tree tree, page_no page)
{
        if (page == PAGE_NONE)
                return;
        const struct tree_page *first = check_position(check, &(struct position){ .tree = tree }, page);
        if (first && first->kind == PAGE_IS_ROOTS_NODE)
                check_nodes(check, tree, first);
        else if (first)
                check_bucket(check, tree, first, page);
}

static void check_base(struct check *check, uint64_t base)
{
        if (base && base != (uintptr_t)check->heap->arena->base)
                check_find(check, "page %u: it says that the heap was made elsewhere", PAGE_CATALOG);
}

static void check_trees(struct check *check, const struct roots_top *top)
{
        static const uint8_t zero[sizeof(top->zero)];
        check_base(check, top->base);
        if (memcmp(top->zero, zero, sizeof(zero)))
                check_find(check, "page %u: it is not the first page of roots", PAGE_CATALOG);
        check->roots_seen = 1;
        check->places = 0;
        check_tree(check, BY_NAME, top->tree[BY_NAME]);
        check_tree(check, BY_PLACE, top->tree[BY_PLACE]);
        if (check->places != check->stats->roots && !check_is_too_much(check))
                check_find(check, "%llu objects are said to be roots, but %llu have names",
                           (unsigned long long)check->places, (unsigned long long)check->stats->roots);
}

/* ---- the chain of an older heap ---- */

static int check_chained(void *check_, struct chain_spot spot, const struct root_entry *entry)
{
        struct check *check = check_;
        (void)spot;
        check_root(check, entry);
        return check_is_too_much(check) ? -ECANCELED : 0;
}

/* What leads nowhere, or in a circle, is told before entries are. */
static void check_chain(struct check *check)
{
        const struct roots_page *roots;
        for (page_no page = PAGE_CATALOG; page != PAGE_NONE; page = roots->next) {
                roots = chain_page_at(check->heap, page);
                if (!roots || ++check->roots_seen > check->roots_pages) {
                        check_find(check, "page %u: it is not a page of roots, or of a circle of them", page);
                        return;
                }
                if (page != PAGE_CATALOG && roots->base)
                        check_find(check, "page %u: it says that the heap was made elsewhere", page);
        }
        (void)chain_walk(check->heap, check_chained, check);
}

void check_roots(struct check *check)
{
        const struct roots_top *top = tree_top(check->heap);
        const struct roots_page *first = chain_page_at(check->heap, PAGE_CATALOG);
        check->roots_seen = 0;
        if (top) {
                check_trees(check, top);
        } else if (first) {
                check_base(check, first->base);
                check_chain(check);
        } else {
                check_find(check, "page %u: it is not the first page of roots", PAGE_CATALOG);
        }
        if (check->roots_seen != check->roots_pages && !check_is_too_much(check))
                check_find(check, "of %llu pages of roots %llu are led to", (unsigned long long)check->roots_pages,
                           (unsigned long long)check->roots_seen);
}
