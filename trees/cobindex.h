/* SPDX-License-Identifier: MIT */
#ifndef TREES_COBINDEX_H
#define TREES_COBINDEX_H

/*
 * What leads to the segments of a cache-oblivious B-tree: its root page, the top over its extents, and in each extent
 * the index over its segments. Knows nothing of what is in a segment but the first key there.
 *
 *      root      | struct cobindex_root: extents, the numbers of the top pages | top ... |
 *      top       one array over the rest of the root page and all top pages, behind the header of each: the nodes of
 *                a tree in van Emde Boas layout over the extents, and then for each extent, in the order of keys, its
 *                group
 *      extent    one group of pages (page_alloc.h):
 *
 *                | map | index 0 | index 1 ... | segment 0 | segment 1 | ... |
 *
 *      index 0   | struct cobindex_first | nodes ... |
 *      index n   | struct cobindex_page | nodes ... |
 *      node      a separator (cobindex_separator.h), 8 bytes or 32
 *
 * Invariants:
 *
 *  C1  The separator before a used segment is not greater than any key of it, and greater than all keys before it.
 *  C2  That of the first used segment of an extent stands in the top, before its extent. That of the tree's first
 *      stands nowhere, unless empty extents are before its own: then it stands there, too, and is the least of all,
 *      so that no key is led to those, and what is put before all others comes into that segment. All others stand in
 *      their extent: the node before a place has the separator of the first used segment that is at or behind it and
 *      not the first of the extent, and is zeros, greater than all keys, where there is none. Likewise in the top:
 *      the node before an extent has the separator of the first extent at or behind it that is not empty, or zeros.
 *      So separators ascend.
 *  C3  Empty segments have a 0 in `used`. What is in their pages means nothing.
 *  C4  A tree has one extent at least. All nodes behind the last place are zeros.
 *  C5  What an insert with room reads: root, seldom a top page, an index page or two, the segment. What it writes:
 *      the segment.
 */

#include "pages/page_alloc.h"
#include "trees/bpnode.h"
#include "trees/pma.h"
#include "trees/veb.h"

enum { COBINDEX_TOP_PAGES_MAX = 48, COBINDEX_EXTENTS_MAX = 1 << 14 };

struct cobindex_root {
        uint8_t kind; /* PAGE_IS_COBTREE */
        uint8_t zero[3];
        uint32_t tree_id;
        uint32_t extents;
        uint32_t top_pages;
        page_no top[COBINDEX_TOP_PAGES_MAX];
};

/* Index pages and top pages. */
struct cobindex_page {
        uint8_t kind;   /* PAGE_IS_INDEX */
        uint8_t number; /* of the extent's index pages; in the top COBINDEX_TOP */
        uint8_t turn;   /* cobindex_room.c; only in the first of an extent */
        uint8_t streak; /* likewise: how far segments were split in order of late; more is more */
        uint32_t tree_id;
};
enum { COBINDEX_TOP = 255 };

/* The first index page of an extent. */
struct cobindex_first {
        struct cobindex_page page;
        struct pma_map used;
};

/* A tree, as the index needs it. */
struct cobindex {
        struct xac_arena *arena;
        page_no root;
        struct bpnode_shape shape; /* of the segments: leaves, level 0 */
        uint32_t node_bytes;
        uint32_t first_nodes; /* nodes in the first index page of an extent ... */
        uint32_t page_nodes;  /* ... and in the others */
        uint32_t index_pages; /* of an extent */
        uint32_t segments;    /* of an extent */
};

static inline bool cobindex_page_is(const struct cobindex *index, const struct cobindex_page *page, unsigned number)
{
        return page->kind == PAGE_IS_INDEX && page->number == number && page->tree_id == index->shape.tree_id;
}

/* Where a segment is. */
struct cobindex_place {
        uint32_t extent; /* its number in the order of keys ... */
        uint32_t group;  /* ... and where it is */
        uint32_t i;      /* segment of the extent */
};

void cobindex_init(struct cobindex *index, struct xac_arena *arena, page_no root, const struct bpnode_shape *shape);

static inline page_no cobindex_segment_page(const struct cobindex *index, struct cobindex_place place)
{
        return place.group * GROUP_PAGES + 1 + index->index_pages + place.i;
}

/* All functions: ARENA_LOST, -ENOMEM, XAC_CORRUPT, and -ESTALE when the root page is none of this tree. A place is
 * good until the next change, in the same transaction. */

/* ---- reading (cobindex.c) ---- */

/* The segment that a key belongs to; in an empty tree segment 0, which is not used. */
int cobindex_find(const struct cobindex *index, struct bpnode_key key, struct cobindex_place *place, bool *is_used);
/* The used segments in order. -ENOENT: there is none further. */
int cobindex_first(const struct cobindex *index, struct cobindex_place *place);
int cobindex_last(const struct cobindex *index, struct cobindex_place *place);
int cobindex_next(const struct cobindex *index, struct cobindex_place *place);
int cobindex_previous(const struct cobindex *index, struct cobindex_place *place);
/* How many extents there are; which places of one are used, and which group it is. */
int cobindex_extents(const struct cobindex *index, uint32_t *extents);
int cobindex_extent(const struct cobindex *index, uint32_t number, uint32_t *group, struct pma_map *map);

/* ---- making (cobindex_make.c) ---- */

/* The root page and the first extent of a new tree. -ENOSPC, -ENOMEM: nothing has happened. */
int cobindex_create(const struct cobindex *index);
/* Frees all pages, the root's, too, which is written to. cobindex_walk() has found nothing wrong. */
int cobindex_drop(const struct cobindex *index);
/* For bulk loads, behind all there is: an extent more, empty. -ENOSPC, -ENOMEM. */
int cobindex_append_extent(const struct cobindex *index, struct bpnode_key key);

/* Where records come that fill a segment: what the place of the last one in it tells. */
enum cobindex_trend {
        COBINDEX_ANYWHERE,
        COBINDEX_UPWARDS,   /* each behind the one before */
        COBINDEX_DOWNWARDS, /* each before the one before */
        COBINDEX_AT_END     /* behind all records of the tree */
};

/* ---- changing (cobindex_change.c) ---- */

/* The first segment of an empty tree: segment 0 of extent 0 (the caller writes its page). */
int cobindex_use_first(const struct cobindex *index, struct cobindex_place *place);
/* An empty segment between a used one and the next used one; behind the last one of an extent also segment 0 of the
 * next extent, if all of that is empty. Not is_free: cobindex_make_room() first. */
int cobindex_place_behind(const struct cobindex *index, struct cobindex_place place, enum cobindex_trend trend,
                          struct cobindex_place *next, bool *is_free);
/* That segment is used from now on, for the keys from `key` on that were in place's. The caller writes both pages. */
int cobindex_use_next(const struct cobindex *index, struct cobindex_place place, struct bpnode_key key,
                      enum cobindex_trend trend, const struct cobindex_place *next);
/* Whom a segment may share records with instead of a split: the used ones beside it in its extent; segment PMA_PLACES:
 * none. Where segments are split in order there is none: they are to stay full behind that place, and empty ahead. */
int cobindex_beside(const struct cobindex *index, struct cobindex_place place, struct cobindex_place *before,
                    struct cobindex_place *behind);
/* Keys have gone from a used segment to the one beside it in its extent, so that another one is the first of `place`,
 * the second of the two. The caller writes both pages. */
int cobindex_separate(const struct cobindex *index, struct cobindex_place place, struct bpnode_key key);
/* For bulk loads: a segment of the last extent, behind all that are used. In an extent that is empty the separator is
 * that of cobindex_append_extent(), and this one is not looked at. */
int cobindex_append(const struct cobindex *index, struct cobindex_place place, struct bpnode_key key);
/* A segment is not used any more. Its keys are those of the one before it; if it is the first of its extent, of the
 * one behind it, unless it is the only one there. */
int cobindex_free(const struct cobindex *index, struct cobindex_place place);

/* ---- room (cobindex_room.c) ---- */

/*
 * Room behind a used segment, in steps. Each call moves COBINDEX_STEP_MOVES pages at most, so that it writes
 * COBINDEX_STEP_PAGES pages at most (more only where an extent is added to a large top), and leaves everything in
 * order. *place follows the segment.
 *
 * 0: cobindex_place_behind() finds one now. -EAGAIN: call it again, in a transaction of its own where possible.
 * -ENOSPC, -ENOMEM: nothing has happened.
 */
enum { COBINDEX_STEP_MOVES = 20, COBINDEX_STEP_PAGES = 48 };
int cobindex_make_room(const struct cobindex *index, struct cobindex_place *place, enum cobindex_trend trend);
/* After a segment was freed: hands the pages of an extent that is nearly empty to its neighbour, a step; an extent
 * that is empty is removed, and its group free. -EAGAIN: there is more to do. */
int cobindex_shrink(const struct cobindex *index, uint32_t number);

/* ---- checking (cobindex_check.c); any bytes may be there ---- */

/* C2 to C4, and the bits of C3. Visits the root page, all top pages and index pages, each one before anything in it
 * is believed. XAC_CORRUPT: what is wrong, and in which page; or what the visit returned. */
int cobindex_walk(const struct cobindex *index, int (*visit)(void *arg, page_no page), void *arg, const char **fault,
                  page_no *page);

/* The separator before a used segment. */
struct cobindex_bound {
        struct bpnode_key key; /* NULL bytes: none stands there, as before the first of the first extent */
        bool is_cut;           /* only the beginning of it */
        unsigned char bytes[32];
};
int cobindex_bound(const struct cobindex *index, struct cobindex_place place, struct cobindex_bound *bound);

#endif
