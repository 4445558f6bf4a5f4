/* SPDX-License-Identifier: MIT */
#include "bench/cost/cost.h"

/* By xac-cc: what one store, or one load, of compiled code costs within a transaction that has touched its pages
 * already; the addresses are in no order that the compiler could see, so each access is translated by itself. And a
 * transaction that touches each of its pages once. */

enum { TIMES = 10000, STEP = 37 * 1000 + 8, TOUCHED = 16, TRANSACTIONS = 1000 };

static inline size_t next(size_t at, size_t bytes)
{
        at += STEP;
        return at < bytes ? at : at - bytes;
}

static void store(struct cost_load *load, uint64_t times)
{
        const size_t bytes = load->scratch.pages * SCRATCH_PAGE;

        xbegin(load->scratch.env, 0);
        for (size_t i = 0, at = 0; i < times; i++, at = next(at, bytes))
                *(volatile long *)(load->scratch.file + at) = (long)i;
        must(xend(load->scratch.env), "xend");
}

static void fetch(struct cost_load *load, uint64_t times)
{
        const size_t bytes = load->scratch.pages * SCRATCH_PAGE;

        xbegin(load->scratch.env, XAC_RDONLY);
        for (size_t i = 0, at = 0; i < times; i++, at = next(at, bytes))
                (void)*(volatile long *)(load->scratch.file + at);
        must(xend(load->scratch.env), "xend");
}

static void store_first(struct cost_load *load, uint64_t times)
{
        for (; times; times--) {
                xbegin(load->scratch.env, 0);
                for (size_t page = 0; page < TOUCHED; page++)
                        *(volatile long *)scratch_page(&load->scratch, page) = (long)times;
                must(xend(load->scratch.env), "xend");
        }
}

static void fetch_first(struct cost_load *load, uint64_t times)
{
        for (; times; times--) {
                xbegin(load->scratch.env, 0);
                for (size_t page = 0; page < TOUCHED; page++)
                        (void)*(volatile long *)scratch_page(&load->scratch, page);
                must(xend(load->scratch.env), "xend");
        }
}

static const struct cost_loop loops[] = {
        { "compiled store", TIMES, NULL, store },
        { "compiled load", TIMES, NULL, fetch },
        { "compiled store, 16 pages", TRANSACTIONS, NULL, store_first },
        { "compiled load, 16 pages", TRANSACTIONS, NULL, fetch_first },
};

const struct cost_loops cost_compiled = { loops, sizeof(loops) / sizeof(loops[0]) };

int main(int argc, char **argv)
{
        static const struct cost_loops *const kinds[] = { &cost_compiled, NULL };

        return cost_main(argc, argv, kinds);
}
