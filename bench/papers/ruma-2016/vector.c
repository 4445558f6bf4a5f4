/* SPDX-License-Identifier: MIT */

/*
 * Entries appended to vectors, batch by batch, and then read at random (vector_systems.h). In the end each system's
 * entries are compared with what was appended.
 */

#include "bench/papers/ruma-2016/rewire.h"

#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "bench/papers/ruma-2016/vector_systems.h"
#include "bench/support/alone.h"
#include "bench/support/memory.h"
#include "bench/support/report.h"
#include "bench/support/scratch.h"

enum { SYSTEMS_MAX = 32 };

/* What a measurement gets and leaves, in memory that is shared with it. */
struct run {
        const struct rewire_bench *bench;
        const struct vector_system *system;
        bool is_there;
        uint64_t sum;
        double read_ns;
        double batch_ms[];
};

struct system_figures {
        const struct vector_system *system;
        struct samples total_ms, worst_ms, read_ns;
        struct samples *series; /* of each batch */
};

struct race {
        const struct rewire_bench *bench;
        uint64_t batches;
        int systems;
        struct system_figures figures[SYSTEMS_MAX];
};

/* ---- a run ---- */

static void append_all(const struct run *run, void *vector, double *batch_ms)
{
        const uint64_t entries = run->bench->entries, batch = run->bench->batch;

        for (uint64_t first = 0; first < entries; first += batch) {
                const uint64_t count = entries - first < batch ? entries - first : batch;
                const uint64_t start = measure_now_ns();
                run->system->append(vector, first, count);
                *batch_ms++ = (double)(measure_now_ns() - start) / 1e6;
        }
}

static void measure(void *shared)
{
        struct run *run = shared;
        const struct rewire_bench *bench = run->bench;

        alone_warm(2 * vector_room(bench->entries));
        void *vector = run->system->open(run->system, bench->entries);
        run->is_there = vector != NULL;
        if (!vector)
                return;
        append_all(run, vector, run->batch_ms);
        const uint64_t start = measure_now_ns();
        run->sum = run->system->read(vector, bench->entries, bench->reads, bench->seed);
        run->read_ns = (double)(measure_now_ns() - start) / (double)bench->reads;
        alone_check(run->system->name, run->system->check(vector, bench->entries), bench->entries);
}

static uint64_t sum_of_reads(const struct rewire_bench *bench)
{
        uint64_t seed = bench->seed, sum = 0;

        for (uint64_t i = 0; i < bench->reads; i++)
                sum += vector_entry(vector_place(&seed, bench->entries));
        return sum;
}

static void note(const struct race *race, const struct run *run, struct system_figures *figures)
{
        double total = 0, worst = 0;

        for (uint64_t i = 0; i < race->batches; i++) {
                total += run->batch_ms[i];
                worst = run->batch_ms[i] > worst ? run->batch_ms[i] : worst;
                samples_add(&figures->series[i], run->batch_ms[i]);
        }
        samples_add(&figures->total_ms, total);
        samples_add(&figures->worst_ms, worst);
        samples_add(&figures->read_ns, run->read_ns);
}

static void run_rounds(struct race *race)
{
        const size_t byte_len = sizeof(struct run) + race->batches * sizeof(double);
        struct run *run = memory_share(byte_len);
        const uint64_t sum = sum_of_reads(race->bench);
        void *(*missing)(const struct vector_system *system, uint64_t entries) = NULL; /* only jemalloc may be */

        run->bench = race->bench;
        for (uint64_t round = 0; round < race->bench->rounds; round++) {
                for (int i = 0; i < race->systems; i++) {
                        struct system_figures *figures = &race->figures[i];
                        if (figures->system->open == missing)
                                continue;
                        run->system = figures->system;
                        alone_run(measure, run);
                        if (!run->is_there) {
                                missing = run->system->open;
                                continue;
                        }
                        alone_check(run->system->name, run->sum, sum);
                        note(race, run, figures);
                }
        }
        memory_free(run, byte_len);
}

/* ---- systems ---- */

static void add_systems(struct race *race, const struct vector_system *system)
{
        for (; system->name; system++) {
                must(race->systems < SYSTEMS_MAX ? 0 : -ENOSPC, "systems");
                struct system_figures *figures = &race->figures[race->systems++];
                figures->system = system;
                figures->series = calloc(race->batches, sizeof(*figures->series));
                must(figures->series ? 0 : -ENOMEM, "memory");
        }
}

/* Processes that are forked have it, too. */
static void add_std(struct race *race)
{
        if (!race->bench->std_library) {
                printf("without std::vector: see --std\n");
                return;
        }
        void *library = dlopen(race->bench->std_library, RTLD_NOW | RTLD_LOCAL);
        const void *systems = library ? dlsym(library, "vector_std") : NULL;
        if (!systems) {
                fprintf(stderr, "%s: %s\n", race->bench->std_library, dlerror());
                exit(EXIT_FAILURE);
        }
        add_systems(race, systems);
}

static void free_figures(struct race *race)
{
        for (int i = 0; i < race->systems; i++) {
                struct system_figures *figures = &race->figures[i];
                samples_free(&figures->total_ms);
                samples_free(&figures->worst_ms);
                samples_free(&figures->read_ns);
                for (uint64_t b = 0; b < race->batches; b++)
                        samples_free(&figures->series[b]);
                free(figures->series);
        }
}

/* ---- tables ---- */

static const struct system_figures *find_rewired(const struct race *race, size_t page_bytes, int is_touched)
{
        for (int i = 0; i < race->systems; i++) {
                const struct vector_system *system = race->figures[i].system;
                if (system->append == vector_rewired[0].append && system->page_bytes == page_bytes &&
                    system->is_touched == is_touched)
                        return &race->figures[i];
        }
        return &race->figures[0]; /* never */
}

static void print_row(const struct race *race, struct table *table, const struct system_figures *figures)
{
        const struct vector_system *system = figures->system;
        const struct system_figures *touched = find_rewired(race, system->page_bytes, 1);
        const struct system_figures *untouched = find_rewired(race, system->page_bytes, 0);

        table_text(table, system->name);
        report_page(table, system->page_bytes);
        table_text(table, system->is_touched ? "touched" : "fresh");
        report_median(table, &figures->total_ms, 2);
        report_median(table, &figures->worst_ms, 3);
        report_median(table, &figures->read_ns, 2);
        report_times(table, &figures->total_ms, &touched->total_ms);
        table_text(table, system->paper ? system->paper : "-");
        report_times(table, &figures->total_ms, &untouched->total_ms);
        report_times(table, &figures->read_ns, &touched->read_ns);
}

static void print_table(const struct race *race)
{
        static const char *const headings[] = { "system          ", "page",    "memory",  "total ms",
                                                "worst ms",         "read ns", "x total", "paper's x",
                                                "x fresh",          "x read",  NULL };
        struct table table;

        report_open(&table, race->bench->tsv, "rewire-vector", headings);
        for (int i = 0; i < race->systems; i++)
                if (race->figures[i].total_ms.count)
                        print_row(race, &table, &race->figures[i]);
        table_close(&table);
}

static void print_series(const struct race *race)
{
        static const char *const headings[] = { "system", "page", "memory", "entries", "batch ms", NULL };
        struct table table;

        report_open_quietly(&table, race->bench->tsv, "rewire-vector-series", headings);
        for (int i = 0; i < race->systems; i++) {
                const struct system_figures *figures = &race->figures[i];
                for (uint64_t b = 0; b < race->batches && figures->series[b].count; b++) {
                        table_text(&table, figures->system->name);
                        report_page(&table, figures->system->page_bytes);
                        table_text(&table, figures->system->is_touched ? "touched" : "fresh");
                        table_number(&table, (double)(b * race->bench->batch), 0);
                        report_median(&table, &figures->series[b], 4);
                }
        }
        table_close(&table);
}

void vector_run(const struct rewire_bench *bench)
{
        struct race race = { .bench = bench, .batches = (bench->entries + bench->batch - 1) / bench->batch };

        printf("\nVectors: %" PRIu64 " entries of 8 bytes appended, by batches of %" PRIu64 ", then %" PRIu64
               " random reads: medians of %" PRIu64 " rounds.\nmemory: touched before (a pool), or fresh from the "
               "kernel. x: as a multiple of xac_rewire_vector with pages of this size\nin a touched pool; x fresh: in "
               "a "
               "pool "
               "without memory. The paper's figures are for 10^9 entries in huge pages.\n",
               bench->entries, bench->batch, bench->reads, bench->rounds);
        add_systems(&race, vector_rewired);
        add_std(&race);
        add_systems(&race, vector_grown);
        add_systems(&race, vector_chunks);
        run_rounds(&race);
        printf("\n");
        print_table(&race);
        print_series(&race);
        free_figures(&race);
}
