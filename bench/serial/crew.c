/* SPDX-License-Identifier: MIT */
#include "bench/serial/crew.h"

/*
 *      first       open, make, fill, warm up ... all are ready: GO, work ... all are done: check, close
 *      others             wait, open, warm up ...................... work, done ................. close
 *
 * Whoever waits sleeps between looks, so that it takes no processor from those who still work.
 */

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bench/support/measure.h"
#include "bench/support/scratch.h"

enum { LOOK_EVERY_NS = 20000, STUCK_SECONDS = 1200, CACHE_LINE = 64, WARM_UP_PART = 10 };

struct tally {
        _Alignas(CACHE_LINE) uint64_t begin_ns, end_ns, cpu_ns;
        uint64_t transactions, attempts; /* while it was measured */
        int64_t grown;                   /* ever: by how much it made the structure larger */
        uint64_t digest;
};

struct board {
        _Alignas(CACHE_LINE) _Atomic int is_filled, is_running;
        _Alignas(CACHE_LINE) _Atomic int ready, done;
        uint64_t faults;
        struct content content;
        struct tally tally[CREW_MAX];
};

/* What operations have come to. */
struct sums {
        uint64_t digest;
        int64_t grown;
};

struct worker {
        const struct crew_plan *plan;
        const struct structure *structure;
        struct board *board;
        int number;
        struct seat seat;
        void *memory;                /* as the structure wants it */
        uint64_t stream;             /* of random numbers */
        uint64_t operations;         /* that are committed: the next ones' numbers */
        uint64_t batch;              /* of the transaction */
        struct sums sums, attempted; /* of all that are committed, and of the transaction */
        uint64_t transactions, attempts;
        const char *wrong;
        struct content content;
};

static void await(const _Atomic int *word, int value)
{
        const struct timespec pause = { 0, LOOK_EVERY_NS };
        while (atomic_load(word) < value)
                nanosleep(&pause, NULL);
}

static _Noreturn void fail(const struct crew_plan *plan, const char *what)
{
        fprintf(stderr, "%s, %s, %d processes, %d operations a transaction: %s\n",
                structures_plain[plan->structure].name, plan->way->name, plan->processes, (int)plan->batch, what);
        exit(EXIT_FAILURE);
}

/* What this thread has had of a processor. */
static uint64_t cpu_now_ns(void)
{
        struct timespec t;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
        return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- operations ---- */

/* Its own for each operation, so that a transaction that is lost does the same again (splitmix64, S. Vigna, 2015). */
static uint64_t random_of(uint64_t stream, uint64_t operation)
{
        uint64_t z = stream + operation * 0x9e3779b97f4a7c15u;
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
        z = (z ^ z >> 27) * 0x94d049bb133111ebu;
        return z ^ z >> 31;
}

/* Half of them get; the others put, and erase as often where that is possible. Returns whether the transaction goes
 * on. */
static bool operate(const struct worker *worker, uint64_t random, struct sums *sums)
{
        const struct structure *structure = worker->structure, *model = &structures_plain[worker->plan->structure];
        const uint64_t key = 1 + (random >> 32) % model->keys;
        uint64_t value[VALUE_WORDS_MAX] = { 0 };
        int answer;

        if (random & 1) {
                answer = structure->get(worker->memory, key, value);
        } else if (!structure->erase || random & 2) {
                value_make(value, model->words, key, random);
                answer = structure->put(worker->memory, key, value);
                sums->grown += answer;
        } else {
                answer = structure->erase(worker->memory, key);
                sums->grown -= answer;
        }
        sums->digest += ((uint64_t)answer + value[0] + 3 * value[model->words - 1]) * (random | 1);
        return answer >= 0;
}

/* Sums are kept apart until the end: each operation would wait for the last one to be stored. */
static int run_batch(void *arg)
{
        struct worker *worker = arg;
        struct sums sums = { 0 };

        worker->attempts++;
        for (uint64_t i = 0; i < worker->batch; i++)
                if (!operate(worker, random_of(worker->stream, worker->operations + i), &sums))
                        break; /* the end of the transaction will say so */
        worker->attempted = sums;
        return 0;
}

static void work(struct worker *worker, uint64_t operations, uint64_t batch)
{
        for (uint64_t left = operations; left; left -= worker->batch) {
                worker->batch = batch < left ? batch : left;
                worker->plan->way->memory->run(&worker->seat, run_batch, worker);
                worker->sums.digest += worker->attempted.digest;
                worker->sums.grown += worker->attempted.grown;
                worker->operations += worker->batch;
                worker->transactions++;
        }
}

static int make_structure(void *arg)
{
        struct worker *worker = arg;
        worker->structure->make(worker->memory);
        return 0;
}

static int check_structure(void *arg)
{
        struct worker *worker = arg;
        worker->content = (struct content){ 0 };
        worker->wrong = worker->structure->check(worker->memory, &worker->content);
        return 0;
}

/* ---- a worker ---- */

static void open_worker(struct worker *worker, void *place)
{
        const struct way *way = worker->plan->way;

        way->memory->open(place, &worker->seat);
        worker->memory = way->is_by_hand ? (void *)&worker->seat : worker->seat.bytes;
        worker->stream = random_of(worker->plan->seed, (uint64_t)worker->number + 1);
}

/* In one transaction, so that a page that is written faults once. */
static void fill(struct worker *worker)
{
        const uint64_t operations = structures_plain[worker->plan->structure].fills;

        worker->plan->way->memory->run(&worker->seat, make_structure, worker);
        work(worker, operations, operations);
        atomic_store(&worker->board->is_filled, 1);
}

static void work_measured(struct worker *worker, uint64_t operations)
{
        struct tally *tally = &worker->board->tally[worker->number];

        worker->transactions = worker->attempts = 0;
        tally->begin_ns = measure_now_ns();
        tally->cpu_ns = cpu_now_ns();
        work(worker, operations, worker->plan->batch);
        tally->cpu_ns = cpu_now_ns() - tally->cpu_ns;
        tally->end_ns = measure_now_ns();
        tally->transactions = worker->transactions;
        tally->attempts = worker->attempts;
        tally->grown = worker->sums.grown;
        tally->digest = worker->sums.digest;
}

/* The first lets the others go when all are ready. */
static uint64_t begin(struct worker *worker)
{
        struct board *board = worker->board;
        uint64_t faults = 0;

        atomic_fetch_add(&board->ready, 1);
        if (worker->number == 0) {
                await(&board->ready, worker->plan->processes);
                faults = worker->plan->way->memory->faults(&worker->seat);
                atomic_store(&board->is_running, 1);
        }
        await(&board->is_running, 1);
        return faults;
}

static void finish(struct worker *worker, uint64_t faults)
{
        const struct memory *memory = worker->plan->way->memory;

        atomic_fetch_add(&worker->board->done, 1);
        await(&worker->board->done, worker->plan->processes);
        if (worker->number == 0) {
                worker->board->faults = memory->faults(&worker->seat) - faults;
                memory->run(&worker->seat, check_structure, worker);
                if (worker->wrong)
                        fail(worker->plan, worker->wrong);
                worker->board->content = worker->content;
        }
        memory->close(&worker->seat);
}

static _Noreturn void run_worker(struct worker *worker, void *place)
{
        const struct crew_plan *plan = worker->plan;
        const uint64_t whole = plan->operations / (uint64_t)plan->processes;
        const uint64_t rest = worker->number ? 0 : plan->operations % (uint64_t)plan->processes;

        prctl(PR_SET_PDEATHSIG, SIGKILL);
        alarm(STUCK_SECONDS); /* nobody waits for ever */
        if (worker->number)
                await(&worker->board->is_filled, 1);
        open_worker(worker, place);
        if (worker->number == 0)
                fill(worker);
        work(worker, (whole + rest) / WARM_UP_PART, plan->batch);
        const uint64_t faults = begin(worker);
        work_measured(worker, whole + rest);
        finish(worker, faults);
        _exit(EXIT_SUCCESS);
}

/* ---- the parent ---- */

static struct board *make_board(void)
{
        struct board *board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (board == MAP_FAILED)
                scratch_fail(-errno, "mmap");
        return board;
}

static void start_worker(const struct crew_plan *plan, struct board *board, void *place, int number)
{
        struct worker worker = {
                .plan = plan, .structure = plan->way->structures[plan->structure], .board = board, .number = number
        };

        fflush(NULL);
        pid_t pid = fork();
        if (pid < 0)
                scratch_fail(-errno, "fork");
        if (pid == 0)
                run_worker(&worker, place);
}

/* A worker that fails has said why; its death ends the program, and the others die with it. */
static void reap_one(void)
{
        int status = 0;
        if (wait(&status) < 0 || status) {
                fprintf(stderr, "a worker has failed (status %#x)\n", (unsigned)status);
                exit(EXIT_FAILURE);
        }
}

static void add_up(const struct crew_plan *plan, const struct board *board, struct crew_outcome *outcome)
{
        uint64_t begin_ns = UINT64_MAX, end_ns = 0, cpu_ns = 0, transactions = 0, attempts = 0;
        int64_t grown = 0;

        for (int w = 0; w < plan->processes; w++) {
                const struct tally *tally = &board->tally[w];
                begin_ns = tally->begin_ns < begin_ns ? tally->begin_ns : begin_ns;
                end_ns = tally->end_ns > end_ns ? tally->end_ns : end_ns;
                cpu_ns += tally->cpu_ns;
                transactions += tally->transactions;
                attempts += tally->attempts;
                grown += tally->grown;
        }
        if ((int64_t)board->content.count != grown)
                fail(plan, "there are not as many entries as were put and not erased");
        *outcome = (struct crew_outcome){
                .us = (double)(end_ns - begin_ns) / 1e3 / (double)plan->operations,
                .cpu_us = (double)cpu_ns / 1e3 / (double)plan->operations,
                .lost = (double)(attempts - transactions) / (double)transactions,
                .faults = (double)board->faults / (double)plan->operations,
                .digest = board->tally[0].digest,
                .content = board->content,
        };
}

void crew_run(const struct crew_plan *plan, struct crew_outcome *outcome)
{
        const struct memory *memory = plan->way->memory;
        struct board *board = make_board();
        void *place = memory->make(plan->way->structures[plan->structure]->byte_len, plan->processes);

        for (int w = 0; w < plan->processes; w++)
                start_worker(plan, board, place, w);
        for (int w = 0; w < plan->processes; w++)
                reap_one();
        add_up(plan, board, outcome);
        memory->remove(place);
        munmap(board, sizeof(*board));
}
