/* SPDX-License-Identifier: MIT */
#include "bench/cost/cost.h"

#include <errno.h>
#include <stdlib.h>

enum { OPENS = 50, TIMES = 2000, TIMES_OF_MANY_PAGES = 200 };

/* Nobody else has it open: the last one to leave writes home, and removes the shared memory. */
static void close_it(struct cost_load *load)
{
        scratch_close(&load->scratch);
}

static void open_and_close(struct cost_load *load, uint64_t times)
{
        for (uint64_t i = 0; i < times; i++) {
                must(xac_open(load->scratch.directory, XAC_VOLATILE, NULL, &load->scratch.env), "xac_open");
                scratch_close(&load->scratch);
        }
}

static void empty(struct cost_load *load, uint64_t times)
{
        xac_env *env = load->scratch.env;

        for (uint64_t i = 0; i < times; i++) {
                xbegin(env, 0);
                xend(env);
        }
}

static void read_only(struct cost_load *load, uint64_t times)
{
        xac_env *env = load->scratch.env;

        for (uint64_t i = 0; i < times; i++) {
                xbegin(env, XAC_RDONLY);
                xend(env);
        }
}

static inline void read_pages(struct cost_load *load, uint64_t times, size_t pages)
{
        xac_env *env = load->scratch.env;
        long sum = 0;

        for (uint64_t i = 0; i < times; i++) {
                xbegin(env, XAC_RDONLY);
                for (size_t page_no = 0; page_no < pages; page_no++)
                        sum += *(const long *)xac_page_read(env, scratch_page(&load->scratch, page_no));
                must(xend(env), "xend");
        }
        __asm__ volatile("" : : "r"(sum));
}

static inline void write_pages(struct cost_load *load, uint64_t times, size_t pages)
{
        xac_env *env = load->scratch.env;

        for (uint64_t i = 0; i < times; i++) {
                xbegin(env, 0);
                for (size_t page_no = 0; page_no < pages; page_no++)
                        *(long *)xac_page_write(env, scratch_page(&load->scratch, page_no)) = (long)i;
                must(xend(env), "xend");
        }
}

static void read_1(struct cost_load *load, uint64_t times)
{
        read_pages(load, times, 1);
}

static void read_4(struct cost_load *load, uint64_t times)
{
        read_pages(load, times, 4);
}

static void read_64(struct cost_load *load, uint64_t times)
{
        read_pages(load, times, 64);
}

static void write_1(struct cost_load *load, uint64_t times)
{
        write_pages(load, times, 1);
}

static void write_4(struct cost_load *load, uint64_t times)
{
        write_pages(load, times, 4);
}

static void write_64(struct cost_load *load, uint64_t times)
{
        write_pages(load, times, 64);
}

/* It reads a page, and does not want to wait for a change: all of xac_wait() but the sleep. */
static void wait_for_nothing(struct cost_load *load, uint64_t times)
{
        static const struct timespec at_once;
        xac_env *env = load->scratch.env;

        for (uint64_t i = 0; i < times; i++) {
                xbegin(env, 0);
                (void)*(const volatile long *)xac_page_read(env, load->scratch.file);
                if (xac_wait(env, &at_once) != -ETIMEDOUT)
                        abort();
        }
}

static const struct cost_loop loops[] = {
        { "open and close", OPENS, close_it, open_and_close },
        { "empty transaction", TIMES, NULL, empty },
        { "read-only transaction", TIMES, NULL, read_only },
        { "declared read, 1 page", TIMES, NULL, read_1 },
        { "declared read, 4 pages", TIMES, NULL, read_4 },
        { "declared read, 64 pages", TIMES_OF_MANY_PAGES, NULL, read_64 },
        { "declared write, 1 page", TIMES, NULL, write_1 },
        { "declared write, 4 pages", TIMES, NULL, write_4 },
        { "declared write, 64 pages", TIMES_OF_MANY_PAGES, NULL, write_64 },
        { "xac_wait without need", TIMES, NULL, wait_for_nothing },
};

const struct cost_loops cost_transactions = { loops, sizeof(loops) / sizeof(loops[0]) };
