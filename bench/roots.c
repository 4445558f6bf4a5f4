/* SPDX-License-Identifier: MIT */

/*
 * What does it cost to find an object of a heap by its name? So many roots are made, then found in random order, 100 in
 * a read-only transaction, and each object is read.
 */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <xac/heap.h>
#include <xac/translate.h>

#include "bench/support/csv.h"
#include "bench/support/options.h"
#include "bench/support/scratch.h"

enum { BATCH = 100, NAME_BYTES = 32 };

static struct {
        uint64_t finds, repetitions, seed;
        const char *roots;
} plan = { .finds = 200000, .repetitions = 5, .seed = 1, .roots = "1000,50000,1000000" };

static struct {
        struct scratch scratch;
        xac_heap *heap;
        uint64_t count, random;
} stand;

struct batch {
        uint64_t first, count, random;
};

static void name_of(uint64_t number, char name[NAME_BYTES])
{
        snprintf(name, NAME_BYTES, "root %" PRIu64, number);
}

static int create_some(void *batch_)
{
        const struct batch *batch = batch_;
        char name[NAME_BYTES];
        xac_heap_root root;

        for (uint64_t i = batch->first; i < batch->first + batch->count; i++) {
                name_of(i, name);
                must(xac_heap_root_create(stand.heap, name, sizeof(uint64_t), 0, &root), "xac_heap_root_create");
                *(uint64_t *)xac_for_write(root.object) = i;
        }
        return 0;
}

static void create_all(void)
{
        for (struct batch batch = { 0 }; batch.first < stand.count; batch.first += batch.count) {
                batch.count = stand.count - batch.first < BATCH ? stand.count - batch.first : BATCH;
                must(xac_run(stand.scratch.env, 0, create_some, &batch), "xac_run");
        }
}

static int find_some(void *batch_)
{
        const struct batch *batch = batch_;
        uint64_t random = batch->random;
        char name[NAME_BYTES];
        xac_heap_root root;

        for (int i = 0; i < BATCH; i++) {
                const uint64_t number = (measure_random(&random) >> 16) % stand.count;

                name_of(number, name);
                must(xac_heap_root_find(stand.heap, name, &root), "xac_heap_root_find");
                if (*(const uint64_t *)xac_for_read(root.object) != number)
                        must(XAC_CORRUPT, name);
        }
        return 0;
}

static double find_all(void)
{
        const uint64_t begin_ns = measure_now_ns();

        for (uint64_t done = 0; done < plan.finds; done += BATCH) {
                struct batch batch = { .random = measure_random(&stand.random) };

                must(xac_run(stand.scratch.env, XAC_RDONLY, find_some, &batch), "xac_run");
        }
        return (double)(measure_now_ns() - begin_ns) / (double)plan.finds;
}

static double create_in_ns(void)
{
        const uint64_t begin_ns = measure_now_ns();

        create_all();
        return (double)(measure_now_ns() - begin_ns) / (double)stand.count;
}

static void measure(struct csv *csv, uint64_t count)
{
        struct csv_series series = { "heap", 1, 1, count, "ns_per_find", "ns" };
        struct samples finds = { 0 };

        stand.count = count;
        stand.random = plan.seed;
        scratch_make(&stand.scratch, 1);
        scratch_open(&stand.scratch, 0);
        must(xac_heap_open(stand.scratch.env, "heap", XAC_CREATE, &stand.heap), "xac_heap_open");
        const double create_ns = create_in_ns();
        find_all(); /* until all pages have been met */
        for (uint64_t r = 0; r < plan.repetitions; r++)
                samples_add(&finds, find_all());
        must(xac_heap_close(stand.heap), "xac_heap_close");
        scratch_close(&stand.scratch);
        scratch_remove(&stand.scratch);
        printf("%10" PRIu64 " %10.0f %10.0f %10.0f %10.0f\n", count, create_ns, samples_median(&finds),
               samples_min(&finds), samples_max(&finds));
        csv_rows(csv, &series, &finds);
        samples_free(&finds);
}

int main(int argc, char **argv)
{
        const char *csv_path = "roots.csv";
        struct option_numbers roots;
        struct csv csv;
        const struct option_spec options[] = {
                OPTION_TEXT("roots", plan.roots, "how many there are"),
                OPTION_NUMBER("finds", plan.finds, "in each repetition"),
                OPTION_NUMBER("reps", plan.repetitions, "repetitions of every cell"),
                OPTION_NUMBER("seed", plan.seed, "of what is random"),
                OPTION_TEXT("csv", csv_path, "where every repetition goes"),
                OPTION_END,
        };

        options_parse(argc, argv, "Objects of a heap that are found by name.", options);
        options_numbers(plan.roots, 1, 100000000, &roots);
        csv_open(&csv, csv_path, "roots");
        printf("ns for each root that is made, and for each that is found: median, least and most of %" PRIu64
               " repetitions.\n\n%10s %10s %10s %10s %10s\n",
               plan.repetitions, "roots", "made", "found", "least", "most");
        for (int i = 0; i < roots.count; i++)
                measure(&csv, roots.value[i]);
        csv_close(&csv);
        return EXIT_SUCCESS;
}
