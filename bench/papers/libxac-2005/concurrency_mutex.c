/* SPDX-License-Identifier: MIT */

/*
 * Plain memory that processes share, with a robust pthread mutex for each page: what any
 * isolation costs at least. No versions, no abort, no reader that goes on meanwhile; and whoever
 * locks must know beforehand which pages it will touch, and in which order to take them.
 *
 * And the same memory without mutexes, each worker on its own page: what the processors allow. Two that share a
 * core, or a host that others use, do not do twice as much as one.
 */

#include <pthread.h>
#include <stdlib.h>

#include "bench/crew_systems.h"
#include "bench/support/scratch.h"

struct cell {
        unsigned page[WORK_PAGE / sizeof(unsigned)];
        _Alignas(WORK_PAGE) pthread_mutex_t mutex; /* on a cache line of its own, and more */
};

_Static_assert(WORKERS_MAX * sizeof(struct cell) <= COMMON_BYTES, "the common memory holds it");

struct seat {
        struct cell *cells, *cell;
        struct work work;
};

static void prepare(void *common)
{
        struct cell *cells = common;
        pthread_mutexattr_t attributes;

        pthread_mutexattr_init(&attributes);
        pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
        pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
        for (int i = 0; i < WORKERS_MAX; i++)
                must(-pthread_mutex_init(&cells[i].mutex, &attributes), "pthread_mutex_init");
        pthread_mutexattr_destroy(&attributes);
}

static void *open_seat(const struct task *task)
{
        struct seat *seat = crew_new_seat(sizeof(*seat));
        struct cell *cells = task->common;

        *seat = (struct seat){ cells, &cells[task->is_same_page ? 0 : task->worker], task->work };
        return seat;
}

static uint64_t run_transaction(void *arg)
{
        struct seat *seat = arg;
        must(-pthread_mutex_lock(&seat->cell->mutex), "pthread_mutex_lock");
        work_do(&seat->work, seat->cell->page);
        must(-pthread_mutex_unlock(&seat->cell->mutex), "pthread_mutex_unlock");
        return 0;
}

static unsigned sum(void *arg)
{
        struct seat *seat = arg;
        unsigned total = 0;
        for (int c = 0; c < WORKERS_MAX; c++)
                total += seat->cells[c].page[0];
        return total;
}

static uint64_t run_unlocked(void *arg)
{
        struct seat *seat = arg;
        work_do(&seat->work, seat->cell->page);
        return 0;
}

static unsigned sum_own(void *arg)
{
        return ((struct seat *)arg)->cell->page[0];
}

const struct system system_unlocked = { "unlocked", true, NULL, open_seat, free, run_unlocked, sum_own };
const struct system system_mutex = { "mutex", false, prepare, open_seat, free, run_transaction, sum };
