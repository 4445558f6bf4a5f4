/* SPDX-License-Identifier: MIT */
#include "tests/kill/watch.h"

#include "tests/support/crew.h"
#include "tests/support/leeway.h"

enum {
        MS = 1000000,
        DISK_PATIENCE_MS = 15000, /* for whoever may wait for the disk */
        TICK_MAX_MS = 50          /* more than that between two looks is the machine's fault */
};

static struct tally *tally;
static double patience_ms;
static uint64_t looked_ns;
static double longest_ms;

static struct {
        uint64_t pulse;
        double still_ms; /* for so long has it been the same */
} seen[TALLY_TELLERS];

void watch_start(struct tally *tally_, uint64_t patience_ms_)
{
        tally = tally_;
        patience_ms = (double)patience_ms_;
        looked_ns = crew_clock_ns();
}

void watch_forget(int seat)
{
        for (unsigned i = 0; i < TALLY_THREADS; i++)
                seen[seat * TALLY_THREADS + i].still_ms = 0;
}

static bool waits_for_disk(enum tally_state state)
{
        return state == TALLY_CHECKPOINT || state == TALLY_GROWING || state == TALLY_OPENING || state == TALLY_LEAVING;
}

static bool is_stuck(unsigned teller, double elapsed_ms)
{
        uint64_t pulse = atomic_load(&tally->teller[teller].pulse);
        enum tally_state state = atomic_load(&tally->teller[teller].state);

        if (pulse != seen[teller].pulse || state == TALLY_AWAY || state == TALLY_PAUSED) {
                seen[teller].pulse = pulse;
                seen[teller].still_ms = 0;
                return false;
        }
        seen[teller].still_ms += elapsed_ms;
        if (waits_for_disk(state))
                return seen[teller].still_ms > DISK_PATIENCE_MS;
        if (seen[teller].still_ms > longest_ms)
                longest_ms = seen[teller].still_ms;
        return seen[teller].still_ms > patience_ms;
}

/* Asked ten times a second. */
static double factor_now(uint64_t now_ns)
{
        static uint64_t asked_ns;
        static double factor;

        if (now_ns - asked_ns > UINT64_C(100) * MS) {
                factor = leeway_factor();
                asked_ns = now_ns;
        }
        return factor;
}

/* Time in which the watch itself did not run does not count against anybody, and the busier the machine is the less the
 * rest. */
int watch_look(void)
{
        uint64_t now_ns = crew_clock_ns();
        double elapsed_ms = (double)(now_ns - looked_ns) / MS;
        int stuck = -1;

        looked_ns = now_ns;
        if (elapsed_ms > TICK_MAX_MS)
                elapsed_ms = TICK_MAX_MS;
        elapsed_ms /= factor_now(now_ns);
        for (unsigned i = 0; i < TALLY_TELLERS; i++)
                if (is_stuck(i, elapsed_ms))
                        stuck = (int)i;
        return stuck;
}

double watch_still_ms(unsigned teller)
{
        return seen[teller].still_ms;
}

const char *watch_state(unsigned teller)
{
        static const char *const states[] = {
                [TALLY_AWAY] = "away",
                [TALLY_OPENING] = "opening",
                [TALLY_TRADING] = "trading",
                [TALLY_AUDITING] = "auditing",
                [TALLY_CHECKPOINT] = "at a checkpoint",
                [TALLY_GROWING] = "growing",
                [TALLY_PAUSED] = "paused",
                [TALLY_LEAVING] = "leaving",
        };

        return states[atomic_load(&tally->teller[teller].state)];
}

double watch_longest_ms(void)
{
        return longest_ms;
}
