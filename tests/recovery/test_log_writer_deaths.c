/* SPDX-License-Identifier: MIT */
#include "recovery/log_writer.h"

/* Leaders that die, at any call and instruction, or stand still. */

#include "tests/recovery/commit_stand.h"

#include "base/hook.h"
#include "tests/recovery/log_deaths.h"

static int commit_and_die(void *arg)
{
        struct log log;
        struct commit commit;

        stand_open(&log);
        if (commit_stage(&log, DEAD, 700, &commit))
                return 2;
        die_in_call(*(int *)arg);
        return log_wait(&log, DEAD, commit.end) ? 2 : 0;
}

static void test_a_leader_that_dies_in_a_call_is_succeeded(void **state)
{
        bool has_died = true;
        int deaths = 0;

        (void)state;
        for (int nth = 1; has_died; nth++) {
                (void)stage(200);
                has_died = child_died(DEAD, commit_and_die, &nth);
                deaths += has_died;
                (void)commit_and_wait(300);
                assert_int_equal(walk(), atomic_load(&arena->sequence));
        }
        assert_true(deaths >= 2);
        expect_all(atomic_load(&arena->sequence));
}

static void wait_for_end(void *arg)
{
        struct log *log = arg;

        (void)log_wait(log, DEAD, log_end(log));
}

static void push_all(void *arg)
{
        (void)log_push(arg, DEAD);
}

static int step_and_die(void *arg)
{
        struct log log;
        struct commit commit;

        stand_open(&log);
        if (commit_stage(&log, DEAD, 60, &commit))
                return 2;
        return step_to_death(arg, &log);
}

/* At some instruction of leading a group, holding the host's lock or not; then the dead one's belongings are
 * taken back at once, or those who wait find out themselves. */
static void die_stepwise(void (*body)(void *arg), int stride)
{
        bool has_died = true;

        for (int nth = 4; has_died; nth += stride * STEP_SPREAD) {
                (void)stage(100);
                has_died = child_died(DEAD, step_and_die, &(struct stepping){ nth, body });
                if (shlock_owner(&arena->lock) == DEAD)
                        assert_true(shlock_lock(&arena->lock, ME, &stand_liveness) == SHLOCK_INHERITED);
                if (shlock_owner(&arena->lock) == ME)
                        shlock_unlock(&arena->lock);
                if (nth % 4)
                        log_take_back(&our_log, ME, DEAD);
                (void)commit_and_wait(80);
                assert_int_equal(log_leader(&arena->shared), 0);
                assert_int_equal(walk(), atomic_load(&arena->sequence));
                if (log_end(&our_log) > 3 * STAND_SEGMENT) { /* so that walks stay short */
                        log_close(&our_log);
                        scratch_empty(directory);
                        assert_int_equal(stand_load(STAND_SEGMENT, STAND_SEGMENT), 0);
                        atomic_store(&arena->sequence, 0);
                        atomic_store(&arena->marked, 0);
                        stand_open(&our_log);
                }
        }
}

static void test_a_leader_that_dies_at_some_instruction_is_succeeded(void **state)
{
        (void)state;
        if (!step_is_possible())
                skip();
        die_stepwise(wait_for_end, 199);
        assert_int_equal(atomic_load(&arena->mark_steps_back), 0);
}

static void test_a_death_while_pushing(void **state)
{
        (void)state;
        if (!step_is_possible())
                skip();
        die_stepwise(push_all, 397);
}

static void test_what_the_dead_held_is_taken_back(void **state)
{
        (void)state;
        struct commit commit = stage(100);

        atomic_store(&arena->is_dead[DEAD], 1);
        stand_lead(DEAD);
        assert_int_equal(shlock_try(&stand_table()->lock, DEAD), 0);
        log_take_back(&our_log, ME, OTHER);
        assert_int_equal(log_leader(&arena->shared), DEAD);
        log_take_back(&our_log, ME, DEAD);
        assert_int_equal(log_leader(&arena->shared), 0);
        assert_int_equal(shlock_owner(&stand_table()->lock), 0);
        assert_int_equal(log_wait(&our_log, ME, commit.end), 0);
}

/* A leader that stands still is given some time, and no more (test_log_overtaken has the rest). */
static void test_a_stopped_leader_keeps_the_lead_for_a_while(void **state)
{
        struct waiter waiter;

        (void)state;
        stand_lead(OTHER);
        waiter_start(&waiter, 4);
        assert_int_equal(log_push(&our_log, ME), 0); /* no business of mine */
        assert_false(commit_is_written(&waiter.commit));
        pthread_join(waiter.thread, NULL);
        assert_int_equal(waiter.result, 0);
        assert_true(commit_is_written(&waiter.commit));
        assert_int_equal(atomic_load(&arena->shared.overtaken), 1);
}

/* Who waits for room in the ring finds a dead leader too. */
static void test_room_behind_a_dead_leader(void **state)
{
        struct commit commit;

        (void)state;
        stand_lead(DEAD);
        atomic_store(&arena->is_dead[DEAD], 1);
        for (int i = 0; i < 20; i++)
                assert_int_equal(commit_stage(&our_log, ME, 8000, &commit), 0);
        assert_int_equal(log_wait(&our_log, ME, commit.end), 0);
        expect_all(20);
}

/* ---- Hooks ---- */

#ifdef XAC_TEST_HOOKS

static enum hook_step die_at_step;

static void die_at_hook(enum hook_step step)
{
        if (step == die_at_step)
                scratch_exit(1);
}

static int commit_and_die_at_step(void *arg)
{
        struct log log;
        struct commit commit;

        (void)arg;
        stand_open(&log);
        if (commit_stage(&log, DEAD, 700, &commit))
                return 2;
        hook_on_step = die_at_hook;
        return log_wait(&log, DEAD, commit.end) ? 2 : 0;
}

static void test_a_leader_dies_at_each_step(void **state)
{
        static const enum hook_step steps[] = { HOOK_TURN_TAKEN,    HOOK_GROUP_CLOSED,    HOOK_GROUP_OPENED,
                                                HOOK_GROUP_WRITTEN, HOOK_GROUP_FINISHING, HOOK_GROUP_DURABLE,
                                                HOOK_LEADER_LEFT };

        (void)state;
        for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
                die_at_step = steps[i];
                assert_true(child_died(DEAD, commit_and_die_at_step, NULL));
                (void)commit_and_wait(300);
                assert_int_equal(walk(), atomic_load(&arena->sequence));
        }
}

static void test_the_planted_bug_leaves_out_the_sync(void **state)
{
        (void)state;
        (void)commit_and_wait(100);
        hook_bug = HOOK_BUG_LOG_NOT_SYNCED;
        syncs = 0;
        sys_fail = count_syncs;
        (void)commit_and_wait(100);
        hook_bug = HOOK_NO_BUG;
        assert_int_equal(syncs, 0);
        assert_true(our_log.segments.open[0].fd >= 0); /* not the direct one */
}

#endif

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_a_leader_that_dies_in_a_call_is_succeeded, setup, teardown),
                cmocka_unit_test_setup_teardown(test_a_leader_that_dies_at_some_instruction_is_succeeded,
                                                setup_in_memory, teardown),
                cmocka_unit_test_setup_teardown(test_a_death_while_pushing, setup_in_memory, teardown),
                cmocka_unit_test_setup_teardown(test_what_the_dead_held_is_taken_back, setup, teardown),
                cmocka_unit_test_setup_teardown(test_a_stopped_leader_keeps_the_lead_for_a_while, setup, teardown),
                cmocka_unit_test_setup_teardown(test_room_behind_a_dead_leader, setup, teardown),
#ifdef XAC_TEST_HOOKS
                cmocka_unit_test_setup_teardown(test_a_leader_dies_at_each_step, setup, teardown),
                cmocka_unit_test_setup_teardown(test_the_planted_bug_leaves_out_the_sync, setup, teardown),
#endif
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
