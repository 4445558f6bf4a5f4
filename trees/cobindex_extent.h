/* SPDX-License-Identifier: MIT */
#ifndef TREES_COBINDEX_EXTENT_H
#define TREES_COBINDEX_EXTENT_H

/*
 * The index pages of one extent.
 */

#include "trees/cobindex.h"
#include "trees/cobindex_separator.h"

enum { EXTENT_PAGES_MAX = 5 /* nodes of 32 bytes in pages of 4096 */ };

/* An extent as the transaction sees it. */
struct extent {
        const struct cobindex *index;
        uint32_t group;
        const unsigned char *pages[EXTENT_PAGES_MAX]; /* those that were looked at */
        bool is_written[EXTENT_PAGES_MAX];
};

static inline const struct pma_map *extent_used(const struct extent *extent)
{
        return &((const struct cobindex_first *)extent->pages[0])->used;
}

/* ARENA_LOST, -ENOMEM, XAC_CORRUPT: it is none of this tree, or places are used that cannot be. */
static inline int extent_open(const struct cobindex *index, uint32_t group, struct extent *extent)
{
        *extent = (struct extent){ .index = index, .group = group };
        int err = page_group_reach(index->arena, group);
        if (err)
                return err;
        const struct cobindex_first *first = arena_read(index->arena, group * GROUP_PAGES + 1);
        if (!first)
                return ARENA_LOST;
        extent->pages[0] = (const unsigned char *)first;
        if (!cobindex_page_is(index, &first->page, 0))
                return XAC_CORRUPT;
        return first->used.used[PMA_WORDS - 1] >> index->segments % 64 ? XAC_CORRUPT : 0;
}

static inline unsigned extent_turn(const struct extent *extent)
{
        return ((const struct cobindex_page *)extent->pages[0])->turn;
}

static inline unsigned extent_streak(const struct extent *extent)
{
        return ((const struct cobindex_page *)extent->pages[0])->streak;
}

/* Whether segments were split in order of late: so often that it is no chance. */
static inline bool extent_is_in_order(const struct extent *extent)
{
        enum { STREAK = 16 };
        return extent_streak(extent) >= STREAK;
}

static inline page_no extent_segment_page(const struct extent *extent, unsigned i)
{
        return extent->group * GROUP_PAGES + 1 + extent->index->index_pages + i;
}

/* The node at a place of the layout. ARENA_LOST, XAC_CORRUPT. */
int extent_node(struct extent *extent, unsigned place, const unsigned char **node);
/* The place that a key is led to, used or not. */
int extent_find(struct extent *extent, struct bpnode_key key, unsigned *place);
/* The first key of a used segment. ARENA_LOST, XAC_CORRUPT. */
int extent_first_key(const struct extent *extent, unsigned i, struct bpnode_key *key);

/* An empty extent in a group that was taken. ARENA_LOST. */
int extent_make(const struct cobindex *index, uint32_t group);
/* Its index pages are none any more, and its group is free. ARENA_LOST, XAC_CORRUPT. */
int extent_drop(struct extent *extent);

/* One more segment is used, or one less; says nothing of separators. ARENA_LOST. */
int extent_set_used(struct extent *extent, unsigned i, bool is_used);
int extent_set_turn(struct extent *extent, unsigned turn);
int extent_set_streak(struct extent *extent, unsigned streak);
/* Separator before a used segment that is not the first one. ARENA_LOST, XAC_CORRUPT. */
int extent_separate(struct extent *extent, unsigned i, const struct separator *separator);

/* An extent as it is to be: what is used, and the separators by their segments (not that of the first one): those from
 * `begin` to before `end`, and that of the next one behind, as the nodes of the gap between have it, too. */
struct draft {
        unsigned begin, end;
        struct pma_map used;
        struct separator before[PMA_PLACES];
};
/* Nothing but what is in the window is going to change. ARENA_LOST, XAC_CORRUPT. */
int extent_load(struct extent *extent, struct draft *draft, unsigned begin, unsigned end);
static inline int extent_load_all(struct extent *extent, struct draft *draft)
{
        return extent_load(extent, draft, 0, extent->index->segments);
}
/* Writes what is not so yet. ARENA_LOST; XAC_CORRUPT not after extent_load(). */
int extent_store(struct extent *extent, const struct draft *draft);

/* A segment, its page and what is known of it, takes another place, of the same extent or not, of which the drafts
 * say so. ARENA_LOST. */
int extent_move(const struct extent *from, struct draft *from_draft, unsigned i, const struct extent *to,
                struct draft *to_draft, unsigned k);

#endif
