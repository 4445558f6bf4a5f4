/* SPDX-License-Identifier: MIT */

/*
 * Memory is allocated, and all its words are written from the first to the last, twice (section 4.3 of the paper).
 * Through the directory, each word is looked up by its index, as a program has to that does not know of pages.
 */

#include <errno.h>
#include <inttypes.h>

#include "bench/papers/ruma-2016/pages.h"
#include "bench/support/alone.h"
#include "bench/support/memory.h"
#include "bench/support/report.h"
#include "bench/support/scratch.h"

/* The paper has figures of the first write, as a multiple of the rewired one in huge pages; and of it as a multiple of
 * the second one. */
static const struct allocation_way {
        struct pages_way way;
        const char *paper_first, *paper_second;
} ways[] = {
        { { "anonymous", PAGES_ANONYMOUS, SMALL_PAGE, false, false }, NULL, NULL },
        { { "anonymous", PAGES_ANONYMOUS, HUGE_PAGE, false, false }, "2.2", NULL },
        { { "indirect", PAGES_INDIRECT, SMALL_PAGE, false, false }, NULL, NULL },
        { { "indirect", PAGES_INDIRECT, SMALL_PAGE, true, false }, NULL, NULL },
        { { "indirect", PAGES_INDIRECT, HUGE_PAGE, false, false }, "1.8", NULL },
        { { "indirect", PAGES_INDIRECT, HUGE_PAGE, true, false }, "1.8", NULL },
        { { "rewired", PAGES_REWIRED, SMALL_PAGE, false, false }, NULL, "2.2" },
        { { "rewired", PAGES_REWIRED, SMALL_PAGE, true, false }, NULL, "3.1" },
        { { "rewired", PAGES_REWIRED, HUGE_PAGE, false, false }, "1", "1" },
        { { "rewired", PAGES_REWIRED, HUGE_PAGE, true, false }, "1", "1" },
};
enum { WAYS = sizeof(ways) / sizeof(ways[0]), REWIRED_SMALL = 6, REWIRED_HUGE = 8 };

struct run {
        const struct rewire_bench *bench;
        const struct pages_way *way;
        int err;
        double allocate_ms, first_ms, second_ms;
};

struct allocation_figures {
        struct samples allocate_ms, first_ms, second_ms;
};

static uint64_t word_of(uint64_t no, uint64_t pass)
{
        return no * UINT64_C(0x9e3779b97f4a7c15) + pass;
}

/* The two are compiled for each size of pages. */
static inline void write_directory(uint64_t *const *directory, uint64_t words, uint64_t pass, int shift)
{
        for (uint64_t i = 0; i < words; i++)
                directory[i >> shift][i & ((UINT64_C(1) << shift) - 1)] = word_of(i, pass);
}

static void write_words(const struct pages *pages, uint64_t words, uint64_t pass)
{
        if (!pages->directory)
                for (uint64_t i = 0; i < words; i++)
                        pages->flat[i] = word_of(i, pass);
        else if (pages->way.page_bytes == SMALL_PAGE)
                write_directory(pages->directory, words, pass, PAGES_SMALL_SHIFT);
        else
                write_directory(pages->directory, words, pass, PAGES_HUGE_SHIFT);
}

/* Every word is where its page is. In a pool, the page has it. */
static void check_words(const struct pages *pages, uint64_t pass)
{
        const uint64_t words = pages->way.page_bytes / sizeof(uint64_t);

        for (uint64_t page = 0; page < pages->count; page++) {
                const uint64_t *seen = pages_words(pages, page);
                const uint64_t *pooled = pages->pool ? xac_rewire_pool_page(pages->pool, pages->number[page]) : seen;
                for (uint64_t i = 0; i < words; i++) {
                        alone_check("a word", seen[i], word_of(page * words + i, pass));
                        alone_check("a word of the pool", pooled[i], seen[i]);
                }
        }
}

static double ms_since(uint64_t *then)
{
        const uint64_t now = measure_now_ns();
        const double ms = (double)(now - *then) / 1e6;

        *then = now;
        return ms;
}

static void measure(void *shared)
{
        struct run *run = shared;
        const uint64_t words = run->bench->bytes / sizeof(uint64_t);
        struct pages pages;

        alone_warm(2 * run->bench->bytes);
        pages_prepare(&pages, run->way, run->bench->bytes, run->bench->seed);
        uint64_t then = measure_now_ns();
        run->err = pages_allocate(&pages);
        must(run->err == -EMLINK ? 0 : run->err, "allocation");
        run->allocate_ms = ms_since(&then);
        if (!run->err) {
                write_words(&pages, words, 1);
                run->first_ms = ms_since(&then);
                write_words(&pages, words, 2);
                run->second_ms = ms_since(&then);
                check_words(&pages, 2);
        }
        pages_free(&pages);
}

static void run_rounds(const struct rewire_bench *bench, struct allocation_figures *figures)
{
        struct run *run = memory_share(sizeof(*run));

        run->bench = bench;
        for (uint64_t round = 0; round < bench->rounds; round++) {
                for (int i = 0; i < WAYS; i++) {
                        run->way = &ways[i].way;
                        alone_run(measure, run);
                        if (run->err)
                                continue;
                        samples_add(&figures[i].allocate_ms, run->allocate_ms);
                        samples_add(&figures[i].first_ms, run->first_ms);
                        samples_add(&figures[i].second_ms, run->second_ms);
                }
        }
        memory_free(run, sizeof(*run));
}

static void print_row(struct table *table, const struct allocation_way *way, struct allocation_figures *figures,
                      const struct allocation_figures *rewired)
{
        table_text(table, way->way.name);
        report_page(table, way->way.page_bytes);
        table_text(table, pages_order_name(&way->way));
        report_median(table, &figures->allocate_ms, 3);
        report_median(table, &figures->first_ms, 2);
        report_median(table, &figures->second_ms, 2);
        report_times(table, &figures->first_ms, &rewired->first_ms);
        table_text(table, way->paper_first ? way->paper_first : "-");
        report_times(table, &figures->second_ms, &rewired->second_ms);
        report_times(table, &figures->first_ms, &figures->second_ms);
        table_text(table, way->paper_second ? way->paper_second : "-");
}

static void free_figures(struct allocation_figures *figures)
{
        samples_free(&figures->allocate_ms);
        samples_free(&figures->first_ms);
        samples_free(&figures->second_ms);
}

void allocation_run(const struct rewire_bench *bench)
{
        static const char *const headings[] = { "memory",   "page",         "pool",    "allocate ms",
                                                "first ms", "second ms",    "x first", "paper's x",
                                                "x second", "first:second", "paper's", NULL };
        struct allocation_figures figures[WAYS] = { 0 };
        struct table table;

        printf("\nAllocation of %" PRIu64 " MiB, and two sequential writes of all words: medians of %" PRIu64
               " rounds.\nx: as a multiple of rewired pages of this size in sequence. -: more mappings than a process "
               "may "
               "have, or not in the paper\n\n",
               bench->bytes >> 20, bench->rounds);
        run_rounds(bench, figures);
        report_open(&table, bench->tsv, "rewire-allocation", headings);
        for (int i = 0; i < WAYS; i++)
                print_row(&table, &ways[i], &figures[i],
                          &figures[ways[i].way.page_bytes == SMALL_PAGE ? REWIRED_SMALL : REWIRED_HUGE]);
        table_close(&table);
        for (int i = 0; i < WAYS; i++)
                free_figures(&figures[i]);
}
