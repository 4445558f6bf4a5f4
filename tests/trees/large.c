/* SPDX-License-Identifier: MIT */

/*
 * A tree that is many times larger than the memory it may use: the version pool is small, and where control groups can
 * be made, the processes that work on it may have no more memory than --memory-bytes, page cache included.
 *
 * Workers put records in random order, replace some, and delete a third of them; then all records are looked up by a
 * scan, and xac_tree_check goes through all pages; once more after the last close.
 *
 *      large [--tree bptree|cobtree] [--records N] [--value-bytes N] [--processes N] [--pool-bytes N]
 *            [--memory-bytes N] [--durable] [--seed X]      each kind of tree, unless told
 */

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/support/little_memory.h"
#include "tests/support/chance.h"
#include "tests/support/check.h"
#include "tests/support/crew.h"
#include "tests/support/scratch.h"
#include "tests/trees/xtree.h"

enum { BATCH = 20, VALUE_MAX = 4096, KEY_BYTES = 24, FULL_MAX = 5000, MIB = 1 << 20 };

static struct {
        uint64_t records;
        size_t value_bytes;
        int processes;
        uint64_t pool_bytes;
        uint64_t memory_bytes; /* 0: as much as there is */
        int open_flags;
        uint64_t seed;
        const char *tree; /* NULL: each */
} options = { 20000, 400, 2, MIB, 0, XAC_VOLATILE, 0, NULL };

/* ---- records ---- */

/* Numbers from 0 on, scattered: an odd factor gives each number below 2^40 another one. */
static size_t make_key(uint64_t n, char *key)
{
        return (size_t)snprintf(key, KEY_BYTES, "%010" PRIx64,
                                n * UINT64_C(0x9E3779B97F4A7C15) & UINT64_C(0xffffffffff));
}

enum fate { PUT_ONCE, REPLACED, DELETED };

static enum fate fate_of(uint64_t n)
{
        return chance_mix(options.seed ^ n) % 3;
}

static void make_value(uint64_t n, bool is_new, unsigned char *value)
{
        uint64_t word = chance_mix(n + is_new);

        for (size_t i = 0; i < options.value_bytes; i++)
                value[i] = (unsigned char)(word >> i % 8 * 8);
}

/* ---- a worker ---- */

struct desk {
        xac_env *env;
        xac_arena *arena;
        xac_tree *tree;
};

/* In so small a pool the others' transactions may leave no room for a moment: is it worth another try? */
static bool is_full_for_a_moment(int err, int *tries)
{
        if (err != XAC_FULL || ++*tries > FULL_MAX)
                return false;
        crew_sleep_ms(1);
        return true;
}

static void desk_open(struct desk *desk, enum xac_arena_access access)
{
        /* Pages that a put moves are part of its transaction, and are in the pool meanwhile. */
        const uint64_t pool_bytes = xtree_is_cob() ? 4 * options.pool_bytes : options.pool_bytes;
        int err, tries = 0;
        const xac_options env_options = { .pool_bytes = pool_bytes, .log_bytes = 8 * MIB };

        check_ok(xac_open(scratch_path("env"), XAC_CREATE | options.open_flags, &env_options, &desk->env));
        check_ok(xac_arena_open_env(desk->env, "tree", access, &desk->arena));
        do
                err = xtree_open(desk->arena, "large", XAC_TREE_CREATE, NULL, &desk->tree);
        while (is_full_for_a_moment(err, &tries));
        check_ok(err);
}

static void desk_close(struct desk *desk)
{
        xac_tree_close(desk->tree);
        check_ok(xac_arena_close(desk->arena));
        check_ok(xac_close(desk->env));
}

/* What a transaction does: some neighbours in number, which are none by key. */
struct batch {
        struct desk *desk;
        uint64_t first, step, count;
        bool is_second; /* the round of replacing and deleting */
};

static int do_one(const struct desk *desk, uint64_t n, bool is_second)
{
        unsigned char value[VALUE_MAX];
        char key[KEY_BYTES];
        size_t key_len = make_key(n, key);

        if (is_second && fate_of(n) == DELETED)
                return xac_tree_delete(desk->tree, key, key_len);
        if (is_second && fate_of(n) == PUT_ONCE)
                return 0;
        make_value(n, is_second, value);
        return xac_tree_put(desk->tree, key, key_len, value, options.value_bytes, is_second ? 0 : XAC_TREE_NOOVERWRITE);
}

static int do_batch(void *batch_)
{
        const struct batch *batch = batch_;
        int err = 0;

        for (uint64_t i = 0; !err && i < batch->count; i++)
                err = do_one(batch->desk, batch->first + i * batch->step, batch->is_second);
        return err;
}

static void run_batch(struct batch *batch)
{
        int err, tries = 0;

        do
                err = xac_run(batch->desk->env, 0, do_batch, batch);
        while (is_full_for_a_moment(err, &tries));
        check_ok(err);
}

static void work(int index, void *unused)
{
        const uint64_t step = (uint64_t)options.processes;
        struct desk desk;

        (void)unused;
        desk_open(&desk, index % 2 ? XAC_ARENA_VIEW : XAC_ARENA_DECLARED);
        for (int is_second = 0; is_second <= 1; is_second++)
                for (uint64_t n = (uint64_t)index; n < options.records; n += step * BATCH) {
                        uint64_t left = (options.records - n + step - 1) / step;
                        struct batch batch = { &desk, n, step, left < BATCH ? left : BATCH, is_second };

                        run_batch(&batch);
                }
        desk_close(&desk);
}

/* ---- the audit ---- */

struct audit {
        uint64_t seen;
        uint64_t sum; /* of what the keys are mixed to: whatever order they come in */
        struct desk *desk;
};

static uint64_t key_print(const void *key, size_t key_len)
{
        uint64_t print = key_len;

        for (size_t i = 0; i < key_len; i++)
                print = chance_mix(print ^ ((const unsigned char *)key)[i]);
        return print;
}

static int add_up(void *audit_, const xac_tree_record *record)
{
        struct audit *audit = audit_;

        audit->seen++;
        audit->sum += key_print(record->key, record->key_len) ^ ((const unsigned char *)record->value)[0];
        check_equal(record->value_len, options.value_bytes);
        return 0;
}

/* A scan must add up to the same as the records that should be there; each thousandth is looked up as well. */
static void audit_tree(struct desk *desk)
{
        struct audit audit = { .desk = desk };
        unsigned char value[VALUE_MAX], expected[VALUE_MAX] = { 0 };
        uint64_t count = 0, sum = 0;
        xac_tree_report report;
        char key[KEY_BYTES];

        for (uint64_t n = 0; n < options.records; n++) {
                size_t key_len = make_key(n, key);
                bool is_there = fate_of(n) != DELETED;

                make_value(n, fate_of(n) == REPLACED, expected);
                count += is_there;
                sum += is_there ? key_print(key, key_len) ^ expected[0] : 0;
                if (n % 1000)
                        continue;
                check_code(xac_tree_get(desk->tree, key, key_len, value, sizeof(value), NULL), is_there ? 0 : -ENOENT);
                check(!is_there || memcmp(value, expected, options.value_bytes) == 0);
        }
        check_ok(xtree_scan(desk->tree, NULL, 0, NULL, 0, add_up, &audit));
        check_equal(audit.seen, count);
        check(audit.sum == sum);
        int err = xac_tree_check(desk->arena, &report);
        if (err)
                check_failed(__FILE__, __LINE__, "xac_tree_check: %d, page %" PRIu64 ": %s", err, report.page_no,
                             report.message);
        check_equal(report.records, count);
}

static void audit(int index, void *unused)
{
        struct desk desk;

        (void)unused;
        desk_open(&desk, index % 2 ? XAC_ARENA_VIEW : XAC_ARENA_DECLARED);
        audit_tree(&desk);
        desk_close(&desk);
}

/* ---- the run ---- */

/* A group with little memory is given where that is wanted and permitted. */
static void play(int unused, void *group)
{
        uint64_t started_ns = crew_clock_ns();
        const char *memory = "";

        (void)unused;
        if (options.memory_bytes)
                memory = group && !little_memory_enter(group) ? ", in a group with little memory"
                                                              : ", without a group: not permitted";
        crew_processes(options.processes, work, NULL);
        crew_processes(2, audit, NULL); /* at once; the last one closes */
        crew_processes(1, audit, NULL);
        printf("%s: %" PRIu64 " records, %lld MiB of file, %" PRIu64 " KiB of pool%s%s: sound (%.1f s)\n", xtree_name(),
               options.records, scratch_file_size(scratch_path("env/tree")) / MIB, options.pool_bytes / 1024,
               options.open_flags ? "" : ", durable", memory, (double)(crew_clock_ns() - started_ns) / 1e9);
        fflush(stdout);
}

static void parse(int argc, char **argv)
{
        static const struct option known[] = {
                { "records", required_argument, NULL, 'n' },
                { "value-bytes", required_argument, NULL, 'v' },
                { "processes", required_argument, NULL, 'p' },
                { "pool-bytes", required_argument, NULL, 'b' },
                { "memory-bytes", required_argument, NULL, 'm' },
                { "seed", required_argument, NULL, 's' },
                { "durable", no_argument, NULL, 'd' },
                { "tree", required_argument, NULL, 't' },
                { NULL, 0, NULL, 0 },
        };
        for (int c; (c = getopt_long(argc, argv, "", known, NULL)) != -1;) {
                uint64_t number = optarg ? strtoull(optarg, NULL, 0) : 0;

                switch (c) {
                case 'n':
                        options.records = number;
                        break;
                case 'v':
                        options.value_bytes = number;
                        break;
                case 'p':
                        options.processes = (int)number;
                        break;
                case 'b':
                        options.pool_bytes = number;
                        break;
                case 'm':
                        options.memory_bytes = number;
                        break;
                case 's':
                        options.seed = number;
                        break;
                case 'd':
                        options.open_flags = 0;
                        break;
                case 't':
                        options.tree = optarg;
                        break;
                default:
                        exit(2);
                }
        }
        if (!options.seed)
                options.seed = chance_seed();
        if (options.value_bytes < 1 || options.value_bytes > VALUE_MAX / 4 || options.processes < 1)
                exit(2);
}

/* The files lie on a disk, so that what is not in memory is somewhere. */
static bool play_kind(enum xtree_kind kind)
{
        struct little_memory group;
        bool is_made = options.memory_bytes && little_memory_make(&group, options.memory_bytes);
        int status, left;

        xtree_choose(kind);
        check_equal(scratch_make(0), 0);
        status = crew_status(crew_fork(play, 0, is_made ? &group : NULL));
        if (is_made)
                little_memory_remove(&group);
        left = scratch_shared_memory_left(1);
        scratch_remove();
        return status == 0 && left == 0;
}

int main(int argc, char **argv)
{
        int played = 0;

        parse(argc, argv);
        for (int kind = 0; kind < XTREE_ORDERED; kind++) {
                if (options.tree && strcmp(options.tree, xtree_names[kind]) != 0)
                        continue;
                if (!play_kind((enum xtree_kind)kind))
                        return 1;
                played++;
        }
        return !played;
}
