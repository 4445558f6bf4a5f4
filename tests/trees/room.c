/* SPDX-License-Identifier: MIT */

/*
 * Trees in an environment where room runs out: the version pool, the address space that a file may grow into, the disk.
 * Each is a code; the tree is as it was before the call, or before the transaction that is lost, and work goes on.
 */

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "tests/support/chance.h"
#include "tests/support/check.h"
#include "tests/support/scratch.h"
#include "tests/support/seat.h"
#include "tests/trees/sorted.h"
#include "tests/trees/ways.h"
#include "tests/trees/xtree.h"

enum { SMALL_POOL = 1 << 20, SMALL_FILE = 4 << 20, SMALL_DISK = 12 << 20, LONG_VALUE = 4 << 20, USUAL = 900 };

static xac_tree *tree;
static struct sorted content;
static struct chance chance;
static unsigned char value[LONG_VALUE];

/* ---- a tree, and what is in it ---- */

static void set_up(int way, const xac_options *options)
{
        chance.state = chance_seed();
        check_ok(xtree_open(ways_open_with(way, options), "tree", XAC_TREE_CREATE, NULL, &tree));
        memset(value, 'v', sizeof(value));
}

static void prove_content(void)
{
        char text[256];

        if (!sorted_is_tree(&content, tree, text, sizeof(text)))
                check_failed(__FILE__, __LINE__, "%s", text);
}

/* Nothing wrong, and nothing else there. */
static void prove(void)
{
        xac_tree_report report;
        int err = xac_tree_check(ways.arena, &report);

        if (err)
                check_failed(__FILE__, __LINE__, "xac_tree_check: %d, page %llu: %s", err,
                             (unsigned long long)report.page_no, report.message);
        prove_content();
}

static void tear_down(void)
{
        prove();
        xac_tree_close(tree);
        ways_close();
        sorted_clear(&content);
}

static size_t make_key(unsigned n, char *key)
{
        return (size_t)snprintf(key, 32, "%08u", n * 2654435761U % 100000000);
}

/* The code is returned; what was done is in the content. */
static int put(unsigned n, size_t value_len)
{
        char key[32];
        size_t key_len = make_key(n, key);
        int err = xac_tree_put(tree, key, key_len, value, value_len, 0);

        if (!err)
                sorted_put(&content, key, key_len, value, value_len);
        return err;
}

static int delete (unsigned n)
{
        char key[32];
        size_t key_len = make_key(n, key);
        int err = xac_tree_delete(tree, key, key_len);

        if (!err)
                sorted_delete(&content, key, key_len);
        return err;
}

static void put_some(unsigned from, unsigned count, size_t value_len)
{
        for (unsigned n = from; n < from + count; n++)
                check_ok(put(n, value_len));
}

/* ---- the pool ---- */

/* In a view nothing can be refused in the middle; there the end says it. */
static void outgrow_the_pool(int way, bool is_nested)
{
        struct sorted before = { 0 };
        int err = 0;

        sorted_copy(&before, &content);
        check_ok(xbegin(ways.env, 0));
        if (is_nested)
                check_ok(xbegin(ways.env, 0));
        for (unsigned n = 1000; n < 3000 && !err; n++)
                err = put(n, USUAL);
        check(err == -ECANCELED || (way & WAYS_KIND) == IN_VIEW);
        if (is_nested)
                check_ok(xabort(ways.env));
        /* What is asked of a lost transaction has some code; it must have an end. */
        (void)delete (3);
        (void)put(4, 10);
        check_code(xend(ways.env), XAC_FULL);
        sorted_copy(&content, &before);
        sorted_clear(&before);
        prove();
}

static void a_transaction_larger_than_the_pool_has_not_happened(int way)
{
        const xac_options options = { .pool_bytes = SMALL_POOL };

        set_up(way, &options);
        put_some(0, 200, USUAL);
        outgrow_the_pool(way, false);
        put_some(200, 50, USUAL);
        outgrow_the_pool(way, true);
        put_some(250, 50, USUAL);
        tear_down();
}

struct loading {
        unsigned next;
        char key[32];
};

static int next_record(void *loading_, xac_tree_record *record)
{
        struct loading *loading = loading_;

        record->key = loading->key;
        record->key_len = (size_t)snprintf(loading->key, sizeof(loading->key), "x%08u", loading->next);
        record->value = value;
        record->value_len = USUAL;
        return loading->next++ < 4000;
}

static void single_calls_too_large_for_the_pool_have_not_happened(int way)
{
        const xac_options options = { .pool_bytes = SMALL_POOL };
        struct loading loading = { .next = 0 };

        set_up(way, &options);
        put_some(0, 100, USUAL);
        check_code(put(17, LONG_VALUE), XAC_FULL);
        prove();
        check_code(put(1000, LONG_VALUE), XAC_FULL);
        check_code(xac_tree_load(tree, next_record, &loading), XAC_FULL);
        prove();
        put_some(50, 100, 5000);
        tear_down();
}

/* Many small transactions are no trouble, whatever they add up to. */
static void a_tree_outgrows_the_pool(int way)
{
        const xac_options options = { .pool_bytes = SMALL_POOL };

        set_up(way, &options);
        put_some(0, 2500, USUAL);
        for (unsigned n = 0; n < 2500; n += 2)
                check_ok(delete (n));
        put_some(0, 600, 3000);
        tear_down();
}

/* ---- the file ---- */

static bool is_no_room(int err)
{
        return err == -ENOSPC || err == -ENOMEM;
}

/* Puts until there is no more room; so many were put. */
static unsigned fill(unsigned from, size_t value_len)
{
        unsigned n = from;
        int err;

        while (!(err = put(n, value_len)))
                check(++n < from + 100000);
        check(is_no_room(err));
        return n - from;
}

static void a_reservation_that_is_used_up_is_enomem(int way)
{
        const xac_options options = { .reserve_bytes = SMALL_FILE };

        set_up(way, &options);
        unsigned count = fill(0, USUAL);
        check_code(put(count, USUAL), -ENOMEM); /* as xac_tree_open(3) says, and xac_mmap(3) of any file */
        prove();
        for (unsigned n = 0; n < count; n += 3)
                check_ok(delete (n));
        check(fill(100000, USUAL) > 0);
        prove();
        /* Inside a transaction a call that finds no room has changed nothing, and the transaction goes on. */
        for (unsigned n = 1; n < count; n += 3)
                check_ok(delete (n));
        check_ok(xbegin(ways.env, 0));
        check(fill(200000, 60000) > 0);
        check_ok(delete (2));
        check(is_no_room(put(2, LONG_VALUE)));
        check_ok(put(2, 5));
        check(is_no_room(put(2, LONG_VALUE)));
        prove();
        check_ok(xend(ways.env));
        tear_down();
}

/* ---- the disk ---- */

static void mount_small(const char *where)
{
        char options[64];

        if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
                isolate_skip("mount namespaces are not permitted here");
        snprintf(options, sizeof(options), "size=%d,mode=1777", SMALL_DISK);
        check_equal(mount("none", where, "tmpfs", MS_NOSUID | MS_NODEV, options), 0);
}

static void resize(const char *where, int byte_len)
{
        char options[64];

        snprintf(options, sizeof(options), "size=%d", byte_len);
        check_equal(mount("none", where, "tmpfs", MS_REMOUNT | MS_NOSUID | MS_NODEV, options), 0);
}

/* A hole in a file of tmpfs needs room to be read, so that xac_tree_check, which looks at all pages, has to wait. */
static void a_full_disk_is_enospc(int way)
{
        const xac_options options = { .log_bytes = 1 << 20 };

        mount_small(scratch_path(""));
        set_up(way, &options);
        if (seat_is_durable()) {
                fill(0, USUAL);
        } else { /* without a log the disk is not asked before pages go home */
                put_some(0, 2 * SMALL_DISK / USUAL, USUAL);
                check_code(xac_checkpoint(ways.env), -ENOSPC);
                for (unsigned n = 0; n < SMALL_DISK / USUAL; n += 2)
                        check_ok(delete (n));
                put_some(100000, 1000, USUAL);
        }
        prove_content();
        resize(scratch_path(""), 8 * SMALL_DISK);
        prove();
        put_some(200000, 3000, USUAL);
        tear_down();
}

#define in_env(body) isolated_trees(body, IN_VIEW, "view"), isolated_trees(body, IN_DECLARED, "declared")

int main(void)
{
        const struct CMUnitTest tests[] = {
                in_env(a_transaction_larger_than_the_pool_has_not_happened),
                in_env(single_calls_too_large_for_the_pool_have_not_happened),
                in_env(a_tree_outgrows_the_pool),
                in_env(a_reservation_that_is_used_up_is_enomem),
                in_env(a_full_disk_is_enospc),
        };
        return cmocka_run_group_tests_name("room", tests, NULL, NULL);
}
