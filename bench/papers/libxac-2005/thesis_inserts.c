/* SPDX-License-Identifier: MIT */

/*
 * Durable inserts of random keys, each a transaction of its own, into empty trees, by one process and by two:
 *
 *      milliseconds per insert                 tables 5.5, 5.6
 *      speed-up of two processes, t1 / t2      the same
 *      time of the k-th most expensive insert  figure 5-3
 *
 * Checkpoints are included as they come.
 */

#include "bench/papers/libxac-2005/thesis.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { RANKS_MAX = 32, RANKS_PER_DECADE = 3, SPREAD = 64 };

struct cell {
        struct samples us_per_op;
        struct samples kth_us[RANKS_MAX];
};

static struct inserts {
        struct plan plan;
        struct thesis_systems systems;
        int ranks;
        uint64_t rank[RANKS_MAX]; /* 1, 2, 5, 10, 20, 50 ... */
        struct cell cells[OPTION_LIST_MAX][THESIS_SYSTEMS_MAX];
} inserts;

/* ---- measuring ---- */

static void plan_runs(const struct thesis *thesis)
{
        const uint64_t steps[RANKS_PER_DECADE] = { 1, 2, 5 };
        uint64_t decade = 1;

        for (int i = 0; i < RANKS_MAX && steps[i % RANKS_PER_DECADE] * decade <= thesis->inserts; i++) {
                inserts.rank[inserts.ranks++] = steps[i % RANKS_PER_DECADE] * decade;
                decade *= i % RANKS_PER_DECADE == RANKS_PER_DECADE - 1 ? 10 : 1;
        }
        inserts.plan = (struct plan){
                .experiment = experiment_find("durable-insert"),
                .promise = STORE_DURABLE,
                .threads = 1,
                .keys = thesis->inserts,
                .shape = { .key_bytes = THESIS_KEY_BYTES, .value_bytes = THESIS_VALUE_BYTES, .is_random = true },
                .page_bytes = THESIS_PAGE_BYTES,
                .is_timed = true,
        };
        inserts.plan.trace_ns = mmap(NULL, thesis->inserts * sizeof(uint32_t), PROT_READ | PROT_WRITE,
                                     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (inserts.plan.trace_ns == MAP_FAILED)
                scratch_fail(-errno, "mmap");
}

static int descending(const void *a, const void *b)
{
        const uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
        return (left < right) - (left > right);
}

static void run_cell(struct cell *cell)
{
        uint32_t *trace_ns = inserts.plan.trace_ns;
        struct outcome outcome;
        struct place place = { .is_made = false };

        crew_run(&inserts.plan, &place, &outcome);
        samples_add(&cell->us_per_op, outcome.seconds * 1e6 / (double)outcome.operations);
        qsort(trace_ns, inserts.plan.keys, sizeof(*trace_ns), descending);
        for (int i = 0; i < inserts.ranks; i++)
                samples_add(&cell->kth_us[i], trace_ns[inserts.rank[i] - 1] / 1000.0);
}

static void measure(const struct thesis *thesis)
{
        for (uint64_t r = 0; r < thesis->repetitions; r++)
                for (int p = 0; p < thesis->processes.count; p++)
                        for (int s = 0; s < inserts.systems.count; s++) {
                                inserts.plan.processes = (int)thesis->processes.value[p];
                                inserts.plan.store = inserts.systems.stores[s];
                                thesis_progress(thesis, "inserts", r, inserts.plan.store->name, inserts.plan.processes);
                                run_cell(&inserts.cells[p][s]);
                        }
        thesis_progress_done();
}

/* ---- results ---- */

static int find_alone(const struct thesis *thesis)
{
        for (int p = 0; p < thesis->processes.count; p++)
                if (thesis->processes.value[p] == 1)
                        return p;
        return -1;
}

static void print_cell(const struct thesis *thesis, int p, int s)
{
        const int alone = find_alone(thesis), bdb = thesis_find(&inserts.systems, "bdb");
        const struct samples *us = &inserts.cells[p][s].us_per_op;
        char spread[SPREAD];

        snprintf(spread, sizeof(spread), "%.4f (%.4f to %.4f)", samples_median(us) / 1000, samples_min(us) / 1000,
                 samples_max(us) / 1000);
        printf("%-14s %5d  %-28s", inserts.systems.stores[s]->name, (int)thesis->processes.value[p], spread);
        printf(" %10.2f", alone < 0 ? 0 : samples_ratio(&inserts.cells[alone][s].us_per_op, us));
        printf(" %14.2f\n", bdb < 0 ? 0 : samples_ratio(&inserts.cells[p][bdb].us_per_op, us));
}

static void print_times(const struct thesis *thesis)
{
        printf("\n%" PRIu64 " durable inserts of random keys of %d bytes, pages of %d bytes; medians of %" PRIu64
               " repetitions\n\n%-14s %5s  %-28s %10s %14s\n",
               thesis->inserts, THESIS_KEY_BYTES, THESIS_PAGE_BYTES, thesis->repetitions, "system", "proc",
               "ms per insert (min to max)", "t1/t here", "x Berkeley DB");
        for (int p = 0; p < thesis->processes.count; p++)
                for (int s = 0; s < inserts.systems.count; s++)
                        print_cell(thesis, p, s);
        printf("\nThe thesis: 0.96 to 1.67 times as fast as Berkeley DB with one process (4 %% slower to 67 "
               "%% faster).\n");
}

static void print_ranks(const struct thesis *thesis)
{
        printf("\nThe k-th most expensive insert, milliseconds\n\n%-14s %5s", "system", "proc");
        for (int i = 0; i < inserts.ranks; i += RANKS_PER_DECADE)
                printf(" %9" PRIu64, inserts.rank[i]);
        printf("\n");
        for (int p = 0; p < thesis->processes.count; p++)
                for (int s = 0; s < inserts.systems.count; s++) {
                        printf("%-14s %5d", inserts.systems.stores[s]->name, (int)thesis->processes.value[p]);
                        for (int i = 0; i < inserts.ranks; i += RANKS_PER_DECADE)
                                printf(" %9.3f", samples_median(&inserts.cells[p][s].kth_us[i]) / 1000);
                        printf("\n");
                }
}

/* t1 / t2 in each repetition. */
static void speedups(const struct samples *alone, const struct samples *here, struct samples *ratios)
{
        for (size_t i = 0; i < here->count; i++)
                samples_add(ratios, alone->value[i] / here->value[i]);
}

static void write_cell(struct thesis *thesis, int p, int s)
{
        const int alone = find_alone(thesis);
        struct cell *cell = &inserts.cells[p][s];
        struct csv_series series = { .system = inserts.systems.stores[s]->name,
                                     .threads = 1,
                                     .processes = (int)thesis->processes.value[p] };
        struct samples ratios = { 0 };
        char param[THESIS_PARAM], ranked[THESIS_PARAM + 32];

        snprintf(param, sizeof(param), "keys=%" PRIu64 ";key=%d;value=%d;dist=uniform", thesis->inserts,
                 THESIS_KEY_BYTES, THESIS_VALUE_BYTES);
        thesis_rows(&thesis->csv, &series, "us_per_op", "us", param, &cell->us_per_op);
        for (int i = 0; i < inserts.ranks; i++) {
                snprintf(ranked, sizeof(ranked), "%s;k=%" PRIu64, param, inserts.rank[i]);
                thesis_rows(&thesis->csv, &series, "kth_us", "us", ranked, &cell->kth_us[i]);
        }
        if (alone >= 0)
                speedups(&inserts.cells[alone][s].us_per_op, &cell->us_per_op, &ratios);
        thesis_rows(&thesis->csv, &series, "speedup", "t1_over_t", param, &ratios);
        samples_free(&ratios);
}

static void free_cells(void)
{
        for (int p = 0; p < OPTION_LIST_MAX; p++)
                for (int s = 0; s < THESIS_SYSTEMS_MAX; s++) {
                        samples_free(&inserts.cells[p][s].us_per_op);
                        for (int i = 0; i < RANKS_MAX; i++)
                                samples_free(&inserts.cells[p][s].kth_us[i]);
                }
        munmap(inserts.plan.trace_ns, inserts.plan.keys * sizeof(uint32_t));
}

void thesis_inserts(struct thesis *thesis)
{
        inserts = (struct inserts){ .ranks = 0 };
        thesis_choose(thesis, "bptree-view,bptree,cobtree-view,cobtree,bdb,lmdb", &inserts.systems);
        plan_runs(thesis);
        measure(thesis);
        print_times(thesis);
        print_ranks(thesis);
        thesis->csv.experiment = "thesis_inserts";
        for (int p = 0; p < thesis->processes.count; p++)
                for (int s = 0; s < inserts.systems.count; s++)
                        write_cell(thesis, p, s);
        free_cells();
}
