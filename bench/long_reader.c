/* SPDX-License-Identifier: MIT */

/*
 * What a snapshot that is held for long costs the writers. One process updates random pages
 * by declared access; another begins a read-only transaction, reads every page, keeps it
 * open, and reads every page again at the end: it must find what it found at first.
 *
 * Phases without and with the held snapshot alternate. Throughput is taken in slices of a
 * phase; the figure is the ratio of the medians. The space that versions take in the pool
 * must stay bounded: one version of each page for the snapshot, and the newest.
 */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/support/csv.h"
#include "bench/support/options.h"
#include "bench/support/scratch.h"

enum { SLICES = 50, CLOCK_EVERY = 256 };

static const double SLOWDOWN_LIMIT = 1.15;

enum { FREE, HELD, PHASES };
static const char *const phase_name[PHASES] = { "no_snapshot", "snapshot_held" };

struct experiment {
        uint64_t seconds, rounds, pages;
        struct samples rate[PHASES]; /* transactions per second */
        struct samples pool[PHASES]; /* bytes used */
};

/* The reader is told by a byte on one pipe, and answers on the other. */
struct reader {
        pid_t pid;
        int to, from;
};

static void say(int fd, char what)
{
        if (write(fd, &what, 1) != 1)
                scratch_fail(-errno, "pipe");
}

/* Returns 0 when the other side has gone. */
static char hear(int fd)
{
        char what = 0;
        return read(fd, &what, 1) == 1 ? what : 0;
}

/* The reader's process. */

static uint64_t read_all(const struct scratch *scratch)
{
        uint64_t sum = 0;
        for (size_t i = 0; i < scratch->pages; i++) {
                const uint64_t *word = xac_page_read(scratch->env, scratch_page(scratch, i));
                sum = sum * 31 + (word ? *word : 0);
        }
        return sum;
}

static int reader_run(struct scratch *scratch, int from, int to)
{
        scratch_open(scratch, 0);
        say(to, 'r');
        while (hear(from) == 'b') {
                must(xbegin(scratch->env, XAC_RDONLY), "reader: xbegin");
                uint64_t first = read_all(scratch);
                say(to, 'b');
                hear(from);
                uint64_t last = read_all(scratch);
                must(xend(scratch->env), "reader: xend");
                if (first != last) {
                        fprintf(stderr, "the held snapshot has CHANGED\n");
                        return EXIT_FAILURE;
                }
                say(to, 'e');
        }
        scratch_close(scratch);
        return EXIT_SUCCESS;
}

static void reader_start(struct reader *reader, struct scratch *scratch)
{
        int there[2], back[2];

        if (pipe(there) != 0 || pipe(back) != 0)
                scratch_fail(-errno, "pipe");
        reader->pid = fork();
        if (reader->pid < 0)
                scratch_fail(-errno, "fork");
        if (reader->pid == 0) {
                close(there[1]);
                close(back[0]);
                _exit(reader_run(scratch, there[0], back[1]));
        }
        close(there[0]);
        close(back[1]);
        reader->to = there[1];
        reader->from = back[0];
        if (hear(reader->from) != 'r')
                scratch_fail(-ECHILD, "the reader");
}

/* Tells the reader to begin ('b') or to end ('e') and waits until it has. */
static void reader_tell(struct reader *reader, char what)
{
        say(reader->to, what);
        if (hear(reader->from) != what)
                scratch_fail(-ECHILD, "the reader");
}

static void reader_stop(struct reader *reader)
{
        int status;
        close(reader->to);
        if (waitpid(reader->pid, &status, 0) != reader->pid || status != 0)
                scratch_fail(-ECHILD, "the reader");
        close(reader->from);
}

/* The writer: this process. */

static void update(const struct scratch *scratch, uint64_t *random)
{
        int err;
        do {
                xbegin(scratch->env, 0);
                uint64_t *word = xac_page_write(scratch->env,
                                                scratch_page(scratch, (measure_random(random) >> 16) % scratch->pages));
                if (word)
                        *word = *random;
                err = xend(scratch->env);
        } while (err == XAC_CONFLICT);
        must(err, "xend");
}

/* Transactions per second over one slice. */
static double write_slice(const struct scratch *scratch, uint64_t *random, uint64_t slice_ns)
{
        const uint64_t start = measure_now_ns();
        uint64_t done = 0, now;

        do {
                for (int i = 0; i < CLOCK_EVERY; i++)
                        update(scratch, random);
                done += CLOCK_EVERY;
                now = measure_now_ns();
        } while (now - start < slice_ns);
        return (double)done * 1e9 / (double)(now - start);
}

static void measure_phase(struct experiment *experiment, const struct scratch *scratch, int phase, uint64_t *random)
{
        for (int i = 0; i < SLICES; i++) {
                xac_stats stats;
                double rate = write_slice(scratch, random, experiment->seconds * 1000000000 / SLICES);
                must(xac_stat(scratch->env, &stats), "xac_stat");
                samples_add(&experiment->rate[phase], rate);
                samples_add(&experiment->pool[phase], (double)stats.pool_bytes_used);
        }
}

static void measure(struct experiment *experiment)
{
        struct scratch scratch;
        struct reader reader;
        uint64_t random = 88172645463325252u;

        scratch_make(&scratch, experiment->pages);
        reader_start(&reader, &scratch);
        scratch_open(&scratch, 0);
        scratch_fill(&scratch);
        write_slice(&scratch, &random, 200000000); /* warms up */
        for (uint64_t round = 0; round < experiment->rounds; round++) {
                measure_phase(experiment, &scratch, FREE, &random);
                reader_tell(&reader, 'b');
                measure_phase(experiment, &scratch, HELD, &random);
                reader_tell(&reader, 'e');
        }
        reader_stop(&reader);
        scratch_close(&scratch);
        scratch_remove(&scratch);
}

static void print_results(const struct experiment *experiment)
{
        printf("\nOne writer over %" PRIu64 " pages; %" PRIu64 " phases of %" PRIu64 " s of each kind, in turn\n\n",
               experiment->pages, experiment->rounds, experiment->seconds);
        printf("%-15s %14s %14s %14s %14s\n", "phase", "tx/s median", "min", "max", "pool MiB max");
        for (int phase = 0; phase < PHASES; phase++)
                printf("%-15s %14.0f %14.0f %14.0f %14.1f\n", phase_name[phase],
                       samples_median(&experiment->rate[phase]), samples_min(&experiment->rate[phase]),
                       samples_max(&experiment->rate[phase]), samples_max(&experiment->pool[phase]) / (1 << 20));
        printf("\n");
}

static int print_verdicts(const struct experiment *experiment)
{
        /* The newest versions, the snapshot's, and what is on its way back. */
        const double pool_limit = 3.0 * (double)experiment->pages * SCRATCH_PAGE / (1 << 20);
        const double slowdown = samples_median(&experiment->rate[FREE]) / samples_median(&experiment->rate[HELD]);

        return scratch_verdict("writers slower under a held snapshot", slowdown, SLOWDOWN_LIMIT, "times") +
               scratch_verdict("pool used at most", samples_max(&experiment->pool[HELD]) / (1 << 20), pool_limit,
                               "MiB");
}

static void write_csv(const struct experiment *experiment, const char *path)
{
        struct csv csv;

        csv_open(&csv, path, "long_reader");
        for (int phase = 0; phase < PHASES; phase++) {
                struct csv_series series = { "libxac",          phase == HELD ? 2 : 1,    1, experiment->seconds,
                                             phase_name[phase], "transactions_per_second" };
                csv_rows(&csv, &series, &experiment->rate[phase]);
                series.metric = phase == HELD ? "pool_snapshot_held" : "pool_no_snapshot";
                series.unit = "bytes";
                csv_rows(&csv, &series, &experiment->pool[phase]);
        }
        csv_close(&csv);
}

int main(int argc, char **argv)
{
        struct experiment experiment = { .seconds = 10, .rounds = 2, .pages = 16384 };
        const char *csv_path = "long_reader.csv";
        bool check = false;
        const struct option_spec options[] = {
                OPTION_NUMBER("seconds", experiment.seconds, "seconds of a phase"),
                OPTION_NUMBER("rounds", experiment.rounds, "phases of each kind"),
                OPTION_NUMBER("pages", experiment.pages, "pages of the file"),
                OPTION_TEXT("csv", csv_path, "where every repetition goes"),
                OPTION_FLAG("check", check, "exit status 1 if writers slow down too much"),
                OPTION_END,
        };
        options_parse(argc, argv, "Writers with and without a snapshot that another process holds.", options);

        measure(&experiment);
        print_results(&experiment);
        int exceeded = print_verdicts(&experiment);
        write_csv(&experiment, csv_path);
        samples_free(&experiment.rate[FREE]);
        return check && exceeded ? EXIT_FAILURE : EXIT_SUCCESS;
}
