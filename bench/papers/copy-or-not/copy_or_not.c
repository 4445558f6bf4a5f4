/* SPDX-License-Identifier: MIT */

/*
 * What it costs to send (copy_or_not.h): the options choose experiments and sizes.
 */

#include "bench/papers/copy-or-not/copy_or_not.h"

#include <stdio.h>
#include <stdlib.h>

#include "bench/support/processor.h"

static const struct experiment {
        const char *name;
        void (*run)(const struct copy_bench *bench);
} experiments[] = { { "ways", ways_run }, { "deltas", deltas_run } };

static void run(const char *word, void *arg)
{
        experiments[OPTIONS_FIND(experiments, "experiment", word)].run(arg);
}

static void choose_socket(const char *word, void *bench)
{
        ((struct copy_bench *)bench)->sockets[OPTIONS_FIND(channel_names, "socket", word)] = true;
}

static void choose_layout(const char *word, void *bench)
{
        ((struct copy_bench *)bench)->layouts[OPTIONS_FIND(store_layouts, "layout", word)] = true;
}

static void check(const struct copy_bench *bench)
{
        if (bench->bytes < 1 << 20 || !bench->rounds || !bench->seed || !bench->ways_ms)
                options_refuse("too few", "--bytes, --rounds, --seed or --ways-ms");
}

int main(int argc, char **argv)
{
        struct copy_bench bench = { .bytes = 64 << 20, .ways_ms = 150, .rounds = 3, .seed = 1 };
        const char *chosen = "ways,deltas", *sockets = "Unix,TCP,veth", *layouts = "packed,scattered";
        const char *record_bytes = "128,1024", *records = "1,4,16,64,256,1024,8192";
        const struct option_spec options[] = {
                OPTION_TEXT("experiment", chosen, "which, separated by commas"),
                OPTION_NUMBER("bytes", bench.bytes, "of records in a tree"),
                OPTION_TEXT("sockets", sockets, "ways: which, separated by commas"),
                OPTION_TEXT("layouts", layouts, "ways: which, separated by commas"),
                OPTION_TEXT("record-bytes", record_bytes, "ways: of a record"),
                OPTION_TEXT("records", records, "ways: of a response"),
                OPTION_NUMBER("ways-ms", bench.ways_ms, "ways: milliseconds of each way, at each point and round"),
                OPTION_NUMBER("rounds", bench.rounds, "repetitions of each measurement"),
                OPTION_NUMBER("seed", bench.seed, "of all that is random"),
                OPTION_TEXT("tsv", bench.tsv, "a folder for the tables, separated by tabs"),
                OPTION_END,
        };

        options_parse(argc, argv, "What it costs to send records by each way, and changes of pages.", options);
        check(&bench);
        options_words(sockets, choose_socket, &bench);
        options_words(layouts, choose_layout, &bench);
        options_numbers(record_bytes, STORE_RECORD_MIN, STORE_RECORD_MAX, &bench.record_bytes);
        options_numbers(records, 1, bench.bytes / STORE_RECORD_MIN, &bench.records);
        printf("%d processors\n", processor_count());
        options_words(chosen, run, &bench);
        return EXIT_SUCCESS;
}
