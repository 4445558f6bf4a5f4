/* SPDX-License-Identifier: MIT */

/*
 * A writer on one processor, and on the other one by turns: nothing; snapshots that are refreshed and scanned without a
 * pause; the same scans of plain memory, which take their share of the machine's memory bandwidth, but nothing of
 * libxac. Every sum is checked: that of a column never changes, that of a tree's file not within a snapshot.
 */

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/papers/anker/snapshots/columns.h"
#include "bench/papers/anker/snapshots/workload.h"
#include "bench/support/memory.h"
#include "bench/support/processor.h"
#include "bench/support/table.h"

enum phase { IDLE, SNAPSHOTS, PLAIN, PHASES, END = PHASES };
enum { BATCH = 64, POOL_LOOKS = 10, WARM_MS = 300 };

static const double LEAST = 0.9;
static const char *const phase_name[PHASES] = { "idle", "snapshots", "plain memory" };

/* Shared by all processes. */
struct board {
        _Atomic int phase;
        _Atomic uint64_t written;   /* transactions, */
        _Atomic uint64_t writer_ns; /* and processor time of who wrote them */
        _Atomic uint64_t scans;
        _Atomic uint64_t file_bytes; /* as scanned last */
};

struct crew {
        struct workload workload;
        struct scratch *scratch;
        struct board *board;
        const char *plain;
        uint64_t plain_bytes;
        uint64_t sum; /* of the column */
        pid_t writer, scanner;
};

/* ---- the writer ---- */

static uint64_t processor_ns(void)
{
        struct timespec t;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
        return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void write_until_end(const struct crew *crew)
{
        processor_pin(0);
        scratch_open(crew->scratch, 0);
        void *writer = crew->workload.open(&crew->workload, crew->scratch);
        while (atomic_load(&crew->board->phase) != END) {
                crew->workload.run(writer, BATCH);
                atomic_fetch_add(&crew->board->written, BATCH);
                atomic_store(&crew->board->writer_ns, processor_ns());
        }
        crew->workload.close(writer);
        scratch_close(crew->scratch);
}

/* ---- the scanner ---- */

static void fail_sum(uint64_t sum, uint64_t right)
{
        fprintf(stderr, "a scan came to %" PRIu64 " instead of %" PRIu64 "\n", sum, right);
        exit(EXIT_FAILURE);
}

/* Twice, as a query that reads its columns again. */
static void scan_snapshot(const struct crew *crew, xac_snapshot *snapshot)
{
        size_t byte_len;
        const char *bytes = xac_snapshot_map(snapshot, crew->workload.file, &byte_len);

        must(bytes == MAP_FAILED ? -errno : 0, "xac_snapshot_map");
        const uint64_t first = memory_sum(bytes, byte_len), second = memory_sum(bytes, byte_len);
        if (crew->workload.has_sum && first != crew->sum)
                fail_sum(first, crew->sum);
        if (first != second)
                fail_sum(second, first);
        atomic_store(&crew->board->file_bytes, byte_len);
}

static void scan_snapshots(const struct crew *crew)
{
        xac_snapshot *snapshot;

        must(xac_snapshot_open(crew->scratch->env, 0, &snapshot), "xac_snapshot_open");
        while (atomic_load(&crew->board->phase) == SNAPSHOTS) {
                xac_snapshot *older = snapshot;
                must(xac_snapshot_refresh(older, &snapshot), "xac_snapshot_refresh");
                scan_snapshot(crew, snapshot);
                must(xac_snapshot_close(older), "xac_snapshot_close");
                atomic_fetch_add(&crew->board->scans, 2);
        }
        must(xac_snapshot_close(snapshot), "xac_snapshot_close");
}

static void scan_plain(const struct crew *crew)
{
        const uint64_t file_bytes = atomic_load(&crew->board->file_bytes);
        const uint64_t byte_len = file_bytes < crew->plain_bytes ? file_bytes : crew->plain_bytes;
        const uint64_t sum = memory_sum(crew->plain, byte_len);

        while (atomic_load(&crew->board->phase) == PLAIN) {
                const uint64_t again = memory_sum(crew->plain, byte_len);
                if (again != sum)
                        fail_sum(again, sum);
                atomic_fetch_add(&crew->board->scans, 1);
        }
}

static void scan_until_end(const struct crew *crew)
{
        processor_pin(1);
        scratch_open(crew->scratch, 0);
        for (int phase; (phase = atomic_load(&crew->board->phase)) != END;) {
                if (phase == SNAPSHOTS)
                        scan_snapshots(crew);
                else if (phase == PLAIN)
                        scan_plain(crew);
                else
                        usleep(500);
        }
        scratch_close(crew->scratch);
}

static pid_t start(const struct crew *crew, void (*run)(const struct crew *crew))
{
        const pid_t pid = fork();

        must(pid < 0 ? -errno : 0, "fork");
        if (pid)
                return pid;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        run(crew);
        _exit(EXIT_SUCCESS);
}

static void finish(pid_t pid)
{
        int status;
        if (waitpid(pid, &status, 0) != pid || status != 0)
                scratch_fail(-ECHILD, "a writer or scanner");
}

/* ---- phases ---- */

struct figures {
        struct samples rate[PHASES];  /* transactions per second, */
        struct samples bare[PHASES];  /* and per second of the processor: where others use it, too */
        struct samples scans[PHASES]; /* per second */
        double pool_before, pool_most, pool_after;
};

static double pool_used(const struct crew *crew)
{
        xac_stats stats;
        must(xac_stat(crew->scratch->env, &stats), "xac_stat");
        return (double)stats.pool_bytes_used;
}

static void wait_looking(const struct crew *crew, uint64_t ms, double *pool_most)
{
        for (int i = 0; i < POOL_LOOKS; i++) {
                usleep((useconds_t)(ms * 1000 / POOL_LOOKS));
                const double used = pool_used(crew);
                *pool_most = used > *pool_most ? used : *pool_most;
                if (waitpid(crew->writer, NULL, WNOHANG) || waitpid(crew->scanner, NULL, WNOHANG))
                        scratch_fail(-ECHILD, "a writer or scanner");
        }
}

struct moment {
        uint64_t ns, written, writer_ns, scans;
};

static struct moment look(const struct board *board)
{
        return (struct moment){ measure_now_ns(), atomic_load(&board->written), atomic_load(&board->writer_ns),
                                atomic_load(&board->scans) };
}

static double per_second(uint64_t count, uint64_t ns)
{
        return ns ? (double)count * 1e9 / (double)ns : 0;
}

/* What goes on when a phase begins is not counted. */
static void measure_phase(const struct crew *crew, enum phase phase, uint64_t ms, struct figures *figures)
{
        double pool_most = 0;

        atomic_store(&crew->board->phase, (int)phase);
        wait_looking(crew, WARM_MS, &pool_most);
        const struct moment before = look(crew->board);
        wait_looking(crew, ms, &pool_most);
        const struct moment after = look(crew->board);
        samples_add(&figures->rate[phase], per_second(after.written - before.written, after.ns - before.ns));
        samples_add(&figures->bare[phase],
                    per_second(after.written - before.written, after.writer_ns - before.writer_ns));
        samples_add(&figures->scans[phase], per_second(after.scans - before.scans, after.ns - before.ns));
        if (phase == SNAPSHOTS && pool_most > figures->pool_most)
                figures->pool_most = pool_most;
}

static void free_figures(struct figures *figures)
{
        for (int phase = 0; phase < PHASES; phase++) {
                samples_free(&figures->rate[phase]);
                samples_free(&figures->bare[phase]);
                samples_free(&figures->scans[phase]);
        }
}

static void measure_phases(struct crew *crew, const struct bench *bench, struct figures *figures)
{
        struct figures unused = { 0 };

        crew->writer = start(crew, write_until_end);
        crew->scanner = start(crew, scan_until_end);
        scratch_open(crew->scratch, 0);
        for (int phase = 0; phase < PHASES; phase++)
                measure_phase(crew, phase == IDLE ? SNAPSHOTS : IDLE, bench->phase_ms, &unused);
        figures->pool_before = pool_used(crew);
        for (uint64_t r = 0; r < bench->rounds; r++)
                for (int phase = 0; phase < PHASES; phase++)
                        measure_phase(crew, (enum phase)phase, bench->phase_ms, figures);
        measure_phase(crew, IDLE, bench->phase_ms, &unused);
        figures->pool_after = pool_used(crew);
        free_figures(&unused);
        atomic_store(&crew->board->phase, END);
        finish(crew->writer);
        finish(crew->scanner);
        scratch_close(crew->scratch);
}

/* ---- the report ---- */

static const char *const headings[] = { "writer",     "other processor", "transactions/s", "min",     "max",
                                        "times idle", "processor us",    "its times idle", "scans/s", NULL };

static void print_rows(struct table *table, const struct workload *workload, const struct figures *figures)
{
        for (int phase = 0; phase < PHASES; phase++) {
                table_text(table, workload->name);
                table_text(table, phase_name[phase]);
                table_number(table, samples_median(&figures->rate[phase]), 0);
                table_number(table, samples_min(&figures->rate[phase]), 0);
                table_number(table, samples_max(&figures->rate[phase]), 0);
                table_number(table, samples_ratio(&figures->rate[phase], &figures->rate[IDLE]), 3);
                table_number(table, 1e6 / samples_median(&figures->bare[phase]), 2);
                table_number(table, samples_ratio(&figures->bare[IDLE], &figures->bare[phase]), 3);
                table_number(table, samples_median(&figures->scans[phase]), 1);
        }
}

/* Two snapshots are open while one is refreshed; each may pin a version of every page. A tree grows meanwhile. */
static int judge(const struct crew *crew, const struct figures *figures)
{
        const double mib = 1 << 20;
        const double file_mib = (double)atomic_load(&crew->board->file_bytes) / mib;
        const double before = figures->pool_before / mib, slack = 0.05 * file_mib + 8;
        char what[80];
        int failures = 0;

        snprintf(what, sizeof(what), "%s beside snapshots: throughput", crew->workload.name);
        failures += scratch_verdict_least(what, samples_ratio(&figures->rate[SNAPSHOTS], &figures->rate[IDLE]), LEAST,
                                          "times idle");
        failures += scratch_verdict_least(what, samples_ratio(&figures->rate[SNAPSHOTS], &figures->rate[PLAIN]), LEAST,
                                          "times plain memory");
        printf("%s: pool %.1f MiB before, file %.1f MiB\n", crew->workload.name, before, file_mib);
        failures += scratch_verdict("pool during snapshots", figures->pool_most / mib, before + 2 * file_mib + slack,
                                    "MiB");
        if (crew->workload.has_sum)
                failures += scratch_verdict("pool afterwards", figures->pool_after / mib, before + slack, "MiB");
        printf("\n");
        return failures;
}

static void measure(struct bench *bench, struct table *table, const struct workload *kind, struct crew *crew,
                    struct figures *figures)
{
        const uint64_t pages = bench_column_pages(bench);
        const xac_options options = { .pool_bytes = 4 * pages * PAGE + (UINT64_C(512) << 20) };

        crew->workload = *kind;
        crew->workload.pages = pages;
        crew->workload.records = bench->records;
        crew->workload.seed = bench->seed;
        crew->sum = columns_first_sum(pages);
        crew->board = memory_share(sizeof(*crew->board));
        crew->plain_bytes = pages * PAGE;
        scratch_make(crew->scratch, 1);
        crew->scratch->options = &options;
        workload_prepare(&crew->workload, crew->scratch);
        measure_phases(crew, bench, figures);
        print_rows(table, &crew->workload, figures);
        scratch_remove(crew->scratch);
}

void writers_run(struct bench *bench)
{
        const struct workload *const kinds[] = { &workload_transfers, &workload_inserts };
        struct scratch scratch[2];
        struct crew crew[2] = { { .scratch = &scratch[0] }, { .scratch = &scratch[1] } };
        struct figures figures[2] = { 0 };
        char *plain = memory_make(bench_column_pages(bench) * PAGE);
        struct table table;

        printf("\nA writer, and what the other processor does meanwhile: medians of %" PRIu64
               " rounds of phases of %" PRIu64 " ms; inserts into a tree of\n%" PRIu64
               " records, transfers in a column of %" PRIu64 " MB\n\n",
               bench->rounds, bench->phase_ms, bench->records, bench->column_mb);
        table_open(&table, bench->tsv, "writers", headings);
        for (int k = 0; k < 2; k++) {
                crew[k].plain = plain;
                measure(bench, &table, kinds[k], &crew[k], &figures[k]);
        }
        table_close(&table);
        for (int k = 0; k < 2; k++) {
                bench->failures += judge(&crew[k], &figures[k]);
                free_figures(&figures[k]);
                memory_free(crew[k].board, sizeof(*crew[k].board));
        }
        memory_free(plain, bench_column_pages(bench) * PAGE);
}
