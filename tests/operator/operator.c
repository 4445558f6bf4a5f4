/* SPDX-License-Identifier: MIT */

/*
 * The operator's drill: environments with a known history, their backups and archive are harmed at random, and every
 * tool of xac is run on them in random order, with random options. No tool may call sound what is not as of a moment of
 * the history, call damaged what nobody has harmed, or leave a gap in the archive unasked. What is known not to be
 * noticed is in operator_judge.c, with the sentence that says so.
 *
 *      operator [--seconds N] [--harms N] [--jobs N] [--keep-going] [--verbose] [--xac PROGRAM] [--keep DIR]
 *      operator --seed S --round K          that round once more
 *
 * Rounds have numbers. Each pool of moments (operator_pool.c) serves ROUNDS of them, and both are drawn from the seed
 * and the number: a round can be repeated alone, but for what threads and times change.
 */

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/operator/operator_place.h"
#include "tests/operator/operator_round.h"
#include "tests/support/chance.h"
#include "tests/support/check.h"
#include "tests/support/crew.h"
#include "tests/support/places.h"
#include "tests/support/program.h"

enum { ROUNDS = 200, SECONDS = 20, JOBS_MAX = 64 };
#define NO_ROUND UINT64_MAX
#define MEMORY   ((size_t)1 << 30) /* of which little is used */

struct drill {
        uint64_t seed, seconds, harms, jobs, round;
        bool keeps_going, is_verbose;
        const char *xac, *keep;
        uint64_t begun_ns;
        struct tally *tally;
        char seeds[128];
};

static bool is_over(const struct drill *drill)
{
        if (atomic_load(&drill->tally->failures) && !drill->keeps_going)
                return true;
        if (drill->harms && atomic_load(&drill->tally->harms) >= drill->harms)
                return true;
        return drill->seconds && crew_clock_ns() - drill->begun_ns >= drill->seconds * 1000000000u;
}

static void run_round(const struct drill *drill, struct pool *pool, uint64_t number)
{
        static struct round round;

        memset(&round, 0, sizeof(round));
        round.number = number;
        round.pool = pool;
        round.chance.state = chance_mix(drill->seed ^ chance_mix(number));
        round.tally = drill->tally;
        round.seeds = drill->seeds;
        round.is_verbose = drill->is_verbose;
        round.keep = drill->keep;
        round_run(&round);
        if (drill->round != NO_ROUND)
                printf("round %" PRIu64 ": %s\n   tools: %s\n", number, round.harm.what, round.told);
}

static bool begin_pool(const struct drill *drill, struct pool *pool, uint64_t first)
{
        if (pool_make(pool, drill->seed ^ chance_mix(~first)))
                return true;
        tally_failure(drill->tally, "moments could not be made", first);
        printf("   replay: %s --round %" PRIu64 "\n", drill->seeds, first);
        return false;
}

static void work(int index, void *drill_)
{
        const struct drill *drill = drill_;
        struct pool *pool = pool_new();
        uint64_t first = (uint64_t)index * ROUNDS;

        image_begin(MEMORY);
        place_make((unsigned)index);
        if (drill->round != NO_ROUND) {
                if (begin_pool(drill, pool, drill->round / ROUNDS * ROUNDS))
                        run_round(drill, pool, drill->round);
        }
        for (; drill->round == NO_ROUND && !is_over(drill); first += drill->jobs * ROUNDS) {
                const bool is_made = begin_pool(drill, pool, first);

                for (uint64_t i = 0; i < ROUNDS && is_made && !is_over(drill); i++)
                        run_round(drill, pool, first + i);
        }
        place_remove();
        free(pool);
}

static void drill_all(int unused, void *drill_)
{
        struct drill *drill = drill_;

        (void)unused;
        tools_choose(drill->xac);
        drill->begun_ns = crew_clock_ns();
        crew_processes((int)drill->jobs, work, drill);
        tally_print(drill->tally, (double)(crew_clock_ns() - drill->begun_ns) / 1e9);
        if (atomic_load(&drill->tally->failures))
                crew_exit(1);
}

int main(int argc, char **argv)
{
        struct drill drill = { .round = NO_ROUND };
        const struct program_option options[] = {
                { "seconds", .number = &drill.seconds },
                { "harms", .number = &drill.harms },
                { "jobs", .number = &drill.jobs },
                { "round", .number = &drill.round },
                { "keep-going", .flag = &drill.keeps_going },
                { "verbose", .flag = &drill.is_verbose },
                { "xac", .text = &drill.xac },
                { "keep", .text = &drill.keep },
                { NULL },
        };

        program_options(argc, argv, options);
        drill.seed = chance_seed();
        if (!drill.seconds && !drill.harms)
                drill.seconds = SECONDS;
        if (drill.jobs == 0)
                drill.jobs = (uint64_t)sysconf(_SC_NPROCESSORS_ONLN);
        if (drill.round != NO_ROUND)
                drill.jobs = 1;
        check(drill.jobs <= JOBS_MAX);
        snprintf(drill.seeds, sizeof(drill.seeds), "%s --seed %" PRIu64, argv[0], drill.seed);
        drill.tally = crew_shared(sizeof(*drill.tally));
        places_prefer_memory();
        program_begin(true);
        return program_run(drill_all, &drill);
}
