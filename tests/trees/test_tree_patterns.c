/* SPDX-License-Identifier: MIT */

/*
 * Trees under hard orders of puts and deletes (patterns.h), and how many pages a commit writes. Without options: each
 * pattern briefly. With options, one of any length, which says what it saw:
 *
 *         tests/trees/test_tree_patterns --tree cobtree --way declared --pattern hammer-up --records fixed
 *                 --keys 1000000
 */

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/chance.h"
#include "tests/support/check.h"
#include "tests/support/scratch.h"
#include "tests/trees/patterns.h"
#include "tests/trees/ways.h"
#include "tests/trees/xtree.h"

/* A single put or delete outside of transactions; those of long values take their pages as well, and are not tried
 * here. */
enum { PAGES_OF_A_COMMIT = 64 };

/* Inserts in order move few pages, and leave few gaps in the extents; each has 507 segments at least. */
static void judge_order(const struct pattern_options *options, const struct pattern_tally *tally)
{
        enum { SEGMENTS = 507 };

        if (!xtree_is_cob() || (options->pattern != PATTERN_ASCENDING && options->pattern != PATTERN_DESCENDING))
                return;
        if (2 * tally->moves > tally->record_pages || tally->most_height > tally->record_pages / SEGMENTS + 2)
                check_failed(__FILE__, __LINE__,
                             "%s, %s: %" PRIu64 " pages moved, %" PRIu64 " extents, for %" PRIu64 " segments",
                             pattern_names[options->pattern], pattern_record_names[options->records], tally->moves,
                             tally->most_height, tally->record_pages);
}

static void judge(const struct pattern_options *options, const struct pattern_tally *tally)
{
        judge_order(options, tally);
        if ((options->way & WAYS_KIND) < IN_VIEW)
                return;
        check(tally->commits > 0);
        if (tally->most_pages > PAGES_OF_A_COMMIT)
                check_failed(__FILE__, __LINE__, "a commit of %s, %s, wrote %" PRIu64 " pages",
                             pattern_names[options->pattern], pattern_record_names[options->records],
                             tally->most_pages);
}

/* ---- briefly ---- */

/* So many that a cobtree of 4 KiB pages has some extents, where it does not take too long. */
static uint64_t few(enum pattern_records records, int way)
{
        static const uint64_t keys[RECORDS_KINDS] = { 60000, 8000, 5000, 5000, 5000 };
        const int kind = way & WAYS_KIND;

        return kind == IN_VIEW ? keys[records] / 10 : kind == IN_DECLARED ? keys[records] / 2 : keys[records];
}

static void run_all(int way, enum pattern pattern)
{
        struct pattern_tally tally;

        for (int records = 0; records < RECORDS_KINDS; records++) {
                struct pattern_options options = { .way = way, .pattern = pattern, .records = records };

                options.seed = chance_seed();
                options.keys = few(records, way) / (pattern >= PATTERN_ZIPF ? 3 : 1);
                pattern_run(&options, &tally);
                judge(&options, &tally);
                scratch_clear();
        }
}

static void ascending(int way)
{
        run_all(way, PATTERN_ASCENDING);
}

static void descending(int way)
{
        run_all(way, PATTERN_DESCENDING);
}

static void at_random(int way)
{
        run_all(way, PATTERN_RANDOM);
}

static void upwards_in_one_place(int way)
{
        run_all(way, PATTERN_HAMMER_UP);
}

static void downwards_in_one_place(int way)
{
        run_all(way, PATTERN_HAMMER_DOWN);
}

static void inwards_in_one_place(int way)
{
        run_all(way, PATTERN_HAMMER_INWARD);
}

static void at_random_in_one_place(int way)
{
        run_all(way, PATTERN_HAMMER_RANDOM);
}

static void few_keys_most_of_the_time(int way)
{
        run_all(way, PATTERN_ZIPF);
}

static void all_in_and_all_out(int way)
{
        run_all(way, PATTERN_ALL_AND_NONE);
}

static void up_and_down(int way)
{
        run_all(way, PATTERN_WAVES);
}

/* ---- by options ---- */

static const struct option long_options[] = {
        { "tree", required_argument, NULL, 't' },       { "way", required_argument, NULL, 'w' },
        { "pattern", required_argument, NULL, 'p' },    { "records", required_argument, NULL, 'r' },
        { "keys", required_argument, NULL, 'k' },       { "seed", required_argument, NULL, 's' },
        { "page-bytes", required_argument, NULL, 'b' }, { NULL, 0, NULL, 0 },
};

static _Noreturn void usage(void)
{
        printf("usage: test_tree_patterns [--tree bptree|cobtree] [--way memory|file|view|declared] [--page-bytes "
               "4096|16384|65536]\n"
               "                          [--pattern NAME] [--records NAME] [--keys N] [--seed S]\n");
        exit(2);
}

static int named(const char *name, const char *const *names, int count)
{
        for (int i = 0; i < count; i++)
                if (strcmp(name, names[i]) == 0)
                        return i;
        usage();
}

static void take_option(struct pattern_options *options, int option)
{
        static const char *const entries[] = { "memory", "file", "view", "declared" };
        static const char *const pages[] = { "4096", "65536", "16384" };

        switch (option) {
        case 't':
                options->way |= named(optarg, xtree_names, XTREE_ORDERED) ? WAYS_COBTREE : 0;
                break;
        case 'w':
                options->way |= named(optarg, entries, 4);
                break;
        case 'b':
                options->way |= (const int[]){ 0, WAYS_BIG, WAYS_MIDDLE }[named(optarg, pages, 3)];
                break;
        case 'p':
                options->pattern = named(optarg, pattern_names, PATTERNS);
                break;
        case 'r':
                options->records = named(optarg, pattern_record_names, RECORDS_KINDS);
                break;
        case 'k':
                options->keys = strtoull(optarg, NULL, 0);
                break;
        case 's':
                options->seed = strtoull(optarg, NULL, 0);
                break;
        default:
                usage();
        }
}

static int run_by_options(int argc, char **argv)
{
        struct pattern_options options = { .keys = 100000 };
        struct pattern_tally tally;

        for (int option; (option = getopt_long(argc, argv, "", long_options, NULL)) != -1;)
                take_option(&options, option);
        if (!options.seed)
                options.seed = chance_seed();
        if (optind < argc || options.keys < 100)
                usage();
        check_equal(scratch_make(1), 0);
        pattern_run(&options, &tally);
        judge(&options, &tally);
        scratch_remove();
        printf("%s, %s, %s: %" PRIu64 " operations, up to %" PRIu64
               " %s; pages written by a commit: %.3f, at most %" PRIu64 "\n",
               xtree_name(), pattern_names[options.pattern], pattern_record_names[options.records], tally.operations,
               tally.most_height, xtree_is_cob() ? "extents" : "levels",
               tally.commits ? (double)tally.pages_written / (double)tally.commits : 0, tally.most_pages);
        printf("%" PRIu64 " pages of records, %.0f %% of the file; %.2f pages moved for each of them\n",
               tally.record_pages, 100 * tally.fill, (double)tally.moves / (double)tally.record_pages);
        return 0;
}

#define by_turns(body)                                                                                              \
        isolated_trees(body, IN_MEMORY, "memory"), isolated_trees(body, IN_MEMORY | WAYS_MIDDLE, "memory, 16 KiB"), \
                isolated_trees(body, IN_VIEW, "view"), isolated_trees(body, IN_DECLARED, "declared")

int main(int argc, char **argv)
{
        const struct CMUnitTest tests[] = {
                by_turns(ascending),
                by_turns(descending),
                by_turns(at_random),
                by_turns(upwards_in_one_place),
                by_turns(downwards_in_one_place),
                by_turns(inwards_in_one_place),
                by_turns(at_random_in_one_place),
                by_turns(few_keys_most_of_the_time),
                by_turns(all_in_and_all_out),
                by_turns(up_and_down),
        };

        if (argc > 1)
                return run_by_options(argc, argv);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
