/* SPDX-License-Identifier: MIT */

/*
 * xac_arena_trim: free pages are zeros afterwards, and holes in the file once a checkpoint or a recovery has taken them
 * home; nothing else has changed.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <xac/tree.h>

#include "base/sys.h"
#include "base/zeros.h"
#include "tests/support/actor.h"
#include "tests/support/chance.h"
#include "tests/support/check.h"
#include "tests/support/isolate.h"
#include "tests/support/scratch.h"
#include "tests/trees/account.h"
#include "tests/trees/ways.h"
#include "tests/trees/xtree.h"

enum { KEYS = 6000, VALUE_BYTES = 300, KEPT_EACH = 10, WRITERS = 3, ROUNDS = 40, ROUND_CHANGES = 50 };

static _Thread_local xac_tree *tree;

static void put(uint32_t key, uint32_t version)
{
        unsigned char value[VALUE_BYTES];

        memset(value, (int)(key + version) | 1, sizeof(value));
        check_ok(xac_tree_put(tree, &key, sizeof(key), value, sizeof(value), 0));
}

static void check_record(uint32_t key, uint32_t version)
{
        unsigned char value[VALUE_BYTES];
        size_t value_len;

        check_ok(xac_tree_get(tree, &key, sizeof(key), value, sizeof(value), &value_len));
        check_equal(value_len, VALUE_BYTES);
        check_equal(value[0], (unsigned char)((key + version) | 1));
        check_equal(memcmp(value, value + 1, VALUE_BYTES - 1), 0);
}

static bool is_kept(uint32_t key)
{
        return key % KEPT_EACH == 0;
}

/* Most of what was put is deleted again. */
static void open_thinned(int way)
{
        ways_open(way);
        check_ok(xtree_open(ways.arena, "tree", XAC_TREE_CREATE, NULL, &tree));
        for (uint32_t key = 0; key < KEYS; key++)
                put(key, 0);
        for (uint32_t key = 0; key < KEYS; key++)
                if (!is_kept(key))
                        check_ok(xac_tree_delete(tree, &key, sizeof(key)));
}

static void check_kept(void)
{
        xac_tree_report report;

        for (uint32_t key = 0; key < KEYS; key += KEPT_EACH)
                check_record(key, 0);
        check_ok(xac_tree_check(ways.arena, &report));
}

static void close_tree(void)
{
        xac_tree_close(tree);
        ways_close();
}

/* ---- What is free is zeros ---- */

/* Pages that are free; how many are others. */
static uint64_t check_free_pages(uint64_t *used)
{
        uint64_t count = 0;

        *used = 0;
        ways_begin();
        for (page_no page = 0; page < account_groups() * GROUP_PAGES; page++) {
                if (!account_is_free(page)) {
                        ++*used;
                        continue;
                }
                check(are_zeros(arena_read(ways.arena, page), ways.arena->page_bytes));
                count++;
        }
        check_ok(ways_end());
        return count;
}

static void free_pages_become_zeros(int way)
{
        uint64_t trimmed, again, used;

        open_thinned(way);
        check_ok(xac_arena_trim(ways.arena, NULL, NULL, &trimmed));
        if (!xtree_is_cob() || ways.arena->page_bytes == 4096) /* a few large segments give none back */
                check(trimmed >= (uint64_t)KEYS * VALUE_BYTES / 4);
        check(check_free_pages(&used) * ways.arena->page_bytes >= trimmed);
        check_kept();
        check_ok(xac_arena_trim(ways.arena, NULL, NULL, &again));
        check_equal(again, 0);
        for (uint32_t key = 1; key < KEYS; key++) /* its room is used again */
                if (!is_kept(key))
                        put(key, 0);
        check_kept();
        close_tree();
}

struct told {
        int calls;
        uint64_t done, total;
        int says;
};

static int tell(void *arg, uint64_t done, uint64_t total)
{
        struct told *told = arg;

        check(done > told->done && done <= total);
        *told = (struct told){ told->calls + 1, done, total, told->says };
        return told->says;
}

static void progress_comes_to_its_end_or_ends_it(int way)
{
        struct told told = { 0 }, stops = { .says = 7 };

        open_thinned(way);
        check_equal(xac_arena_trim(ways.arena, tell, &stops, NULL), 7);
        check_equal(stops.calls, 1);
        check_ok(xac_arena_trim(ways.arena, tell, &told, NULL));
        check_equal(told.done, told.total);
        close_tree();
}

static void within_a_transaction_it_is_refused(int way)
{
        ways_open(way);
        ways_begin();
        check_code(xac_arena_trim(ways.arena, NULL, NULL, NULL), -EBUSY);
        ways_abort();
        check_code(xac_arena_trim(NULL, NULL, NULL, NULL), -EINVAL);
        check_ok(xac_arena_trim(ways.arena, NULL, NULL, NULL)); /* of an arena in which nothing was written */
        ways_close();
}

/* ---- What is zeros is a hole ---- */

static uint64_t bytes_on_disk(const char *path)
{
        struct stat st;

        check_equal(stat(scratch_path(path), &st), 0);
        return (uint64_t)st.st_blocks * 512;
}

/* As long as before, and hardly more than what is in use. */
static void check_holes(const char *path, long long file_bytes)
{
        uint64_t used;

        check_free_pages(&used);
        check_equal(scratch_file_size(scratch_path(path)), file_bytes);
        check(bytes_on_disk(path) <= used * ways.arena->page_bytes * 13 / 10);
}

static void checkpoints_make_holes(int way)
{
        open_thinned(way);
        check_ok(xac_checkpoint(ways.env));
        const long long file_bytes = scratch_file_size(scratch_path("env/pages"));
        const uint64_t before = bytes_on_disk("env/pages");
        check_ok(xac_arena_trim(ways.arena, NULL, NULL, NULL));
        check_ok(xac_checkpoint(ways.env));
        check(bytes_on_disk("env/pages") < before / 2);
        check_holes("env/pages", file_bytes);
        close_tree();

        ways_open(way);
        check_ok(xtree_open(ways.arena, "tree", 0, NULL, &tree));
        check_holes("env/pages", file_bytes);
        check_kept();
        close_tree();
}

static int refuse_holes(enum sys_call call, int fd, uint64_t offset, size_t byte_len)
{
        (void)fd, (void)offset, (void)byte_len;
        return call == SYS_PUNCH ? -EOPNOTSUPP : 0;
}

static void where_there_are_no_holes_zeros_are_written(int way)
{
        uint64_t used;

        open_thinned(way);
        check_ok(xac_checkpoint(ways.env));
        const uint64_t before = bytes_on_disk("env/pages");
        sys_fail = refuse_holes;
        check_ok(xac_arena_trim(ways.arena, NULL, NULL, NULL));
        check_ok(xac_checkpoint(ways.env));
        sys_fail = NULL;
        check(bytes_on_disk("env/pages") >= before);
        close_tree();

        ways_open(way);
        check_ok(xtree_open(ways.arena, "tree", 0, NULL, &tree));
        check_free_pages(&used);
        check_kept();
        close_tree();
}

/* The directory as a power cut leaves it, on a file system without holes: the log has the zeros, and the file does not.
 */
static void recoveries_make_holes(int way)
{
        uint64_t trimmed, used;

        setenv("XAC_TEST_DURABLE", "1", 1);
        open_thinned(way);
        check_ok(xac_checkpoint(ways.env));
        check_ok(xac_arena_trim(ways.arena, NULL, NULL, &trimmed));
        check_ok(xac_sync(ways.env));
        scratch_shell("cp -a --sparse=never '%s' '%s'", scratch_path("env"), scratch_path("cut"));
        close_tree();
        scratch_shell("rm -r '%s' && mv '%s' '%s'", scratch_path("env"), scratch_path("cut"), scratch_path("env"));
        const uint64_t file_bytes = (uint64_t)scratch_file_size(scratch_path("env/pages"));
        check(bytes_on_disk("env/pages") >= file_bytes);

        ways_open(way);
        check_ok(xtree_open(ways.arena, "tree", 0, NULL, &tree));
        check_equal(scratch_file_size(scratch_path("env/pages")), file_bytes);
        check(bytes_on_disk("env/pages") <= file_bytes - trimmed + 65536);
        check_free_pages(&used);
        check_kept();
        close_tree();
}

/* ---- Beside others ---- */

struct lane {
        uint32_t versions[KEYS / WRITERS]; /* 0: there is no record */
        struct chance chance;
};

static _Thread_local struct lane lane;
static _Thread_local uint32_t lane_no;

static long long writer_open(uint64_t way_and_no)
{
        ways_enter(way_and_no >> 8);
        lane_no = (uint32_t)(way_and_no & 255);
        lane.chance.state = chance_seed() + lane_no;
        check_ok(xtree_open(ways.arena, "tree", 0, NULL, &tree));
        return 0;
}

/* Runs of neighbours come and go, so that pages do. */
static long long writer_change(uint64_t unused)
{
        (void)unused;
        for (int i = 0; i < ROUND_CHANGES; i++) {
                const uint32_t first = (uint32_t)chance_below(&lane.chance, KEYS / WRITERS - 20);
                const bool is_put = chance_percent(&lane.chance, 50);

                for (uint32_t at = first; at < first + 20; at++) {
                        const uint32_t key = at * WRITERS + lane_no;

                        if (is_put)
                                put(key, ++lane.versions[at]);
                        else if (lane.versions[at])
                                check_ok(xac_tree_delete(tree, &key, sizeof(key)));
                        if (!is_put)
                                lane.versions[at] = 0;
                }
        }
        return 0;
}

static long long writer_check(uint64_t unused)
{
        (void)unused;
        for (uint32_t at = 0; at < KEYS / WRITERS; at++) {
                const uint32_t key = at * WRITERS + lane_no;
                unsigned char value[VALUE_BYTES];
                size_t value_len;

                if (lane.versions[at])
                        check_record(key, lane.versions[at]);
                else
                        check_code(xac_tree_get(tree, &key, sizeof(key), value, sizeof(value), &value_len), -ENOENT);
        }
        return 0;
}

static long long writer_close(uint64_t unused)
{
        xac_tree_close(tree);
        return ways_leave(unused);
}

static void writers_go_on_meanwhile(int way)
{
        struct actor *writers[WRITERS];
        xac_tree_report report;
        uint64_t used;

        ways_open(way);
        check_ok(xtree_open(ways.arena, "tree", XAC_TREE_CREATE, NULL, &tree));
        for (unsigned i = 0; i < WRITERS; i++) {
                writers[i] = actor_start(way & WAYS_PROCESSES ? WAY_PROCESS : 0);
                actor_do(writers[i], writer_open, (uint64_t)way << 8 | i);
        }
        for (int round = 0; round < ROUNDS; round++) {
                for (unsigned i = 0; i < WRITERS; i++)
                        actor_send(writers[i], writer_change, 0);
                check_ok(xac_arena_trim(ways.arena, NULL, NULL, NULL));
                for (unsigned i = 0; i < WRITERS; i++)
                        actor_result(writers[i]);
        }
        for (unsigned i = 0; i < WRITERS; i++) {
                actor_do(writers[i], writer_check, 0);
                actor_do(writers[i], writer_close, 0);
                actor_stop(writers[i]);
        }
        check_ok(xac_arena_trim(ways.arena, NULL, NULL, NULL));
        check_free_pages(&used);
        check_ok(xac_tree_check(ways.arena, &report));
        close_tree();
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                trees_all(free_pages_become_zeros),
                ways_all(progress_comes_to_its_end_or_ends_it),
                ways_env(within_a_transaction_it_is_refused),
                ways_env(checkpoints_make_holes),
                ways_env(where_there_are_no_holes_zeros_are_written),
                ways_env(recoveries_make_holes),
                trees_crowd(writers_go_on_meanwhile),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
