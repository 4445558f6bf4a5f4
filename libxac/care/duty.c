/* SPDX-License-Identifier: MIT */
#include "libxac/care/duty.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>

#include "base/sys.h"
#include "libxac/care/archiving.h"
#include "libxac/care/checkpoint.h"
#include "libxac/ground/handlers.h"
#include "libxac/store/pool.h"
#include "libxac/store/pool_memory.h"
#include "libxac/store/reclaim.h"
#include "libxac/store/takeover.h"
#include "libxac/txn/backlog.h"
#include "libxac/txn/checkpoint_due.h"
#include "libxac/txn/redo.h"
#include "libxac/txn/tracing.h"
#include "libxac/view/snapshot_map.h"

enum {
        TICK_NS = 200000000,          /* so old may a commit get that did not wait for the disk */
        AFTER_FAILURE_NS = 100000000, /* a full disk is not asked again at once */
        HEED_NS = 1000000000,         /* so often it looks what its control group allows */
        GROWTHS = 4                   /* pieces of the pool at once */
};

/* Since one of the background threads last made the log durable. No earlier than a tick later one does again, as each
 * sync moves the snapshot that durable reads may want, and with it what reclaim has to keep. (A clock that is behind,
 * as in another time namespace, makes it long ago.) */
static uint64_t since_sync_ns(const struct shared *shared)
{
        return sys_monotonic_ns() - atomic_load(&shared->control->synced_ns);
}

static bool is_sync_due(const struct shared *shared)
{
        const bool is_behind = backlog_exists(shared) || log_end(&shared->log) > log_durable(&shared->log);
        return is_behind && since_sync_ns(shared) >= TICK_NS;
}

static int sync_log(struct xac_env *env, struct participant *self)
{
        struct log *log = &env->shared.log;
        atomic_store(&env->shared.control->synced_ns, sys_monotonic_ns());
        int err = backlog_log(self, &env->files);
        if (!err)
                err = log_wait(log, self->owner, log_end(log));
        if (err)
                atomic_store(&env->shared.control->synced_ns, 0); /* another process may be luckier */
        return err;
}

/* A little at a time: the log must not wait for it. What cannot be had now is found missing by who needs it. */
static int grow_pool(struct participant *self)
{
        int err = 0;
        for (int i = 0; i < GROWTHS && !err && pool_wants_growth(self->shared); i++)
                err = reclaim_ahead(self);
        return err;
}

static int keep_durable(struct xac_env *env, struct participant *self)
{
        struct shared *shared = &env->shared;
        struct log *log = &shared->log;
        const uint64_t ahead = log_segments_ahead(&log->shared->table);
        int err = log_poison(log);
        if (err)
                return err;
        if (redo_wants_push(shared))
                err = log_push(log, self->owner);
        (void)grow_pool(self);
        /* For lack of space, perhaps: a checkpoint makes some. */
        int extend_err =
                log_wants_segment(log) ? log_segments_extend(&log->segments, self->owner, log_end(log) + ahead) : 0;
        if (!err && is_sync_due(shared))
                err = sync_log(env, self);
        if (err == -ENOSPC || (!err && checkpoint_is_wanted(shared))) { /* it makes room in the log */
                struct home_writer writer = {
                        .self = self, .files = &env->files, .progress = env->progress, .progress_arg = env->progress_arg
                };
                err = checkpoint_run(&writer);
        }
        return err ? err : extend_err;
}

/* Of a volatile environment pages go home with a commit that finds the pool nearly full; here, as it may be too large
 * without any commit. */
static int keep_volatile(struct xac_env *env, struct participant *self)
{
        if (!pool_is_too_large(self->shared) || !pool_is_nearly_full(self->shared))
                return grow_pool(self);
        struct home_writer writer = { .self = self, .files = &env->files };
        int err = checkpoint_run(&writer);
        pool_shrink(self);
        return err;
}

static int do_all(struct xac_env *env, struct participant *self)
{
        reclaim_ended(self);
        if (pool_is_too_large(self->shared))
                pool_shrink(self);
        return shared_is_durable(self->shared) ? keep_durable(env, self) : keep_volatile(env, self);
}

/* Its row is there only while it works: idle processes take none. */
static int work(struct xac_env *env)
{
        struct participant self;
        int err = participant_join_with(&self, &env->shared, env->duty_seen);
        if (err)
                return err;
        atomic_store(&self.row->is_on_duty, 1);
        self.recorder = env->duty_recorder;
        tracing_lead(self.recorder);
        err = do_all(env, &self);
        tracing_lead(NULL);
        reclaim_hand_over(&self);
        pool_flush(&self);
        participant_leave_with(&self);
        return err;
}

static bool is_pool_due(const struct shared *shared)
{
        return pool_wants_growth(shared) || reclaim_has_unasked(shared) || pool_is_too_large(shared);
}

static bool is_anything_due(const struct shared *shared)
{
        if (!shared_is_durable(shared))
                return is_pool_due(shared);
        return !log_poison(&shared->log) &&
               (redo_wants_push(shared) || log_wants_segment(&shared->log) || is_sync_due(shared) ||
                checkpoint_is_wanted(shared) || is_pool_due(shared));
}

/* By each background thread for its own group. */
static void heed_group_if_due(struct shared *shared, uint64_t *due_ns)
{
        const uint64_t now_ns = sys_monotonic_ns();
        if (now_ns >= *due_ns)
                *due_ns = now_ns + (pool_heed_group(shared) ? TICK_NS : HEED_NS);
}

/* By one of the background threads in each tick. */
static bool is_tending_due(const struct shared *shared)
{
        const struct control *control = shared->control;
        return atomic_load(&control->waiters) && sys_monotonic_ns() - atomic_load(&control->tended_ns) >= TICK_NS;
}

static void tend_if_due(struct shared *shared)
{
        if (!is_tending_due(shared))
                return;
        atomic_store(&shared->control->tended_ns, sys_monotonic_ns());
        takeover_tend_waiters(shared);
}

/* Until the next sync is due, if there is something to sync by then. */
static uint64_t patience_ns(const struct shared *shared)
{
        uint64_t passed_ns = since_sync_ns(shared);
        return passed_ns < TICK_NS ? TICK_NS - passed_ns : TICK_NS;
}

static void *run(void *arg)
{
        struct xac_env *env = arg;
        struct control *control = env->shared.control;
        uint64_t heed_due_ns = sys_monotonic_ns() + HEED_NS; /* an open is not to pay for it */
        atomic_store(&env->duty_runs, 1);
        sys_futex_wake((const uint32_t *)&env->duty_runs, 1);
        for (;;) {
                /* Read before what duty_stop() and shared_call_for_duty() store first: duty_stops, duty_wanted. */
                const uint32_t seen = atomic_load(&control->duty);
                if (atomic_load(&env->duty_stops))
                        break;
                handlers_watch(1);
                if (!atomic_load(&control->duty_wanted))
                        sys_futex_wait((const uint32_t *)&control->duty, seen, patience_ns(&env->shared));
                atomic_store(&control->duty_wanted, 0);
                tend_if_due(&env->shared);
                snapshot_map_tidy_shelf(env);
                archiving_call(env);
                read_ahead_judge(&env->files);
                heed_group_if_due(&env->shared, &heed_due_ns);
                if (pool_may_rise(&env->shared))
                        pool_let_rise(&env->shared);
                if (!atomic_load(&env->duty_stops) && is_anything_due(&env->shared) && work(env))
                        sys_sleep_ns(AFTER_FAILURE_NS);
        }
        return NULL;
}

/* Signals are the program's business: this thread takes none. The program may fork at any time: so the thread has begun
 * when this returns (threads that are just starting hold locks of the C library or of a sanitizer), and allocates
 * nothing, unless it extends a log (the allocator of AddressSanitizer does not mind fork). */
int duty_start(struct xac_env *env)
{
        env->duty_seen = snapshots_allocate(&env->shared);
        if (!env->duty_seen)
                return -ENOMEM;
        env->duty_recorder = tracing_background(env);
        sigset_t all, before;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        atomic_store(&env->duty_stops, false);
        atomic_store(&env->duty_runs, 0);
        int err = pthread_create(&env->duty_thread, NULL, run, env);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        env->has_duty_thread = !err;
        if (err) {
                tracing_end_background(env);
                free(env->duty_seen);
        }
        while (!err && !atomic_load(&env->duty_runs))
                sys_futex_wait((const uint32_t *)&env->duty_runs, 0, TICK_NS);
        return -err;
}

void duty_stop(struct xac_env *env)
{
        if (!env->has_duty_thread)
                return;
        struct control *control = env->shared.control;
        atomic_store(&env->duty_stops, true);
        atomic_fetch_add(&control->duty, 1);
        sys_futex_wake((const uint32_t *)&control->duty, INT_MAX);
        sys_join(env->duty_thread);
        env->has_duty_thread = false;
        tracing_end_background(env);
        free(env->duty_seen);
}
