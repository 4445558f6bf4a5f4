/* SPDX-License-Identifier: MIT */

/*
 * Processes hand a turn round, and whoever is not on turn sleeps in xac_wait(); some are killed at random moments,
 * asleep, waking others, or in between (R21). After each death the turn goes round among all, the successor included,
 * before the next one dies: somebody who sleeps for ever is found, as no death wakes him. Half of them use views.
 *
 *      sleepers [--kills N | --seconds S] [--turns N] [--durable]
 *
 * At least so many turns are taken, with deaths or without.
 */

#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <xac/xac.h>

#include "base/sys.h"
#include "tests/support/chance.h"
#include "tests/support/check.h"
#include "tests/support/crew.h"
#include "tests/support/leeway.h"
#include "tests/support/program.h"
#include "tests/support/scratch.h"

enum { SLEEPERS = 4, ROUNDS = 2, PATIENCE_MS = 20000, PAUSE_NS = 3000000, VIEW_BYTES = 8192 };

static struct {
        uint64_t kills, seconds, turns;
        bool is_durable;
} options = { .kills = 100, .turns = 20000 };

/* In memory that outlives them. */
static struct tally {
        _Atomic uint64_t turns; /* told: perhaps one behind for each death */
} * tally;

/* ---- a process ---- */

static struct {
        xac_env *env;
        uint64_t *words; /* the first one: how many turns were taken; on the second page: 1, it is over */
        uint64_t index, turn;
        bool is_declared;
} self;

static uint64_t *reach(uint64_t *word, bool is_written)
{
        if (!self.is_declared)
                return word;
        return is_written ? xac_page_write(self.env, word) : (uint64_t *)(uintptr_t)xac_page_read(self.env, word);
}

static int take_turn(void *unused)
{
        uint64_t *turn = reach(self.words, false);
        const uint64_t *over = reach(self.words + VIEW_BYTES / 2 / sizeof(*self.words), false);

        (void)unused;
        if (!turn || !over)
                return XAC_CONFLICT;
        if (*over)
                return 1;
        if (*turn % SLEEPERS != self.index)
                return xac_wait(self.env, NULL);
        turn = reach(self.words, true);
        if (!turn)
                return XAC_CONFLICT;
        self.turn = ++*turn;
        return 0;
}

static void open_words(void)
{
        int flags = XAC_CREATE | (options.is_durable ? XAC_NOSYNC : XAC_VOLATILE);

        check_ok(xac_open(scratch_path("env"), flags, NULL, &self.env));
        self.words = xac_mmap(self.env, "words", VIEW_BYTES, 0);
        check(self.words != MAP_FAILED);
}

static void sleeper_main(int index, void *unused)
{
        int err;

        (void)unused;
        self.index = (uint64_t)index;
        self.is_declared = index % 2;
        open_words();
        while ((err = xac_run(self.env, 0, take_turn, NULL)) == 0)
                atomic_store(&tally->turns, self.turn);
        check_equal(err, 1);
        check_ok(xac_close(self.env));
}

/* ---- the director ---- */

/* The turn goes on by so many; nobody dies meanwhile. */
static void await_turns(uint64_t count)
{
        uint64_t turns = atomic_load(&tally->turns), last = turns;
        const uint64_t goal = turns + count;

        struct leeway quiet = leeway_of(PATIENCE_MS);

        while (turns < goal) {
                if (!leeway_pause(&quiet))
                        check_failed(__FILE__, __LINE__, "turn %" PRIu64 " was the last: somebody sleeps for ever",
                                     turns);
                turns = atomic_load(&tally->turns);
                if (turns != last)
                        quiet = leeway_of(PATIENCE_MS);
                last = turns;
        }
}

static void kill_some(pid_t pids[SLEEPERS], struct chance *chance)
{
        const uint64_t end_ns = crew_clock_ns() + options.seconds * 1000000000;
        uint64_t kills = 0;

        while (options.seconds ? crew_clock_ns() < end_ns : kills < options.kills) {
                int index = (int)chance_below(chance, SLEEPERS);

                sys_sleep_ns(chance_below(chance, PAUSE_NS));
                crew_kill(pids[index]);
                pids[index] = crew_fork(sleeper_main, index, NULL);
                await_turns((uint64_t)ROUNDS * SLEEPERS);
                kills++;
        }
        printf("%" PRIu64 " kills in the middle of %" PRIu64 " turns, %s\n", kills, atomic_load(&tally->turns),
               options.is_durable ? "durable" : "volatile");
}

static int end_it(void *unused)
{
        (void)unused;
        self.words[VIEW_BYTES / 2 / sizeof(*self.words)] = 1;
        return 0;
}

static int read_turn(void *unused)
{
        (void)unused;
        self.turn = *self.words;
        return 0;
}

static void end_all(const pid_t pids[SLEEPERS])
{
        open_words();
        check_ok(xac_run(self.env, 0, end_it, NULL));
        for (int i = 0; i < SLEEPERS; i++)
                crew_join(pids[i]);
        check_ok(xac_run(self.env, 0, read_turn, NULL));
        check(self.turn >= atomic_load(&tally->turns));
        check_ok(xac_close(self.env));
}

static void direct(int unused, void *seed)
{
        struct chance chance = { *(uint64_t *)seed };
        pid_t pids[SLEEPERS];

        (void)unused;
        tally = crew_shared(sizeof(*tally));
        for (int i = 0; i < SLEEPERS; i++)
                pids[i] = crew_fork(sleeper_main, i, NULL);
        await_turns(SLEEPERS);
        kill_some(pids, &chance);
        if (atomic_load(&tally->turns) < options.turns)
                await_turns(options.turns - atomic_load(&tally->turns));
        printf("%" PRIu64 " turns, none lost\n", atomic_load(&tally->turns));
        end_all(pids);
        munmap(tally, sizeof(*tally));
}

static const struct program_option known[] = {
        { "kills", .number = &options.kills },
        { "seconds", .number = &options.seconds },
        { "turns", .number = &options.turns },
        { "durable", .flag = &options.is_durable },
        { 0 },
};

int main(int argc, char **argv)
{
        uint64_t seed;

        program_options(argc, argv, known);
        program_begin(true);
        seed = chance_seed();
        return program_run(direct, &seed);
}
