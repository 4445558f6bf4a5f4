/* SPDX-License-Identifier: MIT */
#include "libxac/txn/txn_pages.h"

#include <errno.h>
#include <string.h>
#include <xac/xac.h>

#include "libxac/store/pool.h"
#include "libxac/store/pool_aliases.h"
#include "libxac/store/reclaim.h"
#include "libxac/version/version.h"

/*
 * A move has three steps. Each page of `to` and each that is left behind is looked up, as it is read and written;
 * for each a slot is found, and what can fail has not failed then (I5); and all of them change at once.
 *
 *      the source ...                         `to` gets
 *        was written at this level            that slot: nobody else needs it
 *        is a version in the pool, an alias   an alias of the content
 *        is at home, or an outer level's      a copy
 *
 * What is left behind gets an alias of zeros. Without aliases (control.h: they may run out) all of it is copied.
 */

enum { LOCKED_BATCH = 256 /* aliases taken under one hold of the pool lock */ };

/* Pages first .. end - 1. */
struct page_range {
        uint64_t first;
        uint64_t end;
};

struct move {
        struct txn_pages *pages;
        uint32_t level;
        struct page_range to;
        struct page_range from;
        struct page_range left; /* of `from` without `to` */
};

static struct page_range left_behind(struct page_range to, struct page_range from)
{
        if (from.first < to.first)
                return (struct page_range){ from.first, from.end < to.first ? from.end : to.first };
        return (struct page_range){ from.first > to.end ? from.first : to.end, from.end };
}

static uint32_t range_count(struct page_range range)
{
        return (uint32_t)(range.end - range.first);
}

static bool range_has(struct page_range range, uint64_t page)
{
        return page >= range.first && page < range.end;
}

/* The entry of a page that has one. */
static struct page_entry *entry_of(const struct txn_pages *pages, uint64_t page)
{
        uint64_t *bucket = txn_pages_bucket(pages, page);
        while (txn_pages_entry(pages, (uint32_t)*bucket)->page != page)
                bucket = txn_pages_next_bucket(pages, bucket);
        return txn_pages_entry(pages, (uint32_t)*bucket);
}

/* Moves stand in this order: `to`, then what is left behind. */
static struct page_move *move_at(const struct move *move, uint32_t i)
{
        return (struct page_move *)move->pages->moves.items + i;
}

static uint32_t moves_count(const struct move *move)
{
        return range_count(move->to) + range_count(move->left);
}

static uint64_t page_at(const struct move *move, uint32_t i)
{
        uint32_t moved = range_count(move->to);
        return i < moved ? move->to.first + i : move->left.first + (i - moved);
}

/* Where the page's content comes from; NULL: it becomes zeros. */
static struct page_entry *source_at(const struct move *move, uint32_t i)
{
        return i < range_count(move->to) ? entry_of(move->pages, move->from.first + i) : NULL;
}

/* ---- Slots ---- */

/* The pages become members of the read set. */
static int read_range(struct txn_pages *pages, struct page_range range)
{
        for (uint64_t page = range.first; page < range.end; page++) {
                struct page_entry *entry;
                int err = txn_pages_read(pages, page, &entry);
                if (!err)
                        err = version_prepare(pages->self->shared, page);
                if (err)
                        return err;
        }
        return 0;
}

/* May others show the source's content as well? *content is where it stands. */
static bool is_shareable(const struct move *move, const struct page_entry *source, uint32_t *content)
{
        const struct shared *shared = move->pages->self->shared;
        uint32_t slot = SLOT_HOME;
        if (!source)
                *content = 0; /* zeros */
        else
                slot = source->slot ? source->slot : source->visible_slot;
        if (source && slot != SLOT_HOME)
                *content = shared_content(shared, slot);
        return !source || (slot != SLOT_HOME && (!source->slot || shared_is_alias(shared, slot)));
}

/* What the level has in a slot of its own changes hands; what may be shared gets an alias. Moves whose slot is
 * still 0 need a slot and a copy. */
static void take_without_copy(const struct move *move)
{
        struct shared *shared = move->pages->self->shared;
        uint32_t owner = move->pages->self->owner;
        uint32_t count = moves_count(move);
        pool_lock(shared, owner);
        for (uint32_t i = 0; i < count; i++) {
                const struct page_entry *source = source_at(move, i);
                uint32_t content;
                *move_at(move, i) = (struct page_move){ .base = source ? source->base : BASE_ZEROS };
                if (source && txn_pages_is_written_at(source, move->level))
                        move_at(move, i)->slot = source->slot;
                else if (is_shareable(move, source, &content))
                        move_at(move, i)->slot = pool_share_locked(shared, owner, content);
                if ((i + 1) % LOCKED_BATCH == 0) {
                        pool_unlock(shared);
                        pool_lock(shared, owner);
                }
        }
        pool_unlock(shared);
}

/* Nothing has changed: what was taken goes back, but what the source has. */
static void give_all_back(const struct move *move)
{
        for (uint32_t i = 0; i < moves_count(move); i++) {
                const struct page_entry *source = source_at(move, i);
                uint32_t slot = move_at(move, i)->slot;
                if (slot && !(source && txn_pages_is_written_at(source, move->level)))
                        pool_give_back(move->pages->self, slot);
        }
}

static int take_zeros(struct participant *self, uint32_t *slot)
{
        struct shared *shared = self->shared;
        *slot = reclaim_take(self);
        if (!*slot)
                return XAC_FULL;
        memset(shared_slot_bytes(shared, *slot), 0, shared->page_bytes);
        return 0;
}

static int take_copies(const struct move *move)
{
        for (uint32_t i = 0; i < moves_count(move); i++) {
                const struct page_entry *source = source_at(move, i);
                struct page_move *page_move = move_at(move, i);
                if (page_move->slot)
                        continue;
                int err = source ? txn_pages_copy(move->pages, source, &page_move->slot)
                                 : take_zeros(move->pages->self, &page_move->slot);
                if (err) {
                        give_all_back(move);
                        return err;
                }
        }
        return 0;
}

/* ---- The change ---- */

/* What stood in `to` at this level and was not moved on itself is gone. */
static void give_back_overwritten(const struct move *move)
{
        for (uint64_t page = move->to.first; page < move->to.end; page++) {
                const struct page_entry *entry = entry_of(move->pages, page);
                if (!range_has(move->from, page) && txn_pages_is_written_at(entry, move->level))
                        pool_give_back(move->pages->self, entry->slot);
        }
}

static void change_page(const struct move *move, uint64_t page, const struct page_move *page_move)
{
        struct txn_pages *pages = move->pages;
        struct shared *shared = pages->self->shared;
        struct page_entry *entry = entry_of(pages, page);
        if (txn_pages_is_written_at(entry, move->level))
                entry->slot = page_move->slot;
        else
                txn_pages_record(pages, entry, page_move->slot, move->level);
        atomic_store_explicit(&shared->slots[entry->slot].page, page, memory_order_relaxed);
        entry->base = page_move->base;
        entry->bytes = shared_slot_bytes(shared, entry->slot);
}

int txn_pages_move(struct txn_pages *pages, uint64_t to, uint64_t from, uint64_t count, uint32_t level)
{
        struct move move = { .pages = pages, .level = level, .to = { to, to + count }, .from = { from, from + count } };
        if (to == from)
                return 0;
        move.left = left_behind(move.to, move.from);
        int err = read_range(pages, move.to);
        if (!err)
                err = read_range(pages, move.left);
        if (!err)
                err = txn_pages_reserve(pages, moves_count(&move));
        if (!err)
                err = vector_reserve(&pages->moves, moves_count(&move), sizeof(struct page_move));
        if (err)
                return err;
        take_without_copy(&move);
        err = take_copies(&move);
        if (err)
                return err;
        give_back_overwritten(&move);
        for (uint32_t i = 0; i < moves_count(&move); i++)
                change_page(&move, page_at(&move, i), move_at(&move, i));
        return 0;
}
