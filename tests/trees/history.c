/* SPDX-License-Identifier: MIT */

/*
 * The history test of the trees: processes and threads play random transactions on the same few keys of three
 * trees of either kind in two files of one environment. After each round all that they were told is judged
 * (history_judge.h), the trees must hold what the judge has, and xac_tree_check must find nothing; it looks in the
 * middle of the rounds, too, from another process.
 *
 *      history [OPTIONS]     see usage(); the seed is printed, and repeats what is random in the scripts
 *
 * It prints one line, "... N transactions, 0 differences", and exits 0 if that is so.
 */

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/chance.h"
#include "tests/support/check.h"
#include "tests/support/leeway.h"
#include "tests/support/scratch.h"
#include "tests/trees/history_desk.h"
#include "tests/trees/history_judge.h"
#include "tests/trees/history_worker.h"

enum {
        HANG_MS = 120000, /* a round that takes longer hangs */
        LOOK_EVERY_MS = 40
};

struct run {
        struct history_world *world;
        xac_env *env; /* the checker's own */
        struct desk desk;
        struct judge *judge;
        uint32_t round;
        pid_t pids[HISTORY_WORKERS_MAX];
        uint64_t transactions, attempts, conflicts, full, looks;
        uint64_t differences;
        uint64_t started_ns;
};

/* ---- options ---- */

static const struct option long_options[] = {
        { "seed", required_argument, NULL, 's' },
        { "transactions", required_argument, NULL, 'n' },
        { "processes", required_argument, NULL, 'p' },
        { "threads", required_argument, NULL, 't' },
        { "mode", required_argument, NULL, 'm' },
        { "tree", required_argument, NULL, 'T' },
        { "seconds", required_argument, NULL, 'S' },
        { "keys", required_argument, NULL, 'k' },
        { "steps", required_argument, NULL, 'e' },
        { "round", required_argument, NULL, 'r' },
        { "pool-bytes", required_argument, NULL, 'b' },
        { "page-bytes", required_argument, NULL, 'B' },
        { "snapshots", no_argument, NULL, 'i' },
        { "checkpoints", no_argument, NULL, 'c' },
        { "reopen", no_argument, NULL, 'o' },
        { "durable", no_argument, NULL, 'd' },
        { "nosync", no_argument, NULL, 'y' },
        { "durable-reads", no_argument, NULL, 'D' },
        { NULL, 0, NULL, 0 },
};

static _Noreturn void usage(void)
{
        fprintf(stderr,
                "usage: history [--seed N] [--transactions N] [--seconds S] [--round N] [--processes N] [--threads N]\n"
                "               [--tree bptree|cobtree] [--mode view|declared|mixed] [--keys N] [--steps N]\n"
                "               [--pool-bytes N] [--page-bytes N]\n"
                "               [--snapshots] [--checkpoints] [--reopen] [--durable|--nosync] [--durable-reads]\n");
        exit(2);
}

static enum history_mode mode_named(const char *name)
{
        static const char *const names[] = {
                [MODE_VIEW] = "view", [MODE_DECLARED] = "declared", [MODE_MIXED] = "mixed"
        };

        for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
                if (strcmp(name, names[i]) == 0)
                        return i;
        usage();
}

/* Inherited by all processes. */
static void choose_tree(const char *name)
{
        if (!xtree_choose_named(name))
                usage();
}

static void take_flag(struct history_options *options, int option)
{
        switch (option) {
        case 'i':
                options->script.has_snapshots = true;
                break;
        case 'c':
                options->checkpoints = 1;
                break;
        case 'o':
                options->reopen = 1;
                break;
        case 'd':
                options->open_flags &= ~XAC_VOLATILE;
                break;
        case 'y':
                options->open_flags = XAC_NOSYNC;
                break;
        case 'D':
                options->open_flags &= ~XAC_VOLATILE;
                options->script.has_durable_reads = true;
                break;
        default:
                usage();
        }
}

static void take_option(struct history_options *options, int option, const char *text)
{
        uint64_t number = text ? strtoull(text, NULL, 0) : 0;

        switch (option) {
        case 's':
                options->seed = number;
                break;
        case 'n':
                options->transactions = number;
                break;
        case 'p':
                options->processes = (int)number;
                break;
        case 't':
                options->threads = (int)number;
                break;
        case 'm':
                options->mode = mode_named(text ? text : "");
                break;
        case 'T':
                choose_tree(text ? text : "");
                break;
        case 'S':
                options->seconds = text ? strtod(text, NULL) : 0;
                break;
        case 'k':
                options->script.keys = (unsigned)number;
                break;
        case 'e':
                options->script.steps_max = (unsigned)number;
                break;
        case 'r':
                options->round = number;
                break;
        case 'b':
                options->pool_bytes = number;
                break;
        case 'B':
                options->page_bytes = (uint32_t)number;
                break;
        default:
                take_flag(options, option);
        }
}

static void read_options(struct history_options *options, int argc, char **argv)
{
        int option;

        *options = (struct history_options){ .transactions = 4000,
                                             .processes = 2,
                                             .threads = 1,
                                             .mode = MODE_DECLARED,
                                             .page_bytes = 4096,
                                             .open_flags = XAC_VOLATILE,
                                             .script = { .keys = 200, .steps_max = 8 } };
        while ((option = getopt_long(argc, argv, "", long_options, NULL)) != -1)
                take_option(options, option, optarg);
        if (options->seed == 0)
                options->seed = chance_seed();
        /* A round's records must fit the workers' logs; several rounds also when it is short. */
        if (options->round == 0)
                options->round = options->transactions < 12000 ? options->transactions / 4 + 1 : 3000;
        if (options->processes < 1 || options->threads < 1 ||
            options->processes * options->threads > HISTORY_WORKERS_MAX || options->script.keys < 2 ||
            options->script.keys > HISTORY_KEYS_MAX || options->script.steps_max < 1 || options->script.steps_max > 80)
                usage();
}

/* ---- rounds ---- */

/* False: a worker has failed (it said why). */
static bool workers_are_well(const struct run *run)
{
        for (int i = 0; i < run->world->options.processes; i++) {
                siginfo_t info = { 0 };

                if (waitid(P_PID, (id_t)run->pids[i], &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0) {
                        printf("DIFFERENCE (run seed %" PRIu64 ", round %u): worker process %d ended (%s %d)\n",
                               run->world->options.seed, run->round, i,
                               info.si_code == CLD_EXITED ? "status" : "signal", info.si_status);
                        return false;
                }
        }
        return true;
}

static void count_transactions(struct run *run)
{
        const struct history_options *options = &run->world->options;

        for (int w = 0; w < options->processes * options->threads; w++) {
                const struct record_log *log = &run->world->log[w];

                run->transactions += log->transactions;
                run->attempts += log->attempts;
                run->conflicts += log->conflicts;
                run->full += log->full;
        }
}

/* The trees are looked at meanwhile: read-only, by a process that takes no part. */
static bool play_round(struct run *run)
{
        struct history_world *world = run->world;
        const uint64_t workers = (uint64_t)(world->options.processes * world->options.threads);
        uint64_t left = world->options.transactions - run->transactions;
        uint64_t size = left < world->options.round ? left : world->options.round;
        uint32_t done = (run->round + 1) * (uint32_t)world->options.processes;
        struct leeway time_left = leeway_of(HANG_MS);

        world->quota = (size + workers - 1) / workers;
        crew_turn_pass(&world->rounds_begun);
        while (!crew_turn_await_ms(&world->workers_done, done, LOOK_EVERY_MS)) {
                if (!workers_are_well(run))
                        return false;
                desk_check(&run->desk);
                run->looks++;
                if (!leeway_is_left(&time_left)) {
                        printf("DIFFERENCE (run seed %" PRIu64 ", round %u): the round hangs\n", world->options.seed,
                               run->round);
                        return false;
                }
        }
        count_transactions(run);
        return true;
}

static void compare_key(struct run *run, unsigned tree, unsigned key)
{
        uint64_t tag = 0, expected = judge_tag(run->judge, tree, key);
        int err = desk_target.get(&run->desk, tree, key, &tag);

        if ((err == 0 && tag == expected) || (err == -ENOENT && !expected))
                return;
        if (run->differences++ < 4)
                printf("DIFFERENCE (run seed %" PRIu64 ", round %u): tree %u, key %u has %#" PRIx64
                       " (%d), not %#" PRIx64 "\n",
                       run->world->options.seed, run->round, tree, key, tag, err, expected);
}

/* In the end everything is as the judge has it. */
static void compare_content(struct run *run)
{
        const unsigned keys = run->world->options.script.keys;
        char text[256];

        check_ok(xbegin(run->env, XAC_RDONLY));
        for (unsigned tree = 0; tree < HISTORY_TREES; tree++) {
                uint64_t records = 0, expected = 0;

                for (unsigned key = 0; key < keys; key++) {
                        compare_key(run, tree, key);
                        expected += judge_tag(run->judge, tree, key) != 0;
                }
                check_ok(desk_target.count(&run->desk, tree, &records));
                if (records != expected) {
                        snprintf(text, sizeof(text), "tree %u has %" PRIu64 " records, not %" PRIu64, tree, records,
                                 expected);
                        printf("DIFFERENCE (run seed %" PRIu64 "): %s\n", run->world->options.seed, text);
                        run->differences++;
                }
        }
        check_ok(xend(run->env));
        desk_check(&run->desk);
}

static void play_rounds(struct run *run)
{
        const struct history_options *options = &run->world->options;

        for (run->round = 0; run->transactions < options->transactions && !run->differences; run->round++) {
                uint64_t before = run->transactions;

                if (options->seconds > 0 && (double)(crew_clock_ns() - run->started_ns) / 1e9 >= options->seconds)
                        return;
                if (!play_round(run)) {
                        run->differences++;
                        return;
                }
                run->differences += judge_round(run->judge, run->world->log, run->round);
                if (!run->differences)
                        compare_content(run);
                if (run->transactions == before) {
                        printf("DIFFERENCE: no transaction got through in a whole round\n");
                        run->differences++;
                }
        }
}

/* ---- begin and end ---- */

static void start_workers(struct run *run)
{
        for (int i = 0; i < run->world->options.processes; i++)
                run->pids[i] = crew_fork(worker_process, i, run->world);
}

static void stop_workers(struct run *run)
{
        bool has_failed = run->differences != 0;

        atomic_store(&run->world->is_over, 1);
        crew_turn_pass(&run->world->rounds_begun);
        for (int i = 0; i < run->world->options.processes; i++) {
                if (has_failed)
                        kill(run->pids[i], SIGKILL);
                int status = crew_status(run->pids[i]);
                if (status != 0 && !has_failed) {
                        printf("DIFFERENCE: worker process %d ended with status %#x\n", i, status);
                        run->differences++;
                }
        }
}

static void report(const struct run *run)
{
        static const char *const modes[] = { "view", "declared", "mixed" };
        const struct history_options *options = &run->world->options;
        double seconds = (double)(crew_clock_ns() - run->started_ns) / 1e9;

        printf("%s, seed %" PRIu64 ", %d x %d, %s%s%s, %u keys: %.0f per s, %" PRIu64 " conflicts, %" PRIu64
               " times full, %" PRIu64 " looks: %" PRIu64 " transactions, %" PRIu64 " differences\n",
               xtree_name(), options->seed, options->processes, options->threads, modes[options->mode],
               options->open_flags & XAC_VOLATILE ? ""
               : options->open_flags & XAC_NOSYNC ? ", nosync"
                                                  : ", durable",
               options->script.has_snapshots ? ", snapshots" : "", options->script.keys,
               (double)run->transactions / seconds, run->conflicts, run->full, run->looks, run->transactions,
               run->differences);
}

/* Once more after the last close, by somebody who opens it anew. */
static void reopen_and_compare(struct run *run)
{
        desk_close(&run->desk);
        check_ok(xac_close(run->env));
        run->env = worker_open_env(run->world);
        desk_open(&run->desk, run->env, XAC_ARENA_VIEW);
        compare_content(run);
}

/* In a process of its own, so that the scratch directory is removed whatever happens. */
static void play(int unused, void *run_)
{
        struct run *run = run_;

        (void)unused;
        start_workers(run);
        run->started_ns = crew_clock_ns();
        run->env = worker_open_env(run->world);
        desk_open(&run->desk, run->env, XAC_ARENA_DECLARED);
        check_ok(xac_sync(run->env)); /* to durable readers, too, the trees are there */
        play_rounds(run);
        stop_workers(run);
        if (!run->differences)
                reopen_and_compare(run);
        desk_close(&run->desk);
        check_ok(xac_close(run->env));
        judge_free(run->judge);
        report(run);
        fflush(stdout);
        crew_exit(run->differences != 0);
}

int main(int argc, char **argv)
{
        static struct run run;
        struct history_options options;
        int status, left;

        read_options(&options, argc, argv);
        setvbuf(stdout, NULL, _IOLBF, 0);
        run.world = crew_shared(sizeof(*run.world) +
                                (size_t)(options.processes * options.threads) * sizeof(struct record_log));
        run.world->options = options;
        run.judge = judge_new(&run.world->options);
        check_equal(scratch_make(1), 0); /* where syncs are cheap */
        snprintf(run.world->directory, sizeof(run.world->directory), "%s", scratch_path("env"));
        status = crew_status(crew_fork(play, 0, &run));
        judge_free(run.judge);
        left = scratch_shared_memory_left(1);
        scratch_remove();
        if (status != 0)
                printf("replay: --seed %" PRIu64 " and the same options (status %#x)\n", options.seed, status);
        return status != 0 || left != 0;
}
