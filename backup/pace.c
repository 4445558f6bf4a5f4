/* SPDX-License-Identifier: MIT */
#include "backup/pace.h"

#include "base/sys.h"

enum { PATIENCE = 7, REST_NS_MAX = 500000000, SLEEP_NS_MAX = 200000000 };

#define SECOND_NS UINT64_C(1000000000)

static uint64_t count_commits(const struct pace *pace)
{
        return pace->commits ? pace->commits(pace->arg) : 0;
}

void pace_begin(struct pace *pace)
{
        pace->bytes = 0;
        pace->begun_ns = pace->rested_ns = sys_monotonic_ns();
        pace->seen = count_commits(pace);
}

/* When the bytes so far are due. */
static uint64_t at_rate(const struct pace *pace)
{
        const double due = (double)pace->bytes / (double)pace->bytes_per_second * (double)SECOND_NS;

        return pace->begun_ns + (uint64_t)due;
}

/* A step that took long because the machine was busy is no reason to sleep for long. */
static uint64_t with_room(const struct pace *pace)
{
        const uint64_t now_ns = sys_monotonic_ns(), rest_ns = (now_ns - pace->rested_ns) * PATIENCE;

        if (count_commits(pace) == pace->seen)
                return now_ns;
        return now_ns + (rest_ns < REST_NS_MAX ? rest_ns : REST_NS_MAX);
}

void pace_step(struct pace *pace, uint64_t bytes)
{
        pace->bytes += bytes;
        if (!pace->bytes_per_second)
                pace->rests_until_ns = with_room(pace);
        else if (pace->bytes_per_second != PACE_HEEDLESS)
                pace->rests_until_ns = at_rate(pace);
}

bool pace_rest(struct pace *pace)
{
        uint64_t now_ns = sys_monotonic_ns();

        if (now_ns < pace->rests_until_ns) {
                const uint64_t left_ns = pace->rests_until_ns - now_ns;

                sys_sleep_ns(left_ns < SLEEP_NS_MAX ? left_ns : SLEEP_NS_MAX);
                now_ns = sys_monotonic_ns();
        }
        if (now_ns < pace->rests_until_ns)
                return true;
        pace->rested_ns = now_ns;
        pace->seen = count_commits(pace);
        return false;
}
