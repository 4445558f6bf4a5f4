/* SPDX-License-Identifier: MIT */
#include "libxac/txn/commit.h"

#include <xac/xac.h>

#include "base/hook.h"
#include "base/invariant.h"
#include "base/sys.h"
#include "libxac/ground/probe.h"
#include "libxac/ground/ring.h"
#include "libxac/store/exclusion.h"
#include "libxac/store/home.h"
#include "libxac/store/pool_memory.h"
#include "libxac/store/reclaim.h"
#include "libxac/store/takeover.h"
#include "libxac/txn/backlog.h"
#include "libxac/txn/checkpoint_due.h"
#include "libxac/txn/conflict.h"
#include "libxac/txn/tracing.h"
#include "libxac/version/publish.h"

enum {
        FEW_ENTRIES = 16,    /* so many pages are compared under the lock alone */
        LOOKS_PER_CLOCK = 4, /* the clock is not read at each look at retired slots */
        REAP_EVERY_NS = 100000000
};

/* Did anybody change, up to `until`, what this transaction depends on? */
static int validate(struct txn *txn, uint64_t after, uint64_t until)
{
        struct conflict conflict = conflict_find(txn, txn->flags & XAC_SNAPSHOT_ISOLATION, after, until);
        if (hook_has_bug(HOOK_BUG_NO_VALIDATION))
                return 0;
        if (conflict.is_coarse)
                txn->mapper->was_coarse(txn, conflict.page);
        if (!conflict.is_lost)
                return 0;
        PROBE2(conflict, conflict.page, txn->pages.snapshot);
        txn->lost_page = conflict.page;
        return XAC_CONFLICT;
}

/* The long part, without the lock. A short one is not worth the look at the sequence, whose cache
 * line the lock will want for itself in a moment. */
static int validate_early(struct txn *txn, uint64_t *validated)
{
        *validated = txn->pages.snapshot;
        if (txn->pages.entries.count <= FEW_ENTRIES && !ring_reads(txn->self->row))
                return 0;
        *validated = atomic_load_explicit(&txn->self->shared->control->sequence, memory_order_acquire);
        return validate(txn, txn->pages.snapshot, *validated);
}

/* What is in the way of a record (R19, R35, R38, I5). */
enum obstacle { NO_OBSTACLE, BACKLOG, LAPSED_FRAGMENTS, NO_ROOM, NOT_READY };

/* A commit that does not wait goes without a record where there is a backlog. */
static enum obstacle find_obstacle_locked(struct txn *txn)
{
        shlock_assert_held(&txn->self->shared->control->commit_lock);
        struct shared *shared = txn->self->shared;
        if (!txn->is_logged)
                return NO_OBSTACLE;
        if (backlog_exists(shared) && !hook_has_bug(HOOK_BUG_BACKLOG_OVERTAKEN)) {
                txn->is_logged = txn->is_waiting;
                return txn->is_waiting ? BACKLOG : NO_OBSTACLE;
        }
        if (redo_has_lapsed_locked(&txn->redo, txn->self))
                return LAPSED_FRAGMENTS;
        if (!redo_has_room_locked(&txn->redo, shared))
                return NO_ROOM;
        bool is_ready = !txn->is_waiting || redo_is_ready_locked(&txn->redo, shared) || txn->is_ready_enough;
        return is_ready ? NO_OBSTACLE : NOT_READY;
}

static int keep_others_out(struct txn *txn)
{
        if (exclusion_holds(txn->self))
                return 0;
        int err = exclusion_begin(txn->self);
        txn->is_exclusive = !err;
        return err;
}

/* The log gets what it lacks before this commit. When others have committed meanwhile, it is done again without them,
 * which takes a moment; if that is too long, and they were let in again (R20), once more. */
static int clear_backlog(struct txn *txn)
{
        struct participant *self = txn->self;
        backlog_pause(self->shared);
        int err = backlog_log(self, txn->files);
        return err || !backlog_exists(self->shared) ? err : keep_others_out(txn);
}

/* Others have logged so much meanwhile that the log was not kept for its fragments: this time without the others. */
static int log_again(struct txn *txn)
{
        int err = keep_others_out(txn);
        return err ? err : redo_prepare(&txn->redo, &txn->pages);
}

/* A thread of this process that writes for very long has descriptors: it is not waited for. */
static int get_ready(struct txn *txn)
{
        int err = redo_get_ready(&txn->redo, txn->self);
        txn->is_ready_enough = err == -EBUSY;
        return txn->is_ready_enough ? 0 : err;
}

static int overcome(struct txn *txn, enum obstacle obstacle)
{
        switch (obstacle) {
        case BACKLOG:
                return clear_backlog(txn);
        case LAPSED_FRAGMENTS:
                return log_again(txn);
        case NO_ROOM:
                return redo_make_room(&txn->redo, txn->self);
        case NOT_READY:
                return get_ready(txn);
        case NO_OBSTACLE:
                break;
        }
        return 0;
}

/* The lock, with all that the commit needs. */
static int lock_when_ready(struct txn *txn)
{
        for (;;) {
                int err = exclusion_lock(txn->self);
                enum obstacle obstacle = err ? NO_OBSTACLE : find_obstacle_locked(txn);
                if (obstacle == NO_OBSTACLE)
                        return err;
                publish_unlock(txn->self->shared);
                err = overcome(txn, obstacle);
                if (err)
                        return err;
        }
}

/* Returns where the log ends with the commit; 0: there is no log. */
static uint64_t stage_locked(struct txn *txn, uint64_t sequence)
{
        shlock_assert_held(&txn->self->shared->control->commit_lock);
        struct shared *shared = txn->self->shared;
        if (!shared_is_durable(shared))
                return 0;
        if (txn->is_logged)
                return txn->log_end = redo_stage_locked(&txn->redo, txn->self, sequence);
        backlog_join_locked(shared);
        return log_end(&shared->log);
}

/* Caller holds the commit lock; everything that can fail but the race itself has been done. */
static int commit_locked(struct txn *txn, uint64_t validated, uint64_t *sequence)
{
        shlock_assert_held(&txn->self->shared->control->commit_lock);
        struct control *control = txn->self->shared->control;
        uint64_t now = atomic_load_explicit(&control->sequence, memory_order_relaxed);
        invariant(validated <= now);
        int err = validate(txn, validated, now); /* 1. against what came since */
        if (hook_has_bug(HOOK_BUG_NO_LATE_VALIDATION))
                err = 0;
        if (err)
                return err;
        uint64_t log_end = stage_locked(txn, now + 1);         /* 2. into the log's ring, or the backlog */
        *sequence = publish_intent_locked(txn->self, log_end); /* 3. decide, and be the newest */
        return 0;
}

/* All that can be done, and all that can fail, without the lock (I5). */
static int prepare(struct txn *txn, uint64_t *validated)
{
        invariant(txn->pages.writes.count && !txn->is_read_only);
        int err = txn->mapper->seal(txn); /* I1: before anybody sees the pages */
        if (err)
                return err;
        txn_pages_intend(&txn->pages);
        hook_step(HOOK_INTENT_LINKED);
        err = validate_early(txn, validated);
        if (err || !shared_is_durable(txn->self->shared))
                return err;
        return txn->is_logged ? redo_prepare(&txn->redo, &txn->pages) : log_poison(&txn->self->shared->log);
}

static int commit_prepared(struct txn *txn, uint64_t validated)
{
        uint64_t sequence;
        int err = lock_when_ready(txn);
        if (err)
                return err;
        err = commit_locked(txn, validated, &sequence);
        publish_unlock(txn->self->shared);
        hook_step(HOOK_COMMIT_UNLOCKED);
        if (err)
                return err;
        txn->sequence = sequence;
        txn->mapper->committed(txn, sequence);
        return 0;
}

int commit_written(struct txn *txn, bool is_waiting)
{
        uint64_t validated;
        txn->is_waiting = is_waiting;
        txn->is_logged = is_waiting || backlog_is_paused(txn->self->shared, txn->pages.snapshot);
        txn->is_exclusive = false;
        txn->is_ready_enough = false;
        int err = prepare(txn, &validated);
        if (!err)
                err = commit_prepared(txn, validated);
        redo_finish(&txn->redo, txn->self);
        if (err == XAC_CONFLICT && tracing_is_on(txn->self))
                tracing_lost(txn); /* without the lock, and with its snapshot */
        if (txn->is_exclusive)
                exclusion_end(txn->self);
        return err;
}

int commit_wait_for_log(struct txn *txn)
{
        if (txn->is_waiting)
                return redo_wait_published(txn->self, txn->log_end);
        redo_push(txn->self);
        return 0;
}

/* Now and then, so that the dead hold nothing back for long (P6). */
static void look_for_the_dead(struct participant *self)
{
        if (self->looks - self->looks_seen < LOOKS_PER_CLOCK)
                return;
        self->looks_seen = self->looks;
        uint64_t now_ns = sys_monotonic_ns();
        if (now_ns - self->last_reap_ns < REAP_EVERY_NS)
                return;
        self->last_reap_ns = now_ns;
        takeover_dead(self->shared, self->owner);
}

static void send_home(struct txn *txn, bool may_wait)
{
        struct home_writer writer = { .self = txn->self, .files = txn->files, .may_wait = may_wait };
        (void)home_checkpoint(&writer); /* what does not succeed now is tried again by later ones */
}

void commit_tidy(struct txn *txn)
{
        invariant(!txn_is_open(txn)); /* its own snapshot would hold back what it gives back */
        struct participant *self = txn->self;
        reclaim_after_commit(self);
        look_for_the_dead(self);
        /* In a durable environment it waits, and where there is hardly any room left: others' transactions need that,
         * too, and whoever waits inside one holds back what the checkpoint brings home. */
        if (checkpoint_is_due(self->shared))
                send_home(txn, shared_is_durable(self->shared) || pool_is_exhausted(self->shared));
}

void commit_make_room(struct txn *txn)
{
        send_home(txn, true);
}
