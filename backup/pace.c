/* SPDX-License-Identifier: MIT */
#include "backup/pace.h"

#include "base/sys.h"

enum { PATIENCE = 7, REST_NS_MAX = 500000000, SLEEP_NS_MAX = 900000000 };

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

static void sleep_until(uint64_t end_ns)
{
        for (uint64_t now_ns = sys_monotonic_ns(); now_ns < end_ns; now_ns = sys_monotonic_ns())
                sys_sleep_ns(end_ns - now_ns < SLEEP_NS_MAX ? end_ns - now_ns : SLEEP_NS_MAX);
}

static void keep_rate(const struct pace *pace)
{
        const double due = (double)pace->bytes / (double)pace->bytes_per_second * (double)SECOND_NS;

        sleep_until(pace->begun_ns + (uint64_t)due);
}

/* A step that took long because the machine was busy is no reason to sleep for long. */
static void leave_room(struct pace *pace)
{
        const uint64_t now_ns = sys_monotonic_ns(), rest_ns = (now_ns - pace->rested_ns) * PATIENCE;

        if (count_commits(pace) != pace->seen)
                sleep_until(now_ns + (rest_ns < REST_NS_MAX ? rest_ns : REST_NS_MAX));
        pace->rested_ns = sys_monotonic_ns();
        pace->seen = count_commits(pace);
}

void pace_step(struct pace *pace, uint64_t bytes)
{
        pace->bytes += bytes;
        if (!pace->bytes_per_second)
                leave_room(pace);
        else if (pace->bytes_per_second != PACE_HEEDLESS)
                keep_rate(pace);
}
