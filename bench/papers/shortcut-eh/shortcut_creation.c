/* SPDX-License-Identifier: MIT */

/*
 * What it costs to make a node: to get the memory or the addresses, to make each slot lead to its leaf, and to fill the
 * page tables; then lookups, twice (table 1 of the paper). Slots are set one by one, as a table would that is being
 * built, or in as few calls as can be; with empty page tables, or with what the pool's addresses have in them, moved.
 */

#include "bench/papers/shortcut-eh/shortcut.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "bench/papers/shortcut-eh/shortcut_node.h"
#include "bench/support/alone.h"
#include "bench/support/memory.h"
#include "bench/support/report.h"
#include "bench/support/scratch.h"

enum setting { POINTERS, ONE_BY_ONE, JOINED, MOVED };
enum step { ALLOCATE, SET, POPULATE, FIRST, SECOND, STEPS };

/* The paper's times, of a page or a lookup: as they are printed, in microseconds. */
static const struct creation_way {
        const char *name;
        enum setting setting;
        bool is_populated;
        struct node_way node;
        const char *paper;
} ways[] = {
        { "pointers", POINTERS, false, { SMALL_PAGE, false }, "0/2.1/-/22.6/23.0" },
        { "one by one", ONE_BY_ONE, false, { SMALL_PAGE, false }, "0/447.5/-/50.4/18.6" },
        { "one by one, populated", ONE_BY_ONE, true, { SMALL_PAGE, false }, "0/449.4/74.1/16.5/16.7" },
        { "joined", JOINED, false, { SMALL_PAGE, false }, "-" },
        { "joined, populated", JOINED, true, { SMALL_PAGE, false }, "-" },
        { "moved", MOVED, false, { SMALL_PAGE, false }, "-" },
        { "pointers, scattered", POINTERS, false, { SMALL_PAGE, true }, "-" },
        { "scattered", ONE_BY_ONE, false, { SMALL_PAGE, true }, "-" },
        { "scattered, populated", ONE_BY_ONE, true, { SMALL_PAGE, true }, "-" },
        { "pointers", POINTERS, false, { HUGE_PAGE, false }, "-" },
        { "one by one", ONE_BY_ONE, false, { HUGE_PAGE, false }, "-" },
        { "one by one, populated", ONE_BY_ONE, true, { HUGE_PAGE, false }, "-" },
        { "scattered, populated", ONE_BY_ONE, true, { HUGE_PAGE, true }, "-" },
};
enum { WAYS = sizeof(ways) / sizeof(ways[0]), SCATTERED_MOST = 1 << 14 };

struct run {
        const struct shortcut_bench *bench;
        const struct creation_way *way;
        uint64_t slots;
        double ns[STEPS];
};

/* ---- a run ---- */

/* Of a small page in scattered order each is a mapping. */
static uint64_t slots_for(const struct shortcut_bench *bench, const struct creation_way *way)
{
        const bool is_many = way->node.is_scattered && way->node.page_bytes == SMALL_PAGE;
        return is_many && bench->slots > SCATTERED_MOST ? SCATTERED_MOST : bench->slots;
}

static void allocate(struct run *run, struct node *node)
{
        if (run->way->setting != POINTERS) {
                must(xac_rewire_area_create(node->pool, node->count, 0, &node->area), "xac_rewire_area_create");
                node->flat = xac_rewire_area_address(node->area);
                return;
        }
        node->directory = malloc(node->slots * sizeof(*node->directory));
        must(node->directory ? 0 : -ENOMEM, "memory");
}

static void set(const struct run *run, const struct node *node)
{
        switch (run->way->setting) {
        case POINTERS:
                for (uint64_t slot = 0; slot < node->slots; slot++)
                        node->directory[slot] = node_leaf(node, slot);
                break;
        case ONE_BY_ONE:
                for (uint64_t i = 0; i < node->count; i++)
                        must(xac_rewire_area_map(node->area, i, node->page[i], 1), "xac_rewire_area_map");
                break;
        case JOINED:
                must(xac_rewire_area_map_each(node->area, 0, node->page, node->count), "xac_rewire_area_map_each");
                break;
        case MOVED:
                must(xac_rewire_area_map_touched(node->area, 0, node->page[0], node->count),
                     "xac_rewire_area_map_touched");
        }
}

static void do_step(struct run *run, struct node *node, enum step step)
{
        const enum node_path path = run->way->setting == POINTERS ? NODE_POINTERS : NODE_SHORTCUT;
        const uint64_t lookups = run->bench->lookups, seed = run->bench->seed + step;
        uint64_t start, sum = 0, should_be = 0;

        if (step >= FIRST)
                should_be = node_sum(node, NODE_EXPECTED, false, lookups, seed);
        start = measure_now_ns();
        if (step == ALLOCATE)
                allocate(run, node);
        else if (step == SET)
                set(run, node);
        else if (step == POPULATE)
                must(run->way->is_populated ? xac_rewire_area_populate(node->area, 0, node->count) : 0, "populate");
        else
                sum = node_sum(node, path, false, lookups, seed);
        run->ns[step] = (double)(measure_now_ns() - start) / (double)(step < FIRST ? node->slots : lookups);
        alone_check(run->way->name, sum, should_be);
}

static void measure(void *shared)
{
        struct run *run = shared;
        struct node node;

        alone_warm(run->slots * SMALL_PAGE);
        node_prepare(&node, &run->way->node, run->slots, run->slots, run->bench->seed);
        for (enum step step = 0; step < STEPS; step++)
                do_step(run, &node, step);
        node_free(&node);
}

/* ---- the table ---- */

static void print_row(const struct shortcut_bench *bench, struct table *table, const struct creation_way *way,
                      const struct samples ns[STEPS])
{
        table_text(table, way->name);
        report_page(table, way->node.page_bytes);
        table_number(table, (double)slots_for(bench, way), 0);
        for (enum step step = 0; step < STEPS; step++)
                if (step == POPULATE && !way->is_populated)
                        table_text(table, "-");
                else
                        report_median(table, &ns[step], 2);
        table_text(table, way->paper);
}

void creation_run(const struct shortcut_bench *bench)
{
        static const char *const headings[] = {
                "way                  ",  "page", "slots", "allocate", "set", "populate", "1st lookup", "2nd lookup",
                "paper                 ", NULL
        };
        struct samples ns[WAYS][STEPS] = { 0 };
        struct run *run = memory_share(sizeof(*run));
        struct table table;

        printf("\nMaking a node: nanoseconds for each slot, and of each of %" PRIu64
               " lookups after it, twice. Medians of "
               "%" PRIu64 " rounds.\n\n",
               bench->lookups, bench->rounds);
        for (uint64_t round = 0; round < bench->rounds; round++)
                for (int way = 0; way < WAYS; way++) {
                        *run = (struct run){ .bench = bench, .way = &ways[way], .slots = slots_for(bench, &ways[way]) };
                        alone_run(measure, run);
                        for (enum step step = 0; step < STEPS; step++)
                                samples_add(&ns[way][step], run->ns[step]);
                }
        report_open(&table, bench->tsv, "shortcut-creation", headings);
        for (int way = 0; way < WAYS; way++)
                print_row(bench, &table, &ways[way], ns[way]);
        table_close(&table);
        for (int way = 0; way < WAYS; way++)
                for (enum step step = 0; step < STEPS; step++)
                        samples_free(&ns[way][step]);
        memory_free(run, sizeof(*run));
}
