/* SPDX-License-Identifier: MIT */

/*
 * The model test: processes and threads play random transactions against one environment;
 * after each round, a serial order that explains everything they read is looked for, the
 * transactions are replayed in it on plain memory, and the contents are compared.
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
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/model/order.h"
#include "tests/model/replay.h"
#include "tests/model/worker.h"
#include "tests/model/world.h"
#include "tests/support/chance.h"
#include "tests/support/leeway.h"
#include "tests/support/scratch.h"

enum {
        HANG_MS = 120000 /* a round that takes longer hangs */
};

struct run {
        struct world *world;
        struct hold hold; /* the checker's own */
        struct replay *replay;
        struct history history;
        struct order order;
        pid_t pids[WORLD_WORKERS_MAX];
        uint64_t transactions, attempts, conflicts, full;
        uint64_t started_ns;
};

/* Options. */

static const struct option long_options[] = {
        { "seed", required_argument, NULL, 's' },
        { "transactions", required_argument, NULL, 'n' },
        { "processes", required_argument, NULL, 'p' },
        { "threads", required_argument, NULL, 't' },
        { "mode", required_argument, NULL, 'm' },
        { "seconds", required_argument, NULL, 'S' },
        { "pages", required_argument, NULL, 'g' },
        { "local", required_argument, NULL, 'l' },
        { "steps", required_argument, NULL, 'e' },
        { "round", required_argument, NULL, 'r' },
        { "pool-bytes", required_argument, NULL, 'b' },
        { "ticket", no_argument, NULL, 'T' },
        { "track", no_argument, NULL, 'x' },
        { "snapshots", no_argument, NULL, 'i' },
        { "checkpoints", no_argument, NULL, 'c' },
        { "reopen", no_argument, NULL, 'o' },
        { "durable", no_argument, NULL, 'd' },
        { "nosync", no_argument, NULL, 'y' },
        { "durable-reads", no_argument, NULL, 'D' },
        { "crash", no_argument, NULL, 'C' },
        { "page-bytes", required_argument, NULL, 'B' },
        { "strict", no_argument, NULL, 'X' },
        { "help", no_argument, NULL, 'h' },
        { NULL, 0, NULL, 0 },
};

static _Noreturn void usage(int status)
{
        printf("usage: model [--seed S] [--transactions N] [--seconds S] [--processes P] [--threads T]\n"
               "             [--mode view|declared|compiled|mixed] [--ticket] [--snapshots] [--track]\n"
               "             [--pages N] [--local PERCENT] [--steps N] [--round N]\n"
               "             [--strict] [--page-bytes N] [--pool-bytes N] [--checkpoints] [--reopen]\n"
               "             [--durable] [--nosync] [--durable-reads] [--crash]\n"
               "The environment is volatile, unless one of the last four is given.\n");
        exit(status);
}

static enum world_access access_named(const char *name)
{
        if (strcmp(name, "view") == 0)
                return ACCESS_VIEW;
        if (strcmp(name, "declared") == 0)
                return ACCESS_DECLARED;
        if (strcmp(name, "compiled") == 0)
                return ACCESS_COMPILED;
        if (strcmp(name, "mixed") != 0)
                usage(2);
        return ACCESS_MIXED;
}

static void option_number(struct world_options *options, int option, const char *text)
{
        uint64_t number = strtoull(text, NULL, 0);

        if (option == 's')
                options->seed = number;
        else if (option == 'n')
                options->transactions = number;
        else if (option == 'p')
                options->processes = (int)number;
        else if (option == 't')
                options->threads = (int)number;
        else if (option == 'g')
                options->script.pages = (uint32_t)number;
        else if (option == 'l')
                options->script.locality_percent = (int)number;
        else if (option == 'e')
                options->script.steps_max = (unsigned)number;
        else if (option == 'r')
                options->round = number;
        else if (option == 'b')
                options->pool_bytes = number;
        else if (option == 'B')
                options->page_bytes = (uint32_t)number;
        else
                usage(2);
}

static void option_take(struct world_options *options, int option, const char *text)
{
        if (option == 'm')
                options->access = access_named(text);
        else if (option == 'S')
                options->seconds = strtod(text, NULL);
        else if (option == 'T')
                options->script.with_tickets = 1;
        else if (option == 'x')
                options->open_flags |= XAC_TRACK;
        else if (option == 'X')
                options->open_flags |= XAC_STRICT;
        else if (option == 'i')
                options->script.with_snapshots = 1;
        else if (option == 'c')
                options->checkpoints = 1;
        else if (option == 'o')
                options->reopen = 1;
        else if (option == 'C')
                options->crash = 1;
        else if (option == 'D')
                options->script.with_durable_reads = 1;
        else if (option == 'y')
                options->open_flags |= XAC_NOSYNC;
        else if (option == 'h')
                usage(0);
        else if (text == NULL)
                usage(2);
        else
                option_number(options, option, text);
}

static void options_read(struct world_options *options, int argc, char **argv)
{
        int option, workers;

        *options = (struct world_options){ .transactions = 100000, .processes = 2, .threads = 1, .page_bytes = 4096 };
        options->script = (struct script_world){ .pages = 48, .locality_percent = 60, .steps_max = 10 };
        options->open_flags = XAC_VOLATILE;
        while ((option = getopt_long(argc, argv, "h", long_options, NULL)) != -1) {
                if (strchr("dyDC", option))
                        options->open_flags &= ~XAC_VOLATILE;
                if (option != 'd')
                        option_take(options, option, optarg);
        }
        if (options->seed == 0)
                options->seed = chance_seed();
        /* A round's records must fit the workers' logs; several rounds also when it is short. */
        if (options->round == 0)
                options->round = options->transactions < 80000 ? options->transactions / 4 + 1 : 20000;
        workers = options->processes * options->threads;
        if (options->processes < 1 || options->threads < 1 || workers > WORLD_WORKERS_MAX ||
            options->script.pages < 2 || options->script.pages > MODEL_PAGES_MAX || options->script.steps_max < 1 ||
            options->script.steps_max > 80)
                usage(2);
        options->script.workers = (uint32_t)workers;
}

/* Rounds. */

static void workers_start(struct run *run)
{
        for (int i = 0; i < run->world->options.processes; i++)
                run->pids[i] = crew_fork(worker_process, i, run->world);
}

/* False: a worker has failed (it said why). */
static int workers_are_well(const struct run *run)
{
        for (int i = 0; i < run->world->options.processes; i++) {
                siginfo_t info = { 0 };

                if (waitid(P_PID, (id_t)run->pids[i], &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0) {
                        printf("DIFFERENCE: worker process %d ended (%s %d)\n", i,
                               info.si_code == CLD_EXITED ? "status" : "signal", info.si_status);
                        return 0;
                }
        }
        return 1;
}

static int round_run(struct run *run, uint32_t round)
{
        struct world *world = run->world;
        uint64_t left = world->options.transactions - run->transactions;
        uint64_t size = left < world->options.round ? left : world->options.round;
        uint32_t done = (round + 1) * (uint32_t)world->options.processes;
        struct leeway time_left = leeway_of(HANG_MS);

        world->quota = (size + (uint64_t)world_workers(world) - 1) / (uint64_t)world_workers(world);
        crew_turn_pass(&world->rounds_begun);
        while (!crew_turn_await_ms(&world->workers_done, done, 500)) {
                if (!workers_are_well(run))
                        return -1;
                if (!leeway_is_left(&time_left)) {
                        printf("DIFFERENCE: the round hangs\n");
                        return -1;
                }
        }
        for (int w = 0; w < world_workers(world); w++) {
                run->transactions += world->log[w].transactions;
                run->attempts += world->log[w].attempts;
                run->conflicts += world->log[w].conflicts;
                run->full += world->log[w].full;
        }
        return 0;
}

static void content_differs(struct run *run, const char *how, uint32_t page, uint32_t slot, uint64_t actual)
{
        run->history.differences++;
        if (run->history.differences <= 5)
                printf("DIFFERENCE (run seed %" PRIu64 ", round %u): %s: page %u, word %u is %#" PRIx64
                       ", not %#" PRIx64 "\n",
                       run->world->options.seed, run->history.round, how, page, slot, actual,
                       replay_pages(run->replay)[page].word[slot]);
}

/* All words, through this process's view and by declared access. */
static void contents_compare(struct run *run)
{
        const struct replay_page *pages = replay_pages(run->replay);

        if (xbegin(run->hold.env, XAC_RDONLY) != 0)
                abort();
        for (uint32_t page = 0; page < run->world->options.script.pages; page++) {
                const uint64_t *declared = xac_page_read(run->hold.env, hold_word(&run->hold, page, 0));

                for (uint32_t slot = 0; slot < MODEL_SLOTS; slot++) {
                        const uint64_t *word = hold_word(&run->hold, page, slot);
                        uint64_t value = *(const volatile uint64_t *)word;

                        if (value != pages[page].word[slot])
                                content_differs(run, "the view at the end", page, slot, value);
                        value = declared[word - hold_word(&run->hold, page, 0)];
                        if (value != pages[page].word[slot])
                                content_differs(run, "declared access at the end", page, slot, value);
                }
        }
        if (xend(run->hold.env) != 0)
                abort();
}

/* All words in the data files, after the last close. */
static void files_compare(struct run *run)
{
        uint64_t *words = calloc(1, world_file_bytes(run->world));
        struct hold in_memory = { .page_words = run->world->options.page_bytes / 8 };
        char path[300];

        for (uint32_t file = 0; file < WORLD_FILES && words != NULL; file++) {
                snprintf(path, sizeof(path), "%s/file%u", run->world->directory, file);
                scratch_read_file(path, words, world_file_bytes(run->world));
                in_memory.base[file] = words;
                for (uint32_t page = file; page < run->world->options.script.pages; page += WORLD_FILES)
                        for (uint32_t slot = 0; slot < MODEL_SLOTS; slot++)
                                if (*hold_word(&in_memory, page, slot) != replay_pages(run->replay)[page].word[slot])
                                        content_differs(run, "the data file", page, slot,
                                                        *hold_word(&in_memory, page, slot));
        }
        free(words);
}

/* What is in the environment must be what the replay has. */
static void contents_check(struct run *run)
{
        if (run->world->options.reopen) {
                hold_close(&run->hold);
                files_compare(run);
                hold_open(&run->hold, run->world);
                hold_map(&run->hold, run->world);
        }
        contents_compare(run);
}

/* The same by somebody who recovers it, and mostly goes down with the machine as well. */
static void recover_and_compare(int round, void *run_)
{
        struct run *run = run_;

        hold_open(&run->hold, run->world);
        hold_map(&run->hold, run->world);
        contents_compare(run);
        if (run->history.differences == 0 && round % 4 == 0) {
                hold_close(&run->hold);
                files_compare(run);
        }
        _exit(run->history.differences != 0);
}

static void machine_goes_down(struct run *run, uint32_t round)
{
        for (int i = 0; i < run->world->options.processes; i++)
                crew_kill(run->pids[i]);
        world_remove_shared_memory(run->world);
        fflush(stdout);
        if (crew_status(crew_fork(recover_and_compare, (int)round, run)) != 0)
                run->history.differences++;
        run->world->first_round = round + 1;
        workers_start(run);
}

static void round_check(struct run *run, uint32_t round)
{
        uint64_t initial_tag[MODEL_PAGES_MAX];
        const struct script_world *script = &run->world->options.script;
        bool is_ordered;

        for (uint32_t page = 0; page < script->pages; page++)
                initial_tag[page] = replay_pages(run->replay)[page].word[0];
        run->history.round = round;
        history_read(&run->history, run->world->log, initial_tag);
        is_ordered = script->with_tickets ? order_by_tickets(&run->order, &run->history)
                                          : order_by_graph(&run->order, &run->history);
        if (!is_ordered || run->history.differences != 0)
                return;
        replay_round(run->replay, &run->history, &run->order);
        if (run->world->options.crash)
                machine_goes_down(run, round);
        else
                contents_check(run);
}

static int time_is_up(const struct run *run)
{
        double seconds = (double)(crew_clock_ns() - run->started_ns) / 1e9;

        return run->world->options.seconds > 0 && seconds >= run->world->options.seconds;
}

static void rounds(struct run *run)
{
        for (uint32_t round = 0; run->transactions < run->world->options.transactions; round++) {
                uint64_t before = run->transactions;

                if (round > 0 && time_is_up(run))
                        return;
                if (round_run(run, round) != 0) {
                        run->history.differences++;
                        return;
                }
                round_check(run, round);
                if (run->transactions == before) {
                        printf("DIFFERENCE: no transaction got through in a whole round\n");
                        run->history.differences++;
                }
                if (run->history.differences != 0)
                        return;
        }
}

/* Begin and end. */

static void workers_stop(struct run *run)
{
        int has_failed = run->history.differences != 0;

        atomic_store(&run->world->is_over, 1);
        crew_turn_pass(&run->world->rounds_begun);
        for (int i = 0; i < run->world->options.processes; i++) {
                if (has_failed)
                        kill(run->pids[i], SIGKILL);
                int status = crew_status(run->pids[i]);
                if (status != 0 && !has_failed) {
                        printf("DIFFERENCE: worker process %d ended with status %#x\n", i, status);
                        run->history.differences++;
                }
        }
}

static void report(const struct run *run)
{
        static const char *const modes[] = { "view", "declared", "compiled", "mixed" };
        const struct world_options *options = &run->world->options;
        double seconds = (double)(crew_clock_ns() - run->started_ns) / 1e9;

        printf("seed %" PRIu64 ", %d x %d, %s%s%s, %s%s%s%s%s%s: %.0f per s, %" PRIu64 " conflicts", options->seed,
               options->processes, options->threads, modes[options->access],
               options->open_flags & XAC_TRACK    ? " tracked"
               : options->open_flags & XAC_STRICT ? " strict"
                                                  : "",
               !world_is_durable(run->world)      ? ""
               : options->open_flags & XAC_NOSYNC ? " nosync"
                                                  : " durable",
               options->script.with_tickets ? "tickets" : "graph", options->script.with_snapshots ? ", snapshots" : "",
               options->checkpoints ? ", checkpoints" : "", options->reopen ? ", reopened" : "",
               options->script.with_durable_reads ? ", durable reads" : "", options->crash ? ", crashes" : "",
               (double)run->transactions / seconds, run->conflicts);
        if (options->pool_bytes != 0)
                printf(", %" PRIu64 " times full", run->full);
        printf(": %" PRIu64 " transactions, %" PRIu64 " differences\n", run->transactions, run->history.differences);
}

static void run_model(struct run *run)
{
        workers_start(run);
        run->started_ns = crew_clock_ns();
        if (!run->world->options.crash) {
                hold_open(&run->hold, run->world);
                hold_map(&run->hold, run->world);
        }
        rounds(run);
        workers_stop(run);
        if (run->world->options.crash)
                hold_open(&run->hold, run->world); /* after the last crash nobody may have opened it */
        hold_close(&run->hold);
        if (run->history.differences == 0)
                files_compare(run);
        if (run->history.differences == 0 && scratch_shared_memory_left(1) != 0)
                run->history.differences++;
        report(run);
}

int main(int argc, char **argv)
{
        struct world_options options;
        struct run run = { 0 };

        options_read(&options, argc, argv);
        setvbuf(stdout, NULL, _IOLBF, 0);
        run.world = crew_shared(sizeof(*run.world) + (size_t)options.script.workers * sizeof(struct record_log));
        run.world->options = options;
        run.history.world = &run.world->options.script;
        run.history.seed = options.seed;
        run.history.is_nosync = (options.open_flags & XAC_NOSYNC) != 0;
        run.replay = replay_new(&run.world->options.script);
        if (scratch_make(world_is_durable(run.world)) != 0) { /* where syncs are cheap */
                perror("model: temporary directory");
                return 2;
        }
        snprintf(run.world->directory, sizeof(run.world->directory), "%s", scratch_path("env"));
        run_model(&run);
        scratch_shared_memory_left(1);
        scratch_remove();
        replay_free(run.replay);
        history_free(&run.history);
        order_free(&run.order);
        return run.history.differences != 0;
}
