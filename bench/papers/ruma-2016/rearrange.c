/* SPDX-License-Identifier: MIT */

/*
 * What rewiring is worth where data are rearranged (rearrange.h): the options choose experiments and sizes.
 */

#include "bench/papers/ruma-2016/rearrange.h"

#include <stdlib.h>

static const struct experiment {
        const char *name;
        void (*run)(const struct rearrange *rearrange);
} experiments[] = {
        { "partition", partition_experiment },
        { "sort", sort_experiment },
        { "snapshots", snapshot_experiment },
};

static void run(const char *word, void *arg)
{
        struct rearrange *rearrange = arg;
        const struct experiment *experiment = &experiments[OPTIONS_FIND(experiments, "experiment", word)];

        if (rearrange->csv)
                rearrange->csv->experiment = experiment->name;
        experiment->run(rearrange);
}

int main(int argc, char **argv)
{
        struct rearrange rearrange = { .keys = 1 << 24,
                                       .bytes = 256 << 20,
                                       .updates = "10000,100000,1000000,10000000",
                                       .snapshots = 10,
                                       .rounds = 3,
                                       .seed = 1 };
        struct csv csv;
        const char *chosen = "partition,sort,snapshots", *csv_path = NULL;
        const struct option_spec options[] = {
                OPTION_TEXT("experiment", chosen, "which, separated by commas"),
                OPTION_NUMBER("keys", rearrange.keys, "partition, sort: keys of 8 bytes, 1,024 to 10^8"),
                OPTION_TEXT("partitions", rearrange.partitions, "powers of 2 (all of 2 to 1024; sort: 16,64,256,1024)"),
                OPTION_TEXT("ways", rearrange.ways, "of one experiment, separated by commas (all)"),
                OPTION_NUMBER("bytes", rearrange.bytes, "snapshots: of the array"),
                OPTION_TEXT("updates", rearrange.updates, "snapshots: between two of them"),
                OPTION_NUMBER("snapshots", rearrange.snapshots, "snapshots: of each measurement"),
                OPTION_NUMBER("rounds", rearrange.rounds, "repetitions, of which the median is shown"),
                OPTION_NUMBER("seed", rearrange.seed, "of keys and of the order of updates"),
                OPTION_TEXT("csv", csv_path, "a file for every repetition"),
                OPTION_END,
        };

        options_parse(argc, argv, "What rewired pages are worth for partitioning, sorting and snapshots.", options);
        if (csv_path) {
                csv_open(&csv, csv_path, "");
                rearrange.csv = &csv;
        }
        options_words(chosen, run, &rearrange);
        if (csv_path)
                csv_close(&csv);
        return EXIT_SUCCESS;
}
