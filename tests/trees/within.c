/* SPDX-License-Identifier: MIT */

/*
 * Users of a B+-tree in control groups, by default options: inserts, updates, look-ups and scans, while the tree
 * becomes larger than the memory. The kernel ends nobody, nobody gets XAC_FULL, and no transaction takes longer than
 * two seconds where the machine has nothing else to do (leeway.h). Each worker then finds what it has put.
 *
 *      within [--memory-mib N[,N...]] [--processes N] [--mode volatile|nosync|durable] [--seconds N] [--seed X]
 *
 * The processes take the groups in turn: with --memory-mib 128,1024 each second one is in the larger one.
 */

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <xac/tree.h>

#include "bench/support/little_memory.h"
#include "tests/support/chance.h"
#include "tests/support/check.h"
#include "tests/support/crew.h"
#include "tests/support/leeway.h"
#include "tests/support/scratch.h"

enum {
        VALUE_BYTES = 1000,
        KEY_BYTES = 24,
        SCANNED = 100,
        GROUPS_MAX = 4,
        RECORDS_MAX = 1 << 22, /* of a worker */
        LONGEST_S = 2,
        SKIPPED = 77,
        MIB = 1 << 20
};

enum kind { INSERT, UPDATE, LOOK_UP, SCAN, KINDS };
static const char *const kind_names[KINDS] = { "insert", "update", "look-up", "scan" };
static const unsigned kind_percent[KINDS] = { 45, 25, 28, 2 };

static const struct {
        const char *name;
        int flags;
} modes[] = { { "volatile", XAC_VOLATILE }, { "nosync", XAC_NOSYNC }, { "durable", 0 } };

static struct {
        uint64_t memory_mib[GROUPS_MAX];
        int group_count;
        int processes;
        int mode;
        uint64_t seconds;
        uint64_t seed;
} options = { { 128 }, 1, 4, 0, 6, 0 };

/* What all processes of a run tell. */
struct figures {
        _Atomic uint64_t count[KINDS], longest_ns[KINDS];
        _Atomic uint64_t full;
};

static struct little_memory groups[GROUPS_MAX];
static struct figures *figures;

/* ---- A worker ---- */

struct worker {
        int index;
        xac_env *env;
        xac_arena *arena;
        xac_tree *tree;
        struct chance chance;
        uint64_t records;
        unsigned char *version; /* of each: how often it was put */
        uint64_t record;        /* what the transaction is about */
        int seen;               /* by a scan */
};

/* Scattered: an odd factor gives each number below 2^40 another one. */
static size_t make_key(const struct worker *worker, uint64_t record, char *key)
{
        const uint64_t number =
                (record * (uint64_t)options.processes + (uint64_t)worker->index + 1) * UINT64_C(0x9E3779B97F4A7C15);
        return (size_t)snprintf(key, KEY_BYTES, "%010" PRIx64, number & UINT64_C(0xffffffffff));
}

static void make_value(uint64_t record, unsigned version, uint64_t *value)
{
        const uint64_t word = chance_mix(record << 8 | version);
        for (size_t i = 0; i < VALUE_BYTES / sizeof(*value); i++)
                value[i] = word + i;
}

static int put(void *worker_)
{
        const struct worker *worker = worker_;
        uint64_t value[VALUE_BYTES / sizeof(uint64_t)];
        char key[KEY_BYTES];
        const size_t key_len = make_key(worker, worker->record, key);
        make_value(worker->record, worker->version[worker->record] + 1U, value);
        return xac_tree_put(worker->tree, key, key_len, value, sizeof(value), 0);
}

static int look_up(void *worker_)
{
        const struct worker *worker = worker_;
        uint64_t value[VALUE_BYTES / sizeof(uint64_t)], expected[VALUE_BYTES / sizeof(uint64_t)];
        char key[KEY_BYTES];
        const size_t key_len = make_key(worker, worker->record, key);
        int err = xac_tree_get(worker->tree, key, key_len, value, sizeof(value), NULL);
        make_value(worker->record, worker->version[worker->record], expected);
        if (!err)
                check(memcmp(value, expected, sizeof(value)) == 0);
        return err;
}

static int count_some(void *worker_, const xac_tree_record *record)
{
        struct worker *worker = worker_;
        check_equal(record->value_len, VALUE_BYTES);
        return ++worker->seen == SCANNED;
}

static int scan(void *worker_)
{
        struct worker *worker = worker_;
        char key[KEY_BYTES];
        const size_t key_len = make_key(worker, worker->record, key);
        worker->seen = 0;
        const int err = xac_tree_scan(worker->tree, key, key_len, NULL, 0, count_some, worker);
        return err < 0 ? err : 0;
}

static enum kind choose(struct worker *worker)
{
        uint64_t percent = chance_below(&worker->chance, 100);
        unsigned kind = 0;
        while (percent >= kind_percent[kind])
                percent -= kind_percent[kind++];
        return worker->records ? (enum kind)kind : INSERT;
}

static void note(enum kind kind, uint64_t ns)
{
        uint64_t longest = atomic_load(&figures->longest_ns[kind]);
        atomic_fetch_add(&figures->count[kind], 1);
        while (ns > longest && !atomic_compare_exchange_weak(&figures->longest_ns[kind], &longest, ns))
                ;
}

static void do_one(struct worker *worker)
{
        static int (*const bodies[KINDS])(void *) = { put, put, look_up, scan };
        const enum kind kind = choose(worker);
        worker->record = kind == INSERT ? worker->records : chance_below(&worker->chance, worker->records);
        const uint64_t begun_ns = crew_clock_ns();
        const int err = xac_run(worker->env, kind < LOOK_UP ? 0 : XAC_RDONLY, bodies[kind], worker);
        note(kind, crew_clock_ns() - begun_ns);
        if (err == XAC_FULL) {
                atomic_fetch_add(&figures->full, 1);
                return;
        }
        check_ok(err);
        worker->version[worker->record] += kind < LOOK_UP;
        worker->records += kind == INSERT;
}

static void find_all(struct worker *worker)
{
        for (worker->record = 0; worker->record < worker->records; worker->record++)
                check_ok(xac_run(worker->env, XAC_RDONLY, look_up, worker));
}

static void open_tree(struct worker *worker)
{
        check_ok(xac_open(scratch_path("env"), XAC_CREATE | modes[options.mode].flags, NULL, &worker->env));
        check_ok(xac_arena_open_env(worker->env, "tree", XAC_ARENA_DECLARED, &worker->arena));
        check_ok(xac_tree_open(worker->arena, "within", XAC_TREE_CREATE, NULL, &worker->tree));
}

static void close_tree(struct worker *worker)
{
        xac_tree_close(worker->tree);
        check_ok(xac_arena_close(worker->arena));
        check_ok(xac_close(worker->env));
}

static void work(int index, void *unused)
{
        struct worker worker = { .index = index, .chance = { chance_mix(options.seed + (uint64_t)index) } };
        (void)unused;
        check_equal(little_memory_enter(&groups[index % options.group_count]), 0);
        worker.version = calloc(RECORDS_MAX, 1);
        check(worker.version != NULL);
        open_tree(&worker);
        const uint64_t end_ns = crew_clock_ns() + options.seconds * 1000000000;
        while (crew_clock_ns() < end_ns && worker.records < RECORDS_MAX)
                do_one(&worker);
        find_all(&worker);
        close_tree(&worker);
        free(worker.version);
}

/* ---- The run ---- */

static void print_figures(double leeway)
{
        printf("%s, %d processes:", modes[options.mode].name, options.processes);
        for (unsigned kind = 0; kind < KINDS; kind++)
                printf(" %" PRIu64 " %ss (%.0f ms at most)%s", atomic_load(&figures->count[kind]), kind_names[kind],
                       (double)atomic_load(&figures->longest_ns[kind]) / 1e6, kind + 1 < KINDS ? "," : "");
        printf("; %" PRIu64 " times XAC_FULL; %lld MiB of file; leeway %.1f\n", atomic_load(&figures->full),
               scratch_file_size(scratch_path("env/tree")) / MIB, leeway);
        (void)fflush(stdout);
}

static void judge(double leeway)
{
        print_figures(leeway);
        check_equal(atomic_load(&figures->full), 0);
        for (unsigned kind = 0; kind < KINDS; kind++)
                check((double)atomic_load(&figures->longest_ns[kind]) <= LONGEST_S * 1e9 * leeway);
}

static void make_groups(void)
{
        for (int i = 0; i < options.group_count; i++) {
                if (little_memory_make(&groups[i], options.memory_mib[i] * MIB))
                        continue;
                check(geteuid() != 0); /* root of a machine with control groups has the right */
                fprintf(stderr, "no control group can be made here\n");
                exit(SKIPPED);
        }
}

static void parse_memory(char *text)
{
        options.group_count = 0;
        for (char *number = strtok(text, ","); number && options.group_count < GROUPS_MAX; number = strtok(NULL, ","))
                options.memory_mib[options.group_count++] = strtoull(number, NULL, 10);
}

static void parse_mode(const char *name)
{
        for (options.mode = 0; strcmp(modes[options.mode].name, name) != 0;)
                if (++options.mode == sizeof(modes) / sizeof(modes[0]))
                        exit(2);
}

static void parse(int argc, char **argv)
{
        static const struct option known[] = {
                { "memory-mib", required_argument, NULL, 'm' }, { "processes", required_argument, NULL, 'p' },
                { "mode", required_argument, NULL, 'o' },       { "seconds", required_argument, NULL, 't' },
                { "seed", required_argument, NULL, 's' },       { NULL, 0, NULL, 0 }
        };
        for (int c; (c = getopt_long(argc, argv, "", known, NULL)) != -1;) {
                if (c == 'm')
                        parse_memory(optarg);
                else if (c == 'p')
                        options.processes = (int)strtoul(optarg, NULL, 10);
                else if (c == 'o')
                        parse_mode(optarg);
                else if (c == 't')
                        options.seconds = strtoull(optarg, NULL, 10);
                else if (c == 's')
                        options.seed = strtoull(optarg, NULL, 10);
                else
                        exit(2);
        }
        if (!options.seed)
                options.seed = chance_seed();
}

int main(int argc, char **argv)
{
        parse(argc, argv);
        check_equal(scratch_make(0), 0);
        figures = crew_shared(sizeof(*figures));
        make_groups();
        crew_processes(options.processes, work, NULL);
        for (int i = 0; i < options.group_count; i++)
                little_memory_remove(&groups[i]);
        judge(leeway_factor());
        check_equal(scratch_shared_memory_left(1), 0);
        scratch_remove();
        return 0;
}
