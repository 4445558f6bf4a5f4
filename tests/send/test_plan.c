/* SPDX-License-Identifier: MIT */
#include "send/plan.h"

/*
 * A range is planned in stretches: one begins behind the record with which the one before has ended, whatever its key,
 * and limits are for all of them together.
 */

#include <string.h>

#include "tests/support/check.h"
#include "tests/support/isolate.h"

enum { RECORDS = 200, VALUE = 40, FIXED = 0, SHORT = 10, LONG = XAC_TREE_KEY_MAX };

static xac_arena *arena;
static xac_tree *tree;
static size_t key_len;

static void make_key(unsigned number, unsigned char key[XAC_TREE_KEY_MAX])
{
        memset(key, 0xff, XAC_TREE_KEY_MAX);
        key[key_len - 1] = (unsigned char)number;
}

static void open_tree(int kind)
{
        static const xac_tree_options fixed = { .key_bytes = 8, .value_bytes = VALUE };
        static const char value[VALUE];
        unsigned char key[XAC_TREE_KEY_MAX];

        key_len = kind == FIXED ? 8 : (size_t)kind;
        check_ok(xac_arena_open_memory(1 << 26, 4096, &arena));
        check_ok(xac_tree_open(arena, "tree", XAC_TREE_CREATE, kind == FIXED ? &fixed : NULL, &tree));
        for (unsigned i = 256 - RECORDS; i < 256; i++) { /* the last one is the greatest key there is */
                make_key(i, key);
                check_ok(xac_tree_put(tree, key, key_len, value, VALUE, 0));
        }
}

static void close_tree(void)
{
        xac_tree_close(tree);
        check_ok(xac_arena_close(arena));
}

/* The records of a stretch are the next ones. */
static unsigned check_stretch(const struct plan *plan, unsigned next)
{
        unsigned char expected[XAC_TREE_KEY_MAX];
        xac_tree_record record;

        for (size_t leaf = 0; leaf < plan->count; leaf++)
                for (uint32_t i = plan->leaves[leaf].first; i < plan->leaves[leaf].end; i++) {
                        xac_tree_leaf_record(&plan->leaves[leaf].leaf, i, &record);
                        make_key(256 - RECORDS + next++, expected);
                        check_equal(record.key_len, key_len);
                        check(memcmp(record.key, expected, key_len) == 0);
                }
        return next;
}

static unsigned planned(struct plan *plan)
{
        unsigned next;

        check_ok(plan_begin(plan, NULL, 0));
        next = check_stretch(plan, 0);
        while (plan->has_more && !plan->is_cut) {
                check_ok(plan_go_on(plan));
                next = check_stretch(plan, next);
        }
        check_equal(plan->records, next);
        plan_free(plan);
        return next;
}

static void stretches_follow_each_other(int kind)
{
        open_tree(kind);
        for (size_t leaves = 1; leaves < 12; leaves++) {
                struct plan plan = { .tree = tree, .max_leaves = leaves };

                check_equal(planned(&plan), RECORDS);
                check(!plan.is_cut);
        }
        close_tree();
}

static void limits_are_for_all_of_them(int kind)
{
        open_tree(kind);
        const size_t record = key_len + VALUE;
        for (unsigned count = 1; count < RECORDS; count++) {
                struct plan by_records = { .tree = tree, .max_leaves = 1 + count % 5, .max_records = count };
                struct plan by_bytes = { .tree = tree,
                                         .max_leaves = 1 + count % 5,
                                         .max_bytes = count * record + count % record };
                struct plan by_both = { .tree = tree,
                                        .max_leaves = 1 + count % 5,
                                        .max_records = count,
                                        .max_bytes = (RECORDS - count) * record };

                check_equal(planned(&by_records), count);
                check_equal(planned(&by_bytes), count);
                check_equal(planned(&by_both), count < RECORDS - count ? count : RECORDS - count);
                check(by_records.is_cut && by_bytes.is_cut && by_both.is_cut);
        }
        struct plan all = { .tree = tree, .max_leaves = 3, .max_records = RECORDS };
        check_equal(planned(&all), RECORDS);
        check(!all.is_cut);
        struct plan small = { .tree = tree, .max_leaves = 3, .max_bytes = 1 };
        check_equal(planned(&small), 1);
        struct plan enough = { .tree = tree, .max_leaves = 3, .max_bytes = RECORDS * record };
        check_equal(planned(&enough), RECORDS);
        check(!enough.is_cut);
        close_tree();
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_way(stretches_follow_each_other, FIXED, "fixed"),
                isolated_way(stretches_follow_each_other, SHORT, "short keys"),
                isolated_way(stretches_follow_each_other, LONG, "the longest keys"),
                isolated_way(limits_are_for_all_of_them, FIXED, "fixed"),
                isolated_way(limits_are_for_all_of_them, SHORT, "short keys"),
                isolated_way(limits_are_for_all_of_them, LONG, "the longest keys"),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
