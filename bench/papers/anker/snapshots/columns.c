/* SPDX-License-Identifier: MIT */
#include "bench/papers/anker/snapshots/columns.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/support/page_order.h"

enum { FILL_BATCH = 512 /* pages filled in one transaction */ };

const char *columns_name(int no, char name[32])
{
        snprintf(name, 32, "column%d", no);
        return name;
}

void columns_open(struct columns *columns)
{
        scratch_open(&columns->scratch, 0);
}

void columns_map(struct columns *columns)
{
        char name[32];

        for (int c = 0; c < columns->count; c++) {
                columns->view[c] = xac_mmap(columns->scratch.env, columns_name(c, name), columns_byte_len(columns), 0);
                if (columns->view[c] == MAP_FAILED)
                        scratch_fail(-errno, "xac_mmap");
        }
}

void columns_close(struct columns *columns)
{
        scratch_close(&columns->scratch);
}

/* ---- the process that changes them ---- */

static void fill_pages(const struct columns *columns, char *view, uint64_t first)
{
        xac_env *env = columns->scratch.env;

        must(xbegin(env, 0), "xbegin");
        for (uint64_t p = first; p < first + FILL_BATCH && p < columns->pages; p++) {
                char *page = xac_page_write(env, view + p * PAGE);
                if (page)
                        columns_fill_page(page, p);
        }
        must(xend(env), "xend");
}

static void fill(const struct columns *columns)
{
        for (int c = 0; c < columns->count; c++)
                for (uint64_t p = 0; p < columns->pages; p += FILL_BATCH)
                        fill_pages(columns, columns->view[c], p);
        must(xac_checkpoint(columns->scratch.env), "xac_checkpoint");
}

static void change_page(xac_env *env, char *address)
{
        int err;

        do {
                must(xbegin(env, 0), "xbegin");
                uint64_t *page = xac_page_write(env, address);
                if (page)
                        page[COUNTER]++;
                err = xend(env);
        } while (err == XAC_CONFLICT);
        must(err, "xend");
}

/* The order goes on from one call to the next, and columns have it in common. */
static uint64_t change(const struct columns *columns, struct page_order *order, uint64_t pages)
{
        const uint64_t start = measure_now_ns();

        page_order_prepare(order, pages);
        for (uint64_t i = 0; i < pages; i++) {
                const uint64_t page = page_order_take(order);
                for (int c = 0; c < columns->count; c++)
                        change_page(columns->scratch.env, columns->view[c] + page * PAGE);
        }
        const uint64_t ns = measure_now_ns() - start;
        change_page(columns->scratch.env, columns->scratch.file);
        return ns;
}

static void changer_run(struct columns *columns)
{
        struct page_order order;
        uint64_t pages, ns = 0;

        page_order_make(&order, columns->pages, columns->seed);
        columns_open(columns);
        columns_map(columns);
        fill(columns);
        must(write(columns->from, &ns, sizeof(ns)) == sizeof(ns) ? 0 : -errno, "pipe");
        while (read(columns->to, &pages, sizeof(pages)) == sizeof(pages)) {
                ns = change(columns, &order, pages);
                must(write(columns->from, &ns, sizeof(ns)) == sizeof(ns) ? 0 : -errno, "pipe");
        }
        columns_close(columns);
        page_order_free(&order);
}

/* ---- those who tell it ---- */

static uint64_t hear(const struct columns *columns)
{
        uint64_t ns;
        must(read(columns->from, &ns, sizeof(ns)) == sizeof(ns) ? 0 : -ECHILD, "the process that changes columns");
        return ns;
}

static void start_changer(struct columns *columns)
{
        int to[2], from[2];

        if (pipe(to) != 0 || pipe(from) != 0)
                scratch_fail(-errno, "pipe");
        columns->changer = fork();
        must(columns->changer < 0 ? -errno : 0, "fork");
        columns->to = columns->changer ? to[1] : to[0];
        columns->from = columns->changer ? from[0] : from[1];
        close(columns->changer ? to[0] : to[1]);
        close(columns->changer ? from[1] : from[0]);
        if (columns->changer)
                return;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        changer_run(columns);
        _exit(EXIT_SUCCESS);
}

void columns_start(struct columns *columns, int count, uint64_t pages, uint64_t seed)
{
        *columns = (struct columns){ .count = count, .pages = pages, .seed = seed, .sum = columns_first_sum(pages) };
        scratch_make(&columns->scratch, 1);
        /* What is at home, what an older snapshot pins, and what is newest. */
        columns->options.pool_bytes = 3 * (uint64_t)count * pages * PAGE + (UINT64_C(64) << 20);
        columns->options.reserve_bytes = columns_byte_len(columns) < (UINT64_C(1) << 30) ? UINT64_C(1) << 30 : 0;
        columns->scratch.options = &columns->options;
        start_changer(columns);
        hear(columns);
}

void columns_stop(struct columns *columns)
{
        int status;

        close(columns->to);
        if (waitpid(columns->changer, &status, 0) != columns->changer || status != 0)
                scratch_fail(-ECHILD, "the process that changes columns");
        close(columns->from);
        scratch_remove(&columns->scratch);
}

double columns_change(struct columns *columns, uint64_t pages)
{
        must(write(columns->to, &pages, sizeof(pages)) == sizeof(pages) ? 0 : -errno, "pipe");
        const uint64_t ns = hear(columns);
        columns->sum += pages;
        return pages ? (double)ns / 1e3 / (double)pages / columns->count : 0;
}

void columns_check_sum(const struct columns *columns, uint64_t sum)
{
        if (sum == columns->sum)
                return;
        fprintf(stderr, "a column's sum is %" PRIu64 " instead of %" PRIu64 "\n", sum, columns->sum);
        exit(EXIT_FAILURE);
}

void columns_check(const struct columns *columns, const char *column, uint64_t sum)
{
        columns_check_sum(columns, sum);
        for (uint64_t p = 0; p < columns->pages; p++)
                if (*(const uint64_t *)(column + p * PAGE) != p) {
                        fprintf(stderr, "page %" PRIu64 " of a column is another one\n", p);
                        exit(EXIT_FAILURE);
                }
}
