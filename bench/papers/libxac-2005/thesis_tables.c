/* SPDX-License-Identifier: MIT */

/*
 * The thesis' tables of one process at memory speed, where no insert waits for a disk:
 *
 *      searches    table 5.1    random searches, each a transaction, in trees that were loaded in order and closed,
 *                               and of which nothing is in memory, by a process that may have less than they need
 *      random      table 5.2    inserts of random keys, each a transaction; then a range query over everything
 *      sorted      table 5.3    inserts in ascending order, the dearest case of a packed memory array; the dearest
 *                               one, too
 */

#include "bench/papers/libxac-2005/thesis.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "bench/support/little_memory.h"

enum { METRICS_MAX = 2, SPREAD = 64 };

static const struct record_shape random_keys = { .key_bytes = THESIS_KEY_BYTES,
                                                 .value_bytes = THESIS_VALUE_BYTES,
                                                 .is_random = true };
static const struct record_shape ascending_keys = { .key_bytes = THESIS_KEY_BYTES,
                                                    .value_bytes = THESIS_VALUE_BYTES,
                                                    .is_ascending = true };

struct row {
        struct samples metric[METRICS_MAX];
        struct place place; /* of what is only read: made once */
};

struct table {
        const char *name, *defaults;
        struct {
                const char *name, *unit;
        } metrics[METRICS_MAX];
        char param[THESIS_PARAM], title[2 * THESIS_PARAM];
        void (*repeat)(const struct thesis *thesis, const struct store *store, struct row *row);
        struct thesis_systems systems;
        struct row rows[THESIS_SYSTEMS_MAX];
};

/* ---- one repetition on one system ---- */

static struct plan plan_of(const char *experiment, const struct store *store, uint64_t keys)
{
        return (struct plan){ .experiment = experiment_find(experiment),
                              .promise = experiment_find(experiment)->promise,
                              .store = store,
                              .processes = 1,
                              .threads = 1,
                              .keys = keys,
                              .shape = random_keys,
                              .page_bytes = THESIS_PAGE_BYTES };
}

static struct outcome run(const struct plan *plan)
{
        struct outcome outcome;
        struct place place = { .is_made = false };

        crew_run(plan, &place, &outcome);
        place_remove(&place);
        return outcome;
}

static double us_per_op(const struct outcome *outcome)
{
        return outcome->seconds * 1e6 / (double)outcome->operations;
}

static void repeat_searches(const struct thesis *thesis, const struct store *store, struct row *row)
{
        struct plan plan = plan_of("lookup", store, thesis->searches);
        struct little_memory memory;
        struct outcome outcome;

        plan.preload = thesis->static_records;
        plan.is_static = plan.is_cold = true;
        if (little_memory_make(&memory, thesis->memory_mib << 20))
                plan.memory = &memory, plan.memory_bytes = thesis->memory_mib << 20;
        crew_run(&plan, &row->place, &outcome);
        if (plan.memory)
                little_memory_remove(&memory);
        samples_add(&row->metric[0], us_per_op(&outcome));
        samples_add(&row->metric[1], (double)outcome.disk.read / 1024 / (double)outcome.operations);
}

static void repeat_random(const struct thesis *thesis, const struct store *store, struct row *row)
{
        const struct plan insert = plan_of("insert", store, thesis->random_inserts);
        struct plan scan = plan_of("scan", store, thesis->random_inserts);

        scan.preload = thesis->random_inserts;
        const struct outcome inserted = run(&insert), scanned = run(&scan);
        samples_add(&row->metric[0], us_per_op(&inserted));
        samples_add(&row->metric[1], us_per_op(&scanned) * (double)thesis->random_inserts / 1000);
}

static void repeat_sorted(const struct thesis *thesis, const struct store *store, struct row *row)
{
        struct plan plan = plan_of("insert", store, thesis->sorted_inserts);

        plan.shape = ascending_keys;
        plan.distribution = ORDER_ASCENDING;
        plan.is_timed = true;
        const struct outcome outcome = run(&plan);
        samples_add(&row->metric[0], us_per_op(&outcome));
        samples_add(&row->metric[1], (double)outcome.latency.max_ns / 1000);
}

/* ---- a table ---- */

static void print_table(const struct thesis *thesis, const struct table *table)
{
        printf("\n%s; medians of %" PRIu64 " repetitions\n\n%-14s", table->title, thesis->repetitions, "system");
        for (int m = 0; m < METRICS_MAX; m++)
                printf("  %-30s", table->metrics[m].name);
        printf(" times as fast as %s\n", table->systems.stores[0]->name);
        for (int s = 0; s < table->systems.count; s++) {
                printf("%-14s", table->systems.stores[s]->name);
                for (int m = 0; m < METRICS_MAX; m++) {
                        const struct samples *samples = &table->rows[s].metric[m];
                        char spread[SPREAD];
                        snprintf(spread, sizeof(spread), "%.4g (%.4g to %.4g)", samples_median(samples),
                                 samples_min(samples), samples_max(samples));
                        printf("  %-30s", spread);
                }
                for (int m = 0; m < METRICS_MAX; m++)
                        printf(" %7.2f", samples_ratio(&table->rows[0].metric[m], &table->rows[s].metric[m]));
                printf("\n");
        }
        fflush(stdout);
}

static void run_table(struct thesis *thesis, struct table *table)
{
        thesis_choose(thesis, table->defaults, &table->systems);
        for (uint64_t r = 0; r < thesis->repetitions; r++)
                for (int s = 0; s < table->systems.count; s++) {
                        thesis_progress(thesis, table->name, r, table->systems.stores[s]->name, 1);
                        table->repeat(thesis, table->systems.stores[s], &table->rows[s]);
                }
        for (int s = 0; s < table->systems.count; s++)
                place_remove(&table->rows[s].place);
        thesis_progress_done();
        print_table(thesis, table);
        thesis->csv.experiment = table->name;
        for (int s = 0; s < table->systems.count; s++) {
                struct csv_series series = { .system = table->systems.stores[s]->name, .processes = 1, .threads = 1 };
                for (int m = 0; m < METRICS_MAX; m++) {
                        thesis_rows(&thesis->csv, &series, table->metrics[m].name, table->metrics[m].unit, table->param,
                                    &table->rows[s].metric[m]);
                        samples_free(&table->rows[s].metric[m]);
                }
        }
}

/* ---- the tables ---- */

static void write_param(struct table *table, uint64_t keys, const char *distribution)
{
        snprintf(table->param, sizeof(table->param), "keys=%" PRIu64 ";key=%d;value=%d;dist=%s", keys, THESIS_KEY_BYTES,
                 THESIS_VALUE_BYTES, distribution);
}

/* A system with a large cache would need more memory for that than it may have. */
void thesis_searches(struct thesis *thesis)
{
        struct table table = { .name = "thesis_searches",
                               .defaults = "bptree-view,bptree,cobtree-view,cobtree,bdb-256k,lmdb",
                               .metrics = { { "us_per_search", "us" }, { "kib_read_per_search", "KiB" } },
                               .repeat = repeat_searches };
        struct little_memory memory;
        const bool is_permitted = little_memory_make(&memory, thesis->memory_mib << 20);

        if (is_permitted)
                little_memory_remove(&memory);
        snprintf(table.param, sizeof(table.param),
                 "keys=%" PRIu64 ";key=%d;value=%d;preload=%" PRIu64 ";static;memory=%" PRIu64, thesis->searches,
                 THESIS_KEY_BYTES, THESIS_VALUE_BYTES, thesis->static_records, is_permitted ? thesis->memory_mib : 0);
        snprintf(table.title, sizeof(table.title),
                 "%" PRIu64 " random searches among %" PRIu64 " records of %d + %d bytes, %s %" PRIu64 " MiB of memory",
                 thesis->searches, thesis->static_records, THESIS_KEY_BYTES, THESIS_VALUE_BYTES,
                 is_permitted ? "with" : "all memory, for a group is not permitted here, instead of",
                 thesis->memory_mib);
        run_table(thesis, &table);
}

void thesis_random(struct thesis *thesis)
{
        struct table table = { .name = "thesis_random",
                               .defaults = "bptree-view,bptree,cobtree-view,cobtree,bdb-256k,bdb-64m,bdb,lmdb",
                               .metrics = { { "us_per_insert", "us" }, { "ms_per_range_query", "ms" } },
                               .repeat = repeat_random };

        write_param(&table, thesis->random_inserts, "uniform");
        snprintf(table.title, sizeof(table.title),
                 "%" PRIu64 " random inserts of %d + %d bytes, and a range query over everything",
                 thesis->random_inserts, THESIS_KEY_BYTES, THESIS_VALUE_BYTES);
        run_table(thesis, &table);
}

void thesis_sorted(struct thesis *thesis)
{
        struct table table = { .name = "thesis_sorted",
                               .defaults = "bptree-view,bptree,cobtree-view,cobtree,bdb-256k,bdb-64m,bdb,lmdb",
                               .metrics = { { "us_per_insert", "us" }, { "us_of_the_dearest", "us" } },
                               .repeat = repeat_sorted };

        write_param(&table, thesis->sorted_inserts, "ascending");
        snprintf(table.title, sizeof(table.title), "%" PRIu64 " inserts of %d + %d bytes in ascending order",
                 thesis->sorted_inserts, THESIS_KEY_BYTES, THESIS_VALUE_BYTES);
        run_table(thesis, &table);
}
