/* SPDX-License-Identifier: MIT */

/*
 * Trees against a sorted array (tree_model.h). Without options: a short run of each kind, as a test. With options,
 * one run of any length:
 *
 *         tests/trees/test_tree_model --way declared --operations 10000000 --seed 4711
 */

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/chance.h"
#include "tests/support/check.h"
#include "tests/support/isolate.h"
#include "tests/support/scratch.h"
#include "tests/trees/tree_model.h"
#include "tests/trees/ways.h"
#include "tests/trees/xtree.h"

static const struct model_options numbers = { .keys = 6000, .key_bytes = 8, .value_bytes = 8 };
static const struct model_options wide = { .keys = 20000, .key_bytes = 8, .value_bytes = 256 };
static const struct model_options set = { .keys = 9000, .key_bytes = 8, .value_bytes = 0 };
static const struct model_options words = { .keys = 8000, .key_max = 24, .value_max = 1100 };
static const struct model_options longest = { .keys = 700, .key_max = 1024, .value_max = 30000 };
static const struct model_options ordered = { .keys = 2500, .key_max = 300, .value_max = 5000, .with_own_order = 1 };

static void run(struct model_options options, int way)
{
        options.way = way;
        options.seed = chance_seed();
        options.operations = 12000;
        options.check_every = 1500;
        model_run(&options);
}

static void numbers_are_as_in_an_array(int way)
{
        run(numbers, way);
}

static void wide_values_are_as_in_an_array(int way)
{
        run(wide, way);
}

static void keys_alone_are_as_in_an_array(int way)
{
        run(set, way);
}

static void words_are_as_in_an_array(int way)
{
        run(words, way);
}

static void long_records_are_as_in_an_array(int way)
{
        run(longest, way);
}

static void own_order_is_as_in_an_array(int way)
{
        run(ordered, way);
}

/* ---- by options ---- */

static const struct option long_options[] = {
        { "operations", required_argument, NULL, 'n' },
        { "seed", required_argument, NULL, 's' },
        { "tree", required_argument, NULL, 't' },
        { "way", required_argument, NULL, 'w' },
        { "keys", required_argument, NULL, 'k' },
        { "key-bytes", required_argument, NULL, 'K' },
        { "value-bytes", required_argument, NULL, 'V' },
        { "key-max", required_argument, NULL, 'm' },
        { "value-max", required_argument, NULL, 'x' },
        { "check-every", required_argument, NULL, 'c' },
        { "own-order", no_argument, NULL, 'o' },
        { "large-pages", no_argument, NULL, 'l' },
        { NULL, 0, NULL, 0 },
};

static _Noreturn void usage(void)
{
        printf("usage: test_tree_model [--tree bptree|cobtree] [--way memory|file|view|declared] [--large-pages]\n"
               "                       [--operations N] [--seed S] [--keys N] [--check-every N]\n"
               "                       [--key-bytes 8 --value-bytes N | --key-max N --value-max N [--own-order]]\n");
        exit(2);
}

static int way_named(const char *name)
{
        static const char *const names[] = { "memory", "file", "view", "declared" };

        for (int way = 0; way < 4; way++)
                if (strcmp(name, names[way]) == 0)
                        return way;
        usage();
}

static int tree_named(const char *name)
{
        if (!xtree_choose_named(name))
                usage();
        return xtree_is_cob() ? WAYS_COBTREE : 0;
}

static void take_number(struct model_options *options, int option, uint64_t number)
{
        if (option == 'n')
                options->operations = number;
        else if (option == 's')
                options->seed = number;
        else if (option == 'k')
                options->keys = (unsigned)number;
        else if (option == 'K')
                options->key_bytes = (unsigned)number;
        else if (option == 'V')
                options->value_bytes = (unsigned)number;
        else if (option == 'm')
                options->key_max = (unsigned)number;
        else if (option == 'x')
                options->value_max = (unsigned)number;
        else
                options->check_every = (unsigned)number;
}

static struct model_options options_read(int argc, char **argv)
{
        struct model_options options = { .operations = 1000000, .keys = 20000, .key_max = 100, .value_max = 10000 };
        int option, flags = 0;

        while ((option = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
                if (option == 'w')
                        options.way = way_named(optarg);
                else if (option == 't')
                        flags |= tree_named(optarg);
                else if (option == 'o')
                        options.with_own_order = 1;
                else if (option == 'l')
                        flags |= WAYS_BIG;
                else if (option == '?')
                        usage();
                else
                        take_number(&options, option, strtoull(optarg, NULL, 0));
        }
        options.way |= flags;
        if (!options.seed)
                options.seed = chance_seed();
        if (!options.check_every)
                options.check_every = 50000;
        if (optind < argc || options.keys < 40 || options.key_max < 11 || options.key_max > 1024)
                usage();
        return options;
}

static int run_by_options(int argc, char **argv)
{
        struct model_options options = options_read(argc, argv);

        check_equal(scratch_make(1), 0);
        model_run(&options);
        scratch_remove();
        printf("seed %" PRIu64 ": %" PRIu64 " operations, 0 differences\n", options.seed, options.operations);
        return 0;
}

int main(int argc, char **argv)
{
        const struct CMUnitTest tests[] = {
                trees_all(numbers_are_as_in_an_array),      trees_all(wide_values_are_as_in_an_array),
                trees_all(keys_alone_are_as_in_an_array),   trees_all(words_are_as_in_an_array),
                trees_all(long_records_are_as_in_an_array), trees_all(own_order_is_as_in_an_array),
        };

        if (argc > 1)
                return run_by_options(argc, argv);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
