/* SPDX-License-Identifier: MIT */

/*
 * The command line of experiments about durability: durable_experiments.h, or those of the thesis.
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
        fprintf(stderr, "durable: %s: %s (--help explains)\n", what, argument);
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

/* NULL for all. */
static const struct durable_experiment *find_experiment(const char *name)
{
        const struct durable_experiment *experiment = durable_experiments;

        if (strcmp(name, "all") == 0)
                return NULL;
        while (experiment->name && strcmp(name, experiment->name) != 0)
                experiment++;
        if (!experiment->name)
                refuse("no such experiment", name);
        return experiment;
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
                OPTION_TEXT("processes", counts, "commit: numbers of processes, and of threads"),
                OPTION_NUMBER("seconds", durable.seconds, "of a cell; a phase of reader is ten times as long"),
                OPTION_NUMBER("reps", durable.repetitions, "how often each cell is run"),
                OPTION_NUMBER("log-mib", durable.log_mib, "recovery: MiB of log to replay"),
                OPTION_TEXT("dir", directory, "where the environments lie, instead of $TMPDIR"),
                OPTION_TEXT("csv", csv_path, "where every repetition goes"),
                OPTION_FLAG("check", check, "exit status 1 if a figure is not what it should be"),
                OPTION_END,
        };
        const struct durable_experiment *wanted = NULL;
        int missed = 0;

        if (argc > 1 && argv[1][0] != '-') {
                wanted = find_experiment(argv[1]);
                argv[1] = argv[0];
                argc--;
                argv++;
        }
        options_parse(argc, argv, durable_purpose, options);
        parse_counts(&durable, counts);
        set_directory(directory);
        csv_open(&durable.csv, csv_path, "durable");
        for (const struct durable_experiment *experiment = durable_experiments; experiment->name; experiment++) {
                if (wanted && wanted != experiment)
                        continue;
                durable.csv.experiment = experiment->series;
                missed += experiment->run(&durable);
                fflush(NULL); /* what is measured is not lost when the next one fails */
        }
        csv_close(&durable.csv);
        return check && missed ? EXIT_FAILURE : EXIT_SUCCESS;
}
