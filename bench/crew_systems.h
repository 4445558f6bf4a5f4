/* SPDX-License-Identifier: MIT */
#ifndef BENCH_CREW_SYSTEMS_H
#define BENCH_CREW_SYSTEMS_H

/*
 * A crew compares systems. Each system runs a transaction that increments integers of one page. Each worker, a thread
 * of some process, has a seat in the system. Those named below are of bench/papers/libxac-2005/concurrency;
 * bench/durable has its own, in durable_systems.c.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <xac/xac.h>

enum { WORKERS_MAX = 4, WORK_PAGE = 4096 };

/* A transaction: the first `ints` integers of a page, so many times. Where a worker has several pages, it is
 * a random one of them, and so many others are read before. */
struct work {
        size_t ints;
        unsigned repeats;
        unsigned reads;
        unsigned pages; /* of each worker */
};

void work_do(const struct work *work, unsigned *page);

struct task {
        const char *directory;      /* empty at first, for this cell alone, unless the crew was given one */
        bool is_durable;            /* the environment is; else it is volatile */
        const xac_options *options; /* of the environment; NULL: the defaults */
        void *common;               /* memory that all workers share, set up by prepare() */
        struct work work;
        bool is_same_page;
        bool is_retried_at_once; /* by a loop around xbegin and xend, not by xac_run */
        uint64_t stride;         /* from one worker's pages to the next one's, times as many as it has */
        int worker;
};

static inline uint64_t task_page_no(const struct task *task)
{
        return task->is_same_page ? 0 : (uint64_t)task->worker * task->stride * task->work.pages;
}

static inline uint64_t task_pages(const struct task *task)
{
        return ((WORKERS_MAX - 1) * task->stride + 1) * task->work.pages;
}

enum { COMMON_BYTES = 16 * WORK_PAGE };

struct system {
        const char *name;
        bool is_separate;              /* the workers share nothing: there is no same page */
        void (*prepare)(void *common); /* before any worker starts; may be NULL */
        void *(*open)(const struct task *task);
        void (*close)(void *seat);
        uint64_t (*transaction)(void *seat); /* until it has committed; returns the attempts lost */
        unsigned (*sum)(void *seat);         /* of the first integers of all pages, modulo 2^32 */
};

/* Zeroed memory for a seat; for free(). */
void *crew_new_seat(size_t byte_len);

extern const struct system system_view, system_declared, system_view_separate, system_declared_separate;
extern const struct system system_unlocked, system_mutex, system_lmdb;

#endif
