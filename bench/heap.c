/* SPDX-License-Identifier: MIT */

/*
 * What does a heap in a file cost? Objects of 16 to 512 bytes live for random times: each step frees one and allocates
 * another, and writes its first word.
 *
 *      malloc   of the C library, in each process' own memory
 *      heap     xac_heap_malloc() in one file, so many steps a transaction; what a transaction that lost a race has
 *               done is undone, and done again
 *
 * All processes have as many objects together as one alone. Space is the pages of objects, divided by the bytes asked
 * for. The ways run in turn: A, B, A, B.
 */

#include <errno.h>
#include <inttypes.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <xac/heap.h>
#include <xac/translate.h>

#include "bench/support/csv.h"
#include "bench/support/options.h"
#include "bench/support/scratch.h"

enum { SIZE_MIN = 16, SIZE_MAX_ = 512, PROCESSES_MAX = 64, BATCH_MAX = 1000 };

enum way { MALLOC, HEAP, WAYS };
static const char *const way_names[WAYS] = { "malloc", "heap" };

static struct {
        uint64_t objects, batch, transactions, repetitions, seed;
        const char *processes;
} plan = { .objects = 1000000, .batch = 100, .transactions = 10000, .repetitions = 5, .seed = 1, .processes = "1,2,4" };

/* In memory that the processes share. */
static struct meeting {
        _Atomic uint32_t ready, is_begun;
        struct report {
                uint64_t begin_ns, end_ns, conflicts, asked_bytes;
                double space;
        } report[PROCESSES_MAX];
} * meeting;

struct object {
        void *memory;
        uint32_t size;
};

static struct worker {
        enum way way;
        struct scratch scratch;
        xac_heap *heap;
        struct object *object;
        uint64_t count, random;
} worker;

/* ---- one transaction ---- */

/* One step each in so many parts of the objects: none is met twice. */
struct batch {
        uint64_t steps, attempts, random;
        uint64_t chosen[BATCH_MAX];
        struct object made[BATCH_MAX];
};

static void *allocate(uint32_t size)
{
        void *memory = worker.way == HEAP ? xac_heap_malloc(worker.heap, size) : malloc(size);
        if (!memory)
                scratch_fail(-errno, "malloc");
        *(uint64_t *)xac_for_write(memory) = size;
        return memory;
}

static void release(void *memory)
{
        if (worker.way == HEAP)
                xac_heap_free(worker.heap, memory);
        else
                free(memory);
}

static uint32_t some_size(uint64_t *random)
{
        return SIZE_MIN + (uint32_t)((measure_random(random) >> 20) % (SIZE_MAX_ - SIZE_MIN + 1));
}

static int churn(void *batch_)
{
        struct batch *batch = batch_;
        uint64_t random = batch->random;
        const uint64_t part = worker.count / batch->steps;

        batch->attempts++;
        for (uint64_t i = 0; i < batch->steps; i++) {
                batch->chosen[i] = i * part + (measure_random(&random) >> 16) % part;
                release(worker.object[batch->chosen[i]].memory);
                const uint32_t size = some_size(&random);
                batch->made[i] = (struct object){ allocate(size), size };
        }
        return 0;
}

static int fill(void *batch_)
{
        struct batch *batch = batch_;
        uint64_t random = batch->random;

        batch->attempts++;
        for (uint64_t i = 0; i < batch->steps; i++) {
                const uint32_t size = some_size(&random);
                batch->made[i] = (struct object){ allocate(size), size };
        }
        return 0;
}

/* Returns how often it was done in vain. */
static uint64_t run(struct batch *batch, int (*body)(void *batch))
{
        batch->attempts = 0;
        batch->random = measure_random(&worker.random);
        if (worker.way == HEAP)
                must(xac_run(worker.scratch.env, 0, body, batch), "xac_run");
        else
                body(batch);
        return batch->attempts - 1;
}

static void fill_all(void)
{
        struct batch batch = { .steps = plan.batch };

        for (uint64_t done = 0; done < worker.count; done += batch.steps) {
                if (batch.steps > worker.count - done)
                        batch.steps = worker.count - done;
                run(&batch, fill);
                memcpy(worker.object + done, batch.made, batch.steps * sizeof(batch.made[0]));
        }
}

static uint64_t churn_for(uint64_t transactions)
{
        struct batch batch = { .steps = plan.batch };
        uint64_t conflicts = 0;

        for (uint64_t t = 0; t < transactions; t++) {
                conflicts += run(&batch, churn);
                for (uint64_t i = 0; i < batch.steps; i++)
                        worker.object[batch.chosen[i]] = batch.made[i];
        }
        return conflicts;
}

/* ---- processes ---- */

static void meet(uint32_t processes)
{
        const uint32_t before = atomic_fetch_add(&meeting->ready, 1);
        while (atomic_load(&meeting->ready) < (before / processes + 1) * processes)
                usleep(100);
}

/* Of all processes, in the pages of objects; asked for only by this one. */
static void look_at_space(struct report *report)
{
        report->asked_bytes = 0;
        for (uint64_t i = 0; i < worker.count; i++)
                report->asked_bytes += worker.object[i].size;
        if (worker.way == MALLOC) {
                const struct mallinfo2 info = mallinfo2();
                report->space = (double)(info.arena + info.hblkhd) - (double)worker.count * sizeof(struct object);
                return;
        }
        xac_heap_stats stats;
        must(xac_heap_check(worker.heap, &stats, NULL, NULL), "xac_heap_check");
        report->space = (double)(stats.slab_bytes + stats.run_bytes);
}

static void work(uint32_t index, uint32_t processes)
{
        struct report *report = &meeting->report[index];

        worker.count = plan.objects / processes;
        worker.random = plan.seed * 1000 + index + 1;
        worker.object = calloc(worker.count, sizeof(worker.object[0]));
        if (!worker.object)
                scratch_fail(-ENOMEM, "calloc");
        if (worker.way == HEAP) {
                scratch_open(&worker.scratch, 0);
                must(xac_heap_open(worker.scratch.env, "heap", XAC_CREATE, &worker.heap), "xac_heap_open");
        }
        fill_all();
        churn_for(plan.transactions / processes); /* until lifetimes are mixed */
        meet(processes);
        report->begin_ns = measure_now_ns();
        report->conflicts = churn_for(plan.transactions / processes);
        report->end_ns = measure_now_ns();
        meet(processes);
        look_at_space(report);
        meet(processes);
        if (worker.way == HEAP) {
                must(xac_heap_close(worker.heap), "xac_heap_close");
                scratch_close(&worker.scratch);
        }
        _exit(EXIT_SUCCESS);
}

static void run_processes(enum way way, uint32_t processes)
{
        memset(meeting, 0, sizeof(*meeting));
        worker.way = way;
        scratch_make(&worker.scratch, 1);
        fflush(stdout);
        for (uint32_t i = 0; i < processes; i++) {
                pid_t pid = fork();
                if (pid < 0)
                        scratch_fail(-errno, "fork");
                if (!pid)
                        work(i, processes);
        }
        for (uint32_t i = 0; i < processes; i++) {
                int status;
                if (wait(&status) < 0 || status)
                        scratch_fail(-ECHILD, "a worker");
        }
        scratch_remove(&worker.scratch);
}

/* ---- results ---- */

struct cell {
        struct samples ns, conflicts, space;
};

static void add_results(struct cell *cell, enum way way, uint32_t processes)
{
        uint64_t begin = UINT64_MAX, end = 0, conflicts = 0, asked = 0;
        double space = 0;
        const uint64_t transactions = plan.transactions / processes * processes;

        for (uint32_t i = 0; i < processes; i++) {
                const struct report *report = &meeting->report[i];
                begin = report->begin_ns < begin ? report->begin_ns : begin;
                end = report->end_ns > end ? report->end_ns : end;
                conflicts += report->conflicts;
                asked += report->asked_bytes;
                space = way == HEAP ? report->space : space + report->space;
        }
        samples_add(&cell->ns, (double)(end - begin) / (double)(transactions * plan.batch));
        samples_add(&cell->conflicts, 100.0 * (double)conflicts / (double)transactions);
        samples_add(&cell->space, space / (double)asked);
}

static void print_row(struct csv *csv, uint32_t processes, enum way way, struct cell cells[WAYS])
{
        struct cell *cell = &cells[way];
        struct csv_series series = { way_names[way], (int)processes, 1, plan.batch, "ns_per_pair", "ns" };

        printf("%9" PRIu32 "  %-8s %8.1f %8.1f %8.1f %8.2f %10.2f %8.2f\n", processes, way_names[way],
               samples_median(&cell->ns), samples_min(&cell->ns), samples_max(&cell->ns),
               samples_ratio(&cell->ns, &cells[MALLOC].ns), samples_median(&cell->conflicts),
               samples_median(&cell->space));
        csv_rows(csv, &series, &cell->ns);
}

static void measure(struct csv *csv, uint32_t processes)
{
        struct cell cells[WAYS] = { 0 };

        for (uint64_t r = 0; r < plan.repetitions; r++)
                for (enum way way = 0; way < WAYS; way++) {
                        run_processes(way, processes);
                        add_results(&cells[way], way, processes);
                }
        for (enum way way = 0; way < WAYS; way++)
                print_row(csv, processes, way, cells);
        for (enum way way = 0; way < WAYS; way++) {
                samples_free(&cells[way].ns);
                samples_free(&cells[way].conflicts);
                samples_free(&cells[way].space);
        }
}

int main(int argc, char **argv)
{
        const char *csv_path = "heap.csv";
        struct option_numbers processes;
        struct csv csv;
        const struct option_spec options[] = {
                OPTION_NUMBER("objects", plan.objects, "that live, of all processes together"),
                OPTION_NUMBER("batch", plan.batch, "pairs of free and malloc a transaction, at most 1000"),
                OPTION_NUMBER("transactions", plan.transactions, "of all processes together"),
                OPTION_TEXT("processes", plan.processes, "how many work at once"),
                OPTION_NUMBER("reps", plan.repetitions, "repetitions of every cell"),
                OPTION_NUMBER("seed", plan.seed, "of what is random"),
                OPTION_TEXT("csv", csv_path, "where every repetition goes"),
                OPTION_END,
        };

        options_parse(argc, argv, "A heap in a file beside malloc().", options);
        options_numbers(plan.processes, 1, PROCESSES_MAX, &processes);
        if (!plan.batch || plan.batch > BATCH_MAX)
                options_refuse("--batch", "1 to 1000");
        meeting = mmap(NULL, sizeof(*meeting), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (meeting == MAP_FAILED)
                scratch_fail(-errno, "mmap");
        csv_open(&csv, csv_path, "heap");
        printf("ns: wall time for each pair of free and malloc, all processes together. Times: of malloc. Conflicts: "
               "%% of\n"
               "transactions. Space: pages of objects for each byte asked for. Medians of %" PRIu64 " repetitions.\n\n",
               plan.repetitions);
        printf("%9s  %-8s %8s %8s %8s %8s %10s %8s\n", "processes", "way", "ns", "least", "most", "times", "conflicts",
               "space");
        for (int i = 0; i < processes.count; i++)
                measure(&csv, (uint32_t)processes.value[i]);
        csv_close(&csv);
        return EXIT_SUCCESS;
}
