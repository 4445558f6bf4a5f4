/* SPDX-License-Identifier: MIT */
#include "libxac/ground/participant.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <xac/xac.h>

#include "base/hook.h"
#include "base/invariant.h"
#include "base/sys.h"

/* Ring memory is allocated once per row and stays with it. */
static int allocate_ring(struct shared *shared, uint32_t row_no)
{
        struct row *row = &shared->rows[row_no];
        if (atomic_load(&row->has_ring))
                return 0;
        const uint64_t ring_len = RING_ENTRIES * sizeof(struct ring_entry);
        int err = sys_allocate(shared->control_fd, shared->layout.rings + row_no * ring_len, ring_len);
        if (!err)
                atomic_store(&row->has_ring, 1);
        return err;
}

static int find_free_row_locked(struct shared *shared, uint32_t *row_no)
{
        shlock_assert_held(&shared->control->participant_lock);
        uint32_t max = shared->control->max_participants;
        for (uint32_t i = 0; i < max; i++) {
                if (atomic_load(&shared->rows[i].state) == ROW_FREE) {
                        *row_no = i;
                        return 0;
                }
        }
        return XAC_LIMIT;
}

static int take_row_locked(struct participant *self, struct shared *shared)
{
        shlock_assert_held(&shared->control->participant_lock);
        uint32_t row_no;
        int err = find_free_row_locked(shared, &row_no);
        if (!err)
                err = allocate_ring(shared, row_no);
        if (err)
                return err;
        self->row_no = row_no;
        self->row = &shared->rows[row_no];
        self->owner = control_owner_of_row(row_no);
        atomic_store(&self->row->process_no, shared->process_no);
        atomic_store(&self->row->is_on_duty, 0);
        /* Before the row is used: who takes over from the dead looks no further. */
        if (atomic_load(&shared->control->rows_used) <= row_no)
                atomic_store(&shared->control->rows_used, row_no + 1);
        atomic_store(&self->row->state, ROW_USED);
        hook_step(HOOK_ROW_TAKEN);
        return 0;
}

int participant_join_with(struct participant *self, struct shared *shared, struct snapshots *seen)
{
        memset(self, 0, sizeof(*self));
        self->shared = shared;
        self->seen = seen;
        /* A dead owner leaves at worst a row used by a dead process: it is taken back later. */
        shared_lock_as_process(shared, &shared->control->participant_lock);
        int err = take_row_locked(self, shared);
        shared_unlock_as_process(shared, &shared->control->participant_lock);
        return err;
}

int participant_join(struct participant *self, struct shared *shared)
{
        struct snapshots *seen = snapshots_allocate(shared);
        if (!seen)
                return -ENOMEM;
        int err = participant_join_with(self, shared, seen);
        if (err)
                free(seen);
        return err;
}

static void fold(_Atomic uint64_t *past, _Atomic uint64_t *counter)
{
        atomic_fetch_add(past, atomic_exchange(counter, 0));
}

void participant_fold_counters_locked(struct shared *shared, struct row *row)
{
        shlock_assert_held(&shared->control->participant_lock);
        struct control *control = shared->control;
        fold(&control->past_commits, &row->commits);
        fold(&control->past_conflicts, &row->conflicts);
        fold(&control->past_read_faults, &row->read_faults);
        fold(&control->past_write_faults, &row->write_faults);
}

void participant_leave_with(struct participant *self)
{
        shared_lock_as_process(self->shared, &self->shared->control->participant_lock);
        participant_fold_counters_locked(self->shared, self->row);
        atomic_store(&self->row->held, 0); /* before the snapshot, which others may be about to join (R26) */
        atomic_store(&self->row->snapshot, 0);
        atomic_store(&self->row->id, 0);
        atomic_store(&self->row->state, ROW_FREE);
        shared_unlock_as_process(self->shared, &self->shared->control->participant_lock);
        self->row = NULL;
}

void participant_leave(struct participant *self)
{
        participant_leave_with(self);
        free(self->seen);
}

/* R14: the epoch is published before the snapshot. */
static void publish_epoch(struct participant *self)
{
        struct row *row = self->row;
        uint64_t epoch = atomic_load_explicit(&self->shared->control->flip_epoch, memory_order_acquire);
        if (atomic_load_explicit(&row->flip_epoch, memory_order_relaxed) != epoch)
                atomic_store_explicit(&row->flip_epoch, epoch, memory_order_release);
}

/* R1: publishes what the word says, reads it again, until it is stable; both sequentially consistent. */
static uint64_t publish_snapshot(struct participant *self, const _Atomic uint64_t *word)
{
        struct row *row = self->row;
        publish_epoch(self);

        uint64_t sequence = atomic_load_explicit(word, memory_order_acquire);
        for (;;) {
                atomic_store(&row->snapshot, sequence);
                hook_step(HOOK_SNAPSHOT_PUBLISHED);
                uint64_t again = atomic_load(word);
                if (again == sequence || hook_has_bug(HOOK_BUG_NO_RECHECK_AT_BEGIN))
                        return sequence;
                sequence = again;
        }
}

uint64_t participant_begin(struct participant *self)
{
        return publish_snapshot(self, &self->shared->control->sequence);
}

uint64_t participant_begin_durable(struct participant *self)
{
        return publish_snapshot(self, &self->shared->control->durable_sequence);
}

void participant_hold(struct participant *self)
{
        invariant(atomic_load(&self->row->snapshot)); /* R26 */
        atomic_store(&self->row->held, atomic_load(&self->row->snapshot));
}

static bool is_held_by_another(const struct participant *self, uint64_t snapshot)
{
        const struct shared *shared = self->shared;
        uint32_t rows_used = atomic_load(&shared->control->rows_used);
        for (uint32_t i = 0; i < rows_used; i++)
                if (i != self->row_no && atomic_load(&shared->rows[i].held) == snapshot)
                        return true;
        return false;
}

/* R26. The holder may end, and a reclaimer may have read our row before and its row after that: hence the count, for
 * which reclaimers look again. Who is not yet sure that somebody holds it is no holder for others. */
int participant_join_snapshot(struct participant *self, uint64_t snapshot)
{
        struct row *row = self->row;
        publish_epoch(self);
        atomic_store(&row->snapshot, snapshot);
        atomic_fetch_add(&self->shared->control->joinings, 1);
        if (!is_held_by_another(self, snapshot)) {
                atomic_store(&row->snapshot, 0);
                return -ESTALE;
        }
        atomic_store(&row->held, snapshot);
        return 0;
}

void participant_end(struct participant *self)
{
        atomic_store_explicit(&self->row->snapshot, 0, memory_order_release);
}

static inline void see(struct snapshots *seen, uint64_t snapshot, uint64_t flip_epoch)
{
        if (!snapshot)
                return;
        seen->active[seen->count].snapshot = snapshot;
        seen->active[seen->count].flip_epoch = flip_epoch;
        seen->count++;
        if (snapshot < seen->oldest)
                seen->oldest = snapshot;
}

/* Through these nobody reads slots that home displaced: hence their epoch. In the order in which snapshots pass from
 * one place to another, and before the rows: what one has given up by then, the next one has taken (R9, R19). */
static void see_pins(struct snapshots *seen, const struct control *control)
{
        see(seen, atomic_load(&control->backlog_next), UINT64_MAX);
        if (!hook_has_bug(HOOK_BUG_BACKLOG_NOT_PINNED))
                see(seen, atomic_load(&control->backlog_base), UINT64_MAX);
        see(seen, atomic_load(&control->checkpoint_snapshot), UINT64_MAX);
        see(seen, atomic_load(&control->durable_next), UINT64_MAX);
        see(seen, atomic_load(&control->durable_sequence), UINT64_MAX);
}

struct snapshots *snapshots_allocate(const struct shared *shared)
{
        struct snapshots *seen;
        return malloc(sizeof(*seen) + (shared->control->max_participants + SNAPSHOT_PINS) * sizeof(seen->active[0]));
}

static void read_once(struct snapshots *seen, const struct shared *shared)
{
        seen->ceiling = atomic_load(&shared->control->sequence); /* before the rows */
        seen->oldest = seen->ceiling;
        seen->count = 0;
        see_pins(seen, shared->control);
        uint32_t rows_used = atomic_load(&shared->control->rows_used);
        for (uint32_t i = 0; i < rows_used; i++) {
                struct row *row = &shared->rows[i];
                uint64_t snapshot = atomic_load(&row->snapshot);
                if (snapshot)
                        see(seen, snapshot, atomic_load(&row->flip_epoch));
        }
}

void snapshots_read(struct snapshots *seen, const struct shared *shared)
{
        /* R1: our own commit's sequence may still be on its way to the others. Were it to count here, a
         * reader that still begins at the one before would go unseen. */
        atomic_thread_fence(memory_order_seq_cst);
        uint64_t joinings = atomic_load(&shared->control->joinings);
        for (;;) {
                read_once(seen, shared);
                uint64_t again = atomic_load(&shared->control->joinings);
                if (again == joinings)
                        return;
                joinings = again; /* R26: somebody joined a snapshot whose holder we may have missed */
        }
}

uint64_t snapshots_find_in(const struct snapshots *seen, uint64_t from, uint64_t to)
{
        uint64_t found = 0;
        for (uint32_t i = 0; i < seen->count; i++) {
                uint64_t snapshot = seen->active[i].snapshot;
                if (snapshot >= from && snapshot < to && (!found || snapshot < found))
                        found = snapshot;
        }
        return found;
}

bool snapshots_need_displaced(const struct snapshots *seen, uint64_t version, uint64_t epoch)
{
        for (uint32_t i = 0; i < seen->count; i++)
                if (seen->active[i].snapshot >= version && seen->active[i].flip_epoch <= epoch)
                        return true;
        return false;
}
