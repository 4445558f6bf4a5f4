/* SPDX-License-Identifier: MIT */
#ifndef BENCH_STORE_TREE_H
#define BENCH_STORE_TREE_H

/*
 * The stores of a kind of tree of libxactrees, by its three ways in. This is included by store_bptree.c,
 * store_cobtree.c and store_ehash.c, which say which kind it is:
 *
 *      #define TREE_KIND XAC_TREE_BPLUS
 *      #define TREE_PAGE_BYTES(task) 4096
 *      #include "bench/store_tree.h"
 *
 *      NAME            by declared access in an environment
 *      NAME-view       by plain pointers into a view of an environment
 *      NAME-serial     in plain memory: one worker, no transactions, nothing survives
 *
 *      memory          XAC_VOLATILE
 *      nosync          XAC_NOSYNC
 *      durable         no flag: the default
 *
 *  - pages as suits each tree best: store_bptree.c, store_cobtree.c (--page-size: others);
 *  - all other options are the defaults: a log of 256 MiB, of which a checkpoint runs in the background whenever half
 *    is used; a pool of half of the machine's memory, 4 GiB at most;
 *  - records with keys of 8 bytes and values of up to 256 are of fixed size (options.key_bytes);
 *  - single operations are calls outside of transactions, so that each is one of its own.
 */

#include "bench/store.h"

#include <errno.h>
#include <stdlib.h>

#include <xac/tree.h>

#include "bench/support/scratch.h"

#ifdef TREE_IS_UNORDERED
#define STORE_IS_UNORDERED true
#else
#define STORE_IS_UNORDERED false
#endif

struct seat {
        size_t key_bytes, value_bytes;
        xac_env *env; /* NULL: in plain memory */
        xac_arena *arena;
        xac_tree *tree;
};

/* ---- seats ---- */

static uint32_t page_bytes_of(const struct store_task *task)
{
        return task->page_bytes ? (uint32_t)task->page_bytes : TREE_PAGE_BYTES(task);
}

static xac_env *open_env(const struct store_task *task)
{
        const int flags[] = { [STORE_MEMORY] = XAC_VOLATILE, [STORE_NOSYNC] = XAC_NOSYNC, [STORE_DURABLE] = 0 };
        const xac_options options = { .page_bytes = page_bytes_of(task) };
        xac_env *env;

        must(xac_open(task->directory, XAC_CREATE | flags[task->promise], &options, &env), "xac_open");
        return env;
}

static bool is_fixed(const struct seat *seat)
{
        return seat->key_bytes == 8 && seat->value_bytes <= XAC_TREE_FIXED_VALUE_MAX;
}

static void open_tree(struct seat *seat, const struct store_task *task)
{
        seat->key_bytes = task->key_bytes;
        seat->value_bytes = task->value_bytes;
        const xac_tree_options options = { .kind = TREE_KIND,
                                           .key_bytes = is_fixed(seat) ? 8 : 0,
                                           .value_bytes = is_fixed(seat) ? (uint32_t)seat->value_bytes : 0 };

        must(xac_tree_open(seat->arena, "records", XAC_TREE_CREATE, &options, &seat->tree), "xac_tree_open");
}

static void *open_seat(const struct store_task *task, enum xac_arena_access access)
{
        struct seat *seat = store_new_seat(sizeof(*seat));

        seat->env = open_env(task);
        must(xac_arena_open_env(seat->env, "tree", access, &seat->arena), "xac_arena_open_env");
        open_tree(seat, task);
        return seat;
}

static void *open_declared(const struct store_task *task)
{
        return open_seat(task, XAC_ARENA_DECLARED);
}

static void *open_view(const struct store_task *task)
{
        return open_seat(task, XAC_ARENA_VIEW);
}

static void *open_serial(const struct store_task *task)
{
        struct seat *seat = store_new_seat(sizeof(*seat));

        must(xac_arena_open_memory(0, page_bytes_of(task), &seat->arena), "xac_arena_open_memory");
        open_tree(seat, task);
        return seat;
}

static void close_seat(void *arg)
{
        struct seat *seat = arg;

        xac_tree_close(seat->tree);
        must(xac_arena_close(seat->arena), "xac_arena_close");
        if (seat->env)
                must(xac_close(seat->env), "xac_close");
        free(seat);
}

/* ---- transactions ---- */

struct body {
        int (*run)(void *arg);
        void *arg;
};

/* Whoever has lost ends the transaction, so that its end says so, and xac_run begins again. */
static int run_body(void *arg)
{
        const struct body *body = arg;
        int outcome = body->run(body->arg);
        return outcome == STORE_LOST ? 0 : outcome;
}

static void run(void *arg, bool is_read_only, int (*body_run)(void *arg), void *body_arg)
{
        const struct seat *seat = arg;
        struct body body = { body_run, body_arg };

        if (seat->env)
                must(xac_run(seat->env, is_read_only ? XAC_RDONLY : 0, run_body, &body), "xac_run");
        else
                body_run(body_arg);
}

/* ---- operations ---- */

static int outcome_of(int err, const char *what)
{
        if (err == 0)
                return STORE_FOUND;
        if (err == -ENOENT)
                return STORE_ABSENT;
        if (err != -ECANCELED)
                scratch_fail(err, what);
        return STORE_LOST;
}

static int put(void *arg, const void *key, const void *value)
{
        const struct seat *seat = arg;
        return outcome_of(xac_tree_put(seat->tree, key, seat->key_bytes, value, seat->value_bytes, 0), "xac_tree_put");
}

static int get(void *arg, const void *key, void *value)
{
        const struct seat *seat = arg;
        return outcome_of(xac_tree_get(seat->tree, key, seat->key_bytes, value, seat->value_bytes, NULL),
                          "xac_tree_get");
}

static int remove_key(void *arg, const void *key)
{
        const struct seat *seat = arg;
        return outcome_of(xac_tree_delete(seat->tree, key, seat->key_bytes), "xac_tree_delete");
}

struct visit {
        struct store_digest digest;
        uint64_t left;
        const struct seat *seat;
};

/* Of a value in overflow pages the tree copies the beginning, for the digest, or all of it. */
static const void *value_of(const struct visit *visit, const xac_tree_record *record)
{
        static _Thread_local char value[STORE_VALUE_MAX];
        const size_t room = visit->digest.look ? sizeof(value) : sizeof(uint64_t);

        if (record->value)
                return record->value;
        const int err = xac_tree_get(visit->seat->tree, record->key, record->key_len, value, room, NULL);
        if (err && err != -ERANGE)
                scratch_fail(err, "xac_tree_get");
        return value;
}

enum { VISIT_ENDS = 1 };

static int visit_record(void *arg, const xac_tree_record *record)
{
        struct visit *visit = arg;
        visit->digest.keys += store_word(record->key);
        visit->digest.values += store_word(value_of(visit, record));
        return --visit->left ? 0 : VISIT_ENDS;
}

static int visit_closely(void *arg, const xac_tree_record *record)
{
        const struct visit *visit = arg;
        visit->digest.look(visit->digest.arg, record->key, record->key_len, value_of(visit, record), record->value_len);
        return visit_record(arg, record);
}

/* Records of fixed size come many at a time. */
struct runs {
        struct visit visit;
        size_t key_bytes, value_bytes;
};

static int visit_run(void *arg, const void *records, size_t count)
{
        struct runs *runs = arg;
        struct store_digest *digest = &runs->visit.digest;
        const size_t stride = runs->key_bytes + runs->value_bytes;
        const char *at = records;

        if (count > runs->visit.left)
                count = runs->visit.left;
        uint64_t keys = 0, values = 0;
        for (const char *end = at + count * stride; at < end; at += stride) {
                keys += store_word(at);
                values += store_word(at + runs->key_bytes);
        }
        digest->keys += keys;
        digest->values += values;
        runs->visit.left -= count;
        return runs->visit.left ? 0 : VISIT_ENDS;
}

static int scan_runs(const struct seat *seat, const void *from, struct visit *visit)
{
        struct runs runs = { *visit, seat->key_bytes, seat->value_bytes };
        int err = xac_tree_scan_runs(seat->tree, from, from ? seat->key_bytes : 0, NULL, 0, visit_run, &runs);
        *visit = runs.visit;
        return err;
}

static int scan_records(const struct seat *seat, const void *from, struct visit *visit)
{
        if (STORE_IS_UNORDERED)
                from = NULL;
        return xac_tree_scan(seat->tree, from, from ? seat->key_bytes : 0, NULL, 0,
                             visit->digest.look ? visit_closely : visit_record, visit);
}

static int scan(void *arg, const void *from, uint64_t limit, struct store_digest *digest)
{
        const struct seat *seat = arg;
        struct visit visit = { *digest, limit, seat };
        int err = is_fixed(seat) && !digest->look && !STORE_IS_UNORDERED ? scan_runs(seat, from, &visit)
                                                                         : scan_records(seat, from, &visit);
        visit.digest.records += limit - visit.left;
        *digest = visit.digest;
        return err == VISIT_ENDS ? STORE_FOUND : outcome_of(err, "xac_tree_scan");
}

struct loading {
        const struct store_source *source;
        size_t key_bytes, value_bytes;
};

static int next_record(void *arg, xac_tree_record *record)
{
        const struct loading *loading = arg;

        record->key_len = loading->key_bytes;
        record->value_len = loading->value_bytes;
        return loading->source->next(loading->source->arg, &record->key, &record->value);
}

static int load_one_by_one(xac_tree *tree, struct loading *loading)
{
        xac_tree_record record;
        int err;

        while ((err = next_record(loading, &record)) > 0) {
                err = xac_tree_put(tree, record.key, record.key_len, record.value, record.value_len, 0);
                if (err)
                        return err;
        }
        return err;
}

static void load(void *arg, const struct store_source *source)
{
        const struct seat *seat = arg;
        struct loading loading = { source, seat->key_bytes, seat->value_bytes };
        if (STORE_IS_UNORDERED)
                must(load_one_by_one(seat->tree, &loading), "xac_tree_put");
        else
                must(xac_tree_load(seat->tree, next_record, &loading), "xac_tree_load");
}

static uint64_t lost(void *arg)
{
        const struct seat *seat = arg;
        xac_stats stats = { 0 };

        if (seat->env)
                must(xac_stat(seat->env, &stats), "xac_stat");
        return stats.conflicts;
}

#define STORE_OF_TREE(its_name, its_file, its_filler, its_open)                                                      \
        {                                                                                                            \
                .name = (its_name), .data_file = (its_file), .filler = (its_filler),                                 \
                .is_unordered = STORE_IS_UNORDERED, .open = (its_open), .close = close_seat, .put = put, .get = get, \
                .remove = remove_key, .scan = scan, .load = load, .run = run, .lost = lost                           \
        }

#endif
