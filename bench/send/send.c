/* SPDX-License-Identifier: MIT */

/*
 * What it costs to send (bench.h): the options choose experiments and sizes.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/send/bench.h"
#include "bench/support/options.h"

static const struct experiment {
        const char *name;
        void (*run)(const struct send_bench *bench);
} experiments[] = { { "ways", ways_run }, { "deltas", deltas_run }, { "writers", writers_run } };

static void run(const char *word, void *arg)
{
        for (size_t i = 0; i < sizeof(experiments) / sizeof(experiments[0]); i++)
                if (strcmp(experiments[i].name, word) == 0) {
                        experiments[i].run(arg);
                        return;
                }
        options_refuse("no such experiment", word);
}

int main(int argc, char **argv)
{
        struct send_bench bench = { .bytes = 64 << 20, .volume = 64 << 20, .rounds = 3, .seed = 1 };
        const char *chosen = "ways,deltas,writers";
        const struct option_spec options[] = {
                OPTION_TEXT("experiment", chosen, "which, separated by commas"),
                OPTION_NUMBER("bytes", bench.bytes, "of records in a tree"),
                OPTION_NUMBER("volume", bench.volume, "ways: bytes that are sent for one figure"),
                OPTION_NUMBER("rounds", bench.rounds, "repetitions of each measurement"),
                OPTION_NUMBER("seed", bench.seed, "of all that is random"),
                OPTION_TEXT("tsv", bench.tsv, "a folder for the tables, separated by tabs"),
                OPTION_END,
        };

        options_parse(argc, argv, "What it costs to send what is in a file.", options);
        if (bench.bytes < 1 << 20 || !bench.rounds || !bench.seed || !bench.volume)
                options_refuse("too few", "--bytes, --volume, --rounds or --seed");
        printf("%ld processors\n", sysconf(_SC_NPROCESSORS_ONLN));
        options_words(chosen, run, &bench);
        return EXIT_SUCCESS;
}
