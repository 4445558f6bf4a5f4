/* SPDX-License-Identifier: MIT */
#include "libxac/duty.h"

#include <limits.h>
#include <signal.h>

#include "base/sys.h"
#include "libxac/checkpoint.h"
#include "libxac/pool.h"
#include "libxac/reclaim.h"
#include "libxac/redo.h"

enum {
        TICK_NS = 200000000,     /* so old may a commit get that did not wait for the disk */
        AFTER_FAILURE_NS = 100000000 /* a full disk is not asked again at once */
};

static int do_all(struct xac_env *env, struct participant *self)
{
        struct shared *shared = &env->shared;
        struct log *log = &shared->log;
        const uint64_t ahead = log_segments_ahead(&log->shared->table);
        int err = log_poison(log);
        if (err)
                return err;
        /* For lack of space, perhaps: a checkpoint makes some. */
        int extend_err = log_wants_segment(log) ? log_segments_extend(&log->segments, self->owner, log_end(log) + ahead) : 0;
        if (log_end(log) > log_durable(log))
                err = log_wait(log, self->owner, log_end(log));
        if (!err && checkpoint_is_wanted(shared)) {
                struct home_writer writer = { .self = self,
                                              .files = &env->files,
                                              .progress = env->progress,
                                              .progress_arg = env->progress_arg };
                err = checkpoint_run(&writer);
        }
        return err ? err : extend_err;
}

/* Its row is there only while it works: idle processes take none. */
static int work(struct xac_env *env)
{
        struct participant self;
        int err = participant_join(&self, &env->shared);
        if (err)
                return err;
        atomic_store(&self.row->is_on_duty, 1);
        err = do_all(env, &self);
        reclaim_hand_over(&self);
        pool_flush(&self);
        participant_leave(&self);
        return err;
}

static bool is_anything_due(struct shared *shared)
{
        return log_wants_segment(&shared->log) || log_end(&shared->log) > log_durable(&shared->log) ||
               checkpoint_is_wanted(shared);
}

static void *run(void *arg)
{
        struct xac_env *env = arg;
        struct control *control = env->shared.control;
        while (!atomic_load(&env->duty_stops)) {
                uint32_t seen = atomic_load(&control->duty);
                if (!atomic_load(&control->duty_wanted))
                        sys_futex_wait((const uint32_t *)&control->duty, seen, TICK_NS);
                atomic_store(&control->duty_wanted, 0);
                if (!atomic_load(&env->duty_stops) && !log_poison(&env->shared.log) && is_anything_due(&env->shared) &&
                    work(env))
                        sys_sleep_ns(AFTER_FAILURE_NS);
        }
        return NULL;
}

/* Signals are the program's business: this thread takes none. */
int duty_start(struct xac_env *env)
{
        sigset_t all, before;
        if (!shared_is_durable(&env->shared))
                return 0;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        atomic_store(&env->duty_stops, false);
        int err = pthread_create(&env->duty_thread, NULL, run, env);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        env->has_duty_thread = !err;
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
        pthread_join(env->duty_thread, NULL);
        env->has_duty_thread = false;
}
