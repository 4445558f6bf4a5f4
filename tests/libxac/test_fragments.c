/* SPDX-License-Identifier: MIT */
#include "libxac/txn/redo.h"

/*
 * Fragments of a large commit hold the log, and lapse when others have logged much since the last of them (R35): who
 * has stopped in between fills nobody's disk, and logs them again when he goes on.
 */

#include "base/hook.h"
#include "libxac/version/publish.h"
#include "tests/libxac/backlog_stand.h"

#ifdef XAC_TEST_HOOKS

enum {
        SMALL_LOG = 256 << 10,
        LARGE = 100, /* pages of a commit in fragments */
        OTHERS = 8,  /* pages of the others, behind these */
        STOPS_AT = 3 /* fragments in the log */
};

static struct crew_turn stopped, goes_on;
static uint32_t fragments_logged;

static struct participant *me(void)
{
        struct thread *thread;

        check_ok(thread_of(env, &thread));
        return &thread->self;
}

static uint64_t held_from(void)
{
        return atomic_load(&me()->row->fragment_start);
}

/* ---- Stopped in the middle of a commit ---- */

static uint64_t log_kept(void)
{
        const struct log_table *table = env->shared.log.segments.table;

        return end_of_log() - atomic_load(&table->low);
}

/* While the other thread is between two fragments. */
static void commit_much(void)
{
        uint64_t from = end_of_log(), most = 0;

        map_pages(LARGE + OTHERS);
        while (end_of_log() - from < UINT64_C(12) * SMALL_LOG) {
                commit_noise(0, LARGE, OTHERS);
                most = log_kept() > most ? log_kept() : most;
                check_ok(xac_checkpoint(env));
        }
        check(most > UINT64_C(4) * SMALL_LOG); /* it is kept for a while ... */
        check(most < UINT64_C(5) * SMALL_LOG); /* ... and no longer */
        check(log_kept() < SMALL_LOG);
}

static void stop_once(enum hook_step step)
{
        if (step != HOOK_FRAGMENT_APPENDED || ++fragments_logged != STOPS_AT)
                return;
        crew_turn_pass(&stopped);
        crew_turn_await(&goes_on, 1);
}

static void commit_large_or_much(int index, void *unused)
{
        (void)unused;
        if (index) {
                crew_turn_await(&stopped, 1);
                commit_much();
                crew_turn_pass(&goes_on);
        } else {
                map_pages(LARGE);
                commit_noise(0, 0, LARGE);
                check_equal(held_from(), 0);
        }
}

static void commit_while_another_is_stopped(void)
{
        enter_with(LARGE + OTHERS, SMALL_LOG);
        duty_stop(env);
        hook_on_step = stop_once;
        crew_threads(2, commit_large_or_much, NULL);
        hook_on_step = NULL;
        promise();
}

static void who_is_stopped_holds_the_log_for_a_while(void)
{
        set_up();
        then_the_machine_goes_down(commit_while_another_is_stopped);
        check_recovered(LARGE + OTHERS);
}

/* Without a look the commit has half of its fragments; and replay says so. */
static void commit_without_a_look(void)
{
        hook_bug = HOOK_BUG_FRAGMENTS_LOST;
        commit_while_another_is_stopped();
}

static void a_commit_that_does_not_look_is_found(void)
{
        set_up();
        then_the_machine_goes_down(commit_without_a_look);
        check_code(xac_open(scratch_path("env"), 0, NULL, &env), XAC_CORRUPT);
}

/* ---- In the middle of a merge ---- */

/* As a checkpoint does; as if others had logged much. */
static void let_lapse(void)
{
        const uint64_t log_bytes = control()->log_bytes;

        check(held_from() != 0);
        check_ok(publish_lock(&env->shared, me()->owner));
        check_equal(redo_point_locked(&env->shared), held_from());
        atomic_store(&me()->row->fragment_last, 0);
        control()->log_bytes = 0;
        check_equal(redo_point_locked(&env->shared), end_of_log());
        control()->log_bytes = log_bytes;
        publish_unlock(&env->shared);
        check_equal(held_from(), 0);
}

static void lapse_at_a_fragment(enum hook_step step)
{
        if (step == HOOK_FRAGMENT_APPENDED && ++fragments_logged == truth->durable_sequence)
                let_lapse();
}

static void sync_what_lapses(void)
{
        enter_with(LARGE, SMALL_LOG);
        duty_stop(env);
        hook_on_step = lapse_at_a_fragment;
        commit_noise(XAC_NOSYNC, 0, LARGE);
        check_ok(xac_sync(env));
        hook_on_step = NULL;
        check(fragments_logged > truth->durable_sequence);
        check_equal(held_from(), 0);
        promise();
}

/* Half of it is a backlog that it has to log first: its own fragments are there by then. */
static void commit_what_lapses(void)
{
        enter_with(LARGE, SMALL_LOG);
        duty_stop(env);
        commit_noise(XAC_NOSYNC, 0, LARGE / 2);
        hook_on_step = lapse_at_a_fragment;
        commit_noise(0, LARGE / 2, LARGE / 2);
        hook_on_step = NULL;
        check(fragments_logged > truth->durable_sequence);
        check_equal(held_from(), 0);
        promise();
}

/* Each fragment is the one at which all lapse: of the merge, or of the commit. */
static void lapse_at_each(void (*body)(void), uint64_t fragments)
{
        set_up();
        for (uint64_t i = 1; i <= fragments; i++) {
                scratch_clear();
                truth->durable_sequence = i;
                then_the_machine_goes_down(body);
                check_recovered(LARGE);
        }
}

static void a_merge_is_logged_again(void)
{
        lapse_at_each(sync_what_lapses, 10);
}

static void a_commit_and_its_merge_are_logged_again(void)
{
        lapse_at_each(commit_what_lapses, 12);
}

#else

static void who_is_stopped_holds_the_log_for_a_while(void)
{
        isolate_skip("built without hooks");
}

static void a_commit_that_does_not_look_is_found(void)
{
        isolate_skip("built without hooks");
}

static void a_merge_is_logged_again(void)
{
        isolate_skip("built without hooks");
}

static void a_commit_and_its_merge_are_logged_again(void)
{
        isolate_skip("built without hooks");
}

#endif

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_test(who_is_stopped_holds_the_log_for_a_while),
                isolated_test(a_commit_that_does_not_look_is_found),
                isolated_test(a_merge_is_logged_again),
                isolated_test(a_commit_and_its_merge_are_logged_again),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
