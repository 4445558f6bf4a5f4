/* SPDX-License-Identifier: MIT */
#include "bench/support/processor.h"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static cpu_set_t all;

/* sched_getaffinity() tells later only where we have pinned ourselves. */
static void look(void)
{
        if (sched_getaffinity(0, sizeof(all), &all))
                CPU_ZERO(&all);
}

int processor_count(void)
{
        pthread_once(&once, look);
        return CPU_COUNT(&all) ? CPU_COUNT(&all) : (int)sysconf(_SC_NPROCESSORS_ONLN);
}

void processor_pin(int worker)
{
        cpu_set_t chosen;
        int left = worker % processor_count();

        for (int p = 0; p < CPU_SETSIZE; p++) {
                if (!CPU_ISSET(p, &all) || left-- > 0)
                        continue;
                CPU_ZERO(&chosen);
                CPU_SET(p, &chosen);
                sched_setaffinity(0, sizeof(chosen), &chosen);
                return;
        }
}

void processor_free(void)
{
        pthread_once(&once, look);
        sched_setaffinity(0, sizeof(all), &all);
}
