/* SPDX-License-Identifier: MIT */

/*
 * What writers lose while clients are sent the tree that they write to (writers.c): the options choose sizes.
 */

#include "bench/send/bench.h"

#include <stdio.h>
#include <stdlib.h>

#include "bench/support/options.h"
#include "bench/support/processor.h"

int main(int argc, char **argv)
{
        struct send_bench bench = { .bytes = 64 << 20, .writers_ms = 1000, .rounds = 3 };
        const struct option_spec options[] = {
                OPTION_NUMBER("bytes", bench.bytes, "of records in a tree"),
                OPTION_NUMBER("writers-ms", bench.writers_ms, "milliseconds of each figure"),
                OPTION_NUMBER("rounds", bench.rounds, "repetitions of each measurement"),
                OPTION_TEXT("tsv", bench.tsv, "a folder for the tables, separated by tabs"),
                OPTION_END,
        };

        options_parse(argc, argv, "What writers lose while what they write to is sent.", options);
        if (bench.bytes < 1 << 20 || !bench.rounds || !bench.writers_ms)
                options_refuse("too few", "--bytes, --rounds or --writers-ms");
        printf("%d processors\n", processor_count());
        writers_run(&bench);
        return EXIT_SUCCESS;
}
