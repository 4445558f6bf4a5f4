/* SPDX-License-Identifier: MIT */

/*
 * What rewired memory costs (rewire.h): the options choose experiments and sizes.
 */

#include "bench/papers/ruma-2016/rewire.h"

#include <stdio.h>
#include <stdlib.h>

#include <xac/rewire.h>

#include "bench/support/memory.h"
#include "bench/support/options.h"
#include "bench/support/scratch.h"

static const struct experiment {
        const char *name;
        void (*run)(const struct rewire_bench *bench);
} experiments[] = {
        { "vector", vector_run },   { "allocation", allocation_run }, { "faults", faults_run },
        { "shuffle", shuffle_run }, { "patterns", patterns_run },
};

static void run(const char *word, void *arg)
{
        experiments[OPTIONS_FIND(experiments, "experiment", word)].run(arg);
}

static void check(const struct rewire_bench *bench)
{
        if (!bench->entries || bench->entries > UINT32_MAX || !bench->batch || !bench->reads || !bench->rounds ||
            !bench->seed)
                options_refuse("too few or too many", "--entries, --batch, --reads, --rounds or --seed");
        if (!bench->bytes || bench->bytes % (2 * (uint64_t)HUGE_PAGE) || bench->bytes > UINT64_C(8) * UINT32_MAX)
                options_refuse("not a multiple of 4 MiB, or too many", "--bytes");
}

/* What the rows of 2 MiB pages are about. */
static void say_backing(void)
{
        static const char *const names[] = {
                [XAC_REWIRE_SMALL] = "small pages: the kernel gives no others",
                [XAC_REWIRE_HUGE] = "transparent huge pages",
                [XAC_REWIRE_HUGETLB] = "huge pages of hugetlb",
        };
        const xac_rewire_pool_options options = { .page_bytes = XAC_REWIRE_HUGE_BYTES,
                                                  .max_bytes = XAC_REWIRE_HUGE_BYTES };
        xac_rewire_pool_stats stats;
        xac_rewire_pool *pool;

        must(xac_rewire_pool_create(&options, &pool), "xac_rewire_pool_create");
        must(xac_rewire_pool_grow(pool, 1), "xac_rewire_pool_grow");
        xac_rewire_pool_stat(pool, &stats);
        printf("pools of 2 MiB pages are made of %s\n", names[stats.backing]);
        must(xac_rewire_pool_destroy(pool), "xac_rewire_pool_destroy");
}

int main(int argc, char **argv)
{
        struct rewire_bench bench = {
                .entries = 10000000, .batch = 100000, .reads = 10000000, .bytes = 256 << 20, .rounds = 3, .seed = 1
        };
        const char *chosen = "vector,allocation,faults,shuffle,patterns";
        const struct option_spec options[] = {
                OPTION_TEXT("experiment", chosen, "which, separated by commas"),
                OPTION_NUMBER("entries", bench.entries, "vector: of 8 bytes, appended"),
                OPTION_NUMBER("batch", bench.batch, "vector: entries between two looks at the clock"),
                OPTION_NUMBER("reads", bench.reads, "vector: at random"),
                OPTION_TEXT("std", bench.std_library,
                            "vector: the library of vector_std.cc (bench/papers/ruma-2016/run makes it)"),
                OPTION_NUMBER("bytes", bench.bytes, "of memory, in the other experiments"),
                OPTION_NUMBER("rounds", bench.rounds, "repetitions of each measurement"),
                OPTION_NUMBER("seed", bench.seed, "of all that is random"),
                OPTION_TEXT("tsv", bench.tsv, "a folder for the tables, separated by tabs"),
                OPTION_END,
        };

        options_parse(argc, argv, "What rewired memory costs, and what it saves.", options);
        check(&bench);
        say_backing();
        options_words(chosen, run, &bench);
        return EXIT_SUCCESS;
}
