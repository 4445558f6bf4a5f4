/* SPDX-License-Identifier: MIT */
#include <xac/tree.h>

/*
 * Segments that are full share with those beside them: after inserts at random places they are fuller than splits alone
 * leave them (0.69), and nothing is lost. Where records come in order nobody shares: what stays behind is full.
 */

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/chance.h"
#include "tests/support/check.h"
#include "tests/trees/ways.h"

enum { KEYS = 40000 };

static xac_tree *tree;

static void make_key(uint64_t number, unsigned char *key)
{
        for (unsigned i = 0; i < 8; i++)
                key[i] = (unsigned char)(number >> (56 - 8 * i));
}

static void open_tree(int way, bool is_fixed)
{
        const xac_tree_options options = { .kind = XAC_TREE_COBTREE,
                                           .key_bytes = is_fixed ? 8 : 0,
                                           .value_bytes = is_fixed ? 8 : 0 };
        ways_open(way);
        check_ok(xac_tree_open(ways.arena, is_fixed ? "fixed" : "variable", XAC_TREE_CREATE, &options, &tree));
}

static void put(uint64_t number)
{
        unsigned char key[8];
        make_key(number, key);
        check_ok(xac_tree_put(tree, key, sizeof(key), &number, sizeof(number), 0));
}

static int look(void *arg, const xac_tree_record *record)
{
        uint64_t *last = arg, number;
        unsigned char key[8];
        memcpy(&number, record->value, sizeof(number));
        make_key(number, key);
        check(!memcmp(record->key, key, sizeof(key)) && number > *last);
        *last = number;
        return 0;
}

/* All is there and in order; how full segments are. */
static double judge_and_close(uint64_t records)
{
        xac_tree_stats stats;
        xac_tree_report report;
        uint64_t last = 0;
        check_ok(xac_tree_check(ways.arena, &report));
        check_ok(xac_tree_scan(tree, NULL, 0, NULL, 0, look, &last));
        check_ok(xac_tree_stat(tree, &stats));
        check_equal(stats.records, records);
        const double fill = (double)stats.leaf_bytes_used / (double)stats.leaf_pages / 4096;
        printf("%" PRIu64 " records in %" PRIu64 " segments, of which %.3f is used\n", records, stats.leaf_pages, fill);
        xac_tree_close(tree);
        ways_close();
        return fill;
}

static double fill_at_random(int way, bool is_fixed)
{
        struct chance chance = { chance_seed() };
        open_tree(way, is_fixed);
        for (unsigned i = 0; i < KEYS; i++)
                put((chance_next(&chance) >> 8 << 16) + i + 1);
        return judge_and_close(KEYS);
}

static void at_random_segments_are_fuller(int way)
{
        check(fill_at_random(way, true) > 0.77);
        check(fill_at_random(way, false) > 0.77);
}

static void in_order_segments_are_full(int way)
{
        open_tree(way, true);
        for (unsigned i = 1; i <= KEYS; i++)
                put(i);
        check(judge_and_close(KEYS) > 0.95);
        open_tree(way, true);
        put(UINT64_C(1) << 40);
        for (unsigned i = 1; i <= KEYS; i++)
                put(i);
        check(judge_and_close(KEYS + 1) > 0.95);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_way(at_random_segments_are_fuller, IN_MEMORY, "memory"),
                isolated_way(at_random_segments_are_fuller, IN_DECLARED, "declared"),
                isolated_way(in_order_segments_are_full, IN_MEMORY, "memory"),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
