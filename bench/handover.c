/* SPDX-License-Identifier: MIT */

/*
 * What does it cost to hand something over to a process that sleeps until it comes? Two processes give each other a
 * turn, to and fro: a word says whose it is.
 *
 *      declared, view   the word is in an environment; who is not on turn sleeps in xac_wait()
 *      condvar          it is in shared memory, under a process-shared mutex and condition variable
 *      pipe             it is a byte in one of two pipes
 *
 * Only the first two keep what is handed over when somebody dies. They run in turn: A, B, C, D, A, B, C, D.
 */

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/support/csv.h"
#include "bench/support/options.h"
#include "bench/support/scratch.h"

enum way { DECLARED, VIEW, CONDVAR, PIPE, WAYS };
static const char *const way_names[WAYS] = { "declared", "view", "condvar", "pipe" };

/* What the two processes share besides an environment. */
struct table {
        pthread_mutex_t mutex;
        pthread_cond_t changed;
        uint64_t turns;
        uint64_t ns;   /* of all turns, by the first process */
        uint64_t runs; /* of bodies, in both */
};

/* One process' seat. */
static struct {
        enum way way;
        uint64_t me;
        struct scratch scratch;
        struct table *table;
        int to[2], from[2];
} seat;

static struct experiment {
        uint64_t repetitions, turns;
        struct samples ns[WAYS], runs[WAYS];
} experiment = { .repetitions = 9, .turns = 20000 };

/* ---- one turn ---- */

static uint64_t runs;

static int take_turn(void *turn)
{
        uint64_t *word = (uint64_t *)(void *)scratch_page(&seat.scratch, 0);
        const uint64_t *seen = seat.way == DECLARED ? xac_page_read(seat.scratch.env, word) : word;
        runs++;
        if (!seen)
                return XAC_CONFLICT;
        if (*seen != *(uint64_t *)turn)
                return xac_wait(seat.scratch.env, NULL);
        word = seat.way == DECLARED ? xac_page_write(seat.scratch.env, word) : word;
        if (!word)
                return XAC_CONFLICT;
        ++*word;
        return 0;
}

static void turn_by_condvar(uint64_t turn)
{
        must(-pthread_mutex_lock(&seat.table->mutex), "pthread_mutex_lock");
        while (seat.table->turns != turn)
                must(-pthread_cond_wait(&seat.table->changed, &seat.table->mutex), "pthread_cond_wait");
        seat.table->turns++;
        must(-pthread_mutex_unlock(&seat.table->mutex), "pthread_mutex_unlock");
        must(-pthread_cond_signal(&seat.table->changed), "pthread_cond_signal");
}

static void turn_by_pipe(uint64_t turn)
{
        char byte = 'x';
        if (turn > 0 && read(seat.from[0], &byte, 1) != 1)
                scratch_fail(-EIO, "read");
        if (write(seat.to[1], &byte, 1) != 1)
                scratch_fail(-EIO, "write");
}

static void take_turns(void)
{
        for (uint64_t turn = seat.me; turn < experiment.turns; turn += 2)
                if (seat.way == CONDVAR)
                        turn_by_condvar(turn);
                else if (seat.way == PIPE)
                        turn_by_pipe(turn);
                else
                        must(xac_run(seat.scratch.env, 0, take_turn, &turn), "xac_run");
}

/* ---- two processes ---- */

static bool is_ours(void)
{
        return seat.way == DECLARED || seat.way == VIEW;
}

static void play(uint64_t me)
{
        seat.me = me;
        if (is_ours())
                scratch_open(&seat.scratch, 0);
        const uint64_t start = measure_now_ns();
        take_turns();
        if (me == 0)
                seat.table->ns = measure_now_ns() - start;
        __atomic_fetch_add(&seat.table->runs, runs, __ATOMIC_RELAXED);
        if (is_ours())
                scratch_close(&seat.scratch);
}

static void play_in_child(uint64_t me)
{
        pid_t pid = fork();
        if (pid < 0)
                scratch_fail(-errno, "fork");
        if (pid > 0)
                return;
        if (me == 1) {
                int to[2] = { seat.to[0], seat.to[1] };
                seat.to[1] = seat.from[1];
                seat.from[0] = to[0];
        }
        play(me);
        _exit(EXIT_SUCCESS);
}

static void make_table(void)
{
        pthread_mutexattr_t mutex;
        pthread_condattr_t changed;
        seat.table = mmap(NULL, sizeof(*seat.table), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (seat.table == MAP_FAILED)
                scratch_fail(-errno, "mmap");
        pthread_mutexattr_init(&mutex);
        pthread_mutexattr_setpshared(&mutex, PTHREAD_PROCESS_SHARED);
        pthread_mutex_init(&seat.table->mutex, &mutex);
        pthread_condattr_init(&changed);
        pthread_condattr_setpshared(&changed, PTHREAD_PROCESS_SHARED);
        pthread_cond_init(&seat.table->changed, &changed);
        if (pipe(seat.to) || pipe(seat.from))
                scratch_fail(-errno, "pipe");
}

static void remove_table(void)
{
        for (int end = 0; end < 2; end++) {
                close(seat.to[end]);
                close(seat.from[end]);
        }
        munmap(seat.table, sizeof(*seat.table));
}

static void repeat(enum way way)
{
        seat.way = way;
        make_table();
        if (is_ours())
                scratch_make(&seat.scratch, 1);
        play_in_child(0);
        play_in_child(1);
        for (int status; wait(&status) > 0;)
                if (status)
                        scratch_fail(XAC_UNENDED, "a player");
        samples_add(&experiment.ns[way], (double)seat.table->ns / (double)experiment.turns);
        samples_add(&experiment.runs[way], (double)seat.table->runs / (double)experiment.turns);
        if (is_ours())
                scratch_remove(&seat.scratch);
        remove_table();
}

/* ---- results ---- */

static void print_table(void)
{
        printf("%-10s %12s %12s %12s %14s\n", "", "us", "minimum", "maximum", "bodies/turn");
        for (int way = 0; way < WAYS; way++) {
                const struct samples *ns = &experiment.ns[way];
                printf("%-10s %12.2f %12.2f %12.2f %14.2f\n", way_names[way], samples_median(ns) / 1e3,
                       samples_min(ns) / 1e3, samples_max(ns) / 1e3, samples_median(&experiment.runs[way]));
        }
}

int main(int argc, char **argv)
{
        const char *csv_path = "handover.csv";
        struct csv csv;
        const struct option_spec options[] = {
                OPTION_NUMBER("reps", experiment.repetitions, "repetitions of each way"),
                OPTION_NUMBER("turns", experiment.turns, "turns of both processes together"),
                OPTION_TEXT("csv", csv_path, "where every repetition goes"),
                OPTION_END,
        };

        options_parse(argc, argv, "Hands a turn to and fro between two processes that sleep until it comes.", options);
        csv_open(&csv, csv_path, "handover");
        for (uint64_t i = 0; i < experiment.repetitions; i++)
                for (int way = 0; way < WAYS; way++)
                        repeat((enum way)way);
        print_table();
        for (int way = 0; way < WAYS; way++) {
                struct csv_series series = { way_names[way], 2, 1, experiment.turns, "hand_over", "ns" };
                csv_rows(&csv, &series, &experiment.ns[way]);
        }
        csv_close(&csv);
        return EXIT_SUCCESS;
}
