/* SPDX-License-Identifier: MIT */
#include "libxac/door/close.h"

#include <errno.h>
#include <stdlib.h>

#include "base/byte_lock.h"
#include "base/sys.h"
#include "libxac/care/archiving.h"
#include "libxac/care/checkpoint.h"
#include "libxac/care/duty.h"
#include "libxac/door/reading.h"
#include "libxac/process/registry.h"
#include "libxac/process/thread.h"
#include "libxac/process/unended.h"
#include "libxac/store/pool.h"
#include "libxac/store/reclaim.h"
#include "libxac/store/takeover.h"
#include "libxac/txn/redo.h"
#include "libxac/txn/tracing.h"
#include "libxac/view/snapshot_map.h"

static bool is_another_thread_in_transaction(struct xac_env *env)
{
        const struct thread *own = thread_find(env);
        bool is_any = false;
        pthread_mutex_lock(&env->mutex);
        for (struct thread *thread = env->threads; thread; thread = thread->next_in_env)
                is_any |= (txn_is_open(&thread->txn) || atomic_load(&thread->is_asleep)) && thread != own;
        pthread_mutex_unlock(&env->mutex);
        return is_any;
}

static int bring_home(struct xac_env *env)
{
        struct participant self;
        int err = participant_join(&self, &env->shared);
        if (err)
                return err;
        struct home_writer writer = { .self = &self,
                                      .files = &env->files,
                                      .progress = env->progress,
                                      .progress_arg = env->progress_arg,
                                      .may_wait = true };
        err = checkpoint_run(&writer);
        /* A commit that failed may have left fragments behind the last group. The log goes on behind all that is said
         * to be in it (checkpoint_mark_clean), whoever attaches before it is gone. */
        if (!err && shared_is_durable(&env->shared))
                err = redo_wait(&self, log_end(&env->shared.log));
        reclaim_hand_over(&self);
        pool_flush(&self);
        participant_leave(&self);
        return err;
}

/* The last process brings everything home; only then may the shared memory go. -EAGAIN: something is
 * held back still, by a process of which the kernel would not say that it is dead. */
static int write_home_as_last(struct xac_env *env)
{
        struct pool_census census;
        takeover_dead(&env->shared, control_owner_of_process(env->shared.process_no));
        int err = bring_home(env);
        pool_count(&env->shared, &census);
        if (!err && census.published)
                err = -EAGAIN;
        if (err)
                return err;
        env->archive_err = archiving_finish(env);
        int noted = files_note_closed(&env->files);
        if (noted < 0 || (!noted && !shared_is_durable(&env->shared)))
                return noted; /* a volatile session that has written nothing leaves the manifest as it is */
        return checkpoint_mark_clean(&env->shared, env->directory);
}

/* What is in the memory of a poisoned environment was never promised: the next one to open it recovers from
 * the log. */
static bool is_poisoned(const struct shared *shared)
{
        return shared_is_durable(shared) && log_poison(&shared->log);
}

/* Caller holds byte 0 of the lock file. */
static int leave_locked(struct xac_env *env)
{
        int err = shared_is_any_other_alive(&env->shared, env->identity.max_participants);
        if (err == 0) {
                err = write_home_as_last(env);
                if (!err || is_poisoned(&env->shared))
                        shared_remove(&env->identity);
                if (!err)
                        err = env->archive_err;
        } else if (err > 0) {
                err = 0;
        }
        atomic_store(&env->shared.processes[env->shared.process_no].is_used, 0);
        return err;
}

/* The program's part: its threads, with their transactions and views. -EBUSY: nothing was done. */
static int leave_threads(struct xac_env *env)
{
        if (is_another_thread_in_transaction(env))
                return -EBUSY;
        const struct thread *own = thread_find(env);
        const bool is_unended = own && txn_is_open(&own->txn); /* thread_leave undoes it */
        if (is_unended)
                unended_tell_of_close(&own->txn);
        while (env->threads)
                thread_leave(env->threads);
        thread_sweep();
        return is_unended ? XAC_UNENDED : 0;
}

/* Of an environment at rest nothing is to be written. */
static int leave(struct xac_env *env)
{
        if (env->at_rest)
                return 0;
        int err = byte_lock_wait(env->shared.lock_fd, 0);
        return err ? err : leave_locked(env); /* or as if it were killed: the next one finds everything */
}

/* Nobody uses it any more. */
static int tear_down(struct xac_env *env)
{
        duty_stop(env);
        archiving_stop(env);
        snapshot_map_clear_shelf_locked(env);
        int err = leave(env);
        tracing_close(env);
        reading_end(env);
        sys_close(env->shared.lock_fd); /* and with it all its locks; none (-1) where it may not be opened */
        registry_remove_locked(env);
        files_close_all(&env->files);
        redo_detach(&env->shared);
        shared_detach(&env->shared);
        sys_close(env->directory);
        registry_free_fork_guard(env);
        chunks_close(&env->chunks);
        pthread_mutex_destroy(&env->mutex);
        pthread_mutex_destroy(&env->shared.participant_mutex);
        pthread_mutex_destroy(&env->shared.file_mutex);
        free(env);
        return err;
}

/* A thread that has something open; NULL: none has. What one has open that has ended is of no use any more. */
static struct thread *find_retaining_locked(struct xac_env *env)
{
        pthread_mutex_lock(&env->mutex);
        struct thread *thread = env->threads;
        while (thread && !thread->retains)
                thread = thread->next_in_env;
        pthread_mutex_unlock(&env->mutex);
        return thread;
}

static int close_locked(struct xac_env *env)
{
        if (!env->opens)
                return -EINVAL; /* only its snapshots keep it open */
        if (env->opens > 1) {
                env->opens--;
                return 0;
        }
        int left = find_retaining_locked(env) ? -EBUSY : leave_threads(env);
        if (left == -EBUSY)
                return left;
        env->opens = 0;
        int err = env->holds ? 0 : tear_down(env);
        return err ? err : left;
}

int close_env(struct xac_env *env)
{
        if (env_is_forked(env))
                return XAC_FORKED;
        registry_lock();
        int err = close_locked(env);
        registry_unlock();
        return err;
}

int close_retain(struct thread *thread)
{
        registry_lock();
        thread->retains++;
        registry_unlock();
        return 0;
}

int close_give_up(struct xac_env *env)
{
        if (env_is_forked(env))
                return XAC_FORKED;
        registry_lock();
        struct thread *thread = thread_find(env);
        if (!thread || !thread->retains)
                thread = find_retaining_locked(env);
        if (thread)
                thread->retains--;
        registry_unlock();
        return thread ? 0 : -EINVAL;
}

int close_last_locked(struct xac_env *env)
{
        (void)leave_threads(env); /* none, unless one went on to use what was closed */
        return tear_down(env);
}
