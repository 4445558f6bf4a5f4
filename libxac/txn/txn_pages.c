/* SPDX-License-Identifier: MIT */
#include "libxac/txn/txn_pages.h"

#include <errno.h>
#include <string.h>
#include <xac/xac.h>

#include "base/invariant.h"
#include "libxac/store/pool.h"
#include "libxac/store/reclaim.h"
#include "libxac/version/version.h"

enum {
        BUCKETS_MIN = 512,
        PREFETCHED_LINES = 8 /* the processor goes on by itself */
};

struct undo_record {
        uint32_t entry;
        uint32_t slot; /* before: 0 = only read */
        uint32_t level;
        uint32_t base;
};

static void insert_index(struct txn_pages *pages, uint64_t page, uint32_t index)
{
        uint64_t *bucket = txn_pages_bucket(pages, page);
        while (txn_pages_is_taken(pages, *bucket))
                bucket = txn_pages_next_bucket(pages, bucket);
        *bucket = (uint64_t)pages->stamp << 32 | index;
}

/* A table twice as large; the entries stay where they are. */
static int grow_buckets(struct txn_pages *pages)
{
        struct vector old = pages->buckets;
        struct vector larger = { 0 };
        uint32_t capacity = old.capacity ? 2 * old.capacity : BUCKETS_MIN;
        int err = vector_reserve(&larger, capacity, sizeof(uint64_t));
        if (err)
                return err;
        pages->buckets = larger;
        for (uint32_t i = 0; i < pages->entries.count; i++)
                insert_index(pages, txn_pages_entry(pages, i)->page, i);
        vector_free(&old, sizeof(uint64_t));
        return 0;
}

int txn_pages_init(struct txn_pages *pages, struct participant *self, struct files *files)
{
        memset(pages, 0, sizeof(*pages));
        pages->self = self;
        pages->files = files;
        pages->stamp = 1;
        return grow_buckets(pages);
}

void txn_pages_free(struct txn_pages *pages)
{
        vector_free(&pages->entries, sizeof(struct page_entry));
        vector_free(&pages->buckets, sizeof(uint64_t));
        vector_free(&pages->writes, sizeof(uint32_t));
        vector_free(&pages->undo, sizeof(struct undo_record));
        vector_free(&pages->moves, sizeof(struct page_move));
}

void txn_pages_clear(struct txn_pages *pages)
{
        pages->entries.count = 0;
        pages->writes.count = 0;
        pages->undo.count = 0;
        if (++pages->stamp == 0) {
                memset(pages->buckets.items, 0, pages->buckets.capacity * sizeof(uint64_t));
                pages->stamp = 1;
        }
}

int txn_pages_add(struct txn_pages *pages, uint64_t page, struct page_entry **entry)
{
        uint32_t index = pages->entries.count;
        int err = vector_reserve(&pages->entries, index + 1, sizeof(struct page_entry));
        if (!err && 2 * (index + 1) > pages->buckets.capacity)
                err = grow_buckets(pages);
        if (err)
                return err;
        uint64_t word = version_visible(pages->self->shared, page, pages->snapshot);
        *entry = txn_pages_entry(pages, index);
        **entry = (struct page_entry){ .page = page, .visible_slot = version_slot(word), .base = index };
        (*entry)->bytes = (char *)(uintptr_t)files_word_bytes(pages->files, page, word); /* never written through */
        pages->entries.count++;
        insert_index(pages, page, index);
        return 0;
}

int txn_pages_reserve(struct txn_pages *pages, uint32_t count)
{
        int err = vector_reserve(&pages->writes, pages->writes.count + count, sizeof(uint32_t));
        if (!err)
                err = vector_reserve(&pages->undo, pages->undo.count + count, sizeof(struct undo_record));
        return err;
}

void txn_pages_record(struct txn_pages *pages, struct page_entry *entry, uint32_t slot, uint32_t level)
{
        invariant(slot && level && entry->level <= level);
        uint32_t index = (uint32_t)(entry - txn_pages_entry(pages, 0));
        if (level > 1) {
                struct undo_record *undo = (struct undo_record *)pages->undo.items + pages->undo.count++;
                *undo = (struct undo_record){ index, entry->slot, entry->level, entry->base };
        }
        if (!entry->slot)
                ((uint32_t *)pages->writes.items)[pages->writes.count++] = index;
        entry->slot = slot;
        entry->level = level;
}

/* What will be copied in a moment, and the descriptor that the commit will change. */
static void prefetch_for_write(const struct shared *shared, const struct page_entry *entry)
{
        for (size_t i = 0; i < PREFETCHED_LINES; i++)
                __builtin_prefetch(entry->bytes + i * CACHE_LINE);
        __builtin_prefetch(&shared->slots[entry->visible_slot], 1);
}

/* The level that moved the page here writes it now. */
static void replace_alias(struct txn_pages *pages, struct page_entry *entry, uint32_t slot)
{
        invariant(shared_is_alias(pages->self->shared, entry->slot));
        uint32_t alias = entry->slot;
        entry->slot = slot;
        pool_give_back(pages->self, alias);
}

/* Is the entry's content home's? What home never had is not asked for there. */
static bool is_of_home(const struct txn_pages *pages, const struct page_entry *entry)
{
        return !entry->slot && entry->visible_slot == SLOT_HOME && entry->bytes != shared_zeros(pages->self->shared);
}

int txn_pages_copy(struct txn_pages *pages, const struct page_entry *entry, uint32_t *slot)
{
        struct shared *shared = pages->self->shared;
        *slot = reclaim_take(pages->self);
        if (!*slot)
                return XAC_FULL;
        char *bytes = shared_slot_bytes(shared, *slot);
        memcpy(bytes, entry->bytes, shared->page_bytes);
        int err = is_of_home(pages, entry) ? files_verify_home(pages->files, entry->page, bytes) : 0;
        if (err) {
                pool_give_back(pages->self, *slot);
                *slot = 0;
        }
        return err;
}

/* The page's private version is in this slot from now on. */
static void settle(struct txn_pages *pages, struct page_entry *entry, uint32_t slot)
{
        struct shared *shared = pages->self->shared;
        atomic_store_explicit(&shared->slots[slot].page, entry->page, memory_order_relaxed);
        entry->bytes = shared_slot_bytes(shared, slot);
}

int txn_pages_write(struct txn_pages *pages, uint64_t page, uint32_t level, uint32_t frame, struct page_entry **entry)
{
        struct shared *shared = pages->self->shared;
        int err = txn_pages_read(pages, page, entry);
        if (err)
                return err;
        if (txn_pages_is_written_at(*entry, level) && !shared_is_alias(shared, (*entry)->slot))
                return 0;
        prefetch_for_write(shared, *entry);
        err = txn_pages_reserve(pages, 1);
        if (!err)
                err = version_prepare(shared, page); /* I5 */
        if (err)
                return err;
        uint32_t slot = frame;
        if (!frame || (*entry)->slot)
                err = txn_pages_copy(pages, *entry, &slot);
        if (err)
                return err;
        if (txn_pages_is_written_at(*entry, level))
                replace_alias(pages, *entry, slot);
        else
                txn_pages_record(pages, *entry, slot, level);
        settle(pages, *entry, slot);
        return 0;
}

bool txn_pages_copy_out(struct txn_pages *pages, struct page_entry *entry)
{
        uint32_t slot;
        if (txn_pages_copy(pages, entry, &slot))
                return false;
        entry->slot = slot;
        settle(pages, entry, slot);
        return true;
}

/* The entry shows the version it had before; the slot it has now goes. */
static void go_back(struct txn_pages *pages, struct page_entry *entry, const struct undo_record *undo,
                    txn_pages_lost lost, void *arg)
{
        uint32_t gone = entry->slot;
        invariant(gone && gone != undo->slot);
        entry->slot = undo->slot;
        entry->level = undo->level;
        entry->base = undo->base;
        uint32_t shown = entry->slot ? entry->slot : entry->visible_slot;
        entry->bytes = files_version_bytes(pages->files, entry->page, shown);
        lost(arg, entry->page, gone);
        pool_give_back(pages->self, gone);
}

void txn_pages_undo(struct txn_pages *pages, uint32_t mark, txn_pages_lost lost, void *arg)
{
        while (pages->undo.count > mark) {
                struct undo_record *undo = (struct undo_record *)pages->undo.items + --pages->undo.count;
                if (!undo->slot)
                        pages->writes.count--; /* the latest that became a write */
                go_back(pages, txn_pages_entry(pages, undo->entry), undo, lost, arg);
        }
}

/* Both levels wrote the page: its content goes back into the slot that the outer level's pointers name. An alias,
 * into which nobody has a pointer to write by, is given up instead. */
static void merge_entry(struct txn_pages *pages, struct page_entry *entry, struct undo_record *undo,
                        txn_pages_lost lost, void *arg)
{
        struct shared *shared = pages->self->shared;
        if (shared_is_alias(shared, undo->slot)) {
                entry->level = undo->level;
                pool_give_back(pages->self, undo->slot);
                return;
        }
        memcpy(shared_slot_bytes(shared, undo->slot), entry->bytes, shared->page_bytes);
        undo->base = entry->base; /* that of the content */
        go_back(pages, entry, undo, lost, arg);
}

void txn_pages_merge(struct txn_pages *pages, uint32_t mark, uint32_t outer, txn_pages_lost lost, void *arg)
{
        struct undo_record *records = pages->undo.items;
        uint32_t kept = mark;
        for (uint32_t i = mark; i < pages->undo.count; i++) {
                struct page_entry *entry = txn_pages_entry(pages, records[i].entry);
                if (records[i].slot && records[i].level == outer) {
                        merge_entry(pages, entry, &records[i], lost, arg);
                        continue;
                }
                entry->level = outer;
                if (outer > 1)
                        records[kept++] = records[i];
        }
        pages->undo.count = kept;
}

void txn_pages_drop(struct txn_pages *pages)
{
        invariant(!pages->undo.count); /* of the outermost level there is none, and inner levels have ended */
        for (uint32_t i = 0; i < pages->writes.count; i++)
                pool_give_back(pages->self, txn_pages_write_at(pages, i)->slot);
}

void txn_pages_intend(struct txn_pages *pages)
{
        struct shared *shared = pages->self->shared;
        uint32_t first = 0;
        for (uint32_t i = pages->writes.count; i-- > 0;) {
                uint32_t slot = txn_pages_write_at(pages, i)->slot;
                invariant(slot_state(&shared->slots[slot]) == SLOT_PRIVATE); /* I1 */
                atomic_store_explicit(&shared->slots[slot].next, first, memory_order_relaxed);
                first = slot;
        }
        atomic_store_explicit(&pages->self->row->intent_count, pages->writes.count, memory_order_relaxed);
        atomic_store_explicit(&pages->self->row->intent_first, first, memory_order_relaxed);
}
