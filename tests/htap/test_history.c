/* SPDX-License-Identifier: MIT */

/*
 * Random histories on both engines. With precision locking each has a serial order. With a hole in it (the first
 * predicate of each transaction is forgotten), or under snapshot isolation, sooner or later one has none: so the
 * checker would see what precision locking let through.
 */

#include <inttypes.h>
#include <stdio.h>

#include "tests/htap/history.h"
#include "tests/support/chance.h"
#include "tests/support/check.h"
#include "tests/support/isolate.h"
#include "tests/support/leeway.h"
#include "tests/support/scratch.h"

enum { THREADS = 3, TRANSACTIONS = 4000, ROUNDS = 4, ROUNDS_TO_FIND = 40, MS_TO_FIND = 20000, FEW = 1000 };
enum { HETEROGENEOUS = 1 };

static struct history_plan plan_for(int engine, uint64_t seed)
{
        return (struct history_plan){
                .ops = engine == HETEROGENEOUS ? &engine_heterogeneous : &engine_homogeneous,
                .engine = { .isolation = ISOLATION_SERIALIZABLE,
                            .refresh_commits = 10,
                            .collect_ms = 1,
                            .directory = scratch_path("htap") },
                .threads = THREADS,
                .transactions = TRANSACTIONS,
                .seed = seed,
        };
}

static void histories_are_serial(int engine)
{
        const uint64_t seed = chance_seed();

        for (uint64_t round = 0; round < ROUNDS; round++) {
                struct history_plan plan = plan_for(engine, seed + round * THREADS);
                struct history history;
                history_run(&plan, &history);
                printf("%zu of %d transactions committed\n", history.count, THREADS * TRANSACTIONS);
                fflush(stdout);
                check(history.count > TRANSACTIONS / 4);
                check(history_is_serial(&history, false));
                history_free(&history);
                scratch_clear();
        }
}

static void find_an_anomaly(struct history_plan plan)
{
        struct leeway left = leeway_of(MS_TO_FIND);

        plan.transactions = FEW;
        /* Where threads seldom run at the same time there are more histories. */
        for (int round = 0; round < ROUNDS_TO_FIND || leeway_is_left(&left); round++) {
                struct history history;
                plan.seed += THREADS;
                history_run(&plan, &history);
                const bool is_serial = history_is_serial(&history, true);
                history_free(&history);
                scratch_clear();
                if (is_serial)
                        continue;
                printf("found in history %d\n", round + 1);
                fflush(stdout);
                return;
        }
        check_failed(__FILE__, __LINE__, "%d histories or more, and not one without a serial order", ROUNDS_TO_FIND);
}

static void a_forgotten_predicate_is_found(int engine)
{
        struct history_plan plan = plan_for(engine, chance_seed());
        plan.engine.has_hole = true;
        find_an_anomaly(plan);
}

static void snapshot_isolation_is_found_out(int engine)
{
        struct history_plan plan = plan_for(engine, chance_seed());
        plan.engine.isolation = ISOLATION_SNAPSHOT;
        find_an_anomaly(plan);
}

#define IN_BOTH_ENGINES(body) isolated_way(body, 0, "homogeneous"), isolated_way(body, HETEROGENEOUS, "heterogeneous")

int main(void)
{
        const struct CMUnitTest tests[] = {
                IN_BOTH_ENGINES(histories_are_serial),
                IN_BOTH_ENGINES(a_forgotten_predicate_is_found),
                isolated_way(snapshot_isolation_is_found_out, 0, "homogeneous"),
        };

        return cmocka_run_group_tests_name("htap/history", tests, NULL, NULL);
}
