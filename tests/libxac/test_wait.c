/* SPDX-License-Identifier: MIT */

/*
 * xac_wait: sleeping until a commit changes something that was read. Whether the sleeper sleeps already when that
 * comes, or only is about to, makes no difference to what it must see; the pauses here only make it likely.
 */

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include <xac/xac.h>

#include "tests/support/check.h"
#include "tests/support/crew.h"
#include "tests/support/isolate.h"
#include "tests/support/leeway.h"
#include "tests/support/scratch.h"
#include "tests/support/seat.h"

enum { PAUSE_MS = 30, LONG_S = 100, OTHERS = 3000, WOKEN_MAX = 2 };

#define OTHER_PAGE seat_word(9, 0)

static const struct timespec at_once, a_moment = { 0, 20000000 }, long_enough = { LONG_S, 0 };

static void crew(int way, int count, crew_body body, void *arg)
{
        if (way & WAY_PROCESS)
                crew_processes(count, body, arg);
        else
                crew_threads(count, body, arg);
}

/* ---- what it returns ---- */

static void only_inside_a_transaction_that_may_write(int way)
{
        const struct timespec wrong[] = { { -1, 0 }, { 0, -1 }, { 0, 1000000000 } };

        seat_take((uint64_t)way);
        check_code(xac_wait(seat.env, &at_once), XAC_NOTXN);
        check_code(xac_wait(NULL, &at_once), -EINVAL);
        check_ok(xbegin(seat.env, XAC_RDONLY));
        check_code(xac_wait(seat.env, &at_once), -EINVAL);
        check_ok(xend(seat.env));
        check_ok(xbegin(seat.env, 0));
        for (int i = 0; i < 3; i++)
                check_code(xac_wait(seat.env, &wrong[i]), -EINVAL);
        seat_add(0);
        check_ok(xend(seat.env)); /* nothing had happened to it */
        check_equal(seat_commit_get(0), 1);
        seat_leave(0);
}

static void time_runs_out(int way)
{
        seat_take((uint64_t)way);
        check_ok(xbegin(seat.env, 0));
        seat_read(0);
        check_code(xac_wait(seat.env, &at_once), -ETIMEDOUT);
        check_ok(xbegin(seat.env, 0));
        seat_read(0);
        uint64_t begun_ns = crew_clock_ns();
        check_code(xac_wait(seat.env, &a_moment), -ETIMEDOUT);
        check(crew_clock_ns() - begun_ns >= (uint64_t)a_moment.tv_nsec);
        seat_leave(0);
}

static void all_levels_are_undone(int way)
{
        seat_take((uint64_t)way);
        check_ok(xbegin(seat.env, 0));
        seat_add(0);
        check_ok(xbegin(seat.env, XAC_NESTED));
        seat_add(seat_word(1, 0));
        check_code(xac_wait(seat.env, &at_once), -ETIMEDOUT);
        check_equal(xac_txn_id(seat.env), 0);
        check_code(xend(seat.env), XAC_NOTXN);
        check_equal(seat_commit_get(0), 0);
        check_equal(seat_commit_get(seat_word(1, 0)), 0);
        seat_leave(0);
}

static void what_doomed_it_is_said(void)
{
        seat_take(WAY_DECLARED);
        check_ok(xbegin(seat.env, 0));
        check(!xac_page_read(seat.env, "nowhere"));
        check_code(xac_wait(seat.env, NULL), XAC_NOVIEW);
        check_code(xend(seat.env), XAC_NOTXN);
        seat_leave(0);
}

static void scopes_know_that_they_have_ended(void)
{
        seat_take(0);
        {
                XAC_SCOPE(level, seat.env, 0);
                check_ok(level.err);
                seat_read(0);
                check_code(xac_wait(seat.env, &at_once), -ETIMEDOUT);
                check_ok(xbegin(seat.env, 0));
                seat_add(0);
        } /* the transaction of xbegin is not its own */
        check_ok(xend(seat.env));
        check_equal(seat_commit_get(0), 1);
        seat_leave(0);
}

/* ---- changes ---- */

/* Another one has committed since it began. */
static void changed_already(int index, void *way)
{
        seat_take(*(uint64_t *)way);
        if (index == 0)
                seat_commit_add(0);
        seat_leave(0);
}

static void a_change_since_the_begin_is_seen(int way)
{
        uint64_t others_way = (uint64_t)way;

        seat_take((uint64_t)way);
        check_ok(xbegin(seat.env, 0));
        check_equal(seat_read(0), 0);
        crew(way, 1, changed_already, &others_way);
        check_code(xac_wait(seat.env, NULL), XAC_CONFLICT);
        check_equal(seat_commit_get(0), 1);
        seat_leave(0);
}

/* Whoever waits, waits for word 0 to become what it should be. */
struct goal {
        uint64_t way;
        long long value;
        int runs;
};

static int wait_for_goal(void *goal_)
{
        struct goal *goal = goal_;

        goal->runs++;
        if (seat_read(0) != goal->value)
                return xac_wait(seat.env, &long_enough);
        seat_add(seat_word(1, 0));
        return 0;
}

static void wait_or_change(int index, void *way)
{
        struct goal goal = { .value = 2 };

        seat_take(*(uint64_t *)way);
        if (index > 0) {
                check_ok(xac_run(seat.env, 0, wait_for_goal, &goal));
        } else {
                for (int i = 0; i < 2; i++) {
                        crew_sleep_ms(PAUSE_MS);
                        seat_commit_add(OTHER_PAGE);
                        seat_commit_add(0);
                }
        }
        seat_leave(0);
}

static void sleepers_are_woken(int way)
{
        uint64_t others_way = (uint64_t)way;

        crew(way, 4, wait_or_change, &others_way);
        seat_take((uint64_t)way);
        check_equal(seat_commit_get(seat_word(1, 0)), 3);
        seat_leave(0);
}

/* What it wrote it had read: that page counts, too. */
static int wait_after_write(void *goal_)
{
        struct goal *goal = goal_;

        goal->runs++;
        if (seat_add(0) < goal->value)
                return xac_wait(seat.env, &long_enough);
        return 0;
}

static void write_or_change(int index, void *way)
{
        struct goal goal = { .value = 2 };

        seat_take(*(uint64_t *)way);
        if (index > 0) {
                check_ok(xac_run(seat.env, 0, wait_after_write, &goal));
        } else {
                crew_sleep_ms(PAUSE_MS);
                seat_commit_add(0);
        }
        seat_leave(0);
}

static void pages_that_were_written_count(int way)
{
        uint64_t others_way = (uint64_t)way;

        crew(way, 2, write_or_change, &others_way);
        seat_take((uint64_t)way);
        check_equal(seat_commit_get(0), 2);
        seat_leave(0);
}

/* ---- quiet ---- */

static long times_slept(void)
{
        struct rusage usage;

        check_equal(getrusage(RUSAGE_THREAD, &usage), 0);
        return usage.ru_nvcsw;
}

static uint64_t processor_ns(void)
{
        struct timespec now;

        check_equal(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now), 0);
        return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Until nothing has changed for a while; returns how often it was woken. */
static int sleep_through(void)
{
        const struct timespec a_while = { 0, 300000000 };

        for (int woken = 0;; woken++) {
                check_ok(xbegin(seat.env, 0));
                check_equal(seat_read(0), 0);
                int err = xac_wait(seat.env, &a_while);
                if (err == -ETIMEDOUT)
                        return woken;
                check_code(err, XAC_CONFLICT);
        }
}

static void sleep_or_bother(int index, void *way)
{
        seat_take(*(uint64_t *)way);
        if (index == 0) {
                long slept = times_slept();
                uint64_t used_ns = processor_ns();
                check(sleep_through() <= WOKEN_MAX * !(seat.way & WAY_DECLARED));
                check(times_slept() - slept < 20);
                check(processor_ns() - used_ns < 50000000);
        } else {
                crew_sleep_ms(PAUSE_MS);
                for (int i = 0; i < OTHERS; i++)
                        run_until_committed(seat.env, XAC_NOSYNC * seat_is_durable()) seat_add(OTHER_PAGE);
        }
        seat_leave(0);
}

/* By declared access it is the exact set that counts. A view had the other page mapped, as a neighbour: it learns that
 * others change it. */
static void commits_to_other_pages_wake_nobody(int way)
{
        uint64_t others_way = (uint64_t)way;

        crew(way, 2, sleep_or_bother, &others_way);
}

/* ---- xac_run ---- */

static int inner_waits(void *goal)
{
        return wait_for_goal(goal);
}

static int outer_runs(void *goal_)
{
        struct goal *goal = goal_;
        int err = xac_run(seat.env, 0, inner_waits, goal);

        if (err == XAC_CONFLICT)
                check_equal(xac_txn_id(seat.env), 0); /* of the outer level nothing is left, either */
        return err;
}

static void nest_or_change(int index, void *way)
{
        struct goal goal = { .value = 1 };

        seat_take(*(uint64_t *)way);
        if (index > 0) {
                check_ok(xac_run(seat.env, 0, outer_runs, &goal));
                check(goal.runs <= 3);
        } else {
                crew_sleep_ms(PAUSE_MS);
                seat_commit_add(0);
        }
        seat_leave(0);
}

static void the_outermost_body_is_run_again(int way)
{
        uint64_t others_way = (uint64_t)way;

        crew(way, 2, nest_or_change, &others_way);
}

/* A wait is no loss: however often it finds too little, it keeps nobody out. */
static int wait_often(void *goal_)
{
        struct goal *goal = goal_;

        goal->runs++;
        return seat_read(0) < goal->value ? xac_wait(seat.env, &long_enough) : 0;
}

static void wait_or_feed(int index, void *way)
{
        struct goal goal = { .value = 60 };

        seat_take(*(uint64_t *)way);
        if (index > 0) {
                check_ok(xac_run(seat.env, 0, wait_often, &goal));
        } else {
                for (int i = 0; i < goal.value; i++) {
                        uint64_t begun_ns = crew_clock_ns();
                        seat_commit_add(0);
                        check((crew_clock_ns() - begun_ns) / 1000000 < leeway_ms(5000));
                        crew_sleep_ms(1);
                }
        }
        seat_leave(0);
}

static void waiting_often_keeps_nobody_out(int way)
{
        uint64_t others_way = (uint64_t)way;

        crew(way, 2, wait_or_feed, &others_way);
}

/* ---- others ---- */

static _Atomic int has_begun;

static int say_and_wait(void *goal)
{
        atomic_store(&has_begun, 1);
        return wait_for_goal(goal);
}

static void *wait_for_word(void *way)
{
        seat_take(*(uint64_t *)way);
        struct goal goal = { .value = 1 };
        check_ok(xac_run(seat.env, 0, say_and_wait, &goal));
        return NULL;
}

/* Also between its transactions. The environment is open twice in this process, so that the last close is to be ours.
 */
static void nobody_closes_under_a_sleeper(void)
{
        uint64_t way = WAY_DECLARED;
        pthread_t thread;

        seat_take(way);
        check_equal(pthread_create(&thread, NULL, wait_for_word, &way), 0);
        while (!atomic_load(&has_begun))
                crew_sleep_ms(1);
        crew_sleep_ms(PAUSE_MS);
        check_ok(xac_close(seat.env));           /* there are two */
        check_code(xac_close(seat.env), -EBUSY); /* it sleeps there */
        seat_commit_add(0);
        check_equal(pthread_join(thread, NULL), 0);
        check_ok(xac_close(seat.env));
}

static _Atomic int *killed_sleeps;

static void sleep_for_ever(int unused, void *way)
{
        (void)unused;
        seat_take(*(uint64_t *)way);
        check_ok(xbegin(seat.env, 0));
        seat_read(0);
        atomic_store(killed_sleeps, 1);
        (void)xac_wait(seat.env, NULL);
}

static void the_dead_wait_for_nothing(int way)
{
        uint64_t others_way = (uint64_t)way;

        killed_sleeps = crew_shared(sizeof(*killed_sleeps));
        seat_take((uint64_t)way);
        for (int i = 0; i < 5; i++) {
                pid_t pid;

                atomic_store(killed_sleeps, 0);
                pid = crew_fork(sleep_for_ever, 0, &others_way);
                while (!atomic_load(killed_sleeps))
                        crew_sleep_ms(1);
                crew_sleep_ms(PAUSE_MS);
                crew_kill(pid);
                for (int j = 0; j < 100; j++)
                        seat_commit_add(0);
        }
        check_equal(seat_commit_get(0), 500);
        seat_leave(0);
}

/* ---- hand-over ---- */

enum { HANDED = 3000, CREW = 4 };

/* Word 0 goes round: each adds one when it is its turn. */
struct round {
        int index;
        bool is_over;
};

static int take_turn(void *round_)
{
        struct round *round = round_;
        long long value = seat_read(0);

        round->is_over = value >= HANDED;
        if (round->is_over)
                return 0;
        if (value % CREW != round->index)
                return xac_wait(seat.env, &long_enough);
        seat_add(0);
        return 0;
}

static void go_round(int index, void *way)
{
        struct round round = { .index = index };

        seat_take(*(uint64_t *)way);
        while (!round.is_over)
                check_ok(xac_run(seat.env, XAC_NOSYNC * seat_is_durable(), take_turn, &round));
        seat_leave(0);
}

static void no_hand_over_is_lost(int way)
{
        uint64_t others_way = (uint64_t)way;

        crew(way, CREW, go_round, &others_way);
        seat_take((uint64_t)way);
        check_equal(seat_commit_get(0), HANDED);
        seat_leave(0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_by_access(only_inside_a_transaction_that_may_write),
                isolated_by_access(time_runs_out),
                isolated_by_access(all_levels_are_undone),
                isolated_test(what_doomed_it_is_said),
                isolated_test(scopes_know_that_they_have_ended),
                isolated_each_way(a_change_since_the_begin_is_seen),
                isolated_each_way(sleepers_are_woken),
                isolated_each_way(pages_that_were_written_count),
                isolated_each_way(commits_to_other_pages_wake_nobody),
                isolated_each_way(the_outermost_body_is_run_again),
                isolated_each_way(waiting_often_keeps_nobody_out),
                isolated_test(nobody_closes_under_a_sleeper),
                isolated_by_access(the_dead_wait_for_nothing),
                isolated_each_way(no_hand_over_is_lost),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
