/* SPDX-License-Identifier: MIT */

/*
 * Records inserted into hash tables, batch by batch, and then looked up at random (figure 8 of the paper). All lookups
 * find something. Between the two, extendible hashing waits for its shortcut, and is arranged, if that is its way: the
 * time is "settle".
 */

#include "bench/papers/shortcut-eh/shortcut.h"

#include <inttypes.h>
#include <string.h>

#include "bench/papers/shortcut-eh/shortcut_systems.h"
#include "bench/support/alone.h"
#include "bench/support/memory.h"
#include "bench/support/processor.h"
#include "bench/support/report.h"
#include "bench/support/scratch.h"

enum { BATCHES = 200, DEPENDENT_SHARE = 10 };

/* What a measurement gets and leaves; [1]: dependent lookups. */
struct run {
        const struct shortcut_bench *bench;
        const struct hash_data *data;
        const struct hash_system *system;
        uint64_t sum[2]; /* expected */
        double batch_ms[BATCHES], settle_ms, read_ns[2];
        bool is_in_step;
        struct hash_stats stats;
};

struct figures {
        const struct hash_system *system;
        struct samples insert_ns, worst_ms, settle_ms, read_ns[2];
        struct samples total_ms[BATCHES]; /* until the end of each batch */
        struct hash_stats stats;
        bool is_in_step;
};

/* ---- a run ---- */

static uint64_t batch_start(const struct shortcut_bench *bench, int batch)
{
        return bench->records * (uint64_t)batch / BATCHES;
}

static struct hash_reads reads_of(const struct shortcut_bench *bench, const struct hash_data *data, bool is_dependent)
{
        return (struct hash_reads){ .data = data,
                                    .below = bench->records,
                                    .count = bench->lookups / (is_dependent ? DEPENDENT_SHARE : 1),
                                    .seed = bench->seed,
                                    .is_dependent = is_dependent };
}

static void insert_all(struct run *run, void *table)
{
        for (int b = 0; b < BATCHES; b++) {
                const uint64_t first = batch_start(run->bench, b), count = batch_start(run->bench, b + 1) - first;
                const uint64_t start = measure_now_ns();
                run->system->insert(table, run->data, first, count);
                run->batch_ms[b] = (double)(measure_now_ns() - start) / 1e6;
        }
}

static void settle(struct run *run, void *table)
{
        const uint64_t start = measure_now_ns();

        if (run->system->settle)
                run->system->settle(table);
        run->settle_ms = (double)(measure_now_ns() - start) / 1e6;
        run->is_in_step = run->system->is_in_step && run->system->is_in_step(table);
}

static void look_up_all(struct run *run, void *table, bool is_dependent)
{
        struct hash_reads reads = reads_of(run->bench, run->data, is_dependent);
        const uint64_t start = measure_now_ns();
        const uint64_t sum = run->system->look_up(table, &reads);

        run->read_ns[is_dependent] = (double)(measure_now_ns() - start) / (double)reads.count;
        alone_check(run->system->name, sum, run->sum[is_dependent]);
}

/* The mapper's thread has all processors: it was started before. */
static void measure(void *shared)
{
        struct run *run = shared;

        alone_warm(run->bench->records * 64 + (64 << 20));
        void *table = run->system->create(run->system, run->bench->records, run->bench->fill);
        processor_pin(0);
        insert_all(run, table);
        settle(run, table);
        look_up_all(run, table, false);
        look_up_all(run, table, true);
        run->system->stat(table, &run->stats);
        run->system->destroy(table);
}

static void note(const struct run *run, struct figures *figures)
{
        double total = 0, worst = 0;

        for (int b = 0; b < BATCHES; b++) {
                total += run->batch_ms[b];
                worst = run->batch_ms[b] > worst ? run->batch_ms[b] : worst;
                samples_add(&figures->total_ms[b], total);
        }
        samples_add(&figures->insert_ns, total * 1e6 / (double)run->bench->records);
        samples_add(&figures->worst_ms, worst);
        samples_add(&figures->settle_ms, run->settle_ms);
        samples_add(&figures->read_ns[0], run->read_ns[0]);
        samples_add(&figures->read_ns[1], run->read_ns[1]);
        figures->stats = run->stats;
        figures->is_in_step = run->is_in_step;
}

/* ---- tables ---- */

/* The one that others are compared with: EH, or the first. */
static const struct figures *find_base(const struct figures *figures, int count)
{
        for (int i = 0; i < count; i++)
                if (strcmp(figures[i].system->name, "EH") == 0)
                        return &figures[i];
        return &figures[0];
}

static void print_row(const struct shortcut_bench *bench, struct table *table, const struct figures *figures,
                      const struct figures *base)
{
        hash_systems_print(table, figures->system);
        report_median(table, &figures->insert_ns, 1);
        report_times(table, &figures->insert_ns, &base->insert_ns);
        report_median(table, &figures->worst_ms, 2);
        report_median(table, &figures->settle_ms, 1);
        for (int is_dependent = 0; is_dependent < 2; is_dependent++) {
                report_median(table, &figures->read_ns[is_dependent], 1);
                report_times(table, &base->read_ns[is_dependent], &figures->read_ns[is_dependent]);
        }
        table_number(table, (double)figures->stats.bytes / (double)bench->records, 1);
        table_text(table, figures->system->is_in_step ? figures->is_in_step ? "yes" : "no" : "-");
        table_number(table, (double)figures->stats.mappings, 0);
}

static void print_series(const struct shortcut_bench *bench, const struct figures *figures, int count)
{
        static const char *const headings[] = { "system", "page", "records", "total ms", NULL };
        struct table table;

        report_open_quietly(&table, bench->tsv, "shortcut-tables-series", headings);
        for (int i = 0; i < count; i++)
                for (int b = 0; b < BATCHES; b++) {
                        hash_systems_print(&table, figures[i].system);
                        table_number(&table, (double)batch_start(bench, b + 1), 0);
                        report_median(&table, &figures[i].total_ms[b], 3);
                }
        table_close(&table);
}

static void print_all(const struct shortcut_bench *bench, const struct figures *figures, int count)
{
        static const char *const headings[] = { "system             ",
                                                "page",
                                                "insert ns",
                                                "x EH",
                                                "worst ms",
                                                "settle ms",
                                                "lookup ns",
                                                "EH / it",
                                                "dep. ns",
                                                "EH / it",
                                                "bytes",
                                                "in step",
                                                "mappings",
                                                NULL };
        struct table table;

        report_open(&table, bench->tsv, "shortcut-tables", headings);
        for (int i = 0; i < count; i++)
                print_row(bench, &table, &figures[i], find_base(figures, count));
        table_close(&table);
        print_series(bench, figures, count);
}

static void free_figures(struct figures *figures)
{
        samples_free(&figures->insert_ns);
        samples_free(&figures->worst_ms);
        samples_free(&figures->settle_ms);
        samples_free(&figures->read_ns[0]);
        samples_free(&figures->read_ns[1]);
        for (int b = 0; b < BATCHES; b++)
                samples_free(&figures->total_ms[b]);
}

static void run_rounds(const struct shortcut_bench *bench, struct figures *figures, int count)
{
        struct run *run = memory_share(sizeof(*run));
        struct hash_data data;

        hash_data_make(&data, bench->records, bench->seed);
        *run = (struct run){ .bench = bench, .data = &data };
        for (int is_dependent = 0; is_dependent < 2; is_dependent++) {
                const struct hash_reads reads = reads_of(bench, &data, is_dependent);
                run->sum[is_dependent] = hash_data_sum(&reads);
        }
        for (uint64_t round = 0; round < bench->rounds; round++)
                for (int i = 0; i < count; i++) {
                        run->system = figures[i].system;
                        alone_run_free(measure, run);
                        note(run, &figures[i]);
                }
        memory_free(run, sizeof(*run));
}

void tables_run(const struct shortcut_bench *bench)
{
        struct figures figures[HASH_SYSTEMS_MAX] = { 0 };
        struct hash_systems systems;

        hash_systems_choose(&systems, bench->systems);
        for (int i = 0; i < systems.count; i++)
                figures[i].system = systems.system[i];
        printf("\nHash tables: %" PRIu64 " records of 8 and 8 bytes inserted, by batches of a %d-th; %" PRIu64
               " lookups at random, and a\ntenth as many that wait for the one before (dep.). Medians of %" PRIu64
               " rounds. bytes: of memory, for each record.\n\n",
               bench->records, BATCHES, bench->lookups, bench->rounds);
        run_rounds(bench, figures, systems.count);
        print_all(bench, figures, systems.count);
        for (int i = 0; i < systems.count; i++)
                free_figures(&figures[i]);
}
