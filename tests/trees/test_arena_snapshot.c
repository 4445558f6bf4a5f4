/* SPDX-License-Identifier: MIT */

/*
 * Arenas of snapshots: trees of all kinds are as they were, for as many snapshots as there are, and nothing can be
 * written.
 */

#include <string.h>
#include <sys/mman.h>

#include <xac/tree.h>

#include "pages/arena.h"
#include "tests/support/chance.h"
#include "tests/support/check.h"
#include "tests/support/isolate.h"
#include "tests/support/scratch.h"
#include "tests/support/seat.h"
#include "tests/trees/xtree.h"

enum { SNAPSHOTS = 6, KEYS = 3000, ROUNDS = 60, CHANGES = 200 };

static xac_env *env;
static xac_arena *arena;
static struct chance chance;

static void open_env(void)
{
        chance.state = chance_seed();
        check_ok(xac_open(scratch_path("env"), seat_open_flags(0), NULL, &env));
        check_ok(xac_arena_open_env(env, "trees", XAC_ARENA_DECLARED, &arena));
}

static void close_env(void)
{
        check_ok(xac_arena_close(arena));
        check_ok(xac_close(env));
}

/* ---- what they show ---- */

/* The value of each key; 0: it is not there. */
struct moment {
        xac_snapshot *snapshot;
        uint32_t values[KEYS];
};

static struct moment moments[SNAPSHOTS];
static uint32_t now[KEYS];

static void change(xac_tree *tree)
{
        for (int i = 0; i < CHANGES; i++) {
                const uint32_t key = (uint32_t)chance_below(&chance, KEYS);
                const uint32_t value = chance_percent(&chance, 30) ? 0 : (uint32_t)chance_below(&chance, 1000000) + 1;

                if (value)
                        check_ok(xac_tree_put(tree, &key, sizeof(key), &value, sizeof(value), 0));
                else
                        check_code(xac_tree_delete(tree, &key, sizeof(key)), now[key] ? 0 : -ENOENT);
                now[key] = value;
        }
}

static int count(void *records, const xac_tree_record *record)
{
        check_equal(record->value_len, sizeof(uint32_t));
        ++*(uint32_t *)records;
        return 0;
}

static void check_moment(const struct moment *moment)
{
        uint32_t value = 0, records = 0, expected = 0;
        xac_tree_report report;
        xac_arena *then;
        size_t len;
        xac_tree *tree;

        check_ok(xac_arena_open_snapshot(moment->snapshot, "trees", &then));
        check_ok(xtree_open(then, "tree", 0, NULL, &tree));
        for (uint32_t key = 0; key < KEYS; key++) {
                int err = xac_tree_get(tree, &key, sizeof(key), &value, sizeof(value), &len);

                check_code(err, moment->values[key] ? 0 : -ENOENT);
                check(err || value == moment->values[key]);
                expected += moment->values[key] != 0;
        }
        check_ok(xtree_scan(tree, NULL, 0, NULL, 0, count, &records));
        check_equal(records, expected);
        check_ok(xac_tree_check(then, &report));
        check_equal(report.records, expected);
        xac_tree_close(tree);
        check_ok(xac_arena_close(then));
}

static void trees_are_as_they_were(int kind)
{
        xac_tree *tree;

        xtree_choose((enum xtree_kind)kind);
        open_env();
        check_ok(xtree_open(arena, "tree", XAC_TREE_CREATE, NULL, &tree));
        for (int round = 0; round < ROUNDS; round++) {
                struct moment *moment = &moments[chance_below(&chance, SNAPSHOTS)];

                if (moment->snapshot) {
                        check_moment(moment);
                        check_ok(xac_snapshot_close(moment->snapshot));
                }
                change(tree);
                if (chance_percent(&chance, 20))
                        check_ok(xac_checkpoint(env));
                check_ok(xac_snapshot_open(env, 0, &moment->snapshot));
                memcpy(moment->values, now, sizeof(now));
        }
        for (int i = 0; i < SNAPSHOTS; i++)
                if (moments[i].snapshot) {
                        check_moment(&moments[i]);
                        check_ok(xac_snapshot_close(moments[i].snapshot));
                }
        xac_tree_close(tree);
        close_env();
}

/* ---- what cannot be done ---- */

static int nothing_to_load(void *nothing, xac_tree_record *record)
{
        (void)nothing;
        (void)record;
        return 0;
}

static void nothing_can_be_written(int kind)
{
        xac_snapshot *snapshot;
        xac_arena *then;
        xac_tree *tree, *same, *none = NULL;
        xac_tree_cursor *cursor;

        xtree_choose((enum xtree_kind)kind);
        open_env();
        check_ok(xtree_open(arena, "tree", XAC_TREE_CREATE, NULL, &tree));
        check_ok(xac_tree_put(tree, "key", 3, "value", 5, 0));
        check_ok(xac_snapshot_open(env, 0, &snapshot));
        check_ok(xac_arena_open_snapshot(snapshot, "trees", &then));
        check_ok(xtree_open(then, "tree", 0, NULL, &same));
        check_code(xac_tree_put(same, "key", 3, "other", 5, 0), XAC_WROTE);
        check_code(xac_tree_put(same, "new", 3, "value", 5, 0), XAC_WROTE);
        check_code(xac_tree_delete(same, "key", 3), XAC_WROTE);
        check_code(xtree_open(then, "new", XAC_TREE_CREATE, NULL, &none), XAC_WROTE);
        check_code(xac_tree_drop(then, "tree"), XAC_WROTE);
        if (kind != XTREE_EHASH)
                check_code(xac_tree_load(same, nothing_to_load, NULL), XAC_WROTE);
        check_ok(xac_tree_cursor_open(same, &cursor));
        check_ok(xac_tree_cursor_first(cursor));
        check_code(xac_tree_cursor_delete(cursor), XAC_WROTE);
        xac_tree_cursor_close(cursor);
        check_code(xac_arena_close(then), -EBUSY);
        xac_tree_close(same);
        check_ok(xac_arena_close(then));
        check_ok(xac_snapshot_close(snapshot));
        xac_tree_close(tree);
        close_env();
}

static void what_was_not_there_is_not(void)
{
        xac_snapshot *before, *after;
        xac_arena *then = NULL;
        xac_tree *tree;
        void *plain;

        open_env();
        check_ok(xac_snapshot_open(env, 0, &before));
        check_ok(xac_tree_open(arena, "tree", XAC_TREE_CREATE, NULL, &tree));
        xac_tree_close(tree);
        plain = xac_mmap(env, "plain", 4096, 0);
        check(plain != MAP_FAILED);
        check_ok(xac_snapshot_open(env, 0, &after));
        check_code(xac_arena_open_snapshot(NULL, "trees", &then), -EINVAL);
        check_code(xac_arena_open_snapshot(after, NULL, &then), -EINVAL);
        check_code(xac_arena_open_snapshot(after, "trees", NULL), -EINVAL);
        check_code(xac_arena_open_snapshot(after, "none", &then), -ENOENT);
        check_code(xac_arena_open_snapshot(after, "plain", &then), XAC_FORMAT);
        check(then == NULL);
        check_ok(xac_arena_open_snapshot(before, "trees", &then));
        check_code(xac_tree_open(then, "tree", 0, NULL, &tree), -ENOENT);
        check_ok(xac_arena_close(then));
        check_ok(xac_snapshot_close(before));
        check_ok(xac_snapshot_close(after));
        check_ok(xac_munmap(env, plain));
        close_env();
}

/* ---- what is closed first ---- */

static void what_has_an_arena_stays_open(void)
{
        xac_snapshot *snapshot;
        xac_arena *old;

        open_env();
        check_code(xac_close(env), -EBUSY);
        check_ok(xac_snapshot_open(env, 0, &snapshot));
        check_ok(xac_arena_open_snapshot(snapshot, "trees", &old));
        check_code(xac_snapshot_close(snapshot), -EBUSY);
        check_ok(xac_arena_close(old));
        check_ok(xac_snapshot_close(snapshot));
        close_env();
}

/* One that could not be opened holds nothing. */
static void what_has_no_arena_is_closed(void)
{
        xac_snapshot *snapshot;
        xac_arena *none;

        open_env();
        check_ok(xac_snapshot_open(env, 0, &snapshot));
        check_code(xac_arena_open_snapshot(snapshot, "nothing", &none), -ENOENT);
        check_ok(xac_snapshot_close(snapshot));
        close_env();
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_test(what_has_an_arena_stays_open),
                isolated_test(what_has_no_arena_is_closed),
                isolated_way(trees_are_as_they_were, XTREE_BPTREE, "bptree"),
                isolated_way(trees_are_as_they_were, XTREE_COBTREE, "cobtree"),
                isolated_way(trees_are_as_they_were, XTREE_EHASH, "ehash"),
                isolated_way(nothing_can_be_written, XTREE_BPTREE, "bptree"),
                isolated_way(nothing_can_be_written, XTREE_COBTREE, "cobtree"),
                isolated_way(nothing_can_be_written, XTREE_EHASH, "ehash"),
                isolated_test(what_was_not_there_is_not),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
