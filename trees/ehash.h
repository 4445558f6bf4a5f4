/* SPDX-License-Identifier: MIT */
#ifndef TREES_EHASH_H
#define TREES_EHASH_H

/*
 * The inside of <xac/tree.h>: what the files of the table share. Serial code over an arena, as the B+-tree is.
 *
 * Extendible hashing (R. Fagin, J. Nievergelt, N. Pippenger, H. R. Strong, TODS 4(3), 1979): the first bits of a key's
 * hash value choose a slot of the directory, which names a bucket; several slots side by side may name the same. A
 * bucket that is full is split by the next bit. Buckets are leaves of B+-trees (bpnode.h), whose records are in the
 * order of their hash values (ehash_key.h), so that what is done within one is the code of leaf.h.
 *
 * The directory is a tree of pages: a node has 2^bits slots, of EHASH_NODE_BITS bits at most. A slot whose bucket needs
 * more gets a node of its own, so that nothing ever has to be copied but one page:
 *
 *      root     | A A A A | B | . | C C |          bits = 3; B has used up all three
 *                           |
 *               | B B | D D |                      a node below: one more
 *
 * The life of a put:
 *
 *  1. ehash_put looks at the lengths and runs put_body in a transaction: the one that is open, or its own.
 *  2. The key's hash value is put in front of it, and ehash_find goes through the directory to the bucket.
 *  3. There is room: leaf_put, and that was all. One page written; nothing is counted anywhere.
 *  4. There is none: ehash_split (ehash_split.c) takes pages for all that it may need (T3), and splits as often as it
 *     takes until the record has room.
 *
 * A lookup need not go through the directory: each handle has a flat copy of it (ehash_cache.h), which may be old. In
 * memory that can be rewired there may be a shortcut besides: addresses at which the buckets are seen in the order of
 * that copy (ehash_shortcut.h).
 *
 * Invariants, besides T1, T3 and T4 of bptree.h; the root of the directory is the table's root:
 *
 *  E1  A record lies in the bucket that the first bits of its hash value lead to, and nowhere else. So a record that is
 *      found in any bucket of the table is the right one, whatever led there; what is not found there may have moved.
 *  E2  The slots that name a bucket are neighbours, a power of two of them, and aligned to that.
 *  E3  No bucket is empty: where there are no records, slots are. A page that was a bucket and is one no more has
 *      another kind, before it is freed.
 *  E4  A node with a node below it has EHASH_NODE_BITS bits; levels count up from 0, the root's, to less than
 *      EHASH_LEVELS.
 *  E5  A table made anew in the place of one that was undone may have its name, root and id, but has another seed. So
 *      a handle reads the seed anew in each transaction, and each level of one, until the table is confirmed (T1), and
 *      once more then.
 */

#include <errno.h>
#include <string.h>

#include <xac/tree.h>

#include "pages/page_alloc.h"
#include "trees/ehash_cache.h"
#include "trees/ehash_key.h"
#include "trees/ehash_shortcut.h"
#include "trees/leaf.h"
#include "trees/tree_cursor.h"

enum { EHASH_NODE_BITS = 9, EHASH_LEVELS = 7 };

#define SEED_FOR_GOOD UINT64_MAX /* ehash.seed_in, once the table is confirmed (tree.h) */

/* A page of the directory. */
struct ehash_node {
        uint8_t kind; /* PAGE_IS_DIRECTORY */
        uint8_t level;
        uint8_t bits; /* 2^bits slots are used */
        uint8_t unused;
        uint32_t tree_id;
        uint64_t seed; /* of the hash function; the root's */
        page_no slot[1 << EHASH_NODE_BITS];
};

struct ehash {
        struct xac_arena *arena;
        page_no root;
        struct bpnode_shape shape; /* of the buckets */
        uint64_t seed;
        uint64_t seed_in; /* arena_txn() in which it is the table's; 0: in none yet */
        struct ehash_cache cache;
        struct ehash_shortcut *shortcut; /* NULL: the table was opened without */
        uint64_t buckets;                /* with a shortcut: how many there are */
        struct xac_tree handle;
};

/* A way through the directory to a bucket, or to slots that have none, in one transaction. */
struct ehash_way {
        unsigned level;              /* of the last node */
        page_no nodes[EHASH_LEVELS]; /* from the root on */
        unsigned bits;               /* of the last node */
        unsigned first, count;       /* its slots that lead there (E2) */
        uint64_t begin, end;         /* the hash values that do, both included */
        page_no page;                /* PAGE_NONE: no bucket */
        const struct bpnode *leaf;   /* NULL then */
};

/* The table of a catalog's record. */
void ehash_init(struct xac_arena *arena, const struct catalog_record *record, struct ehash *table);
/* Frees what belongs to the handle. */
void ehash_end(struct ehash *table);
/* From now on the table has a shortcut. -EINVAL: the arena cannot be rewired; -ENOMEM, -EAGAIN. */
int ehash_take_shortcut(struct ehash *table, bool is_tried);
/* Before each public operation: the handle's, and the seed is known. */
int ehash_enter(struct ehash *table);

/* ehash.c: in a transaction. -ESTALE, XAC_CORRUPT, ARENA_LOST. */
int ehash_read_seed(struct ehash *table);

static inline bool ehash_takes_key(const struct ehash *table, size_t len)
{
        return table->shape.is_fixed ? len == 8 : len && len <= XAC_TREE_HASH_KEY_MAX;
}

/* A bucket to be changed. ARENA_LOST, XAC_CORRUPT: it is none, because a damaged map has made something else of it. */
static inline int ehash_write_bucket(const struct ehash *table, page_no page, struct bpnode **leaf)
{
        *leaf = arena_write(table->arena, page);
        if (!*leaf)
                return ARENA_LOST;
        return bpnode_is_of(&table->shape, *leaf, 0) ? 0 : XAC_CORRUPT;
}

/* ---- ehash_directory.c; all: -ESTALE, XAC_CORRUPT, ARENA_LOST ---- */

/* Makes an empty root. ARENA_LOST. */
int ehash_create(const struct ehash *table);
/* A node of this level. The root's: -ESTALE, if there is no such table any more (T1). */
int ehash_node(const struct ehash *table, page_no page, unsigned level, const struct ehash_node **node);
int ehash_write_node(const struct ehash *table, page_no page, struct ehash_node **node);
/* Where this hash value leads. */
int ehash_find(const struct ehash *table, uint64_t hash, struct ehash_way *way);
/* To the next bucket, or the previous one. -ENOENT: there is none. */
int ehash_find_next(const struct ehash *table, struct ehash_way *way);
int ehash_find_previous(const struct ehash *table, struct ehash_way *way);
/* The same from the first hash value, and from the last. */
int ehash_find_first(const struct ehash *table, struct ehash_way *way);
int ehash_find_last(const struct ehash *table, struct ehash_way *way);

/* How many bits of a hash value choose between `count` slots and the others of a node with so many bits. */
static inline unsigned ehash_depth(unsigned level, unsigned bits, unsigned count)
{
        return level * EHASH_NODE_BITS + bits - (unsigned)__builtin_ctz(count);
}

static inline unsigned ehash_way_depth(const struct ehash_way *way)
{
        return ehash_depth(way->level, way->bits, way->count);
}

/* ehash.c: the cache learns of the way, and the shortcut with it, if there is one. */
void ehash_learn(struct ehash *table, const struct ehash_way *way);
/* There are so many buckets more. */
void ehash_count(struct ehash *table, int more);

/* Every page: nodes before what is below them. A visit that does not return 0 ends it. */
struct ehash_visitor {
        int (*visit_node)(void *arg, page_no page, const struct ehash_node *node);
        int (*visit_bucket)(void *arg, page_no page, const struct bpnode *leaf, unsigned depth);
        void *arg;
};
int ehash_walk(const struct ehash *table, const struct ehash_visitor *visitor);

/* ---- ehash_split.c ---- */

/* For a record of so many bytes whose bucket has no room for it, or that has no bucket yet: `way` is where it belongs.
 * Takes the pages that ehash_split() may need. -ENOSPC, -ENOMEM. */
int ehash_split_reserve(const struct ehash *table, const struct ehash_way *way, uint64_t hash, size_t bytes,
                        struct page_reserve *reserve);
/* Stores the record, whose key is not there. ARENA_LOST, XAC_CORRUPT. */
int ehash_split(struct ehash *table, struct ehash_way *way, uint64_t hash, const struct bpnode_record *record,
                struct page_reserve *reserve);

/* ---- operations inside a transaction ---- */

/* ehash_delete.c: a stored key. -ENOENT. */
int ehash_remove_key(struct ehash *table, struct bpnode_key key);
/* A page that belongs to the table no more (E3). */
int ehash_free_page(const struct ehash *table, page_no page);

/* ---- the calls of <xac/tree.h> ---- */

int ehash_put(struct xac_tree *handle, const void *key, size_t key_len, const void *value, size_t value_len, int flags);
int ehash_get(struct xac_tree *handle, const void *key, size_t key_len, void *value, size_t room, size_t *value_len);
int ehash_delete(struct xac_tree *handle, const void *key, size_t key_len);
/* Without a range: -EOPNOTSUPP. */
int ehash_scan(struct xac_tree *handle, const void *from, size_t from_len, const void *to, size_t to_len,
               int (*visit)(void *arg, const xac_tree_record *record), void *arg);
int ehash_arrange(struct xac_tree *handle);
int ehash_stat(struct xac_tree *handle, xac_tree_stats *stats);

extern const struct leaf_ways ehash_ways;

#endif
