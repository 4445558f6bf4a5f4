/* SPDX-License-Identifier: MIT */

/*
 * A B+-tree that is longer than the memory it may use, and on disk only: who reads leaf by leaf waits for few of them,
 * as the next ones are on their way; who reads a few records reads few leaves in vain.
 */

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <xac/tree.h>

#include "tests/support/chance.h"
#include "tests/support/check.h"
#include "tests/support/crew.h"
#include "tests/support/disk_reads.h"
#include "tests/support/isolate.h"
#include "tests/support/scratch.h"

enum { RECORDS = 60000, KEY_BYTES = 8, VALUE_BYTES = 1000, BATCH = 100, GROUP_BYTES = 64 << 20, PAGE_BYTES = 4096 };
enum { LEAVES_MIN = RECORDS / 4, RANGES = 30, RANGE_RECORDS = 30 };

enum look { BY_SCAN, BY_CURSOR, BY_LEAVES };

static xac_env *env;
static xac_arena *arena;
static xac_tree *tree;

static void open_tree(enum xac_arena_access access)
{
        const xac_tree_options options = { .kind = XAC_TREE_BPLUS };
        check_ok(xac_open(scratch_path("env"), XAC_CREATE | XAC_NOSYNC, NULL, &env));
        check_ok(xac_arena_open_env(env, "records", access, &arena));
        check_ok(xac_tree_open(arena, "tree", XAC_TREE_CREATE, &options, &tree));
}

static void close_tree(void)
{
        xac_tree_close(tree);
        check_ok(xac_arena_close(arena));
        check_ok(xac_close(env));
}

static void make_key(uint64_t number, unsigned char key[KEY_BYTES])
{
        number = __builtin_bswap64(number);
        memcpy(key, &number, KEY_BYTES);
}

/* An odd factor: each number below RECORDS once, here and there. */
static int put_batch(void *first)
{
        static unsigned char value[VALUE_BYTES];
        unsigned char key[KEY_BYTES];
        for (uint64_t i = *(const uint64_t *)first, end = i + BATCH; i < end; i++) {
                make_key(i * 48271 % RECORDS, key);
                const int err = xac_tree_put(tree, key, KEY_BYTES, value, VALUE_BYTES, 0);
                if (err)
                        return err;
        }
        return 0;
}

static void make_cold_tree(void)
{
        open_tree(XAC_ARENA_DECLARED);
        for (uint64_t first = 0; first < RECORDS; first += BATCH)
                check_ok(xac_run(env, 0, put_batch, &first));
        close_tree();
        disk_reads_cool("env/records");
}

static uint64_t records;

static int count_record(void *most, const xac_tree_record *record)
{
        (void)record;
        return ++records == *(const uint64_t *)most;
}

static int count_leaf(void *unused, const xac_tree_leaf_view *view)
{
        (void)unused;
        records += view->end - view->first;
        return *(const volatile unsigned char *)view->leaf.page == 0 && records > RECORDS;
}

static int move_cursor(void *unused)
{
        (void)unused;
        xac_tree_cursor *cursor;
        int err = xac_tree_cursor_open(tree, &cursor);
        if (err)
                return err;
        for (err = xac_tree_cursor_first(cursor); !err; err = xac_tree_cursor_next(cursor))
                records++;
        xac_tree_cursor_close(cursor);
        return err == -ENOENT ? 0 : err;
}

static void read_all(int way, void *unused)
{
        uint64_t most = UINT64_MAX;
        (void)unused;
        open_tree(XAC_ARENA_DECLARED);
        const uint64_t before = disk_reads_waits();
        if (way == BY_SCAN)
                check_ok(xac_tree_scan(tree, NULL, 0, NULL, 0, count_record, &most));
        else if (way == BY_LEAVES)
                check_ok(xac_tree_scan_leaves(tree, NULL, 0, NULL, 0, count_leaf, NULL));
        else
                check_ok(xac_run(env, XAC_RDONLY, move_cursor, NULL));
        fprintf(stderr, "%" PRIu64 " waits for %d leaves at least\n", disk_reads_waits() - before, (int)LEAVES_MIN);
        check_equal(records, RECORDS);
        check(disk_reads_waits() - before <= LEAVES_MIN / 4);
        close_tree();
}

static void read_ranges(int unused, void *unused_too)
{
        unsigned char key[KEY_BYTES];
        (void)unused, (void)unused_too;
        open_tree(XAC_ARENA_DECLARED);
        const uint64_t before = disk_reads_bytes();
        for (uint64_t i = 0; i < RANGES; i++) {
                uint64_t most = RANGE_RECORDS;
                make_key(i * (RECORDS / RANGES), key);
                records = 0;
                check_equal(xac_tree_scan(tree, key, KEY_BYTES, NULL, 0, count_record, &most), 1);
                check_equal(records, RANGE_RECORDS);
        }
        const uint64_t bytes = disk_reads_bytes() - before;
        fprintf(stderr, "%" PRIu64 " KiB read for %d ranges of %d records\n", bytes >> 10, (int)RANGES,
                (int)RANGE_RECORDS);
        check(bytes <= (uint64_t)RANGES * RANGE_RECORDS * PAGE_BYTES);
        close_tree();
}

static void all_is_read_ahead(int way)
{
        make_cold_tree();
        disk_reads_with_memory(GROUP_BYTES, read_all, way);
}

static void a_range_reads_few_leaves_in_vain(void)
{
        make_cold_tree();
        disk_reads_with_memory(GROUP_BYTES, read_ranges, 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_way(all_is_read_ahead, BY_SCAN, "by a scan"),
                isolated_way(all_is_read_ahead, BY_CURSOR, "by a cursor"),
                isolated_way(all_is_read_ahead, BY_LEAVES, "leaf by leaf"),
                isolated_test(a_range_reads_few_leaves_in_vain),
        };
        return cmocka_run_group_tests_name("tree_cold", tests, NULL, NULL);
}
