/* SPDX-License-Identifier: MIT */

/*
 * libxac, in a volatile environment unless the task wants a durable one: the integers by plain
 * access to a view, or by declared access; in one environment that all workers share, or in one
 * for each worker, which is the bound that sharing can be held against.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "bench/crew_systems.h"
#include "bench/support/measure.h"
#include "bench/support/scratch.h"

struct seat {
        struct scratch scratch;
        struct work work;
        unsigned *page; /* in the view: the worker's only page, or its first */
        uint64_t random;
        unsigned read; /* so that reading is not left out */
        int (*body)(void *seat);
        bool is_retried_at_once;
        uint64_t attempts;
};

static int increment_plain(void *arg)
{
        struct seat *seat = arg;
        seat->attempts++;
        work_do(&seat->work, seat->page);
        return 0;
}

static int increment_declared(void *arg)
{
        struct seat *seat = arg;
        seat->attempts++;
        unsigned *page = xac_page_write(seat->scratch.env, seat->page);
        if (page)
                work_do(&seat->work, page);
        return 0;
}

static unsigned *random_page(struct seat *seat)
{
        uint64_t page_no = (measure_random(&seat->random) >> 16) % seat->work.pages;
        return (unsigned *)((char *)seat->page + page_no * WORK_PAGE);
}

static int read_and_increment_declared(void *arg)
{
        struct seat *seat = arg;
        unsigned read = 0;
        seat->attempts++;
        for (unsigned i = 0; i < seat->work.reads; i++) {
                const unsigned *page = xac_page_read(seat->scratch.env, random_page(seat));
                read += page ? *(const volatile unsigned *)page : 0;
        }
        unsigned *page = xac_page_write(seat->scratch.env, random_page(seat));
        if (page)
                work_do(&seat->work, page);
        seat->read += read;
        return 0;
}

/* Tests A to C have one page, and are spared the choice. */
static int (*declared_body(const struct task *task))(void *seat)
{
        return task->work.pages > 1 ? read_and_increment_declared : increment_declared;
}

/* Every page of the worker gets a version in the pool. */
static int touch_all(void *arg)
{
        struct seat *seat = arg;
        for (unsigned p = 0; p < seat->work.pages; p++)
                (void)xac_page_write(seat->scratch.env, (char *)seat->page + (size_t)p * WORK_PAGE);
        return 0;
}

static struct seat *open_seat(const struct task *task, bool is_separate, int (*body)(void *seat))
{
        struct seat *seat = crew_new_seat(sizeof(*seat));

        seat->work = task->work;
        seat->body = body;
        seat->is_retried_at_once = task->is_retried_at_once;
        seat->scratch.pages = task_pages(task);
        seat->scratch.is_durable = task->is_durable;
        seat->scratch.options = task->options;
        snprintf(seat->scratch.directory, SCRATCH_PATH, "%s/%d", task->directory, is_separate ? task->worker : 0);
        if (mkdir(seat->scratch.directory, 0700) && errno != EEXIST)
                scratch_fail(-errno, seat->scratch.directory);
        scratch_open(&seat->scratch, 0);
        seat->page = (unsigned *)scratch_page(&seat->scratch, task_page_no(task));
        seat->random = 88172645463325252u + (uint64_t)task->worker;
        if (seat->work.pages > 1)
                must(xac_run(seat->scratch.env, 0, touch_all, seat), "xac_run");
        return seat;
}

static void *open_view(const struct task *task)
{
        return open_seat(task, false, increment_plain);
}

static void *open_declared(const struct task *task)
{
        return open_seat(task, false, declared_body(task));
}

static void *open_view_separate(const struct task *task)
{
        return open_seat(task, true, increment_plain);
}

static void *open_declared_separate(const struct task *task)
{
        return open_seat(task, true, declared_body(task));
}

static void close_seat(void *arg)
{
        struct seat *seat = arg;
        scratch_close(&seat->scratch);
        free(seat);
}

static int loop(struct seat *seat)
{
        int err;
        do {
                xbegin(seat->scratch.env, 0);
                seat->body(seat);
                err = xend(seat->scratch.env);
        } while (err == XAC_CONFLICT);
        return err;
}

static uint64_t run_transaction(void *arg)
{
        struct seat *seat = arg;
        seat->attempts = 0;
        if (seat->is_retried_at_once)
                must(loop(seat), "xend");
        else
                must(xac_run(seat->scratch.env, 0, seat->body, seat), "xac_run");
        return seat->attempts - 1;
}

static unsigned sum(void *arg)
{
        struct seat *seat = arg;
        unsigned total = 0;

        must(xbegin(seat->scratch.env, XAC_RDONLY), "xbegin");
        for (size_t p = 0; p < seat->scratch.pages; p++) {
                const unsigned *page = xac_page_read(seat->scratch.env, scratch_page(&seat->scratch, p));
                total += page ? *page : 0;
        }
        must(xend(seat->scratch.env), "xend");
        return total;
}

#define LIBXAC(name, is_separate, open)                                         \
        {                                                                       \
                name, is_separate, NULL, open, close_seat, run_transaction, sum \
        }

const struct system system_view = LIBXAC("libxac_view", false, open_view);
const struct system system_declared = LIBXAC("libxac_declared", false, open_declared);
const struct system system_view_separate = LIBXAC("separate_view", true, open_view_separate);
const struct system system_declared_separate = LIBXAC("separate_declared", true, open_declared_separate);
