/* SPDX-License-Identifier: MIT */
#include "bench/crew.h"

/*
 *      parent       start all ......... all are ready: RUN ... time is up: STOP ... add up
 *      worker       open, all there, warm up, ready ... transactions ... done, all done: check, close
 *
 * Whoever waits sleeps between looks, so that it takes no processor from those who still work.
 */

#include <errno.h>
#include <pthread.h>
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
#include "bench/support/processor.h"
#include "bench/support/scratch.h"

enum { LOOK_EVERY_NS = 50000, WATCH_EVERY_NS = 20000000, STUCK_SECONDS = 60, CACHE_LINE = 64 };

enum phase { PREPARE, RUN, STOP };

struct tally {
        _Alignas(CACHE_LINE) uint64_t commits, lost, ns; /* while it was measured */
        _Atomic uint64_t commits_ever;
        struct histogram latency;
};

struct board {
        _Alignas(CACHE_LINE) _Atomic int phase;
        _Alignas(CACHE_LINE) _Atomic int open, ready, done;
        struct tally tally[CREW_MAX];
        _Alignas(WORK_PAGE) char common[COMMON_BYTES];
};

struct member {
        const struct crew_plan *plan;
        struct board *board;
        struct task task;
        void *seat;
};

static void nap(void)
{
        const struct timespec pause = { 0, LOOK_EVERY_NS };
        nanosleep(&pause, NULL);
}

static void await(const _Atomic int *word, int value)
{
        while (atomic_load(word) < value)
                nap();
}

/* The worker's side. */

void *crew_new_seat(size_t byte_len)
{
        void *seat = calloc(1, byte_len);
        if (seat)
                return seat;
        scratch_fail(-ENOMEM, "a seat");
}

static void warm_up(struct member *member)
{
        const uint64_t end_ns = measure_now_ns() + member->plan->warm_up_ns;
        uint64_t commits = 0;
        do {
                member->plan->system->transaction(member->seat);
                commits++;
        } while (measure_now_ns() < end_ns);
        atomic_store(&member->board->tally[member->task.worker].commits_ever, commits);
}

static bool is_running(const struct member *member)
{
        return atomic_load_explicit(&member->board->phase, memory_order_relaxed) == RUN;
}

static void run_untimed(struct member *member, struct tally *tally)
{
        const struct system *system = member->plan->system;
        uint64_t commits = 0, lost = 0;

        while (is_running(member)) {
                lost += system->transaction(member->seat);
                commits++;
        }
        tally->commits = commits;
        tally->lost = lost;
}

static void run_timed(struct member *member, struct tally *tally)
{
        uint64_t before_ns = measure_now_ns();

        while (is_running(member)) {
                tally->lost += member->plan->system->transaction(member->seat);
                tally->commits++;
                uint64_t now_ns = measure_now_ns();
                histogram_add(&tally->latency, now_ns - before_ns);
                before_ns = now_ns;
        }
}

static void note(const struct member *member, enum crew_moment moment)
{
        if (member->plan->note)
                member->plan->note(member->plan->notes, member->seat, member->task.worker, moment);
}

static void run_measured(struct member *member)
{
        struct tally *tally = &member->board->tally[member->task.worker];

        note(member, CREW_BEGINS);
        const uint64_t start_ns = measure_now_ns();
        if (member->plan->has_latencies)
                run_timed(member, tally);
        else
                run_untimed(member, tally);
        tally->ns = measure_now_ns() - start_ns;
        note(member, CREW_ENDS);
        atomic_fetch_add(&tally->commits_ever, tally->commits);
}

/* Everybody's increments are there, and nothing else. */
static void check_sum(const struct member *member, int workers)
{
        const struct system *system = member->plan->system;
        uint64_t commits = 0;

        for (int w = 0; w < workers; w++)
                if (!system->is_separate || w == member->task.worker)
                        commits += atomic_load(&member->board->tally[w].commits_ever);
        unsigned expected = (unsigned)(commits * member->task.work.repeats);
        unsigned found = system->sum(member->seat);
        if (found != expected) {
                fprintf(stderr, "%s: increments are WRONG: %u, not %u\n", system->name, found, expected);
                exit(EXIT_FAILURE);
        }
}

static void *work(void *arg)
{
        struct member *member = arg;
        struct board *board = member->board;
        const struct system *system = member->plan->system;
        const int workers = member->plan->processes * member->plan->threads;

        member->seat = system->open(&member->task);
        if (member->plan->is_pinned)
                processor_pin(member->task.worker); /* only now: threads that the system has started stay free */
        atomic_fetch_add(&board->open, 1);
        await(&board->open, workers);
        warm_up(member);
        atomic_fetch_add(&board->ready, 1);
        await(&board->phase, RUN);
        run_measured(member);
        atomic_fetch_add(&board->done, 1);
        await(&board->done, workers);
        check_sum(member, workers);
        system->close(member->seat);
        return NULL;
}

static _Noreturn void run_process(const struct crew_plan *plan, struct member *members)
{
        pthread_t thread[CREW_MAX] = { 0 };

        prctl(PR_SET_PDEATHSIG, SIGKILL);
        alarm(STUCK_SECONDS + (unsigned)(plan->run_ns / 1000000000)); /* nobody waits for ever */
        for (int t = 1; t < plan->threads; t++)
                must(-pthread_create(&thread[t], NULL, work, &members[t]), "pthread_create");
        work(&members[0]);
        for (int t = 1; t < plan->threads; t++)
                pthread_join(thread[t], NULL);
        _exit(EXIT_SUCCESS);
}

/* The parent's side. */

static struct board *make_board(const struct crew_plan *plan)
{
        struct board *board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (board == MAP_FAILED)
                scratch_fail(-errno, "mmap");
        if (plan->system->prepare)
                plan->system->prepare(board->common);
        return board;
}

static pid_t start_process(const struct crew_plan *plan, struct board *board, const char *directory, int process)
{
        struct member members[CREW_MAX];

        for (int t = 0; t < CREW_MAX; t++) {
                members[t] = (struct member){ plan, board, plan->task, NULL };
                members[t].task.directory = directory;
                members[t].task.common = board->common;
                members[t].task.worker = process * plan->threads + t;
        }
        fflush(NULL);
        pid_t pid = fork();
        if (pid < 0)
                scratch_fail(-errno, "fork");
        if (pid == 0)
                run_process(plan, members);
        return pid;
}

/* A worker that fails has said why; its death ends the program, and the others die with it. */
static void reap(pid_t pid, int flags)
{
        int status = 0;
        if (waitpid(pid, &status, flags) < 0 || status) {
                fprintf(stderr, "a worker has failed (status %#x)\n", (unsigned)status);
                exit(EXIT_FAILURE);
        }
}

static void sleep_ns(uint64_t ns)
{
        const struct timespec pause = { .tv_sec = (time_t)(ns / 1000000000), .tv_nsec = (long)(ns % 1000000000) };
        nanosleep(&pause, NULL);
}

static void watch(const struct crew_plan *plan, const char *directory, enum crew_moment moment)
{
        if (plan->watch)
                plan->watch(plan->watch_arg, directory, moment);
}

static void let_them_run(const struct crew_plan *plan, const char *directory)
{
        const uint64_t end_ns = measure_now_ns() + plan->run_ns;

        for (uint64_t now_ns = measure_now_ns(); now_ns < end_ns; now_ns = measure_now_ns()) {
                uint64_t left_ns = end_ns - now_ns;
                sleep_ns(plan->watch && left_ns > WATCH_EVERY_NS ? WATCH_EVERY_NS : left_ns);
                watch(plan, directory, CREW_RUNS);
        }
}

static void conduct(const struct crew_plan *plan, const char *directory, struct board *board, const pid_t *pids)
{
        while (atomic_load(&board->ready) < plan->processes * plan->threads) {
                nap();
                for (int p = 0; p < plan->processes; p++)
                        reap(pids[p], WNOHANG);
        }
        watch(plan, directory, CREW_BEGINS);
        atomic_store(&board->phase, RUN);
        let_them_run(plan, directory);
        atomic_store(&board->phase, STOP);
        watch(plan, directory, CREW_ENDS);
        for (int p = 0; p < plan->processes; p++)
                reap(pids[p], 0);
}

static void add_up(const struct board *board, int workers, struct crew_outcome *outcome)
{
        double slowest = 0, fastest = 0;
        uint64_t commits = 0, lost = 0;

        *outcome = (struct crew_outcome){ 0 };
        for (int w = 0; w < workers; w++) {
                const struct tally *tally = &board->tally[w];
                double rate = (double)tally->commits * 1e9 / (double)tally->ns;
                outcome->per_second += rate;
                slowest = w == 0 || rate < slowest ? rate : slowest;
                fastest = rate > fastest ? rate : fastest;
                commits += tally->commits;
                lost += tally->lost;
                histogram_merge(&outcome->latency, &tally->latency);
        }
        outcome->aborts_per_commit = commits ? (double)lost / (double)commits : 0;
        outcome->fairness = fastest > 0 ? slowest / fastest : 0;
}

void crew_run(const struct crew_plan *plan, struct crew_outcome *outcome)
{
        struct board *board = make_board(plan);
        struct scratch scratch;
        pid_t pids[CREW_MAX] = { 0 };
        const char *directory = plan->task.directory ? plan->task.directory : scratch.directory;

        if (!plan->task.directory)
                scratch_make(&scratch, 0);
        for (int p = 0; p < plan->processes; p++)
                pids[p] = start_process(plan, board, directory, p);
        conduct(plan, directory, board, pids);
        add_up(board, plan->processes * plan->threads, outcome);
        if (!plan->task.directory)
                scratch_remove(&scratch);
        munmap(board, sizeof(*board));
}
