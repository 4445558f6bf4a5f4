/* SPDX-License-Identifier: MIT */
#include "tests/trees/history_desk.h"

#include <errno.h>
#include <sched.h>
#include <time.h>

#include "libxac/process/thread.h"
#include "tests/support/check.h"

static const char *const files[] = { "trees", "large" };

static unsigned file_of(unsigned tree)
{
        return tree == HISTORY_TREES - 1;
}

/* Transactions of microseconds seldom meet where there are few processors: now and then one stops in its middle and
 * lets others go on. */
static void dawdle(struct desk *desk)
{
        const struct timespec shortest = { .tv_nsec = 1 };
        uint64_t draw = chance_next(&desk->chance);

        if (draw % 64 == 0)
                sched_yield();
        if (draw % 2048 == 0)
                nanosleep(&shortest, NULL);
}

/* ---- bytes into numbers ---- */

static unsigned key_number(unsigned tree, const void *bytes, size_t len)
{
        unsigned number = history_key_read(tree, bytes, len);

        if (number == UINT32_MAX)
                check_failed(__FILE__, __LINE__, "tree %u has a key that nobody put: %zu bytes", tree, len);
        return number;
}

static uint64_t value_tag(unsigned tree, unsigned key, const void *value, size_t len)
{
        uint64_t tag = history_value_read(tree, value, len);

        if (!tag)
                check_failed(__FILE__, __LINE__, "tree %u, key %u: a value that nobody put: %zu bytes", tree, key, len);
        return tag;
}

/* ---- calls ---- */

static int desk_get(void *desk_, unsigned tree, unsigned number, uint64_t *tag)
{
        struct desk *desk = desk_;
        struct history_key key;
        size_t len = 0;
        int err;

        dawdle(desk);
        history_key_make(&key, tree, number);
        err = xac_tree_get(desk->trees[tree], key.bytes, key.len, desk->value, sizeof(desk->value), &len);
        if (!err)
                *tag = value_tag(tree, number, desk->value, len);
        return err;
}

static int desk_put(void *desk_, unsigned tree, unsigned number, uint64_t tag, int flags)
{
        struct desk *desk = desk_;
        struct history_key key;
        size_t len = history_value_make(tree, tag, desk->value);

        dawdle(desk);
        history_key_make(&key, tree, number);
        return xac_tree_put(desk->trees[tree], key.bytes, key.len, desk->value, len, flags);
}

static int desk_remove(void *desk_, unsigned tree, unsigned number)
{
        struct desk *desk = desk_;
        struct history_key key;

        dawdle(desk);
        history_key_make(&key, tree, number);
        return xac_tree_delete(desk->trees[tree], key.bytes, key.len);
}

static int desk_count(void *desk_, unsigned tree, uint64_t *records)
{
        struct desk *desk = desk_;
        xtree_stats stats = { 0 };
        int err;

        dawdle(desk);
        err = xtree_stat(desk->trees[tree], &stats);
        *records = stats.records;
        return err;
}

/* ---- scans ---- */

struct desk_scan {
        struct desk *desk;
        unsigned tree;
        int (*visit)(void *arg, unsigned key, uint64_t tag);
        void *arg;
        int lost; /* what a value could not be read for */
};

enum { ENDED = 1 };

/* A long value is asked for: the scan's transaction is open, its own or this thread's. */
static int scan_visit(void *scan_, const xac_tree_record *record)
{
        struct desk_scan *scan = scan_;
        struct desk *desk = scan->desk;
        unsigned key = key_number(scan->tree, record->key, record->key_len);
        size_t len = record->value_len;
        uint64_t tag;

        if (!record->value)
                scan->lost = xac_tree_get(desk->trees[scan->tree], record->key, record->key_len, desk->value,
                                          sizeof(desk->value), &len);
        if (scan->lost)
                return ENDED;
        check_equal(len, record->value_len);
        tag = value_tag(scan->tree, key, record->value ? record->value : desk->value, len);
        return scan->visit(scan->arg, key, tag) ? ENDED : 0;
}

static int desk_scan(void *desk_, unsigned tree, unsigned from, unsigned to,
                     int (*visit)(void *arg, unsigned key, uint64_t tag), void *arg)
{
        struct desk *desk = desk_;
        struct desk_scan scan = { .desk = desk, .tree = tree, .visit = visit, .arg = arg };
        struct history_key first, end;
        int result;

        dawdle(desk);
        history_key_make(&first, tree, from);
        history_key_make(&end, tree, to);
        result = xtree_scan(desk->trees[tree], first.bytes, first.len, end.bytes, end.len, scan_visit, &scan);
        if (result == ENDED)
                result = 0;
        return result ? result : scan.lost;
}

/* ---- walks ---- */

static int desk_seek(void *desk_, unsigned tree, unsigned how, unsigned number)
{
        static const enum xac_tree_seek hows[] = {
                [SCRIPT_GE] = XAC_TREE_GE, [SCRIPT_LE] = XAC_TREE_LE, [SCRIPT_EQ] = XAC_TREE_EQ
        };
        struct desk *desk = desk_;
        struct history_key key;

        dawdle(desk);
        if (how == SCRIPT_FIRST)
                return xac_tree_cursor_first(desk->cursors[tree]);
        if (how == SCRIPT_LAST)
                return xac_tree_cursor_last(desk->cursors[tree]);
        history_key_make(&key, tree, number);
        return xac_tree_cursor_seek(desk->cursors[tree], key.bytes, key.len, hows[how]);
}

static int desk_step(void *desk_, unsigned tree, bool is_forward)
{
        struct desk *desk = desk_;

        dawdle(desk);
        return is_forward ? xac_tree_cursor_next(desk->cursors[tree]) : xac_tree_cursor_previous(desk->cursors[tree]);
}

/* A value that is read in two parts is the same. */
static int read_value(struct desk *desk, unsigned tree, size_t value_len)
{
        size_t half = value_len / 2, first = 0, second = 0;
        int err = xac_tree_cursor_read(desk->cursors[tree], half, desk->value + half, sizeof(desk->value) - half,
                                       &second);

        if (!err)
                err = xac_tree_cursor_read(desk->cursors[tree], 0, desk->value, half, &first);
        if (!err)
                check_equal(first + second, value_len);
        return err;
}

static int desk_record(void *desk_, unsigned tree, unsigned *key, uint64_t *tag)
{
        struct desk *desk = desk_;
        xac_tree_record record = { 0 };
        int err = xac_tree_cursor_record(desk->cursors[tree], &record);

        if (err)
                return err;
        *key = key_number(tree, record.key, record.key_len);
        if (!record.value || chance_next(&desk->chance) % 8 == 0) {
                err = read_value(desk, tree, record.value_len);
                record.value = desk->value;
        }
        if (!err)
                *tag = value_tag(tree, *key, record.value, record.value_len);
        return err;
}

static int desk_remove_here(void *desk_, unsigned tree)
{
        struct desk *desk = desk_;

        dawdle(desk);
        return xac_tree_cursor_delete(desk->cursors[tree]);
}

/* ---- levels ---- */

static int desk_begin(void *desk, int flags)
{
        return xbegin(((struct desk *)desk)->env, flags);
}

static int desk_end(void *desk)
{
        return xend(((struct desk *)desk)->env);
}

/* What a doomed transaction wrote into a view is not undone by an inner abort (docs/RESTRICTIONS.md): what it saw from
 * then on would mean nothing. So the script ends there. */
static int desk_abort(void *desk_)
{
        const struct desk *desk = desk_;
        struct thread *thread;
        int err = xabort(desk->env);

        check_ok(thread_of(desk->env, &thread));
        return !err && thread->txn.doom ? -ECANCELED : err;
}

const struct script_target desk_target = {
        .get = desk_get,
        .put = desk_put,
        .remove = desk_remove,
        .scan = desk_scan,
        .count = desk_count,
        .seek = desk_seek,
        .step = desk_step,
        .record = desk_record,
        .remove_here = desk_remove_here,
        .begin = desk_begin,
        .end = desk_end,
        .abort = desk_abort,
};

/* ---- opening, closing, checking ---- */

void desk_open(struct desk *desk, xac_env *env, enum xac_arena_access access)
{
        desk->env = env;
        for (unsigned i = 0; i < 2; i++)
                check_ok(xac_arena_open_env(env, files[i], access, &desk->arenas[i]));
        for (unsigned tree = 0; tree < HISTORY_TREES; tree++) {
                check_ok(xtree_open(desk->arenas[file_of(tree)], history_tree_names[tree], XAC_TREE_CREATE,
                                    &history_tree_options[tree], &desk->trees[tree]));
                check_ok(xac_tree_cursor_open(desk->trees[tree], &desk->cursors[tree]));
        }
}

void desk_close(struct desk *desk)
{
        for (unsigned tree = 0; tree < HISTORY_TREES; tree++) {
                xac_tree_cursor_close(desk->cursors[tree]);
                xac_tree_close(desk->trees[tree]);
        }
        for (unsigned i = 0; i < 2; i++)
                check_ok(xac_arena_close(desk->arenas[i]));
}

void desk_check(struct desk *desk)
{
        for (unsigned i = 0; i < 2; i++) {
                xac_tree_report report;
                int err = xac_tree_check(desk->arenas[i], &report);

                if (err)
                        check_failed(__FILE__, __LINE__, "xac_tree_check of \"%s\": %d (%s), page %llu: %s", files[i],
                                     err, xac_strerror(err), (unsigned long long)report.page_no, report.message);
        }
}
