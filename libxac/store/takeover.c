/* SPDX-License-Identifier: MIT */
#include "libxac/store/takeover.h"

#include "base/hook.h"
#include "libxac/ground/participant.h"
#include "libxac/ground/ring.h"
#include "libxac/ground/waiters.h"
#include "libxac/store/exclusion.h"
#include "libxac/store/pool.h"
#include "libxac/store/pool_lists.h"
#include "libxac/store/pool_rebuild.h"
#include "libxac/version/publish.h"
#include "libxac/version/version.h"

/* Slots whose heads a dead checkpointer was turning to home: the head says how far it came. */
static void settle_flips_locked(struct shared *shared)
{
        shlock_assert_held(&shared->control->pool_lock);
        for (uint32_t no = 0; (no = shared_next_slot(shared, no));) {
                struct slot *slot = &shared->slots[no];
                if (slot_state(slot) != SLOT_PUBLISHED || !atomic_load(&slot->home_epoch))
                        continue;
                int is_home = version_is_home(shared, no, atomic_load(&slot->tag));
                if (is_home < 0)
                        continue; /* the next takeover will see it */
                if (!is_home)
                        atomic_store(&slot->home_epoch, 0); /* it had not come to the head */
                else
                        pool_hold_locked(shared, no, 0); /* home took its place, and perhaps others committed since */
        }
}

static void take_back_row_locked(struct shared *shared, uint32_t row_no, uint32_t owner)
{
        shlock_assert_held(&shared->control->participant_lock);
        struct row *row = &shared->rows[row_no];
        uint32_t dead_owner = control_owner_of_row(row_no);
        exclusion_end_of_dead(shared, dead_owner);
        if (shared_is_durable(shared))
                log_take_back(&shared->log, owner, dead_owner);
        atomic_store(&row->held, 0); /* before the snapshot (R26) */
        atomic_store(&row->snapshot, 0);
        atomic_store(&row->fragment_start, 0);
        pool_lock(shared, owner);
        pool_take_back_locked(shared, dead_owner);
        pool_unlock(shared);
        atomic_store(&row->frames, 0);
        atomic_store(&row->cached, 0);
        ring_leave(shared, row);
        (void)waiters_leave(row);
        atomic_store(&row->id, 0);
        participant_fold_counters_locked(shared, row);
        hook_step(HOOK_ROW_TAKEN_BACK);
        atomic_store(&row->state, ROW_FREE); /* last: a row is reused only after its takeover */
}

/* A lock that guards nothing half-done is only made free. */
static void free_if_dead(struct shared *shared, struct shlock *lock, uint32_t owner)
{
        uint32_t holder = shlock_owner(lock);
        if (!holder || shared_is_alive(shared, holder))
                return;
        shlock_lock(lock, owner, &shared->liveness);
        shlock_unlock(lock);
}

/* A pin goes with its lock, whoever died with that by now. What he had decided is finished first (R19): it needs the
 * pin. `kept` is what must stay pinned. */
static void free_with_pin_if_dead(struct shared *shared, struct shlock *lock, _Atomic uint64_t *pin,
                                  const _Atomic uint64_t *kept, uint32_t owner)
{
        uint32_t holder = shlock_owner(lock);
        if (!holder || shared_is_alive(shared, holder))
                return;
        if (shlock_lock(lock, owner, &shared->liveness) == SHLOCK_INHERITED) {
                if (!publish_lock(shared, owner))
                        publish_unlock(shared);
                atomic_store(pin, kept ? atomic_load(kept) : 0);
        }
        shlock_unlock(lock);
}

static void take_back_process_locked(struct shared *shared, uint32_t process_no, uint32_t owner)
{
        shlock_assert_held(&shared->control->participant_lock);
        /* A commit that it had decided is finished before its slots are looked at (R5). */
        if (publish_lock(shared, owner))
                return;
        publish_unlock(shared);
        /* All its locks before its rows: a row's next owner must not find one in its name. */
        struct control *control = shared->control;
        free_with_pin_if_dead(shared, &control->checkpoint_lock, &control->checkpoint_snapshot,
                              &control->checkpoint_target, owner);
        free_with_pin_if_dead(shared, &control->backlog_lock, &control->backlog_next, NULL, owner);
        free_if_dead(shared, &control->file_lock, owner);
        free_if_dead(shared, &control->archive_lock, owner);
        for (uint32_t i = 0; i < atomic_load(&shared->control->rows_used); i++) {
                struct row *row = &shared->rows[i];
                if (atomic_load(&row->state) == ROW_USED && atomic_load(&row->process_no) == process_no)
                        take_back_row_locked(shared, i, owner);
        }
        pool_lock(shared, owner);
        if (!publish_lock(shared, owner)) {
                settle_flips_locked(shared);
                publish_unlock(shared);
        }
        pool_unlock(shared);
        atomic_store(&shared->processes[process_no].is_used, 0);
}

static bool is_dead(struct shared *shared, uint32_t process_no)
{
        return atomic_load(&shared->processes[process_no].is_used) && !shared_is_process_alive(shared, process_no);
}

void takeover_dead(struct shared *shared, uint32_t owner)
{
        uint32_t max = control_processes_max(shared->control->max_participants);
        for (uint32_t i = 0; i < max; i++) {
                if (!is_dead(shared, i))
                        continue;
                shared_lock_as_process(shared, &shared->control->participant_lock);
                if (is_dead(shared, i))
                        take_back_process_locked(shared, i, owner);
                shared_unlock_as_process(shared, &shared->control->participant_lock);
        }
}

void takeover_tend_waiters(struct shared *shared)
{
        takeover_dead(shared, control_owner_of_process(shared->process_no));
        if (shared_is_durable(shared) && log_poison(&shared->log))
                waiters_wake_all(shared);
        else
                waiters_wake(shared);
}
