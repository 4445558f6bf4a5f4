/* SPDX-License-Identifier: MIT */

/*
 * How many calls into one Lua interpreter, which lives in a heap in a file (examples/lua/interpreter.h), several
 * processes make together. A call counts a word in a table; there are 5,000 different ones. Each writes the
 * interpreter's state, so that calls of two processes at once conflict, and rightly.
 *
 *      calls DIRECTORY PROCESSES BATCH MILLISECONDS
 *
 * Prints calls a second of all together; conflicts and page faults for each transaction; and us of processor time for
 * each call.
 */

#include <inttypes.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "examples/lua/interpreter.h"

enum { WORDS = 5000, WORD_BYTES = 32, WARM_UP = 200 };

static const char script[] = "local counts = {}\n"
                             "function count(_, word)\n"
                             "        counts[word] = (counts[word] or 0) + 1\n"
                             "        return counts[word]\n"
                             "end\n"
                             "function total()\n"
                             "        local sum = 0\n"
                             "        for _, n in pairs(counts) do sum = sum + n end\n"
                             "        return sum\n"
                             "end\n";

static xac_env *env;
static xac_heap *heap;

/* In memory that processes share. */
static struct {
        _Atomic int ready;
        _Atomic uint64_t calls, transactions, attempts, cpu_ns;
} * all;

static void must(int err, const char *what)
{
        if (!err)
                return;
        fprintf(stderr, "%s: %s\n", what, xac_strerror(err));
        exit(EXIT_FAILURE);
}

static void open_it(const char *directory)
{
        const char *why;

        must(xac_open(directory, XAC_CREATE | XAC_VOLATILE, NULL, &env), directory);
        must(xac_heap_open(env, "heap", XAC_CREATE, &heap), directory);
        if (!interpreter_open(env, heap, (struct interpreter_script){ script, sizeof(script) - 1 }, &why))
                return;
        fprintf(stderr, "%s: %s\n", directory, why);
        exit(EXIT_FAILURE);
}

static void close_it(void)
{
        must(xac_heap_close(heap), "xac_heap_close");
        must(xac_close(env), "xac_close");
}

struct batch {
        struct interpreter_call call;
        uint64_t first, attempts;
        int calls;
};

static int call_batch(void *arg)
{
        struct batch *batch = arg;
        const char *why;

        batch->attempts++;
        for (int i = 0; i < batch->calls; i++) {
                char word[WORD_BYTES];
                /* splitmix64, S. Vigna, 2015 */
                uint64_t z = (batch->first + (uint64_t)i + 1) * 0x9e3779b97f4a7c15u;
                z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
                snprintf(word, sizeof(word), "word%d", (int)((z ^ z >> 27) % WORDS));
                batch->call.word = word;
                if (interpreter_call(&batch->call, &why))
                        return -1;
        }
        return 0;
}

static uint64_t now_ns(clockid_t clock)
{
        struct timespec now;
        clock_gettime(clock, &now);
        return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static _Noreturn void work(const char *directory, int process, int processes, int calls, uint64_t nanoseconds)
{
        struct batch batch = { .call = { .function = "count" },
                               .first = (uint64_t)(process + 1) << 32,
                               .calls = calls };
        uint64_t transactions = 0;

        open_it(directory);
        for (int i = 0; i < WARM_UP; i++, batch.first += (uint64_t)calls)
                must(xac_run(env, 0, call_batch, &batch), "count");
        batch.attempts = 0;
        for (all->ready++; all->ready < processes;)
                usleep(100);
        const uint64_t cpu_before = now_ns(CLOCK_PROCESS_CPUTIME_ID), begun = now_ns(CLOCK_MONOTONIC);
        for (; now_ns(CLOCK_MONOTONIC) - begun < nanoseconds; transactions++, batch.first += (uint64_t)calls)
                must(xac_run(env, 0, call_batch, &batch), "count");
        all->cpu_ns += now_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu_before;
        all->attempts += batch.attempts;
        all->transactions += transactions;
        all->calls += transactions * (uint64_t)calls;
        close_it();
        _exit(EXIT_SUCCESS);
}

static int ask_total(void *arg)
{
        struct batch *batch = arg;
        const char *why;
        return interpreter_call(&batch->call, &why);
}

static uint64_t faults(void)
{
        xac_stats stats;
        must(xac_stat(env, &stats), "xac_stat");
        return stats.read_faults + stats.write_faults;
}

int main(int argc, char **argv)
{
        if (argc != 5)
                return 2;
        const int processes = atoi(argv[2]), calls = atoi(argv[3]), milliseconds = atoi(argv[4]);
        struct batch total = { .call = { .function = "total" } };
        int status;

        all = mmap(NULL, sizeof(*all), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        open_it(argv[1]);
        const uint64_t before = faults();
        for (int process = 0; process < processes; process++)
                if (fork() == 0)
                        work(argv[1], process, processes, calls, (uint64_t)milliseconds * 1000000u);
        while (wait(&status) > 0)
                if (status)
                        return EXIT_FAILURE;
        const double done = (double)all->transactions;
        printf("%.0f %.4f %.2f %.3f\n", (double)all->calls * 1000 / milliseconds, (double)all->attempts / done - 1,
               (double)(faults() - before) / done, (double)all->cpu_ns / 1000 / (double)all->calls);
        must(xac_run(env, 0, ask_total, &total), "total");
        close_it();
        return total.call.number != (long)all->calls + (long)processes * WARM_UP * calls;
}
