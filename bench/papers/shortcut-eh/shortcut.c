/* SPDX-License-Identifier: MIT */

/*
 * What a directory as page tables is worth (shortcut.h): the options choose experiments and sizes.
 */

#include "bench/papers/shortcut-eh/shortcut.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "bench/support/options.h"

static const struct experiment {
        const char *name;
        void (*run)(const struct shortcut_bench *bench);
} experiments[] = {
        { "lookups", lookups_run },       { "fan-in", fan_in_run }, { "creation", creation_run },
        { "shootdowns", shootdowns_run }, { "tables", tables_run }, { "phases", phases_run },
};

static void run(const char *word, void *arg)
{
        experiments[OPTIONS_FIND(experiments, "experiment", word)].run(arg);
}

static void check(const struct shortcut_bench *bench)
{
        if (bench->slots & (bench->slots - 1) || bench->slots < 512 || bench->slots > 1 << 24)
                options_refuse("no power of two from 512 to 2^24", "--slots");
        if (bench->lookups < 100 || !bench->remaps || !bench->rounds || !bench->seed || bench->seed >= 1 << 20)
                options_refuse("too few or too many", "--lookups, --remaps, --rounds or --seed");
        if (bench->records < 1000 || bench->records >= UINT64_C(1) << 32)
                options_refuse("too few or too many", "--records");
        if (bench->fill < 10 || bench->fill > 90)
                options_refuse("not from 10 to 90", "--fill");
}

int main(int argc, char **argv)
{
        struct shortcut_bench bench = { .slots = 1 << 16,
                                        .lookups = 1000000,
                                        .remaps = 10000,
                                        .records = 1000000,
                                        .fill = 35,
                                        .rounds = 3,
                                        .seed = 1 };
        const char *chosen = "lookups,fan-in,creation,shootdowns,tables,phases";
        const struct option_spec options[] = {
                OPTION_TEXT("experiment", chosen, "which, separated by commas"),
                OPTION_NUMBER("slots", bench.slots, "of a node, at most: so many times 4 KiB of memory"),
                OPTION_NUMBER("lookups", bench.lookups, "at random; a tenth as many dependent ones"),
                OPTION_NUMBER("remaps", bench.remaps, "shootdowns: pages that are pointed elsewhere"),
                OPTION_NUMBER("records", bench.records, "tables, phases: of 8 and 8 bytes"),
                OPTION_NUMBER("fill", bench.fill, "tables, phases: percent at which open addressing doubles"),
                OPTION_TEXT("systems", bench.systems, "tables, phases: which, separated by commas; all if not given"),
                OPTION_NUMBER("rounds", bench.rounds, "repetitions of each measurement"),
                OPTION_NUMBER("seed", bench.seed, "of all that is random"),
                OPTION_TEXT("tsv", bench.tsv, "a folder for the tables, separated by tabs"),
                OPTION_END,
        };

        options_parse(argc, argv, "What a directory is worth that is page tables.", options);
        check(&bench);
        printf("%ld processors\n", sysconf(_SC_NPROCESSORS_ONLN));
        options_words(chosen, run, &bench);
        return EXIT_SUCCESS;
}
