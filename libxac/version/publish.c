/* SPDX-License-Identifier: MIT */
#include "libxac/version/publish.h"

#include <errno.h>

#include "base/hook.h"
#include "base/invariant.h"
#include "libxac/ground/ring.h"
#include "libxac/ground/waiters.h"
#include "libxac/version/version.h"

/* The slot is superseded by slot `newer` of commit `sequence`; `owner` will give it back. If a dead
 * checkpointer was about to turn its head to home, that is off, before the head is stored (R45). */
static void supersede(struct slot *slot, uint32_t newer, uint64_t sequence, uint32_t owner)
{
        invariant(atomic_load_explicit(&slot->tag, memory_order_relaxed) < sequence);
        atomic_store_explicit(&slot->newer, newer, memory_order_relaxed);
        atomic_store_explicit(&slot->home_epoch, 0, memory_order_relaxed);
        atomic_store_explicit(&slot->superseded, sequence, memory_order_relaxed);
        if (!hook_has_bug(HOOK_BUG_STILL_PUBLISHED))
                slot_move(slot, WAS_PUBLISHED | WAS_RETIRED, SLOT_RETIRED, owner);
}

/* Makes one slot the newest version of its page. Returns the slot it displaced, or home. Every
 * store before the head's can be repeated by a successor; tests/libxac/test_publish.c (die_after_heads) takes them
 * back one by one. */
static uint32_t publish_slot(struct shared *shared, uint32_t no, uint64_t sequence, uint32_t owner)
{
        struct slot *slot = &shared->slots[no];
        _Atomic uint64_t *head = version_head(shared, atomic_load_explicit(&slot->page, memory_order_relaxed));
        const uint64_t word = version_word(sequence, no);
        uint64_t before = atomic_load_explicit(head, memory_order_relaxed);
        if (before == word)
                return SLOT_HOME; /* the dead owner had done it */
        invariant(version_is_seen_by(before, sequence));

        uint32_t displaced = version_slot(before);
        if (displaced != SLOT_HOME)
                supersede(&shared->slots[displaced], no, sequence, owner);
        atomic_store_explicit(&slot->older, before, memory_order_relaxed);
        atomic_store_explicit(&slot->superseded, 0, memory_order_relaxed);
        atomic_store_explicit(&slot->home_epoch, 0, memory_order_relaxed);
        atomic_store_explicit(&slot->tag, sequence, memory_order_release); /* R3 */
        slot_move(slot, WAS_PRIVATE | WAS_PUBLISHED, SLOT_PUBLISHED, owner);
        atomic_store_explicit(head, word, memory_order_release);
        hook_step(HOOK_HEAD_STORED);
        return displaced;
}

/* Everything between the deciding store and the end of the commit. */
static void finish_commit(struct shared *shared, struct row *row, uint64_t sequence, struct slot_list *retired)
{
        shlock_assert_held(&shared->control->commit_lock);
        struct control *control = shared->control;
        uint32_t owner = control_owner_of_row((uint32_t)(row - shared->rows));
        uint32_t first = atomic_load_explicit(&row->intent_first, memory_order_relaxed);
        if (shared_is_durable(shared)) {
                log_publish_locked(&shared->log, atomic_load_explicit(&control->decided_log_end, memory_order_relaxed));
                hook_step(HOOK_RECORD_PUBLISHED);
        }
        if (ring_is_read(control))
                ring_write_locked(shared, row, first, sequence);
        hook_step(HOOK_RING_WRITTEN);
        for (uint32_t no = first; no;) {
                uint32_t displaced = publish_slot(shared, no, sequence, owner);
                if (displaced != SLOT_HOME && retired)
                        slot_list_push(shared, retired, displaced);
                no = atomic_load_explicit(&shared->slots[no].next, memory_order_relaxed);
        }
        if (waiters_are_some(control))
                waiters_mark_locked(shared, first);
        atomic_store_explicit(&control->sequence, sequence, memory_order_release);
        hook_step(HOOK_SEQUENCE_STORED);
}

uint64_t publish_intent_locked(struct participant *self, uint64_t log_end)
{
        shlock_assert_held(&self->shared->control->commit_lock);
        struct control *control = self->shared->control;
        uint64_t sequence = atomic_load_explicit(&control->sequence, memory_order_relaxed) + 1;
        invariant(atomic_load_explicit(&control->decided, memory_order_relaxed) + 1 == sequence);
        invariant(atomic_load_explicit(&self->row->intent_first, memory_order_relaxed));
        atomic_store_explicit(&control->committer, self->row_no, memory_order_relaxed);
        atomic_store_explicit(&control->decided_log_end, log_end, memory_order_relaxed);
        if (hook_has_bug(HOOK_BUG_HEADS_BEFORE_DECISION))
                publish_slot(self->shared, atomic_load(&self->row->intent_first), sequence, self->owner);
        hook_step(HOOK_COMMIT_LOCKED);
        atomic_store_explicit(&control->decided, sequence, memory_order_release); /* R5: it is decided */
        hook_step(HOOK_DECIDED);
        finish_commit(self->shared, self->row, sequence, &self->retired);
        return sequence;
}

void publish_home_locked(struct participant *self, const uint32_t *slots, uint32_t count)
{
        shlock_assert_held(&self->shared->control->commit_lock);
        struct shared *shared = self->shared;
        uint64_t epoch = atomic_load_explicit(&shared->control->flip_epoch, memory_order_relaxed);
        for (uint32_t i = 0; i < count; i++) {
                struct slot *slot = &shared->slots[slots[i]];
                uint64_t tag = atomic_load_explicit(&slot->tag, memory_order_relaxed);
                invariant(slot_state(slot) != SLOT_PRIVATE && slot_state(slot) != SLOT_FREE);
                _Atomic uint64_t *head = version_head(shared, atomic_load_explicit(&slot->page, memory_order_relaxed));
                if (atomic_load_explicit(head, memory_order_relaxed) != version_word(tag, slots[i]))
                        continue;
                /* home_epoch first: it tells a successor what to look for (takeover.c). */
                atomic_store_explicit(&slot->home_epoch, epoch, memory_order_release);
                hook_step(HOOK_FLIP_ANNOUNCED);
                atomic_store_explicit(head, version_word(tag, SLOT_HOME), memory_order_release);
                hook_step(HOOK_FLIPPED);
                slot_move(slot, WAS_PUBLISHED, SLOT_RETIRED, self->owner);
                slot_list_push(shared, &self->retired, slots[i]);
        }
        atomic_store_explicit(&shared->control->flip_epoch, epoch + 1, memory_order_release);
}

/* Maps the heads of every page in the intent, so that finish_commit cannot fail. */
static int map_intent(struct shared *shared, struct row *row)
{
        for (uint32_t no = atomic_load(&row->intent_first); no; no = atomic_load(&shared->slots[no].next))
                if (!shared_map_heads(shared, page_id_file(atomic_load(&shared->slots[no].page))))
                        return -ENOMEM;
        return 0;
}

/* The log has the backlog up to where it was pinned. Each store can be repeated by a successor, as the sequence stands
 * still until then. */
static void finish_merge(struct shared *shared, uint64_t log_end)
{
        shlock_assert_held(&shared->control->commit_lock);
        struct control *control = shared->control;
        uint64_t logged = atomic_load_explicit(&control->backlog_next, memory_order_relaxed);
        log_publish_locked(&shared->log, log_end);
        hook_step(HOOK_MERGE_PUBLISHED);
        if (logged == atomic_load_explicit(&control->sequence, memory_order_relaxed))
                logged = 0;
        atomic_store(&control->backlog_base, logged);
        hook_step(HOOK_MERGE_BASED);
        atomic_store_explicit(&control->backlog_end, 0, memory_order_release);
}

void publish_merge_locked(struct shared *shared, uint64_t log_end)
{
        shlock_assert_held(&shared->control->commit_lock);
        atomic_store_explicit(&shared->control->backlog_end, log_end, memory_order_release); /* R19: it is decided */
        hook_step(HOOK_MERGE_DECIDED);
        finish_merge(shared, log_end);
}

/* R5, R19: forward if it was decided, else there is nothing to do. */
static int roll_forward(struct shared *shared)
{
        struct control *control = shared->control;
        uint64_t merge_end = atomic_load(&control->backlog_end);
        if (merge_end && !hook_has_bug(HOOK_BUG_MERGE_NOT_FINISHED))
                finish_merge(shared, merge_end);
        uint64_t sequence = atomic_load(&control->sequence) + 1;
        /* Perhaps it died between flips: no later reader may share their epoch (R14). */
        atomic_fetch_add(&control->flip_epoch, 1);
        if (atomic_load(&control->decided) != sequence)
                return 0;
        struct row *row = &shared->rows[atomic_load(&control->committer)];
        int err = map_intent(shared, row);
        if (!err)
                finish_commit(shared, row, sequence, NULL);
        return err;
}

int publish_lock(struct shared *shared, uint32_t owner)
{
        struct shlock *lock = &shared->control->commit_lock;
        if (shlock_lock(lock, owner, &shared->liveness) == SHLOCK_TAKEN)
                return 0;
        int err = roll_forward(shared);
        if (err)
                shlock_leave_to(lock, control_owner_of_row(atomic_load(&shared->control->committer)));
        return err;
}

void publish_unlock(struct shared *shared)
{
        bool is_any_marked = waiters_are_marked_locked(shared->control);
        shlock_unlock(&shared->control->commit_lock);
        if (is_any_marked)
                waiters_wake(shared);
}
