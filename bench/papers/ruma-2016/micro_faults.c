/* SPDX-License-Identifier: MIT */

/*
 * The first byte of each page is written for the first time: what a page fault costs (section 4.4 of the paper). Pages
 * of a pool were touched before, so that only the page table has to learn of them; of private mappings the kernel makes
 * a copy first. It copies 4 KiB even if the pool has huge pages, unless they are of hugetlb.
 */

#include <errno.h>
#include <inttypes.h>

#include "bench/papers/ruma-2016/pages.h"
#include "bench/support/alone.h"
#include "bench/support/memory.h"
#include "bench/support/report.h"
#include "bench/support/scratch.h"

/* The paper's nanoseconds per page and per KB: table 1, which has one figure for each page size and mapping. */
static const struct fault_way {
        struct pages_way way;
        const char *paper_ns, *paper_kb_ns;
} ways[] = {
        { { "anonymous", PAGES_ANONYMOUS, SMALL_PAGE, false, true }, NULL, NULL },
        { { "anonymous", PAGES_ANONYMOUS, HUGE_PAGE, false, true }, "600251", "293" },
        { { "rewired", PAGES_REWIRED, SMALL_PAGE, false, false }, "686", "172" },
        { { "rewired", PAGES_REWIRED, SMALL_PAGE, false, true }, "2048", "512" },
        { { "rewired", PAGES_REWIRED, HUGE_PAGE, false, false }, "710", "< 1" },
        { { "rewired", PAGES_REWIRED, HUGE_PAGE, false, true }, "526519", "257" },
        { { "rewired", PAGES_REWIRED, SMALL_PAGE, true, false }, "1053", "263" },
        { { "rewired", PAGES_REWIRED, SMALL_PAGE, true, true }, "2727", "682" },
        { { "rewired", PAGES_REWIRED, HUGE_PAGE, true, false }, "810", "< 1" },
        { { "rewired", PAGES_REWIRED, HUGE_PAGE, true, true }, "528910", "258" },
};
enum { WAYS = sizeof(ways) / sizeof(ways[0]), ANONYMOUS_SMALL = 0, ANONYMOUS_HUGE = 1, WRITTEN = 0x5a };

struct run {
        const struct rewire_bench *bench;
        const struct pages_way *way;
        int err;
        double fault_ns, faults;
};

struct fault_figures {
        struct samples fault_ns, faults;
};

/* Each page has what was written, and the pool has it only if they share it. */
static void check_pages(const struct pages *pages)
{
        for (uint64_t page = 0; page < pages->count; page++) {
                alone_check("a byte", *(const uint8_t *)pages_words(pages, page), WRITTEN);
                if (pages->pool)
                        alone_check("a byte of the pool",
                                    *(const uint8_t *)xac_rewire_pool_page(pages->pool, pages->number[page]),
                                    pages->way.is_private ? 0 : WRITTEN);
        }
}

static void measure(void *shared)
{
        struct run *run = shared;
        struct pages pages;

        alone_warm(2 * run->bench->bytes);
        pages_prepare(&pages, run->way, run->bench->bytes, run->bench->seed);
        run->err = pages_allocate(&pages);
        must(run->err == -EMLINK ? 0 : run->err, "allocation");
        if (!run->err) {
                volatile uint8_t *byte = (uint8_t *)pages.flat;
                const uint64_t faults = measure_minor_faults(), start = measure_now_ns();
                for (uint64_t page = 0; page < pages.count; page++)
                        byte[page * run->way->page_bytes] = WRITTEN;
                run->fault_ns = (double)(measure_now_ns() - start) / (double)pages.count;
                run->faults = (double)(measure_minor_faults() - faults) / (double)pages.count;
                check_pages(&pages);
        }
        pages_free(&pages);
}

static void run_rounds(const struct rewire_bench *bench, struct fault_figures *figures)
{
        struct run *run = memory_share(sizeof(*run));

        run->bench = bench;
        for (uint64_t round = 0; round < bench->rounds; round++) {
                for (int i = 0; i < WAYS; i++) {
                        run->way = &ways[i].way;
                        alone_run(measure, run);
                        if (run->err)
                                continue;
                        samples_add(&figures[i].fault_ns, run->fault_ns);
                        samples_add(&figures[i].faults, run->faults);
                }
        }
        memory_free(run, sizeof(*run));
}

static void print_row(struct table *table, const struct fault_way *way, const struct fault_figures *figures,
                      const struct fault_figures *anonymous)
{
        table_text(table, way->way.name);
        table_text(table, pages_order_name(&way->way));
        report_page(table, way->way.page_bytes);
        table_text(table, way->way.is_private ? "private" : "shared");
        report_median(table, &figures->fault_ns, 0);
        table_text(table, way->paper_ns ? way->paper_ns : "-");
        if (figures->fault_ns.count)
                table_number(table, samples_median(&figures->fault_ns) / (double)(way->way.page_bytes >> 10), 2);
        else
                table_text(table, "-");
        table_text(table, way->paper_kb_ns ? way->paper_kb_ns : "-");
        report_median(table, &figures->faults, 2);
        report_times(table, &figures->fault_ns, &anonymous->fault_ns);
}

void faults_run(const struct rewire_bench *bench)
{
        static const char *const headings[] = { "memory",          "pool",        "page",      "mapping",
                                                "ns per page",     "paper",       "ns per KB", "paper/KB",
                                                "faults per page", "x anonymous", NULL };
        struct fault_figures figures[WAYS] = { 0 };
        struct table table;

        printf("\nThe first write to each page of %" PRIu64 " MiB: medians of %" PRIu64
               " rounds. -: more mappings than a process may have, or not in the paper\n\n",
               bench->bytes >> 20, bench->rounds);
        run_rounds(bench, figures);
        report_open(&table, bench->tsv, "rewire-faults", headings);
        for (int i = 0; i < WAYS; i++)
                print_row(&table, &ways[i], &figures[i],
                          &figures[ways[i].way.page_bytes == SMALL_PAGE ? ANONYMOUS_SMALL : ANONYMOUS_HUGE]);
        table_close(&table);
        for (int i = 0; i < WAYS; i++) {
                samples_free(&figures[i].fault_ns);
                samples_free(&figures[i].faults);
        }
}
