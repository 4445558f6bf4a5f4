/* SPDX-License-Identifier: MIT */
#include "recovery/log_writer.h"

/*
 * Leaders that are stopped, at any call and instruction, while others go on in their place; they wake up when the ring
 * has long been filled with other records, or are killed. Nothing that was promised may be missing, before and after.
 */

#include "tests/recovery/commit_stand.h"

#include <signal.h>

#include "base/hook.h"
#include "recovery/log_header.h"
#include "tests/recovery/log_deaths.h"

enum { FIRST = 4, SECOND = 5, NO_STOP = 1000000 };

/* ---- Who stops ---- */

static int stop_at;
static bool fails_late;

static int stop_at_call(enum sys_call call, int fd, uint64_t offset, size_t byte_len)
{
        (void)fd, (void)offset, (void)byte_len;
        if (--stop_at)
                return 0;
        raise(SIGSTOP);
        return fails_late && call == SYS_PWRITE ? -EIO : 0;
}

struct stop {
        uint32_t owner;
        int nth;        /* of the calls from now on; or of instructions */
        bool is_pushed; /* the group */
        bool in_steps;
        enum hook_step at;
        bool fails;
};

static void stop_here(void)
{
        raise(SIGSTOP);
}

static void wait_or_push(void *arg)
{
        const struct stop *stop = arg;

        if (stop->is_pushed)
                (void)log_push(&our_log, stop->owner);
        else
                (void)log_wait(&our_log, stop->owner, log_end(&our_log));
}

#ifdef XAC_TEST_HOOKS
static enum hook_step stop_step;

static void stop_at_hook(enum hook_step step)
{
        if (step == stop_step) {
                stop_step = HOOK_NOWHERE;
                raise(SIGSTOP);
        }
}
#endif

/* The body of a process: 0 if all that it was promised holds when it has woken up. */
static int commit_and_stop(void *arg)
{
        struct stop *stop = arg;
        struct commit commit;

        log_close(&our_log);
        stand_open(&our_log);
        sys_fail = NULL;
        if (commit_stage(&our_log, stop->owner, 700, &commit))
                return 2;
        fails_late = stop->fails;
#ifdef XAC_TEST_HOOKS
        if (stop->at) {
                stop_step = stop->at;
                hook_on_step = stop_at_hook;
        }
#endif
        if (stop->in_steps) {
                (void)step_run(stop->nth, stop_here, wait_or_push, stop);
        } else {
                stop_at = stop->at ? NO_STOP : stop->nth;
                sys_fail = stop_at_call;
                wait_or_push(stop);
        }
        if (log_wait(&our_log, stop->owner, commit.end))
                return 3;
        return commit_is_written(&commit) ? 0 : 4;
}

/* ---- Watching it ---- */

/* 0: it ended without having stopped. */
static pid_t start(struct stop *stop)
{
        pid_t child;
        int status;

        atomic_store(&arena->is_dead[stop->owner], 0);
        child = scratch_fork(commit_and_stop, stop);
        assert_int_equal(waitpid(child, &status, WUNTRACED), child);
        if (WIFSTOPPED(status))
                return child;
        assert_int_equal(status, 0);
        return 0;
}

static void go_on(pid_t child)
{
        int status;

        assert_int_equal(kill(child, SIGCONT), 0);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
}

static void end(pid_t child, uint32_t owner)
{
        assert_int_equal(kill(child, SIGKILL), 0);
        assert_int_equal(waitpid(child, NULL, 0), child);
        atomic_store(&arena->is_dead[owner], 1);
        log_take_back(&our_log, ME, owner);
}

static int count_new_file(void *arg, const char *name)
{
        struct log_new_file file;

        *(int *)arg += log_new_file_parse(name, &file);
        return 0;
}

static int new_files(void)
{
        int count = 0;

        assert_int_equal(sys_list(directory, count_new_file, &count), 0);
        return count;
}

static void expect_sound(void)
{
        assert_int_equal(walk(), atomic_load(&arena->sequence));
        assert_int_equal(atomic_load(&arena->shared.poison), 0);
        assert_true(atomic_load(&arena->marked) <= atomic_load(&arena->sequence));
}

/* As many bytes as the ring has, and more: what a stopped one would write is something else by now. */
static void others_go_on(void)
{
        for (int i = 0; i < 5; i++)
                (void)commit_and_wait(STAND_RING / 4);
        expect_sound();
}

/* So that walks stay short. */
static void renew(void)
{
        if (log_end(&our_log) < 12 * STAND_SEGMENT)
                return;
        log_close(&our_log);
        scratch_empty(directory);
        assert_int_equal(stand_load(STAND_SEGMENT, STAND_SEGMENT), 0);
        atomic_store(&arena->sequence, 0);
        atomic_store(&arena->marked, 0);
        stand_open(&our_log);
}

/* While it is stopped, and when it has gone on or has been killed. */
static void watch_one(struct stop *stop, bool is_killed)
{
        pid_t child = start(stop);

        if (!child)
                return;
        if (shlock_owner(&arena->lock) != stop->owner) /* with the host's lock it holds all others up */
                others_go_on();
        if (is_killed) {
                end(child, stop->owner);
                if (shlock_owner(&arena->lock) == stop->owner) {
                        assert_int_equal(shlock_lock(&arena->lock, ME, &stand_liveness), SHLOCK_INHERITED);
                        shlock_unlock(&arena->lock);
                }
        } else {
                go_on(child);
                expect_sound();
        }
        (void)commit_and_wait(100);
        expect_sound();
        assert_int_equal(log_leader(&arena->shared), 0);
        assert_int_equal(new_files(), 0);
        renew();
}

static uint64_t overtaken(void)
{
        return atomic_load(&arena->shared.overtaken);
}

static void test_a_leader_stopped_in_a_call_stops_nobody(void **state)
{
        (void)state;
        uint64_t before = overtaken();
        for (int nth = 1; nth < 6; nth++) {
                watch_one(&(struct stop){ .owner = FIRST, .nth = nth }, false);
                watch_one(&(struct stop){ .owner = FIRST, .nth = nth }, true);
        }
        assert_true(overtaken() > before);
}

static void test_nor_while_it_pushes(void **state)
{
        (void)state;
        for (int nth = 1; nth < 4; nth++) {
                (void)stage(300);
                assert_int_equal(log_push(&our_log, ME), 0); /* written, not synced: it must not get lost */
                watch_one(&(struct stop){ .owner = FIRST, .nth = nth, .is_pushed = true }, nth & 1);
        }
}

static void test_a_leader_stopped_at_some_instruction_stops_nobody(void **state)
{
        (void)state;
        if (!step_is_possible())
                skip();
        for (int nth = 10; nth < 2600; nth += 97)
                watch_one(&(struct stop){ .owner = FIRST, .nth = nth, .in_steps = true }, nth & 1);
}

/* A write that fails after the file has been replaced says nothing about the log. */
static void test_a_late_failure_does_not_poison(void **state)
{
        (void)state;
        for (int nth = 1; nth < 4; nth++)
                watch_one(&(struct stop){ .owner = FIRST, .nth = nth, .fails = true }, false);
}

static int no_space(enum sys_call call, int fd, uint64_t offset, size_t byte_len)
{
        (void)fd, (void)offset, (void)byte_len;
        return call == SYS_ALLOCATE || call == SYS_TRUNCATE ? -ENOSPC : 0;
}

/* Then it is waited for, as if nobody could be overtaken. */
static void test_without_space_for_a_new_file_others_wait(void **state)
{
        struct waiter waiter;

        (void)state;
        (void)commit_and_wait(10);
        pid_t child = start(&(struct stop){ .owner = FIRST, .nth = 2 });
        assert_true(child != 0);
        sys_fail = no_space;
        waiter_start(&waiter, OTHER);
        usleep(300000);
        assert_int_equal(log_leader(&arena->shared), FIRST);
        assert_int_equal(new_files(), 0);
        go_on(child);
        pthread_join(waiter.thread, NULL);
        assert_int_equal(waiter.result, 0);
        expect_sound();
}

/* ---- Two of them ---- */

/* Who has taken over is stopped as well, at each call of that, or dies there. Then all wake up, in either order. */
static void watch_two(int nth, bool is_killed, bool first_is_first)
{
        pid_t first = start(&(struct stop){ .owner = FIRST, .nth = 2 });
        pid_t second;

        assert_true(first != 0);
        second = start(&(struct stop){ .owner = SECOND, .nth = nth });
        if (second && is_killed) {
                end(second, SECOND);
                second = 0;
        }
        others_go_on();
        if (first_is_first)
                go_on(first);
        if (second)
                go_on(second);
        if (!first_is_first)
                go_on(first);
        expect_sound();
        others_go_on();
        assert_int_equal(new_files(), 0);
        renew();
}

static void test_who_takes_over_may_be_stopped_or_die(void **state)
{
        (void)state;
        (void)commit_and_wait(10);
        for (int nth = 1; nth < 26; nth++)
                watch_two(nth, nth % 3 == 0, nth & 1);
        for (int nth = 1; nth < 26; nth += 2)
                watch_two(nth, nth % 3 != 0, !(nth & 1));
}

/* ---- In one process ---- */

static _Atomic int is_held;
static _Thread_local bool holds;

static int hold_in_write(enum sys_call call, int fd, uint64_t offset, size_t byte_len)
{
        (void)fd, (void)offset, (void)byte_len;
        while (holds && call == SYS_PWRITE && atomic_load(&is_held))
                usleep(1000);
        return 0;
}

static void *hold(void *arg)
{
        holds = true;
        return wait_in_thread(arg);
}

/* Then they must not use the same descriptors. */
static void test_a_thread_is_overtaken_by_another(void **state)
{
        struct waiter waiter = { .owner = FIRST };

        (void)state;
        (void)commit_and_wait(10);
        for (int i = 0; i < 4; i++) {
                assert_int_equal(commit_stage(&our_log, FIRST, 50, &waiter.commit), 0);
                atomic_store(&is_held, 1);
                sys_fail = hold_in_write;
                assert_int_equal(pthread_create(&waiter.thread, NULL, hold, &waiter), 0);
                others_go_on();
                atomic_store(&is_held, 0);
                pthread_join(waiter.thread, NULL);
                assert_int_equal(waiter.result, 0);
                expect_sound();
                others_go_on();
        }
}

/* ---- Hooks ---- */

#ifdef XAC_TEST_HOOKS

static const enum hook_step steps_of_a_leader[] = { HOOK_TURN_TAKEN,    HOOK_GROUP_CLOSED,    HOOK_GROUP_OPENED,
                                                    HOOK_GROUP_WRITTEN, HOOK_GROUP_FINISHING, HOOK_GROUP_DURABLE,
                                                    HOOK_LEADER_LEFT };
static const enum hook_step steps_of_a_taker[] = { HOOK_FENCE_MADE,    HOOK_FENCE_COPIED,   HOOK_TURN_TAKEN_OVER,
                                                   HOOK_TURN_TAKEN,    HOOK_GROUP_CLOSED,   HOOK_FENCE_TIDIED,
                                                   HOOK_FENCE_RENAMED, HOOK_FENCE_SYNCED,   HOOK_GROUP_OPENED,
                                                   HOOK_GROUP_WRITTEN, HOOK_GROUP_FINISHING };

static void test_a_leader_is_stopped_at_each_step(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof(steps_of_a_leader) / sizeof(steps_of_a_leader[0]); i++)
                for (int is_killed = 0; is_killed < 2; is_killed++) {
                        struct stop stop = { .owner = FIRST, .at = steps_of_a_leader[i] };

                        watch_one(&stop, is_killed);
                }
}

/* Of a leader that was stopped before it wrote, or after, and that goes on when all others have, or first. Where it had
 * only not said that it was done, there is nothing to take over. */
static void watch_two_steps(enum hook_step first_at, enum hook_step second_at, bool is_killed, bool first_is_first)
{
        pid_t first = start(&(struct stop){ .owner = FIRST, .at = first_at });
        pid_t second = start(&(struct stop){ .owner = SECOND, .at = second_at });

        assert_true(first && (second || first_at == HOOK_GROUP_FINISHING));
        if (second && is_killed)
                end(second, SECOND);
        if (!first_is_first)
                others_go_on();
        go_on(first);
        if (second && !is_killed)
                go_on(second);
        others_go_on();
        assert_int_equal(new_files(), 0);
        renew();
}

static void test_who_takes_over_is_stopped_at_each_step(void **state)
{
        static const enum hook_step first_at[] = { HOOK_GROUP_OPENED, HOOK_GROUP_WRITTEN, HOOK_GROUP_FINISHING };

        (void)state;
        (void)commit_and_wait(10);
        for (size_t i = 0; i < sizeof(steps_of_a_taker) / sizeof(steps_of_a_taker[0]); i++)
                for (unsigned how = 0; how < 12; how++)
                        watch_two_steps(first_at[how / 4], steps_of_a_taker[i], how & 1, how & 2);
}

#endif

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_a_leader_stopped_in_a_call_stops_nobody, setup, teardown),
                cmocka_unit_test_setup_teardown(test_nor_while_it_pushes, setup, teardown),
                cmocka_unit_test_setup_teardown(test_a_leader_stopped_at_some_instruction_stops_nobody, setup_in_memory,
                                                teardown),
                cmocka_unit_test_setup_teardown(test_a_late_failure_does_not_poison, setup, teardown),
                cmocka_unit_test_setup_teardown(test_without_space_for_a_new_file_others_wait, setup, teardown),
                cmocka_unit_test_setup_teardown(test_who_takes_over_may_be_stopped_or_die, setup_in_memory, teardown),
                cmocka_unit_test_setup_teardown(test_a_thread_is_overtaken_by_another, setup, teardown),
#ifdef XAC_TEST_HOOKS
                cmocka_unit_test_setup_teardown(test_a_leader_is_stopped_at_each_step, setup_in_memory, teardown),
                cmocka_unit_test_setup_teardown(test_who_takes_over_is_stopped_at_each_step, setup_in_memory, teardown),
#endif
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
