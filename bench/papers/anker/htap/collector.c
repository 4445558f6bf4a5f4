/* SPDX-License-Identifier: MIT */
#include "bench/papers/anker/htap/homogeneous.h"

#include <time.h>

/* Those dropped by the last pass are free when every snapshot is newer than the commit after which they were dropped.
 */
static void leave_limbo(struct engine *engine, uint64_t oldest)
{
        if (oldest > engine->limbo_until)
                version_give_back(&engine->pool, &engine->limbo);
}

void collector_pass(struct engine *engine)
{
        const uint64_t oldest = homogeneous_oldest(engine);

        leave_limbo(engine, oldest);
        for (int c = 0; c < COLUMNS; c++)
                engine->dropped += versioned_collect(&engine->column[c], oldest, &engine->limbo);
        engine->passes++;
        engine->limbo_until = precision_newest(&engine->precision);
}

static bool sleep_for(struct engine *engine, uint64_t ms)
{
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_sec += (time_t)(ms / 1000);
        until.tv_nsec += (long)(ms % 1000) * 1000000;
        if (until.tv_nsec >= 1000000000) {
                until.tv_sec++;
                until.tv_nsec -= 1000000000;
        }
        pthread_mutex_lock(&engine->collector_lock);
        while (!engine->is_ending &&
               pthread_cond_timedwait(&engine->collector_wakes, &engine->collector_lock, &until) == 0)
                ;
        const bool goes_on = !engine->is_ending;
        pthread_mutex_unlock(&engine->collector_lock);
        return goes_on;
}

static void *collect(void *arg)
{
        struct engine *engine = arg;
        while (sleep_for(engine, engine->plan.collect_ms))
                collector_pass(engine);
        return NULL;
}

int collector_start(struct engine *engine)
{
        pthread_condattr_t clock;

        pthread_condattr_init(&clock);
        pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
        pthread_cond_init(&engine->collector_wakes, &clock);
        pthread_condattr_destroy(&clock);
        pthread_mutex_init(&engine->collector_lock, NULL);
        return engine->plan.collect_ms ? -pthread_create(&engine->collector, NULL, collect, engine) : 0;
}

void collector_end(struct engine *engine)
{
        pthread_mutex_lock(&engine->collector_lock);
        engine->is_ending = true;
        pthread_cond_signal(&engine->collector_wakes);
        pthread_mutex_unlock(&engine->collector_lock);
        if (engine->plan.collect_ms)
                pthread_join(engine->collector, NULL);
        pthread_cond_destroy(&engine->collector_wakes);
        pthread_mutex_destroy(&engine->collector_lock);
}
