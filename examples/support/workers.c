/* SPDX-License-Identifier: MIT */
#include "examples/support/workers.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <time.h>
#include <unistd.h>

enum { STUCK_SECONDS = 300 };

void workers_fail(const char *what, const char *why)
{
        fprintf(stderr, "%s: %s\n", what, why);
        exit(EXIT_FAILURE);
}

void workers_must(int err, const char *what)
{
        if (err)
                workers_fail(what, xac_strerror(err));
}

/* ---- what is counted ---- */

static const char tally_name[] = "worker ";

struct workers_tally *workers_tally(xac_heap *heap, int worker)
{
        char name[sizeof(tally_name) + 12];
        xac_heap_root root;

        if (worker < 0)
                return NULL;
        snprintf(name, sizeof(name), "%s%d", tally_name, worker);
        const int err = xac_heap_root_create(heap, name, sizeof(struct workers_tally), 0, &root);
        if (err && err != -EEXIST)
                workers_must(err, name);
        return root.object;
}

static int add_tally(void *arg, const xac_heap_root *root)
{
        struct workers_tally *sum = arg;
        const struct workers_tally *tally = root->object;

        if (strncmp(root->name, tally_name, strlen(tally_name)) != 0)
                return 0;
        printf("%s: %lld operations\n", root->name, (long long)tally->operations);
        sum->operations += tally->operations;
        for (int i = 0; i < WORKERS_NUMBERS; i++)
                sum->number[i] += tally->number[i];
        return 0;
}

struct workers_tally workers_sum(xac_heap *heap)
{
        struct workers_tally sum = { 0 };
        workers_must(xac_heap_root_list(heap, add_tally, &sum), "what was counted");
        return sum;
}

/* ---- modes ---- */

struct task {
        const struct workers_program *program;
        const char *directory;
        int flags;
};

/* Another one for each operation of each process (splitmix64, S. Vigna, 2015). */
static uint64_t random_of(uint64_t *state)
{
        uint64_t z = *state += 0x9e3779b97f4a7c15u;
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
        z = (z ^ z >> 27) * 0x94d049bb133111ebu;
        return z ^ z >> 31;
}

static void work(const struct task *task, int worker, long operations, uint64_t seed, bool says_dots)
{
        uint64_t state = seed + ((uint64_t)worker << 32);

        task->program->open(task->directory, task->flags, worker);
        for (long i = 0; i < operations; i++) {
                workers_must(task->program->operate(random_of(&state)), "an operation");
                if (says_dots && write(STDOUT_FILENO, ".", 1) != 1)
                        workers_fail("a dot", "nobody reads it");
        }
        task->program->close();
}

static void fork_worker(const struct task *task, int worker, long operations)
{
        const pid_t pid = fork();

        if (pid < 0)
                workers_fail("fork", "there is no process left");
        if (pid)
                return;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        work(task, worker, operations, (uint64_t)time(NULL), false);
        exit(EXIT_SUCCESS);
}

static int check(const struct task *task)
{
        task->program->open(task->directory, task->flags, -1);
        const int result = task->program->check();
        task->program->close();
        return result ? EXIT_FAILURE : EXIT_SUCCESS;
}

static uint64_t now_ns(void)
{
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* This process has the environment open meanwhile, so that its counts stay. */
static int run(const struct task *task, int processes, long operations)
{
        xac_stats stats;
        int status;
        const uint64_t begun = now_ns();

        for (int w = 0; w < processes; w++)
                fork_worker(task, w, operations);
        xac_env *env = task->program->open(task->directory, task->flags, -1);
        while (wait(&status) > 0)
                if (status)
                        workers_fail("a worker", "failed");
        const double us = (double)(now_ns() - begun) / 1e3 / (double)operations / processes;
        workers_must(xac_stat(env, &stats), "xac_stat");
        task->program->close();
        fprintf(stderr, "%.1f us an operation, %llu attempts lost, %llu page faults\n", us,
                (unsigned long long)stats.conflicts, (unsigned long long)(stats.read_faults + stats.write_faults));
        return check(task);
}

int workers_main(int argc, char **argv, const struct workers_program *program)
{
        struct task task = { .program = program, .flags = XAC_CREATE };
        const char *name = argv[0];

        alarm(STUCK_SECONDS); /* nobody waits for ever */
        if (argc > 1 && strcmp(argv[1], "-v") == 0) {
                task.flags |= XAC_VOLATILE;
                argc--;
                argv++;
        }
        const int first = argc > 4 ? atoi(argv[3]) : -1;
        const long operations = argc > 4 ? atol(argv[4]) : 0;
        task.directory = argv[1];
        if (argc == 3 && strcmp(argv[2], "check") == 0)
                return check(&task);
        if (argc == 5 && strcmp(argv[2], "run") == 0 && first > 0 && first <= WORKERS_MAX && operations > 0)
                return run(&task, first, operations);
        if (argc == 6 && strcmp(argv[2], "work") == 0 && first >= 0 && first < WORKERS_MAX) {
                work(&task, first, operations, strtoull(argv[5], NULL, 0), true);
                return EXIT_SUCCESS;
        }
        fprintf(stderr, "usage: %s [-v] DIRECTORY run PROCESSES OPERATIONS | work WORKER OPERATIONS SEED | check\n",
                name);
        return 2;
}
