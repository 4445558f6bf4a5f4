/* SPDX-License-Identifier: MIT */

#include "labs/structure/measure.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include <xac/tree.h>

#include "labs/grader/environment.h"
#include "labs/grader/host.h"
#include "labs/grader/worker.h"
#include "labs/structure/acts.h"
#include "labs/structure/pairs.h"

enum { WORKERS = 2, TURNS = 25, OPERATIONS = 1000, KEYS = 1200, KEYS_OF_WORKER = KEYS / WORKERS, PATIENCE_S = 8 };

enum side { TABLE, TREE, SIDES };

/* Of the judge's processes alone. In each turn a worker has half of the keys, in the next one the other half: a table
 * that is not shared gives itself away. */
struct board {
        atomic_int arrived;
        uint64_t value[KEYS];
        bool is_there[KEYS];
        struct {
                double begin, end;
        } time[SIDES][TURNS][WORKERS];
};

static struct board *board;

static xac_arena *arena;
static xac_tree *tree;
static xac_env *tree_env;

static double seconds_now(void)
{
        struct timespec time;
        clock_gettime(CLOCK_MONOTONIC, &time);
        return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void await_all(int *rounds)
{
        double begin = seconds_now();
        atomic_fetch_add(&board->arrived, 1);
        ++*rounds;
        while (atomic_load(&board->arrived) < *rounds * WORKERS) {
                grader_check(seconds_now() < begin + PATIENCE_S * grader_patience(), "the other process is late");
                nanosleep(&(struct timespec){ 0, 50000 }, NULL);
        }
}

/* ------------------------------------------------------------------ the work */

static uint64_t key_of(uint32_t number)
{
        return (number + 1) * 0x9e3779b97f4a7c15U;
}

/* Half of them get, a quarter puts, a quarter deletes. */
static struct outcome draw(struct operation *operation, uint32_t half, uint32_t count)
{
        uint32_t number = grader_random(KEYS_OF_WORKER) * WORKERS + half;
        struct outcome must = { 0, false, 0 };
        uint32_t kind = grader_random(4);
        *operation = (struct operation){ kind == 0 ? PUT : kind == 1 ? DELETE : GET, key_of(number), count };
        if (operation->kind == PUT) {
                board->value[number] = count;
                board->is_there[number] = true;
                return must;
        }
        must.is_there = board->is_there[number];
        must.value = operation->kind == GET && must.is_there ? board->value[number] : 0;
        if (operation->kind == DELETE)
                board->is_there[number] = false;
        return must;
}

static void check(const struct operation *operation, const struct outcome *is, const struct outcome *must)
{
        bool is_right = is->err == 0 &&
                        (operation->kind == PUT ||
                         (is->is_there == must->is_there && (operation->kind == DELETE || is->value == must->value)));
        grader_check(is_right,
                     "while it is measured: key %llu: returned %d, %sthere, value %llu; should be %sthere, %llu",
                     (unsigned long long)operation->key, is->err, is->is_there ? "" : "not ",
                     (unsigned long long)is->value, must->is_there ? "" : "not ", (unsigned long long)must->value);
}

/* ------------------------------------------------------------------ the tree */

static void must_work(int err, const char *what)
{
        grader_check(err == 0, "%s: %s", what, xac_strerror(err));
}

static void tree_open(void)
{
        const xac_tree_options options = { .key_bytes = sizeof(uint64_t), .value_bytes = sizeof(uint64_t) };
        environment_open("tree.xac", TABLE_PAGE_BYTES, XAC_NOSYNC, &tree_env);
        must_work(xac_arena_open_env(tree_env, "tree", XAC_ARENA_VIEW, &arena), "xac_arena_open_env");
        must_work(xac_tree_open(arena, "numbers", XAC_TREE_CREATE, &options, &tree), "xac_tree_open");
}

static void tree_close(void)
{
        xac_tree_close(tree);
        must_work(xac_arena_close(arena), "xac_arena_close");
        environment_close(tree_env);
}

static void tree_do(const struct operation *operation)
{
        uint64_t value = operation->value;
        const uint64_t *key = &operation->key;
        int err = operation->kind == PUT      ? xac_tree_put(tree, key, sizeof(*key), &value, sizeof(value), 0)
                  : operation->kind == DELETE ? xac_tree_delete(tree, key, sizeof(*key))
                                              : xac_tree_get(tree, key, sizeof(*key), &value, sizeof(value), NULL);
        must_work(err == -ENOENT ? 0 : err, "the tree");
}

/* ------------------------------------------------------------------ by turns */

static void take_turn(int turn, int *rounds)
{
        static struct operation operations[OPERATIONS];
        static struct outcome must[OPERATIONS], outcomes[OPERATIONS];
        int me = worker_number() - 1;
        for (uint32_t i = 0; i < OPERATIONS; i++)
                must[i] = draw(&operations[i], (uint32_t)(me + turn) % WORKERS, i);

        await_all(rounds);
        board->time[TABLE][turn][me].begin = seconds_now();
        host_do(ACT_OPERATION, operations, sizeof(operations), outcomes, sizeof(outcomes));
        board->time[TABLE][turn][me].end = seconds_now();
        for (size_t i = 0; i < OPERATIONS; i++)
                check(&operations[i], &outcomes[i], &must[i]);

        await_all(rounds);
        board->time[TREE][turn][me].begin = seconds_now();
        for (size_t i = 0; i < OPERATIONS; i++)
                tree_do(&operations[i]);
        board->time[TREE][turn][me].end = seconds_now();
        await_all(rounds);
}

static void work(void *arg)
{
        int rounds = 0;
        (void)arg;
        tree_open();
        host_do(ACT_OPEN, NULL, 0, NULL, 0);
        for (int turn = 0; turn < TURNS; turn++)
                take_turn(turn, &rounds);
        host_do(ACT_CLOSE, NULL, 0, NULL, 0);
        tree_close();
}

/* From when the first begins to when the last has ended. */
static double seconds_of(enum side side, int turn)
{
        double begin = board->time[side][turn][0].begin, end = board->time[side][turn][0].end;
        for (int i = 1; i < WORKERS; i++) {
                begin = board->time[side][turn][i].begin < begin ? board->time[side][turn][i].begin : begin;
                end = board->time[side][turn][i].end > end ? board->time[side][turn][i].end : end;
        }
        return end - begin;
}

static int compare(const void *left, const void *right)
{
        double a = *(const double *)left, b = *(const double *)right;
        return (a > b) - (a < b);
}

/* The first turn, in which both grow, is not counted. */
static void measure(void)
{
        double ratio[TURNS - 1];
        board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        grader_check(board != MAP_FAILED, "mmap: %s", strerror(errno));
        table_open();
        table_fill(NULL, 0);
        worker_crew(WORKERS, work, NULL);
        for (int turn = 1; turn < TURNS; turn++)
                ratio[turn - 1] = seconds_of(TABLE, turn) / seconds_of(TREE, turn);
        qsort(ratio, TURNS - 1, sizeof(*ratio), compare);
        grader_measured((ratio[(TURNS - 1) / 2] + ratio[(TURNS - 2) / 2]) / 2);
}

const struct grader_test measure_speed = { "time", "of two processes, relative to a B+-tree: less is better", 0, 20,
                                           measure };
