/* SPDX-License-Identifier: MIT */

/*
 * xac_run: retries, the body's results, levels, and getting through against faster writers.
 */

#include <stdatomic.h>

#include <xac/xac.h>

#include "tests/support/actor.h"
#include "tests/support/check.h"
#include "tests/support/crew.h"
#include "tests/support/isolate.h"
#include "tests/support/leeway.h"
#include "tests/support/seat.h"

struct body {
        int calls;
        int result;
        int result_until; /* return `result` from the calls up to this one, then 0 */
        struct actor *interferer;
        int interferes_until;
};

static int body_main(void *body_)
{
        struct body *body = body_;

        body->calls++;
        seat_add(0);
        if (body->interferer != NULL && body->calls <= body->interferes_until)
                actor_do(body->interferer, seat_commit_add, 0);
        return body->calls <= body->result_until ? body->result : 0;
}

static void a_body_that_succeeds_is_committed(int way)
{
        struct body body = { 0 };

        seat_take((uint64_t)way);
        check_ok(xac_run(seat.env, 0, body_main, &body));
        check_ok(xac_run(seat.env, XAC_SNAPSHOT_ISOLATION | XAC_NOSYNC, body_main, &body));
        check_equal(body.calls, 2);
        check_equal(seat_commit_get(0), 2);
        check_code(xend(seat.env), XAC_NOTXN);
        seat_leave(0);
}

static void a_result_other_than_0_aborts_and_is_returned(void)
{
        static const int results[] = { 1, -1, 42, -EIO, INT32_MAX, INT32_MIN, XAC_FULL, XAC_WROTE, XAC_NOTXN };

        seat_take(0);
        for (size_t i = 0; i < sizeof(results) / sizeof(results[0]); i++) {
                struct body body = { .result = results[i], .result_until = 100 };

                check_equal(xac_run(seat.env, 0, body_main, &body), results[i]);
                check_equal(body.calls, 1);
                check_equal(seat_commit_get(0), 0);
                check_code(xend(seat.env), XAC_NOTXN);
        }
        seat_leave(0);
}

static void a_body_may_ask_for_a_retry(int way)
{
        struct body body = { .result = XAC_CONFLICT, .result_until = 5 };

        seat_take((uint64_t)way);
        check_ok(xac_run(seat.env, 0, body_main, &body));
        check_equal(body.calls, 6);
        check_equal(seat_commit_get(0), 1);
        seat_leave(0);
}

static void a_lost_attempt_is_run_again(int way)
{
        struct body body = { .interferer = actor_start(way), .interferes_until = 3 };

        seat_take((uint64_t)way);
        actor_do(body.interferer, seat_take, (uint64_t)way);
        check_ok(xac_run(seat.env, 0, body_main, &body));
        check_equal(body.calls, 4);
        check_equal(seat_commit_get(0), 4);
        actor_do(body.interferer, seat_leave, 0);
        actor_stop(body.interferer);
        seat_leave(0);
}

static int body_reads(void *calls)
{
        ++*(int *)calls;
        seat_get(0);
        return 0;
}

static int body_writes(void *calls)
{
        ++*(int *)calls;
        if (seat.way & WAY_DECLARED)
                return xac_page_write(seat.env, seat.words) == NULL ? 0 : 99;
        seat_put(0, 1);
        return 0;
}

static void flags_apply_and_bad_ones_run_nothing(int way)
{
        int calls = 0;

        seat_take((uint64_t)way);
        check_ok(xac_run(seat.env, XAC_RDONLY, body_reads, &calls));
        check_code(xac_run(seat.env, XAC_RDONLY, body_writes, &calls), XAC_WROTE);
        check_equal(calls, 2);
        check_code(xac_run(seat.env, XAC_CREATE, body_reads, &calls), -EINVAL);
        check_code(xac_run(seat.env, XAC_DURABLE, body_reads, &calls), -EINVAL);
        check_code(xac_run(seat.env, 0, NULL, &calls), -EINVAL);
        check_code(xac_run(NULL, 0, body_reads, &calls), -EINVAL);
        check_equal(calls, 2);
        check_equal(seat_commit_get(0), 0);
        seat_leave(0);
}

static int body_outer(void *inner_)
{
        struct body *inner = inner_;
        int result = xac_run(seat.env, 0, body_main, inner);

        /* Handed outwards, as the fine print says: the outer one retries for both. */
        if (result != 0)
                return result;
        seat_add(1);
        return 0;
}

static void an_inner_run_hands_conflicts_outwards(int way)
{
        struct body inner = { .result = XAC_CONFLICT, .result_until = 3 };

        seat_take((uint64_t)way);
        check_ok(xac_run(seat.env, 0, body_outer, &inner));
        check_equal(inner.calls, 4);
        check_equal(seat_commit_get(0), 1);
        check_equal(seat_commit_get(1), 1);

        check_ok(xbegin(seat.env, 0));
        inner = (struct body){ .result = XAC_CONFLICT, .result_until = 100 };
        check_code(xac_run(seat.env, 0, body_main, &inner), XAC_CONFLICT);
        check_equal(inner.calls, 1);
        check_ok(xabort(seat.env));
        check_code(xend(seat.env), XAC_NOTXN);
        check_equal(seat_commit_get(0), 1);
        seat_leave(0);
}

/*
 * Starvation: one transaction that takes milliseconds against writers that need microseconds
 * for the same word.
 */

/* From its 17th attempt on it is exclusive. That lapses when it does not get the processor for a tenth of a second,
 * which may happen to it where the machine is busy. */
enum { FAST_WRITERS = 3, LOSSES = 16, LAPSES = 4 };

struct race {
        int way;
        struct crew_turn started;
        _Atomic int is_over;
        _Atomic uint64_t fast_commits;
        int calls;
        int fail_on_call; /* 0: never */
};

static int fast_body(void *unused)
{
        (void)unused;
        seat_add(0);
        return 0;
}

static void fast_writer(int index, void *race_)
{
        struct race *race = race_;

        seat_take((uint64_t)race->way);
        crew_turn_pass(&race->started);
        while (!atomic_load(&race->is_over)) {
                if (index == 0)
                        check_ok(xac_run(seat.env, 0, fast_body, NULL));
                else
                        seat_commit_add(0); /* plain loops respect the exclusive one as well */
                atomic_fetch_add(&race->fast_commits, 1);
        }
        seat_leave(0);
}

static int long_body(void *race_)
{
        struct race *race = race_;

        race->calls++;
        seat_get(0);
        crew_sleep_ms(3);
        seat_add(0);
        seat_add(seat_word(1, 0));
        return race->calls == race->fail_on_call ? 42 : 0;
}

static void long_runner(struct race *race)
{
        uint64_t goal;
        int result;

        seat_take((uint64_t)race->way);
        crew_turn_pass(&race->started);
        crew_turn_await(&race->started, FAST_WRITERS + 1);
        while (atomic_load(&race->fast_commits) < 10)
                crew_sleep_ms(1);
        result = xac_run(seat.env, 0, long_body, race);
        check_equal(result, race->calls == race->fail_on_call ? 42 : 0);
        check(race->calls <= LOSSES + (int)(LAPSES * leeway_factor()));
        /* The others go on afterwards, also when it gave up while it ran exclusively. */
        goal = atomic_load(&race->fast_commits) + 50;
        while (atomic_load(&race->fast_commits) < goal)
                crew_sleep_ms(1);
        atomic_store(&race->is_over, 1);
        seat_leave(0);
}

static void race_member(int index, void *race)
{
        if (index == FAST_WRITERS)
                long_runner(race);
        else
                fast_writer(index, race);
}

static struct race *race_run(int way, int fail_on_call)
{
        struct race *race = crew_shared(sizeof(*race));

        race->way = way;
        race->fail_on_call = fail_on_call;
        if (way & WAY_PROCESS)
                crew_processes(FAST_WRITERS + 1, race_member, race);
        else
                crew_threads(FAST_WRITERS + 1, race_member, race);
        return race;
}

static void a_starving_transaction_gets_through(int way)
{
        struct race *race = race_run(way, 0);

        seat_take((uint64_t)way);
        check_equal(seat_commit_get(seat_word(1, 0)), 1);
        check_equal(seat_commit_get(0), atomic_load(&race->fast_commits) + 1);
        seat_leave(0);
}

/* It gives up in its first exclusive attempt, if it comes to that. */
static void giving_up_while_exclusive_lets_others_go_on(int way)
{
        struct race *race = race_run(way, 17);

        seat_take((uint64_t)way);
        check_equal(seat_commit_get(seat_word(1, 0)), race->calls == 17 ? 0 : 1);
        seat_leave(0);
}

/* The process dies where it holds everybody else up (P6). */
static int long_body_that_dies(void *race_)
{
        struct race *race = race_;

        race->calls++;
        seat_get(0);
        crew_sleep_ms(3);
        seat_add(0);
        while (race->calls >= 17)
                crew_sleep_ms(100); /* until it is killed */
        return 0;
}

static void dying_runner(int index, void *race_)
{
        struct race *race = race_;

        (void)index;
        seat_take((uint64_t)race->way);
        xac_run(seat.env, 0, long_body_that_dies, race);
        atomic_store(&race->is_over, 1); /* it got through before its 17th attempt */
}

static void death_while_exclusive_lets_others_go_on(int way)
{
        struct race *race = crew_shared(sizeof(*race));
        pid_t fast, slow;
        uint64_t goal;

        race->way = way;
        fast = crew_fork(fast_writer, 1, race);
        slow = crew_fork(dying_runner, 0, race);
        while (*(volatile int *)&race->calls < 17 && !atomic_load(&race->is_over))
                crew_sleep_ms(1);
        crew_sleep_ms(20);
        if (atomic_load(&race->is_over))
                isolate_skip("it was never exclusive");
        crew_kill(slow);
        goal = atomic_load(&race->fast_commits) + 50;
        while (atomic_load(&race->fast_commits) < goal)
                crew_sleep_ms(1);
        atomic_store(&race->is_over, 1);
        crew_join(fast);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_by_access(a_body_that_succeeds_is_committed),
                isolated_test(a_result_other_than_0_aborts_and_is_returned),
                isolated_by_access(a_body_may_ask_for_a_retry),
                isolated_each_way(a_lost_attempt_is_run_again),
                isolated_by_access(flags_apply_and_bad_ones_run_nothing),
                isolated_by_access(an_inner_run_hands_conflicts_outwards),
                isolated_each_way(a_starving_transaction_gets_through),
                isolated_each_way(giving_up_while_exclusive_lets_others_go_on),
                isolated_by_access(death_while_exclusive_lets_others_go_on),
        };
        return cmocka_run_group_tests_name("run", tests, NULL, NULL);
}
