/* SPDX-License-Identifier: MIT */
#include "tests/support/chance.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

uint64_t chance_seed(void)
{
        const char *chosen = getenv("XAC_TEST_SEED");
        struct timespec now;
        uint64_t seed;

        clock_gettime(CLOCK_REALTIME, &now);
        seed = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
        if (chosen != NULL)
                seed = strtoull(chosen, NULL, 0);
        dprintf(STDERR_FILENO, "seed %" PRIu64 " (XAC_TEST_SEED replays it)\n", seed);
        return seed;
}

uint64_t chance_mix(uint64_t value)
{
        value += 0x9e3779b97f4a7c15u;
        value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
        value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
        return value ^ (value >> 31);
}

uint64_t chance_next(struct chance *chance)
{
        uint64_t value = chance_mix(chance->state);

        chance->state += 0x9e3779b97f4a7c15u;
        return value;
}

uint64_t chance_below(struct chance *chance, uint64_t bound)
{
        return chance_next(chance) % bound;
}

int chance_percent(struct chance *chance, unsigned percent)
{
        return chance_below(chance, 100) < percent;
}
