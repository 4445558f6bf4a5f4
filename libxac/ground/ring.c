/* SPDX-License-Identifier: MIT */
#include "libxac/ground/ring.h"

static struct ring_entry *ring_entry_at(struct shared *shared, const struct row *row, uint64_t position)
{
        uint64_t row_no = (uint64_t)(row - shared->rows);
        return &shared->rings[row_no * RING_ENTRIES + position % RING_ENTRIES];
}

/*
 * Who reads rings. A row says so for itself, the control area for all in one word, which every commit tests.
 * The word must be right without a lock, for which readers might have to wait (P3). So the bit is cleared only
 * if nobody has come since the rows were found silent; each who comes changes the word.
 *
 *      comes    row = 1, word = (word + 2) | 1             leaves    row = 0, word w: no row reads: CAS(w, w & ~1)
 *
 * A commit tests the word when it has the commit lock; who comes looks at that lock when the word has changed,
 * all sequentially consistent. So a commit that found nobody has stored its sequence by then, or its lock is
 * seen; and those before it had stored theirs when it took the lock: it is the next one.
 */

enum { SOMEBODY = 1, ARRIVAL = 2 };

uint64_t ring_join(struct shared *shared, struct row *row)
{
        _Atomic uint32_t *readers = &shared->control->ring_readers;
        atomic_store(&row->reads_rings, 1);
        uint32_t before = atomic_load(readers);
        while (!atomic_compare_exchange_weak(readers, &before, (before + ARRIVAL) | SOMEBODY))
                ;
        bool is_commit_under_way = shlock_owner(&shared->control->commit_lock) != 0;
        return atomic_load(&shared->control->sequence) + is_commit_under_way;
}

static bool is_any_row_reading(const struct shared *shared)
{
        uint32_t rows_used = atomic_load(&shared->control->rows_used);
        for (uint32_t i = 0; i < rows_used; i++)
                if (atomic_load(&shared->rows[i].reads_rings))
                        return true;
        return false;
}

void ring_leave(struct shared *shared, struct row *row)
{
        _Atomic uint32_t *readers = &shared->control->ring_readers;
        atomic_store(&row->reads_rings, 0);
        uint32_t before = atomic_load(readers);
        while (before & SOMEBODY && !is_any_row_reading(shared) &&
               !atomic_compare_exchange_weak(readers, &before, before & ~(uint32_t)SOMEBODY))
                ;
}

void ring_write_locked(struct shared *shared, struct row *row, uint32_t first_slot, uint64_t sequence)
{
        shlock_assert_held(&shared->control->commit_lock);
        if (atomic_load_explicit(&row->ring_sequence, memory_order_relaxed) == sequence)
                return; /* the dead owner had done it */
        if (atomic_load_explicit(&row->intent_count, memory_order_relaxed) > RING_ENTRIES / 2) {
                atomic_store_explicit(&row->ring_lap, sequence, memory_order_release);
                atomic_store_explicit(&row->ring_sequence, sequence, memory_order_release);
                return;
        }
        uint64_t position = atomic_load_explicit(&row->ring_end, memory_order_relaxed);
        for (uint32_t no = first_slot; no; position++) {
                struct ring_entry *entry = ring_entry_at(shared, row, position);
                uint64_t page = atomic_load_explicit(&shared->slots[no].page, memory_order_relaxed);
                atomic_store_explicit(&entry->sequence, 0, memory_order_relaxed);
                atomic_thread_fence(memory_order_release);
                atomic_store_explicit(&entry->page, page, memory_order_relaxed);
                atomic_store_explicit(&entry->sequence, sequence, memory_order_release);
                no = atomic_load_explicit(&shared->slots[no].next, memory_order_relaxed);
        }
        /* The sequence before the end: a reader that sees the new end takes the entries into
         * account, one that sees the old end is not concerned with this commit yet. A successor
         * that finds the end moved but not the sequence writes the entries twice: harmless. */
        atomic_store_explicit(&row->ring_end, position, memory_order_release);
        atomic_store_explicit(&row->ring_sequence, sequence, memory_order_release);
}

/* False: the entry is being, or has been, overwritten. */
static bool read_entry(struct ring_entry *entry, uint64_t *sequence, uint64_t *page)
{
        *sequence = atomic_load_explicit(&entry->sequence, memory_order_acquire);
        *page = atomic_load_explicit(&entry->page, memory_order_relaxed);
        atomic_thread_fence(memory_order_acquire);
        return *sequence && atomic_load_explicit(&entry->sequence, memory_order_relaxed) == *sequence;
}

/* One row's ring, from its newest entry back to `after`. */
static enum ring_outcome walk_row(struct shared *shared, struct row *row, uint64_t after, uint64_t until,
                                  ring_visit visit, void *arg)
{
        if (atomic_load_explicit(&row->ring_lap, memory_order_acquire) > after)
                return RING_LAPPED;
        uint64_t end = atomic_load_explicit(&row->ring_end, memory_order_acquire);
        uint64_t begin = end > RING_ENTRIES ? end - RING_ENTRIES : 0;
        uint64_t newer = UINT64_MAX;
        for (uint64_t position = end; position > begin; position--) {
                uint64_t sequence, page;
                if (!read_entry(ring_entry_at(shared, row, position - 1), &sequence, &page) || sequence > newer)
                        return RING_LAPPED;
                if (sequence <= after)
                        return RING_DONE;
                if (sequence <= until && !visit(arg, page))
                        return RING_STOPPED;
                newer = sequence;
        }
        return begin ? RING_LAPPED : RING_DONE;
}

enum ring_outcome ring_walk(struct shared *shared, uint32_t except, uint64_t after, uint64_t until, ring_visit visit,
                            void *arg)
{
        uint32_t rows_used = atomic_load_explicit(&shared->control->rows_used, memory_order_acquire);
        for (uint32_t i = 0; i < rows_used; i++) {
                struct row *row = &shared->rows[i];
                if (i == except || atomic_load_explicit(&row->ring_sequence, memory_order_acquire) <= after)
                        continue;
                enum ring_outcome outcome = walk_row(shared, row, after, until, visit, arg);
                if (outcome != RING_DONE)
                        return outcome;
        }
        return RING_DONE;
}
