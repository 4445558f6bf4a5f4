/* SPDX-License-Identifier: MIT */

/*
 * Lookups through nodes with more and more leaves (figure 2 of the paper), and through a node of which more and more
 * slots lead to the same leaf (figure 4).
 */

#include "bench/papers/shortcut-eh/shortcut.h"

#include <errno.h>
#include <inttypes.h>

#include "bench/papers/shortcut-eh/shortcut_node.h"
#include "bench/support/alone.h"
#include "bench/support/memory.h"
#include "bench/support/report.h"
#include "bench/support/scratch.h"

enum { SLOTS_LEAST_SHIFT = 8, SLOTS_STEP = 2, FAN_IN_MOST = 512, DEPENDENT_SHARE = 10, WAYS = 4 };

static const struct node_way ways[WAYS] = {
        { SMALL_PAGE, false },
        { SMALL_PAGE, true },
        { HUGE_PAGE, false },
        { HUGE_PAGE, true },
};

/* What a measurement gets and leaves; [1]: dependent lookups. */
struct run {
        const struct shortcut_bench *bench;
        const struct node_way *way;
        uint64_t slots, leaves;
        bool is_mapped;
        uint64_t mappings;
        double ns[NODE_PATHS][2];
};

struct figures {
        uint64_t mappings;
        struct samples ns[NODE_PATHS][2];
};

/* ---- a run ---- */

static void look_up(struct run *run, const struct node *node, enum node_path path, int is_dependent)
{
        const uint64_t lookups = run->bench->lookups / (is_dependent ? DEPENDENT_SHARE : 1);
        const uint64_t should_be = node_sum(node, NODE_EXPECTED, is_dependent, lookups, run->bench->seed);

        node_sum(node, path, is_dependent, lookups / DEPENDENT_SHARE, run->bench->seed + 1); /* warms up */
        const uint64_t start = measure_now_ns();
        const uint64_t sum = node_sum(node, path, is_dependent, lookups, run->bench->seed);
        run->ns[path][is_dependent] = (double)(measure_now_ns() - start) / (double)lookups;
        alone_check("lookups", sum, should_be);
}

static void measure(void *shared)
{
        struct run *run = shared;
        struct node node;

        alone_warm(run->leaves * SMALL_PAGE);
        node_prepare(&node, run->way, run->slots, run->leaves, run->bench->seed);
        node_point(&node);
        const int err = node_map(&node);
        must(err == -EMLINK ? 0 : err, "node_map");
        run->is_mapped = !err;
        run->mappings = xac_rewire_area_mappings(node.area);
        for (enum node_path path = 0; path < NODE_PATHS; path++)
                for (int is_dependent = 0; is_dependent < 2 && (path == NODE_POINTERS || run->is_mapped);
                     is_dependent++)
                        look_up(run, &node, path, is_dependent);
        node_free(&node);
}

static void note(const struct run *run, struct figures *figures)
{
        figures->mappings = run->is_mapped ? run->mappings : 0;
        for (int is_dependent = 0; is_dependent < 2; is_dependent++) {
                samples_add(&figures->ns[NODE_POINTERS][is_dependent], run->ns[NODE_POINTERS][is_dependent]);
                if (run->is_mapped)
                        samples_add(&figures->ns[NODE_SHORTCUT][is_dependent], run->ns[NODE_SHORTCUT][is_dependent]);
        }
}

static void run_rounds(const struct shortcut_bench *bench, uint64_t slots, uint64_t leaves,
                       struct figures figures[WAYS])
{
        struct run *run = memory_share(sizeof(*run));

        for (uint64_t round = 0; round < bench->rounds; round++)
                for (int way = 0; way < WAYS; way++) {
                        if (!node_can_map(&ways[way], slots, leaves))
                                continue;
                        *run = (struct run){ .bench = bench, .way = &ways[way], .slots = slots, .leaves = leaves };
                        alone_run(measure, run);
                        note(run, &figures[way]);
                }
        memory_free(run, sizeof(*run));
}

/* ---- tables ---- */

static void print_figures(struct table *table, const struct figures *figures)
{
        if (figures->mappings)
                table_number(table, (double)figures->mappings, 0);
        else
                table_text(table, "-");
        for (int is_dependent = 0; is_dependent < 2; is_dependent++) {
                report_median(table, &figures->ns[NODE_POINTERS][is_dependent], 2);
                report_median(table, &figures->ns[NODE_SHORTCUT][is_dependent], 2);
                report_times(table, &figures->ns[NODE_POINTERS][is_dependent],
                             &figures->ns[NODE_SHORTCUT][is_dependent]);
        }
}

/* A row for each way in which it can be had. */
static void print_rows(const struct shortcut_bench *bench, struct table *table, uint64_t slots, uint64_t leaves)
{
        struct figures figures[WAYS] = { 0 };
        const uint64_t fan_in = slots / leaves;

        run_rounds(bench, slots, leaves, figures);
        for (int way = 0; way < WAYS; way++) {
                if (!figures[way].ns[NODE_POINTERS][0].count)
                        continue;
                table_number(table, (double)fan_in, 0);
                table_number(table, (double)leaves, 0);
                report_page(table, ways[way].page_bytes);
                table_text(table, ways[way].is_scattered ? "scattered" : "joined");
                print_figures(table, &figures[way]);
                for (enum node_path path = 0; path < NODE_PATHS; path++) {
                        samples_free(&figures[way].ns[path][0]);
                        samples_free(&figures[way].ns[path][1]);
                }
        }
}

static const char *const headings[] = { "fan-in",   "leaves", "page",          "order",         "mappings", "pointers",
                                        "shortcut", "times",  "dep. pointers", "dep. shortcut", "times",    NULL };

void lookups_run(const struct shortcut_bench *bench)
{
        struct table table;

        printf("\nLookups through a node: nanoseconds of each, %" PRIu64
               " at random, and a tenth as many of which each "
               "waits\nfor the one before (dep.). Medians of %" PRIu64 " rounds.\n\n",
               bench->lookups, bench->rounds);
        report_open(&table, bench->tsv, "shortcut-lookups", headings);
        for (uint64_t slots = UINT64_C(1) << SLOTS_LEAST_SHIFT; slots <= bench->slots; slots <<= SLOTS_STEP)
                print_rows(bench, &table, slots, slots);
        table_close(&table);
}

void fan_in_run(const struct shortcut_bench *bench)
{
        struct table table;

        printf("\nLookups through a node of %" PRIu64 " slots that lead to fewer leaves: nanoseconds of each\n\n",
               bench->slots);
        report_open(&table, bench->tsv, "shortcut-fan-in", headings);
        for (uint64_t fan_in = FAN_IN_MOST; fan_in; fan_in >>= 1)
                if (fan_in <= bench->slots)
                        print_rows(bench, &table, bench->slots, bench->slots / fan_in);
        table_close(&table);
}
