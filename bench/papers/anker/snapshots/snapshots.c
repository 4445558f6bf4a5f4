/* SPDX-License-Identifier: MIT */

/*
 * What snapshots cost (bench.h): the options choose experiments and sizes.
 */

#include <stdio.h>
#include <stdlib.h>

#include "bench/papers/anker/snapshots/bench.h"
#include "bench/support/options.h"

static const struct experiment {
        const char *name;
        void (*run)(struct bench *bench);
} experiments[] = {
        { "creation", creation_run }, { "series", series_run },   { "scans", scans_run },
        { "percents", percents_run }, { "writers", writers_run },
};

static void run(const char *word, void *arg)
{
        experiments[OPTIONS_FIND(experiments, "experiment", word)].run(arg);
}

int main(int argc, char **argv)
{
        struct bench bench = { .column_mb = 200,
                               .many_mb = 500,
                               .rounds = 7,
                               .points = 1000,
                               .phase_ms = 500,
                               .records = 4000000,
                               .seed = 1 };
        const char *chosen = "creation,series,scans,percents,writers";
        bool is_checked = false;
        const struct option_spec options[] = {
                OPTION_TEXT("experiment", chosen, "which, separated by commas"),
                OPTION_NUMBER("column-mb", bench.column_mb, "MB of a column"),
                OPTION_NUMBER("many-mb", bench.many_mb, "MB of 25 and of 50 columns together"),
                OPTION_NUMBER("rounds", bench.rounds, "repetitions of each measurement"),
                OPTION_NUMBER("points", bench.points, "series: snapshots on the way through a column"),
                OPTION_NUMBER("milliseconds", bench.phase_ms, "writers: of a phase"),
                OPTION_NUMBER("records", bench.records, "writers: in the tree at first"),
                OPTION_NUMBER("seed", bench.seed, "of the order in which pages are changed"),
                OPTION_TEXT("tsv", bench.tsv, "a folder for the tables, separated by tabs"),
                OPTION_FLAG("check", is_checked, "exit status 1 if a figure is not what it should be"),
                OPTION_END,
        };

        options_parse(argc, argv, "What snapshots cost those who create, those who read and those who write.", options);
        options_words(chosen, run, &bench);
        return is_checked && bench.failures ? EXIT_FAILURE : EXIT_SUCCESS;
}
