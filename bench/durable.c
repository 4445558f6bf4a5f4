/* SPDX-License-Identifier: MIT */

/*
 * What durability costs, and how long it takes to come back: seven experiments, each in a file of
 * its own.
 *
 *      commit         small transactions by 1 to 16 workers, against bare writes       durable_commit.c
 *      reader         a snapshot held during durable commits                           durable_reader.c
 *      checkpointer   commit latency while checkpoints run                             durable_checkpointer.c
 *      touch          thesis: n pages written in a transaction                         durable_touch.c
 *      concurrency    thesis: tests A, B and C by one and two processes                durable_concurrency.c
 *      msync          thesis, table 4.8: msync and fsync                               durable_msync.c
 *      recovery       replay of a long log, and opening after a clean close            durable_recovery.c
 *
 * All of them want a directory on the disk that is meant: --dir. A directory in memory measures
 * the system calls only.
 */

#include "bench/durable.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bench/support/options.h"
#include "bench/support/scratch.h"

static const struct experiment {
        const char *name, *series; /* as asked for, and in the CSV file */
        int (*run)(struct durable *durable);
} experiments[] = {
        { "commit", "durable_commit", durable_commit },
        { "reader", "durable_reader", durable_reader },
        { "checkpointer", "durable_checkpointer", durable_checkpointer },
        { "touch", "durable_touch", durable_touch },
        { "concurrency", "durable_concurrency", durable_concurrency },
        { "msync", "durable_msync", durable_msync },
        { "recovery", "durable_recovery", durable_recovery },
};

enum { EXPERIMENTS = sizeof(experiments) / sizeof(experiments[0]) };

static const char PURPOSE[] = "Durable transactions. The first argument may name one experiment (all by default):\n"
                              "commit, reader, checkpointer, touch, concurrency, msync, recovery.";

/* ---- for the experiments ---- */

void durable_progress(const char *format, ...)
{
        va_list arguments;

        if (!isatty(STDERR_FILENO))
                return;
        fprintf(stderr, "\r\033[K");
        va_start(arguments, format);
        vfprintf(stderr, format, arguments);
        va_end(arguments);
}

void durable_progress_end(void)
{
        if (isatty(STDERR_FILENO))
                fprintf(stderr, "\r\033[K");
}

const char *durable_spread(char text[DURABLE_TEXT], const struct samples *samples, double unit, int digits)
{
        snprintf(text, DURABLE_TEXT, "%.*f (%.*f to %.*f)", digits, samples_median(samples) / unit, digits,
                 samples_min(samples) / unit, digits, samples_max(samples) / unit);
        return text;
}

void *durable_shared(size_t byte_len)
{
        void *memory = mmap(NULL, byte_len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED)
                scratch_fail(-errno, "mmap");
        return memory;
}

/* ---- the command line ---- */

static void refuse(const char *what, const char *argument)
{
        fprintf(stderr, "bench/durable: %s: %s (--help explains)\n", what, argument);
        exit(2);
}

static void parse_counts(struct durable *durable, const char *text)
{
        const char *at = text;

        for (;;) {
                char *end;
                long count = strtol(at, &end, 10);
                if (end == at || count < 1 || count > CREW_MAX || durable->count_len == DURABLE_COUNTS_MAX)
                        refuse("not a list of one to eight numbers from 1 to 16", text);
                durable->counts[durable->count_len++] = (int)count;
                if (!*end)
                        return;
                if (*end != ',')
                        refuse("not a list of numbers", text);
                at = end + 1;
        }
}

/* The experiment's place, or EXPERIMENTS for all. */
static int find_experiment(const char *name)
{
        if (strcmp(name, "all") == 0)
                return EXPERIMENTS;
        for (int i = 0; i < EXPERIMENTS; i++)
                if (strcmp(name, experiments[i].name) == 0)
                        return i;
        refuse("no such experiment", name);
        return -1;
}

/* Scratches are made there. */
static void set_directory(const char *directory)
{
        if (directory && setenv("TMPDIR", directory, 1) != 0)
                scratch_fail(-errno, directory);
}

int main(int argc, char **argv)
{
        struct durable durable = { .seconds = 1, .repetitions = 3, .log_mib = 1024 };
        const char *csv_path = "durable.csv", *counts = "1,2,4,8,16", *directory = NULL;
        bool check = false;
        const struct option_spec options[] = {
                OPTION_TEXT("processes", counts, "numbers of processes, and of threads"),
                OPTION_NUMBER("seconds", durable.seconds, "of a cell; a phase of reader is ten times as long"),
                OPTION_NUMBER("reps", durable.repetitions, "how often each cell is run"),
                OPTION_NUMBER("log-mib", durable.log_mib, "MiB of log for recovery to replay"),
                OPTION_TEXT("dir", directory, "where the environments lie, instead of $TMPDIR"),
                OPTION_TEXT("csv", csv_path, "where every repetition goes"),
                OPTION_FLAG("check", check, "exit status 1 if a figure is not what it should be"),
                OPTION_END,
        };
        int wanted = EXPERIMENTS, missed = 0;

        if (argc > 1 && argv[1][0] != '-') {
                wanted = find_experiment(argv[1]);
                argv[1] = argv[0];
                argc--;
                argv++;
        }
        options_parse(argc, argv, PURPOSE, options);
        parse_counts(&durable, counts);
        set_directory(directory);
        csv_open(&durable.csv, csv_path, "durable");
        for (int i = 0; i < EXPERIMENTS; i++) {
                if (wanted != EXPERIMENTS && wanted != i)
                        continue;
                durable.csv.experiment = experiments[i].series;
                missed += experiments[i].run(&durable);
                fflush(NULL); /* what is measured is not lost when the next one fails */
        }
        csv_close(&durable.csv);
        return check && missed ? EXIT_FAILURE : EXIT_SUCCESS;
}
