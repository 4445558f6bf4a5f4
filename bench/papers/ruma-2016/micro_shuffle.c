/* SPDX-License-Identifier: MIT */

/*
 * Chunks of 2^x pages of 4 KiB come into an order by chance (section 4.5 of the paper): copied into another array, or
 * by a new area that shows them so, with its page tables filled or left to the first touch. The array that is
 * copied to is fresh, as the paper's is, or was written before.
 */

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "bench/papers/ruma-2016/pages.h"
#include "bench/support/alone.h"
#include "bench/support/memory.h"
#include "bench/support/report.h"
#include "bench/support/scratch.h"

enum way { COPY_FRESH, COPY, COPY_HUGE, REWIRED, REWIRED_POPULATED, HUGE_REWIRED, HUGE_REWIRED_POPULATED, WAYS };
enum { SIZES = 32, HUGE_SIZE = 9 /* 2^9 pages are a huge one */, PAGE_WORDS = SMALL_PAGE / sizeof(uint64_t) };

struct run {
        const struct rewire_bench *bench;
        enum way way;
        double ms[SIZES]; /* below 0: more mappings than a process may have */
};

/* What is shuffled, and what it becomes. */
struct shuffle {
        const struct rewire_bench *bench;
        enum way way;
        char *source, *target;
        xac_rewire_pool *pool;
        xac_rewire_area *area;
        uint64_t *number; /* of the pool's pages */
        uint64_t first;
        size_t page_bytes;
};

static uint64_t chunks_of(const struct rewire_bench *bench, int size)
{
        return bench->bytes / SMALL_PAGE >> size;
}

static bool is_rewired(enum way way)
{
        return way >= REWIRED;
}

static int first_size(enum way way)
{
        return way >= HUGE_REWIRED ? HUGE_SIZE : 0;
}

/* ---- before and after ---- */

static void fill(char *source, uint64_t pages)
{
        for (uint64_t page = 0; page < pages; page++) {
                uint64_t *words = (uint64_t *)(source + page * SMALL_PAGE);
                words[0] = page;
                words[PAGE_WORDS - 1] = ~page;
        }
}

static void check(const char *target, const struct page_order *order, int size)
{
        for (uint64_t page = 0; page < order->count << size; page++) {
                const uint64_t *words = (const uint64_t *)(target + page * SMALL_PAGE);
                const uint64_t should_be =
                        ((uint64_t)order->page[page >> size] << size) + (page & ((UINT64_C(1) << size) - 1));
                alone_check("a page", words[0], should_be);
                alone_check("a page", words[PAGE_WORDS - 1], ~should_be);
        }
}

static void prepare(struct shuffle *shuffle)
{
        const uint64_t bytes = shuffle->bench->bytes;
        const xac_rewire_pool_options options = { .page_bytes = shuffle->page_bytes, .max_bytes = bytes };
        char *(*make)(size_t byte_len) = shuffle->way == COPY_HUGE ? memory_make_huge : memory_make;

        if (is_rewired(shuffle->way)) {
                must(xac_rewire_pool_create(&options, &shuffle->pool), "xac_rewire_pool_create");
                must(xac_rewire_pool_take(shuffle->pool, bytes / shuffle->page_bytes, &shuffle->first),
                     "xac_rewire_pool_take");
                shuffle->number = malloc(bytes / shuffle->page_bytes * sizeof(*shuffle->number));
                must(shuffle->number ? 0 : -ENOMEM, "memory");
                memset(shuffle->number, 0, bytes / shuffle->page_bytes * sizeof(*shuffle->number)); /* no fault later */
                shuffle->source = xac_rewire_pool_page(shuffle->pool, shuffle->first);
        } else {
                shuffle->source = make(bytes);
                shuffle->target = shuffle->way == COPY_FRESH ? NULL : make(bytes);
        }
        fill(shuffle->source, bytes / SMALL_PAGE);
}

/* ---- shuffling ---- */

static void copy_chunks(struct shuffle *shuffle, const struct page_order *order, int size)
{
        const size_t chunk = (size_t)SMALL_PAGE << size;

        if (shuffle->way == COPY_FRESH)
                shuffle->target = memory_reserve(shuffle->bench->bytes);
        for (uint64_t i = 0; i < order->count; i++)
                memcpy(shuffle->target + i * chunk, shuffle->source + order->page[i] * chunk, chunk);
}

static int rewire_chunks(struct shuffle *shuffle, const struct page_order *order, int size)
{
        const uint64_t chunk_pages = ((uint64_t)SMALL_PAGE << size) / shuffle->page_bytes;
        const uint64_t pages = order->count * chunk_pages;

        for (uint64_t i = 0; i < order->count; i++)
                for (uint64_t page = 0; page < chunk_pages; page++)
                        shuffle->number[i * chunk_pages + page] = shuffle->first + order->page[i] * chunk_pages + page;
        must(xac_rewire_area_create(shuffle->pool, pages, 0, &shuffle->area), "xac_rewire_area_create");
        int err = xac_rewire_area_map_each(shuffle->area, 0, shuffle->number, pages);
        if (!err && (shuffle->way == REWIRED_POPULATED || shuffle->way == HUGE_REWIRED_POPULATED))
                err = xac_rewire_area_populate(shuffle->area, 0, pages);
        shuffle->target = xac_rewire_area_address(shuffle->area);
        return err;
}

static void drop_target(struct shuffle *shuffle)
{
        if (shuffle->way == COPY_FRESH)
                memory_free(shuffle->target, shuffle->bench->bytes);
        xac_rewire_area_destroy(shuffle->area);
        shuffle->area = NULL;
}

/* Milliseconds; below 0: it cannot be. */
static double shuffle_once(struct shuffle *shuffle, int size)
{
        struct page_order order;
        int err = 0;

        page_order_make(&order, chunks_of(shuffle->bench, size), shuffle->bench->seed);
        const uint64_t start = measure_now_ns();
        if (is_rewired(shuffle->way))
                err = rewire_chunks(shuffle, &order, size);
        else
                copy_chunks(shuffle, &order, size);
        const double ms = (double)(measure_now_ns() - start) / 1e6;
        must(err == -EMLINK ? 0 : err, "shuffling");
        if (!err)
                check(shuffle->target, &order, size);
        drop_target(shuffle);
        page_order_free(&order);
        return err ? -1 : ms;
}

static void measure(void *shared)
{
        struct run *run = shared;
        struct shuffle shuffle = { .bench = run->bench, .way = run->way };

        shuffle.page_bytes = run->way >= HUGE_REWIRED ? HUGE_PAGE : SMALL_PAGE;
        alone_warm(2 * run->bench->bytes);
        prepare(&shuffle);
        for (int size = first_size(run->way); size < SIZES && chunks_of(run->bench, size) >= 2; size++)
                run->ms[size] = shuffle_once(&shuffle, size);
        free(shuffle.number);
        must(xac_rewire_pool_destroy(shuffle.pool), "xac_rewire_pool_destroy");
}

/* ---- the table ---- */

static void run_rounds(const struct rewire_bench *bench, struct samples ms[SIZES][WAYS])
{
        struct run *run = memory_share(sizeof(*run));

        for (uint64_t round = 0; round < bench->rounds; round++) {
                for (enum way way = 0; way < WAYS; way++) {
                        *run = (struct run){ .bench = bench, .way = way };
                        alone_run(measure, run);
                        for (int size = 0; size < SIZES; size++)
                                if (run->ms[size] > 0)
                                        samples_add(&ms[size][way], run->ms[size]);
                }
        }
        memory_free(run, sizeof(*run));
}

static void print_row(struct table *table, int size, const struct samples ms[WAYS])
{
        table_number(table, (double)((uint64_t)SMALL_PAGE >> 10 << size), 0);
        for (enum way way = 0; way < WAYS; way++)
                report_median(table, &ms[way], 3);
        report_times(table, &ms[COPY], &ms[REWIRED_POPULATED]);
        report_times(table, &ms[COPY_HUGE], &ms[HUGE_REWIRED_POPULATED]);
}

void shuffle_run(const struct rewire_bench *bench)
{
        static const char *const headings[] = { "chunk KiB", "copy, fresh",  "copy",      "copy, huge", "rewired",
                                                "populated", "huge rewired", "populated", "x 4 KiB",    "x 2 MiB",
                                                NULL };
        static struct samples ms[SIZES][WAYS];
        struct table table;

        printf("\nShuffling the chunks of %" PRIu64 " MiB: milliseconds, medians of %" PRIu64
               " rounds. x: copies into memory that was written before,\nas a multiple of rewiring with populated page "
               "tables. -: more mappings than a process may have, or chunks below a page.\nThe paper has no figures; "
               "it "
               "says that copying wins with chunks of about 4 KB, and rewiring with larger ones\n\n",
               bench->bytes >> 20, bench->rounds);
        run_rounds(bench, ms);
        report_open(&table, bench->tsv, "rewire-shuffle", headings);
        for (int size = 0; size < SIZES && chunks_of(bench, size) >= 2; size++)
                print_row(&table, size, ms[size]);
        table_close(&table);
        for (int size = 0; size < SIZES; size++)
                for (enum way way = 0; way < WAYS; way++)
                        samples_free(&ms[size][way]);
}
