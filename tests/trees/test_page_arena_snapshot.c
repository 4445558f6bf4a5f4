/* SPDX-License-Identifier: MIT */

/*
 * Arenas of snapshots: trees of all kinds are as they were, for as many snapshots as there are, and nothing can be
 * written.
 */

#include <string.h>
#include <sys/mman.h>

#include <xac/ehash.h>

#include "pages/page_arena.h"
#include "tests/support/chance.h"
#include "tests/support/check.h"
#include "tests/support/isolate.h"
#include "tests/support/scratch.h"
#include "tests/support/seat.h"
#include "tests/trees/xtree.h"

enum { SNAPSHOTS = 6, KEYS = 3000, ROUNDS = 60, CHANGES = 200 };

static xac_env *env;
static page_arena *arena;
static struct chance chance;

static void open_env(void)
{
        chance.state = chance_seed();
        check_ok(xac_open(scratch_path("env"), seat_open_flags(0), NULL, &env));
        check_ok(page_arena_open_env(env, "trees", PAGE_ARENA_DECLARED, &arena));
}

static void close_env(void)
{
        check_ok(page_arena_close(arena));
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

static void change(xtree *tree)
{
        for (int i = 0; i < CHANGES; i++) {
                const uint32_t key = (uint32_t)chance_below(&chance, KEYS);
                const uint32_t value = chance_percent(&chance, 30) ? 0 : (uint32_t)chance_below(&chance, 1000000) + 1;

                if (value)
                        check_ok(xtree_put(tree, &key, sizeof(key), &value, sizeof(value), 0));
                else
                        check_code(xtree_delete(tree, &key, sizeof(key)), now[key] ? 0 : -ENOENT);
                now[key] = value;
        }
}

static int count(void *records, const bptree_record *record)
{
        check_equal(record->value_len, sizeof(uint32_t));
        ++*(uint32_t *)records;
        return 0;
}

static void check_moment(const struct moment *moment)
{
        uint32_t value = 0, records = 0, expected = 0;
        bptree_report report;
        page_arena *then;
        size_t len;
        xtree *tree;

        check_ok(page_arena_open_snapshot(moment->snapshot, "trees", &then));
        check_ok(xtree_open(then, "tree", 0, NULL, &tree));
        for (uint32_t key = 0; key < KEYS; key++) {
                int err = xtree_get(tree, &key, sizeof(key), &value, sizeof(value), &len);

                check_code(err, moment->values[key] ? 0 : -ENOENT);
                check(err || value == moment->values[key]);
                expected += moment->values[key] != 0;
        }
        check_ok(xtree_scan(tree, NULL, 0, NULL, 0, count, &records));
        check_equal(records, expected);
        check_ok(bptree_check(then, &report));
        check_equal(report.records, expected);
        xtree_close(tree);
        check_ok(page_arena_close(then));
}

static void trees_are_as_they_were(int kind)
{
        xtree *tree;

        xtree_choose((enum xtree_kind)kind);
        open_env();
        check_ok(xtree_open(arena, "tree", XTREE_CREATE, NULL, &tree));
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
        xtree_close(tree);
        close_env();
}

/* ---- what cannot be done ---- */

static int nothing_to_load(void *nothing, bptree_record *record)
{
        (void)nothing;
        (void)record;
        return 0;
}

static void nothing_can_be_written(int kind)
{
        xac_snapshot *snapshot;
        page_arena *then;
        xtree *tree, *same, *none = NULL;
        xtree_cursor *cursor;

        xtree_choose((enum xtree_kind)kind);
        open_env();
        check_ok(xtree_open(arena, "tree", XTREE_CREATE, NULL, &tree));
        check_ok(xtree_put(tree, "key", 3, "value", 5, 0));
        check_ok(xac_snapshot_open(env, 0, &snapshot));
        check_ok(page_arena_open_snapshot(snapshot, "trees", &then));
        check_ok(xtree_open(then, "tree", 0, NULL, &same));
        check_code(xtree_put(same, "key", 3, "other", 5, 0), XAC_READONLY);
        check_code(xtree_put(same, "new", 3, "value", 5, 0), XAC_READONLY);
        check_code(xtree_delete(same, "key", 3), XAC_READONLY);
        check_code(xtree_open(then, "new", XTREE_CREATE, NULL, &none), XAC_READONLY);
        check_code(bptree_drop(then, "tree"), XAC_READONLY);
        if (kind != XTREE_EHASH)
                check_code(xtree_load(same, nothing_to_load, NULL), XAC_READONLY);
        check_ok(xtree_cursor_open(same, &cursor));
        check_ok(xtree_cursor_first(cursor));
        check_code(xtree_cursor_delete(cursor), XAC_READONLY);
        xtree_cursor_close(cursor);
        check_code(page_arena_close(then), -EBUSY);
        xtree_close(same);
        check_ok(page_arena_close(then));
        check_ok(xac_snapshot_close(snapshot));
        xtree_close(tree);
        close_env();
}

static void what_was_not_there_is_not(void)
{
        xac_snapshot *before, *after;
        page_arena *then = NULL;
        bptree *tree;
        void *plain;

        open_env();
        check_ok(xac_snapshot_open(env, 0, &before));
        check_ok(bptree_open(arena, "tree", BPTREE_CREATE, NULL, &tree));
        bptree_close(tree);
        plain = xac_mmap(env, "plain", 4096, 0);
        check(plain != MAP_FAILED);
        check_ok(xac_snapshot_open(env, 0, &after));
        check_code(page_arena_open_snapshot(NULL, "trees", &then), -EINVAL);
        check_code(page_arena_open_snapshot(after, NULL, &then), -EINVAL);
        check_code(page_arena_open_snapshot(after, "trees", NULL), -EINVAL);
        check_code(page_arena_open_snapshot(after, "none", &then), -ENOENT);
        check_code(page_arena_open_snapshot(after, "plain", &then), XAC_FORMAT);
        check(then == NULL);
        check_ok(page_arena_open_snapshot(before, "trees", &then));
        check_code(bptree_open(then, "tree", 0, NULL, &tree), -ENOENT);
        check_ok(page_arena_close(then));
        check_ok(xac_snapshot_close(before));
        check_ok(xac_snapshot_close(after));
        check_ok(xac_munmap(env, plain));
        close_env();
}

/* ---- what is closed first ---- */

static void what_has_an_arena_stays_open(void)
{
        xac_snapshot *snapshot;
        page_arena *old;

        open_env();
        check_code(xac_close(env), -EBUSY);
        check_ok(xac_snapshot_open(env, 0, &snapshot));
        check_ok(page_arena_open_snapshot(snapshot, "trees", &old));
        check_code(xac_snapshot_close(snapshot), -EBUSY);
        check_ok(page_arena_close(old));
        check_ok(xac_snapshot_close(snapshot));
        close_env();
}

/* One that could not be opened holds nothing. */
static void what_has_no_arena_is_closed(void)
{
        xac_snapshot *snapshot;
        page_arena *none;

        open_env();
        check_ok(xac_snapshot_open(env, 0, &snapshot));
        check_code(page_arena_open_snapshot(snapshot, "nothing", &none), -ENOENT);
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
