/* SPDX-License-Identifier: MIT */
#include "bench/papers/anker/snapshots/creation.h"

/*
 * By rewiring, run by run (rewired.h). Its cost is that of the mappings which the columns have come to by then.
 */

#include "bench/papers/anker/snapshots/columns.h"
#include "bench/papers/anker/snapshots/rewired.h"
#include "bench/support/memory.h"
#include "bench/support/page_order.h"

static int write_page(struct rewired *rewired, uint64_t page)
{
        int err = rewired_write(rewired, page);
        if (!err)
                ((uint64_t *)(rewired->base + page * PAGE))[COUNTER]++;
        return err;
}

/* So many pages of each column. */
static int write_pages(const struct creation *creation, struct rewired *rewired, struct page_order *order,
                       uint64_t pages, struct creation_figures *figures)
{
        const uint64_t start = measure_now_ns();

        for (uint64_t i = 0; i < pages; i++) {
                const uint64_t page = page_order_take(order);
                for (int c = 0; c < creation->columns; c++) {
                        int err = write_page(rewired, (uint64_t)c * creation->pages + page);
                        if (err)
                                return err;
                }
        }
        if (pages)
                samples_add(&figures->write_us,
                            (double)(measure_now_ns() - start) / 1e3 / (double)pages / creation->columns);
        return 0;
}

static int measure_round(const struct creation *creation, struct rewired *rewired, uint64_t changed,
                         struct creation_figures *figures)
{
        char *snapshot;
        const uint64_t start = measure_now_ns();
        int err = rewired_snapshot(rewired, 0, rewired->pages, &snapshot);
        if (err)
                return err;
        const uint64_t created = measure_now_ns();
        const uint64_t sum = memory_sum(snapshot, creation->pages * PAGE);
        const uint64_t scanned = measure_now_ns();

        creation_check(creation, changed, sum);
        rewired_drop(snapshot, rewired->pages);
        samples_add(&figures->create_us, (double)(created - start) / 1e3);
        samples_add(&figures->with_scan_us, (double)(scanned - start) / 1e3);
        return 0;
}

void creation_by_rewiring(const struct creation *creation, int levels, const uint64_t *changed,
                          struct creation_figures *figures)
{
        struct rewired rewired;
        struct page_order order;
        uint64_t before = 0;
        int err = 0;

        rewired_open(&rewired, creation_all_pages(creation));
        creation_fill(creation, rewired.base);
        page_order_make(&order, creation->pages, creation->seed);
        for (int level = 0; level < levels; level++) {
                struct creation_figures *now = &figures[level];
                if (!err)
                        err = write_pages(creation, &rewired, &order, changed[level] - before, now);
                before = changed[level];
                now->mappings = 2 * (double)rewired_runs(&rewired, 0, rewired.pages);
                for (uint64_t r = 0; r < creation->rounds && !err; r++)
                        err = measure_round(creation, &rewired, changed[level], now);
                now->err = err;
        }
        page_order_free(&order);
        rewired_close(&rewired);
}
