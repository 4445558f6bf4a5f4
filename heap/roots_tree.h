/* SPDX-License-Identifier: MIT */
#ifndef HEAP_ROOTS_TREE_H
#define HEAP_ROOTS_TREE_H

/*
 * The roots of a heap, by hash: two trees of pages, from names to roots, and from places of objects to names. Both are
 * extendible hashing (R. Fagin et al., ACM TODS 1979) whose directory grows by nodes instead of doubling.
 *
 *      top      | kind | base | by name | by place |                page 2
 *      node     | kind | tree | depth | prefix | 512 pages |
 *      bucket   | kind | tree | depth | count | prefix | tags | entry 0 | entry 1 | ... |
 *
 * Q1  A page of depth d is for the values of hash whose first d bits are its prefix's; so there is one place in the
 *     tree where it may be, and whoever walks the tree comes to it once.
 * Q2  A node's slots are for the next 9 bits. Those that lead to one bucket are neighbours, as many as its depth says.
 *     A node below a node has 9 bits more; at 63 bits there is no deeper page. So no walk is longer than 8 pages.
 * Q3  A tag is the last 16 bits of its entry's hash: a look-up compares tags first.
 *
 * A full bucket is split, or, where it has all bits of its node, gets a node above it. Buckets never become fewer. An
 * entry is written in one bucket, so that transactions about two roots seldom conflict.
 */

#include "heap/xac_heap.h"

enum tree { BY_NAME = 0, BY_PLACE = 1, TREES = 2 };

enum { NODE_BITS = 9, NODE_SLOTS = 1 << NODE_BITS, HASH_BITS = 64, DEPTH_MAX = 63 };

/* One of BY_NAME, and of the chain of older heaps. */
struct root_entry {
        char name[XAC_HEAP_NAME_MAX + 1];
        uint64_t offset, size, tag;
};

/* One of BY_PLACE. */
struct place_entry {
        uint64_t offset, name_hash;
};

/* The heap's first page of roots: PAGE_CATALOG. */
struct roots_top {
        uint8_t kind; /* PAGE_IS_ROOTS_TOP */
        uint8_t zero[7];
        uint64_t base;       /* where pointers into the heap are right; 0: it holds offsets */
        page_no tree[TREES]; /* PAGE_NONE: nothing is in it */
};

/* What nodes and buckets begin with. */
struct tree_page {
        uint8_t kind; /* PAGE_IS_ROOTS_NODE, PAGE_IS_ROOTS_BUCKET */
        uint8_t tree;
        uint8_t depth; /* bits of the prefix */
        uint8_t zero;
        uint32_t count;  /* of entries; a node: 0 */
        uint64_t prefix; /* the other bits are 0 */
};

struct tree_node {
        struct tree_page is;
        page_no slot[NODE_SLOTS];
};

struct tree_bucket {
        struct tree_page is;
        uint16_t tag[];
};

/* Where an entry stands, or could. */
struct tree_spot {
        page_no node; /* above the bucket; PAGE_NONE: the top */
        page_no bucket;
        uint32_t at;
};

uint64_t tree_hash_name(const char *name);
uint64_t tree_hash_place(uint64_t offset);
/* Of an entry of the tree, whatever bytes it has. */
uint64_t tree_hash(enum tree tree, const void *entry);

static inline size_t tree_entry_bytes(enum tree tree)
{
        return tree == BY_NAME ? sizeof(struct root_entry) : sizeof(struct place_entry);
}

/* Entries that a bucket has room for. */
uint32_t tree_room(const struct xac_heap *heap, enum tree tree);
void *tree_entry(const struct xac_heap *heap, struct tree_bucket *bucket, uint32_t at);

/* Does Q1 allow that hash there? */
static inline bool tree_page_is_for(const struct tree_page *page, uint64_t hash)
{
        return page->depth <= DEPTH_MAX && (!page->depth || (hash ^ page->prefix) >> (HASH_BITS - page->depth) == 0);
}

static inline uint32_t tree_slot_of(const struct tree_page *node, uint64_t hash)
{
        return (uint32_t)(hash >> (HASH_BITS - NODE_BITS - node->depth)) % NODE_SLOTS;
}

/* The top page; NULL: the roots are a chain, or damaged. */
const struct roots_top *tree_top(const struct xac_heap *heap);
/* Page 2 becomes the top of empty trees. ARENA_LOST. */
int tree_make(struct xac_heap *heap, uint64_t base);
/* A page of the tree that may be reached there; NULL. */
const struct tree_page *tree_page_at(const struct xac_heap *heap, enum tree tree, page_no page);

/* The bucket for that hash. -ENOENT: the tree is empty; XAC_CORRUPT. */
int tree_descend(const struct xac_heap *heap, enum tree tree, uint64_t hash, struct tree_spot *spot);
/* The entry with that key: a name, or the address of an offset. -ENOENT, XAC_CORRUPT. */
int tree_find(const struct xac_heap *heap, enum tree tree, uint64_t hash, const void *key, struct tree_spot *spot);
/* The root whose name has that hash and whose object is there. -ENOENT, XAC_CORRUPT. */
int tree_find_both(const struct xac_heap *heap, uint64_t name_hash, uint64_t offset, struct tree_spot *spot);
const void *tree_at(const struct xac_heap *heap, const struct tree_spot *spot);
/* Makes room for an entry with that hash. The tree is whole after a failure, too. -ENOMEM: a bucket of entries have
 * the same hash; -ENOSPC, ARENA_LOST, XAC_CORRUPT. */
int tree_make_room(struct xac_heap *heap, enum tree tree, uint64_t hash);
/* There is room. ARENA_LOST, XAC_CORRUPT. */
int tree_put(struct xac_heap *heap, enum tree tree, uint64_t hash, const void *entry);
/* A root in both trees, and the mark of its object (K4). The errors of tree_make_room; after one nobody sees it. */
int tree_add_root(struct xac_heap *heap, const struct root_entry *entry);
/* ARENA_LOST. */
int tree_remove(struct xac_heap *heap, const struct tree_spot *spot);

#endif
