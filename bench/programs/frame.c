/* SPDX-License-Identifier: MIT */

/*
 * Runs a program (program.h) once, in ordinary memory or in a view, and prints
 *
 *      us    cpu_us    faults    lost    sum          of an operation; faults in views and attempts that were lost:
 *                                                     in all
 *
 *      frame plain|view OPERATIONS      a tenth as many come before, to warm up
 *
 * In a view each operation is a transaction. Not compiled by xac-cc: it touches no view.
 */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "bench/programs/program.h"
#include "bench/support/measure.h"
#include "bench/support/scratch.h"

enum { WARM_UP_PART = 10, FAILED = 1 };

/* What the prototype of xac-cc wants to be told, if it is what compiled the program (run). */
extern uint64_t prototype_base __asm__("__xac_base") __attribute__((weak));
extern uint64_t prototype_len __asm__("__xac_len") __attribute__((weak));
extern uint64_t prototype_attempt __asm__("__xac_txn") __attribute__((weak));
extern xac_env *prototype_env __asm__("__xac_env") __attribute__((weak));

static struct run {
        void *memory;
        xac_env *env; /* NULL: ordinary memory */
        uint64_t number, sum, attempts;
} run;

static void tell_prototype(void)
{
        if (!&prototype_base || !run.env)
                return;
        prototype_base = (uintptr_t)run.memory;
        prototype_len = program.byte_len;
        prototype_env = run.env;
}

static int transact(int (*body)(void *arg), void *arg)
{
        return run.env ? xac_run(run.env, 0, body, arg) : body(arg);
}

static void begin_attempt(void)
{
        run.attempts++;
        if (&prototype_attempt)
                prototype_attempt++;
}

static int make(void *arg)
{
        begin_attempt();
        return program.make(run.memory, program.byte_len) ? FAILED : 0;
}

/* The sum counts when it is committed. */
static int operate(void *sum)
{
        begin_attempt();
        *(uint64_t *)sum = 0;
        return program.operate(run.memory, run.number, sum) ? FAILED : 0;
}

static int check(void *sum)
{
        begin_attempt();
        *(uint64_t *)sum = 0;
        return program.check(run.memory, run.number, sum) ? FAILED : 0;
}

static void must_do(int (*body)(void *arg), const char *what)
{
        uint64_t sum = 0;
        const int err = transact(body, &sum);

        if (err > 0) {
                fprintf(stderr, "%s: it failed at operation %" PRIu64 "\n", what, run.number);
                exit(EXIT_FAILURE);
        }
        must(err, what);
        run.sum += sum;
}

static void operate_often(uint64_t operations)
{
        for (uint64_t i = 0; i < operations; i++) {
                must_do(operate, "an operation");
                run.number++;
        }
}

static uint64_t cpu_now_ns(void)
{
        struct timespec t;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
        return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t faults(void)
{
        xac_stats stats;

        if (!run.env)
                return 0;
        must(xac_stat(run.env, &stats), "xac_stat");
        return stats.read_faults + stats.write_faults;
}

static void measure(uint64_t operations)
{
        const uint64_t faults_before = faults(), attempts_before = run.attempts, cpu_ns = cpu_now_ns(),
                       begin_ns = measure_now_ns();
        operate_often(operations);
        const double us = (double)(measure_now_ns() - begin_ns) / 1e3 / (double)operations;
        const double cpu_us = (double)(cpu_now_ns() - cpu_ns) / 1e3 / (double)operations;
        const uint64_t attempts = run.attempts - attempts_before, taken = faults() - faults_before;

        must_do(check, "the check");
        printf("%.4f %.4f %" PRIu64 " %" PRIu64 " %" PRIx64 "\n", us, cpu_us, taken, attempts - operations, run.sum);
}

int main(int argc, char **argv)
{
        static struct scratch scratch;
        const uint64_t operations = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;

        if (!operations) {
                fprintf(stderr, "usage: %s plain|view OPERATIONS\n", argv[0]);
                return 2;
        }
        if (strcmp(argv[1], "view") == 0) {
                scratch_make(&scratch, program.byte_len / SCRATCH_PAGE);
                scratch_open(&scratch, 0);
                run.env = scratch.env;
                run.memory = scratch.file;
        } else {
                run.memory = mmap(NULL, program.byte_len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        }
        if (run.memory == MAP_FAILED)
                return EXIT_FAILURE;
        tell_prototype();
        must_do(make, "the beginning");
        operate_often(operations / WARM_UP_PART);
        measure(operations);
        if (run.env) {
                scratch_close(&scratch);
                scratch_remove(&scratch);
        }
        return EXIT_SUCCESS;
}
