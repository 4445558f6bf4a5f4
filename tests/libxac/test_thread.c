/* SPDX-License-Identifier: MIT */
#include "libxac/process/thread.h"

/*
 * A thread's use of an environment from joining to leaving, the registry of environments, what
 * xac_run does between its attempts, and the counters. Seen from inside, each test in a process
 * of its own.
 */

#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <xac/xac.h>

#include "base/sys.h"
#include "libxac/door/stats.h"
#include "libxac/process/fault.h"
#include "libxac/process/registry.h"
#include "libxac/store/exclusion.h"
#include "libxac/store/pool.h"
#include "libxac/txn/patience.h"
#include "rewire/mappings.h"
#include "tests/support/check.h"
#include "tests/support/crew.h"
#include "tests/support/isolate.h"
#include "tests/support/scratch.h"
#include "tests/support/seat.h"

static void run_thread(void *(*body)(void *arg), void *arg)
{
        pthread_t thread;

        check_equal(pthread_create(&thread, NULL, body, arg), 0);
        check_equal(pthread_join(thread, NULL), 0);
}

static struct thread *mine(xac_env *env)
{
        struct thread *thread;

        check_ok(thread_of(env, &thread));
        return thread;
}

/* ---- The registry ---- */

static xac_env *registered(xac_env *env)
{
        struct stat st = { .st_dev = env->identity.device, .st_ino = env->identity.inode };
        xac_env *found;

        registry_lock();
        found = registry_find_locked(&st);
        registry_unlock();
        return found;
}

static void a_directory_is_one_environment(void)
{
        xac_env *again, *second;
        struct stat other = { .st_dev = 1, .st_ino = 1 };

        seat_take(0);
        check_ok(xac_open(scratch_path("second"), XAC_CREATE | XAC_VOLATILE, NULL, &second));
        check(registered(seat.env) == seat.env && registered(second) == second);
        registry_lock();
        check(registry_find_locked(&other) == NULL);
        registry_unlock();
        check_ok(xac_open(scratch_path("second"), XAC_VOLATILE, NULL, &again));
        check(again == second);
        check_ok(xac_close(second));
        check(registered(second) == second); /* counted */
        seat_leave(0);
        check_ok(xac_close(again));
}

static void look_from_the_child(int index, void *env)
{
        struct thread *thread;

        (void)index;
        check(env_is_forked(env));
        check(registered(env) == NULL);
        check_equal(mappings_in_use(), 0);
        check_code(thread_of(env, &thread), XAC_FORKED);
        check_code(xac_close(env), XAC_FORKED);
}

/* P9 */
static void a_fork_is_marked(void)
{
        seat_take(0);
        seat_commit_add(0);
        check(!env_is_forked(seat.env));
        crew_join(crew_fork(look_from_the_child, 0, seat.env));
        check(!env_is_forked(seat.env));
        check_equal(seat_commit_add(0), 2);
        seat_leave(0);
}

static int refuse_madvise(enum sys_call call, int fd, uint64_t offset, size_t byte_len)
{
        (void)fd, (void)offset, (void)byte_len;
        return call == SYS_MADVISE ? -EINVAL : 0;
}

/* Without the kernel's help a fork could not be seen: better no environment at all. */
static void without_the_mark_there_is_no_environment(void)
{
        xac_env *env;

        sys_fail = refuse_madvise;
        check_code(xac_open(scratch_path("env"), XAC_CREATE | XAC_VOLATILE, NULL, &env), -EINVAL);
        sys_fail = NULL;
        check(env == NULL);
}

/* pool_bytes is granted at least. */
static void a_tiny_pool_is_made_large_enough(void)
{
        const xac_options options = { .pool_bytes = 1 };
        uint64_t *words;
        xac_stats stats;
        xac_env *env;

        check_ok(xac_open(scratch_path("env"), XAC_CREATE | XAC_VOLATILE, &options, &env));
        words = xac_mmap(env, "words", 16 * 4096, 0);
        check_ok(xac_stat(env, &stats));
        check(stats.pool_bytes >= 16 * 4096);
        check_ok(xbegin(env, 0));
        for (size_t page = 0; page < 16; page++)
                words[page * 512] = page;
        check_ok(xend(env));
        check_ok(xac_close(env));
}

/* A copy of the data and the manifest opens: the lock file holds nothing. */
static void the_lock_file_may_be_missing(void)
{
        seat_take(0);
        check_equal(seat_commit_add(0), 1);
        seat_leave(0);
        check_equal(unlink(scratch_path("env/xac.lock")), 0);
        check_ok(xac_open(scratch_path("env"), XAC_VOLATILE, NULL, &seat.env));
        seat.words = xac_mmap(seat.env, "words", 0, 0);
        check_equal(seat_commit_get(0), 1);
        seat_leave(0);
        check_equal(unlink(scratch_path("env/xac.manifest")), 0);
        check_equal(unlink(scratch_path("env/xac.lock")), 0);
        check_code(xac_open(scratch_path("env"), XAC_VOLATILE, NULL, &seat.env), -ENOENT);
}

/* ---- Joining and leaving ---- */

static void a_thread_is_found_again(void)
{
        xac_env *envs[3];
        struct thread *threads[3], *found;

        for (int i = 0; i < 3; i++) {
                static const char *const names[] = { "a", "b", "c" };

                check_ok(xac_open(scratch_path(names[i]), XAC_CREATE | XAC_VOLATILE, NULL, &envs[i]));
                threads[i] = mine(envs[i]);
        }
        for (int i = 0; i < 9; i++) {
                found = mine(envs[i % 3]);
                check(found == threads[i % 3] && found->env == envs[i % 3]);
                check(thread_list == found); /* at the front: it is asked for again soon */
        }
        check_ok(xac_close(envs[1]));
        check(mine(envs[0]) == threads[0] && mine(envs[2]) == threads[2]);
        check_ok(xac_close(envs[0]));
        check_ok(xac_close(envs[2]));
        check(thread_list == NULL);
}

static int fail_nth;

static int fail_one(enum sys_call call, int fd, uint64_t offset, size_t byte_len)
{
        (void)call, (void)fd, (void)offset, (void)byte_len;
        return --fail_nth == 0 ? -ENOMEM : 0;
}

static void *join_with_a_failure(void *env)
{
        int err = xbegin(env, 0);

        sys_fail = NULL;
        check(err == 0 || err == -ENOMEM || err == -ENOSPC);
        check_equal(xac_run(env, 0, NULL, NULL), -EINVAL);
        if (err == 0)
                check_ok(xend(env));
        return NULL;
}

static void joining_may_fail_anywhere(void)
{
        seat_take(0);
        for (int nth = 1; nth < 12; nth++) {
                fail_nth = nth;
                sys_fail = fail_one;
                run_thread(join_with_a_failure, seat.env);
                check_equal(seat_stat(participants), 1);
        }
        seat_leave(0);
}

static void *expect_busy(void *env)
{
        check_code(xbegin(env, 0), XAC_LIMIT);
        return NULL;
}

static void *expect_room(void *env)
{
        check_ok(xbegin(env, 0));
        check_ok(xend(env));
        return NULL;
}

/* All rows are taken; then the process that has them is dead. */
static void rows_of_the_dead_are_taken_back_when_they_are_missed(void)
{
        enum { THEIR_PROCESS = 3 };
        struct shared *shared;

        seat_take(0);
        shared = &seat.env->shared;
        for (uint32_t i = 0; i < shared->control->max_participants; i++) {
                if (atomic_load(&shared->rows[i].state) == ROW_USED)
                        continue;
                atomic_store(&shared->rows[i].process_no, THEIR_PROCESS);
                atomic_store(&shared->rows[i].state, ROW_USED);
        }
        atomic_store(&shared->control->rows_used, shared->control->max_participants);
        run_thread(expect_busy, seat.env);
        atomic_store(&shared->processes[THEIR_PROCESS].is_used, 1);
        run_thread(expect_room, seat.env);
        check_equal(seat_stat(participants), 1);
        check_equal(atomic_load(&shared->processes[THEIR_PROCESS].is_used), 0);
        seat_leave(0);
}

static void *exit_in_the_middle(void *env)
{
        struct thread *thread = mine(env);

        check_ok(exclusion_begin(&thread->self));
        seat.words = xac_mmap(env, "words", 0, 0);
        check_ok(xbegin(env, 0));
        seat.words[0] = 77;
        check_ok(xbegin(env, 0));
        seat.words[seat_word(5, 0)] = 78;
        return NULL;
}

/* Exclusivity, views, open levels, private pages: all goes with it. */
static void a_thread_that_ends_leaves_nothing_behind(void)
{
        struct pool_census census;

        seat_take(0);
        seat_commit_add(0);
        run_thread(exit_in_the_middle, seat.env);
        check_equal(atomic_load(&seat.env->shared.control->exclusive), 0);
        check_equal(seat_commit_add(0), 2);
        check_equal(seat_stat(participants), 1);
        pool_count(&seat.env->shared, &census);
        check_equal(census.private, atomic_load(&seat.env->shared.rows[0].frames)); /* of this thread */
        seat_leave(0);
        check_equal(mappings_in_use(), 0);
}

/* Lost to another before it ends, and a call has said so. */
static int body_is_canceled(void *calls)
{
        seat_add(0);
        if (++*(int *)calls > 3)
                return 0;
        txn_doom(&mine(seat.env)->txn, XAC_CONFLICT);
        return -ECANCELED;
}

static int body_cancels(void *calls)
{
        ++*(int *)calls;
        return -ECANCELED;
}

static void a_canceled_body_is_run_again_if_its_transaction_is_lost(void)
{
        int calls = 0;

        seat_take(0);
        check_ok(xac_run(seat.env, 0, body_is_canceled, &calls));
        check_equal(calls, 4);
        check_equal(seat_commit_get(0), 1);
        check_code(xac_run(seat.env, 0, body_cancels, &calls), -ECANCELED); /* its own word */
        check_equal(calls, 5);
        seat_leave(0);
}

static pthread_barrier_t meeting;

static void *stay_while_it_is_closed(void *env)
{
        check_ok(xbegin(env, 0));
        check_ok(xend(env));
        pthread_barrier_wait(&meeting); /* it has joined */
        pthread_barrier_wait(&meeting); /* it was closed */
        check(thread_list != NULL && thread_list->env == NULL);
        check(!fault_handle(&meeting, TOUCH_READ, NULL)); /* which the handler passes by */
        thread_sweep();
        check(thread_list == NULL);
        return NULL;
}

static void closing_leaves_for_other_threads(void)
{
        pthread_t thread;

        pthread_barrier_init(&meeting, NULL, 2);
        seat_take(0);
        check_equal(pthread_create(&thread, NULL, stay_while_it_is_closed, seat.env), 0);
        pthread_barrier_wait(&meeting);
        check_equal(seat_stat(participants), 2);
        seat_leave(0);
        pthread_barrier_wait(&meeting);
        check_equal(pthread_join(thread, NULL), 0);
}

/* ---- Views of a thread ---- */

static void a_file_has_one_view_in_a_thread(void)
{
        void *again;

        seat_take(0);
        again = xac_mmap(seat.env, "words", 0, 0);
        check(again == seat.words);
        check_code(xac_munmap(seat.env, (char *)again + 4096), XAC_NOVIEW);
        check_code(xac_munmap(seat.env, NULL), XAC_NOVIEW);
        check_ok(xac_munmap(seat.env, again)); /* counted */
        check_equal(seat_commit_add(0), 1);
        check_ok(xbegin(seat.env, 0));
        check_code(xac_munmap(seat.env, again), -EBUSY);
        check_ok(xend(seat.env));
        check_ok(xac_munmap(seat.env, again));
        check_code(xac_munmap(seat.env, again), XAC_NOVIEW);
        check_equal(mappings_in_use(), 0);
        seat.words = xac_mmap(seat.env, "words", 0, 0);
        check_equal(seat_commit_get(0), 1);
        seat_leave(0);
}

static void views_do_not_outgrow_their_reservation(void)
{
        const xac_options options = { .reserve_bytes = 1 << 20 };
        xac_env *env;
        char *view;

        check_ok(xac_open(scratch_path("env"), XAC_CREATE | XAC_VOLATILE, &options, &env));
        view = xac_mmap(env, "file", 4096, 0);
        check(view != MAP_FAILED);
        check(xac_mmap(env, "file", 1 << 20, 0) == view);
        check_map_fails(xac_mmap(env, "file", (1 << 20) + 1, 0), ENOMEM);
        check_ok(xac_close(env));
}

/* ---- xac_run ---- */

struct losing {
        struct participant *other;
        int losses; /* attempts that somebody spoils */
        int calls;
        int exclusive_calls;
};

static int lose(void *losing_)
{
        struct losing *losing = losing_;
        const struct thread *thread = mine(seat.env);
        _Atomic uint32_t *exclusive = &seat.env->shared.control->exclusive;

        losing->calls++;
        losing->exclusive_calls += control_exclusive_owner(atomic_load(exclusive)) == thread->self.owner;
        check(!thread->is_in_library); /* faults are the body's own */
        seat.words[0]++;
        return losing->calls <= losing->losses ? XAC_CONFLICT : 0;
}

static void after_sixteen_losses_it_runs_alone(void)
{
        static const int losses[] = { 0, 1, PATIENCE_LOSSES_MAX - 1, PATIENCE_LOSSES_MAX, PATIENCE_LOSSES_MAX + 3 };

        seat_take(0);
        for (size_t i = 0; i < sizeof(losses) / sizeof(losses[0]); i++) {
                struct losing losing = { .losses = losses[i] };
                int alone = losses[i] - PATIENCE_LOSSES_MAX + 1;

                check_ok(xac_run(seat.env, 0, lose, &losing));
                check_equal(losing.calls, losses[i] + 1);
                check_equal(losing.exclusive_calls, alone > 0 ? alone : 0);
                check_equal(atomic_load(&seat.env->shared.control->exclusive), 0);
                check_equal(seat_commit_get(0), i + 1);
        }
        seat_leave(0);
}

static int refuse_memory(enum sys_call call, int fd, uint64_t offset, size_t byte_len)
{
        (void)fd, (void)offset, (void)byte_len;
        return call == SYS_MMAP || call == SYS_MPROTECT ? -ENOMEM : 0;
}

static int never(void *arg)
{
        (void)arg;
        check(!"the body was run");
        return 0;
}

static void *change_it(void *env)
{
        uint64_t *words = xac_mmap(env, "words", 0, 0);

        run_until_committed(env, 0) words[0]++;
        return NULL;
}

static void a_run_that_cannot_begin_says_so(void)
{
        seat_take(0);
        seat_commit_add(0);
        run_thread(change_it, seat.env); /* something to be brought up to date */
        sys_fail = refuse_memory;
        check_code(xac_run(seat.env, 0, never, NULL), -ENOMEM);
        sys_fail = NULL;
        check_code(xend(seat.env), XAC_NOTXN);
        check_equal(seat_commit_get(0), 2);
        seat_leave(0);
}

static int run_inside(void *arg)
{
        struct losing *losing = arg;
        int result;

        losing->calls++;
        result = xac_run(seat.env, 0, lose, losing);
        check_code(result, losing->calls > losing->losses ? 0 : XAC_CONFLICT);
        return result; /* the outermost level decides */
}

static void an_inner_run_does_not_retry(void)
{
        struct losing losing = { .losses = 5 };

        seat_take(0);
        check_ok(xac_run(seat.env, 0, run_inside, &losing));
        check_equal(losing.calls, 6);
        check_equal(seat_commit_get(0), 1);
        seat_leave(0);
}

/* ---- Statistics ---- */

static void *count_and_go(void *env)
{
        uint64_t *words = xac_mmap(env, "words", 0, 0);

        for (int i = 0; i < 3; i++) {
                check_ok(xbegin(env, 0));
                words[seat_word(30, 0)]++;
                check_ok(xend(env));
        }
        check_ok(xbegin(env, 0));
        words[0]++;
        check_ok(xabort(env));
        return NULL;
}

static void counters_outlive_their_threads(void)
{
        xac_stats stats, direct;

        seat_take(0);
        seat_commit_add(0);
        run_thread(count_and_go, seat.env);
        check_ok(xac_stat(seat.env, &stats));
        check_equal(stats.commits, 4);
        check_equal(stats.conflicts, 0);
        check_equal(stats.sequence, 1 + 4); /* the first is 1 */
        check(stats.write_faults >= 1 + 3 + 1);
        check_equal(stats.participants, 1);
        check_equal(stats.mappings, mine(seat.env)->views.by_file[0]->mappings);
        check_equal(stats.pool_bytes_used % 4096, 0);
        check(stats.pool_bytes_used >= 2 * 4096 && stats.pool_bytes_used < stats.pool_bytes);
        stats_collect(&seat.env->shared, &direct);
        check_equal(direct.commits, stats.commits);
        check_equal(direct.write_faults, stats.write_faults);
        check_code(xac_stat(seat.env, NULL), -EINVAL);
        seat_leave(0);
}

/* What every call says to no environment at all. */
static void no_environment_is_refused(void)
{
        xac_stats stats;
        char byte;

        check_code(xac_open(NULL, XAC_CREATE | XAC_VOLATILE, NULL, &(xac_env *){ NULL }), -EINVAL);
        check_code(xac_open("x", XAC_CREATE | XAC_VOLATILE, NULL, NULL), -EINVAL);
        check_code(xac_close(NULL), -EINVAL);
        check_map_fails(xac_mmap(NULL, "x", 1, 0), EINVAL);
        check_code(xac_munmap(NULL, &byte), -EINVAL);
        check_code(xbegin(NULL, 0), -EINVAL);
        check_code(xend(NULL), -EINVAL);
        check_code(xabort(NULL), -EINVAL);
        check_code(xac_run(NULL, 0, never, NULL), -EINVAL);
        check_code(xac_advise(NULL, &byte, 1, XAC_READ), -EINVAL);
        check(xac_page_read(NULL, &byte) == NULL && xac_page_write(NULL, &byte) == NULL);
        check_code(xac_checkpoint(NULL), -EINVAL);
        check_code(xac_sync(NULL), -EINVAL);
        check_code(xac_stat(NULL, &stats), -EINVAL);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_test(a_directory_is_one_environment),
                isolated_test(a_fork_is_marked),
                isolated_test(without_the_mark_there_is_no_environment),
                isolated_test(a_tiny_pool_is_made_large_enough),
                isolated_test(the_lock_file_may_be_missing),
                isolated_test(a_thread_is_found_again),
                isolated_test(joining_may_fail_anywhere),
                isolated_test(rows_of_the_dead_are_taken_back_when_they_are_missed),
                isolated_test(a_thread_that_ends_leaves_nothing_behind),
                isolated_test(a_canceled_body_is_run_again_if_its_transaction_is_lost),
                isolated_test(closing_leaves_for_other_threads),
                isolated_test(a_file_has_one_view_in_a_thread),
                isolated_test(views_do_not_outgrow_their_reservation),
                isolated_test(after_sixteen_losses_it_runs_alone),
                isolated_test(a_run_that_cannot_begin_says_so),
                isolated_test(an_inner_run_does_not_retry),
                isolated_test(counters_outlive_their_threads),
                isolated_test(no_environment_is_refused),
        };

        return cmocka_run_group_tests_name("libxac/thread", tests, NULL, NULL);
}
