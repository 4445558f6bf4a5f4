/* SPDX-License-Identifier: MIT */

/*
 * The way home and back, one process: filling a file, the checkpoint that brings its pages home, first writes of pages
 * that are at home, in random order, and the checkpoint of those. A repetition is all of it, in a new environment.
 *
 * What checksums cost was measured with this: by turns with the library before there were any (bench/README.md).
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/support/csv.h"
#include "bench/support/options.h"
#include "bench/support/scratch.h"

enum step { FILL, FILL_CHECKPOINT, UPDATE, UPDATE_CHECKPOINT, STEPS };

static const char *const step_names[STEPS] = { "fill", "checkpoint_of_fill", "update", "checkpoint_of_updates" };

struct plan {
        uint64_t repetitions, pages, updates;
        bool is_durable, is_processor;
};

struct results {
        struct samples ns[STEPS]; /* for each page */
};

static void fill(const struct scratch *scratch)
{
        enum { BATCH = 256 };

        for (size_t first = 0; first < scratch->pages; first += BATCH) {
                must(xbegin(scratch->env, XAC_NOSYNC), "xbegin");
                for (size_t page = first; page < first + BATCH && page < scratch->pages; page++) {
                        char *bytes = xac_page_write(scratch->env, scratch_page(scratch, page));

                        if (!bytes)
                                break;
                        memset(bytes, (int)page | 1, SCRATCH_PAGE);
                }
                must(xend(scratch->env), "xend");
        }
}

static void update(const struct scratch *scratch, uint64_t updates, uint64_t *random)
{
        for (uint64_t i = 0; i < updates; i++) {
                const size_t page = (size_t)((measure_random(random) >> 16) % scratch->pages);

                must(xbegin(scratch->env, XAC_NOSYNC), "xbegin");
                char *bytes = xac_page_write(scratch->env, scratch_page(scratch, page));
                if (bytes)
                        bytes[i % SCRATCH_PAGE] ^= 1;
                must(xend(scratch->env), "xend");
        }
}

static void checkpoint(const struct scratch *scratch)
{
        must(xac_checkpoint(scratch->env), "xac_checkpoint");
}

/* By the clock, or what the process had of processors: where other programs run besides. */
static uint64_t now_ns(const struct plan *plan)
{
        struct timespec used;

        if (!plan->is_processor)
                return measure_now_ns();
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
        return (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
}

static void note(struct results *results, enum step step, uint64_t took_ns, uint64_t pages)
{
        samples_add(&results->ns[step], (double)took_ns / (double)pages);
}

static void repeat(const struct plan *plan, uint64_t *random, struct results *results)
{
        const xac_options options = { .pool_bytes = (2 * plan->pages + 4096) * SCRATCH_PAGE, .log_bytes = 1 << 30 };
        struct scratch scratch = { .is_durable = plan->is_durable, .options = &options };

        scratch_make(&scratch, (size_t)plan->pages);
        scratch_open(&scratch, 0);
        uint64_t begun_ns = now_ns(plan);
        fill(&scratch);
        note(results, FILL, now_ns(plan) - begun_ns, plan->pages);
        begun_ns = now_ns(plan);
        checkpoint(&scratch);
        note(results, FILL_CHECKPOINT, now_ns(plan) - begun_ns, plan->pages);
        begun_ns = now_ns(plan);
        update(&scratch, plan->updates, random);
        note(results, UPDATE, now_ns(plan) - begun_ns, plan->updates);
        begun_ns = now_ns(plan);
        checkpoint(&scratch);
        note(results, UPDATE_CHECKPOINT, now_ns(plan) - begun_ns, plan->updates);
        scratch_close(&scratch);
        scratch_remove(&scratch);
}

static void report(const struct plan *plan, const struct results *results, const char *csv_path)
{
        struct csv csv;

        csv_open(&csv, csv_path, "home");
        printf("%-24s %10s %10s %10s   ns a page, %s, %llu pages\n", "step", "median", "min", "max",
               plan->is_durable ? "durable" : "volatile", (unsigned long long)plan->pages);
        for (int i = 0; i < STEPS; i++) {
                const struct samples *ns = &results->ns[i];
                struct csv_series series = {
                        plan->is_durable ? "durable" : "volatile", 1, 1, plan->pages, step_names[i], "ns_per_page"
                };

                printf("%-24s %10.0f %10.0f %10.0f\n", step_names[i], samples_median(ns), samples_min(ns),
                       samples_max(ns));
                csv_rows(&csv, &series, ns);
        }
        csv_close(&csv);
}

int main(int argc, char **argv)
{
        struct plan plan = { .repetitions = 5, .pages = 32768, .updates = 8192 };
        struct results results = { 0 };
        const char *csv_path = "home.csv";
        uint64_t random = 88172645463325252u;
        const struct option_spec options[] = {
                OPTION_NUMBER("repetitions", plan.repetitions, "each in a new environment"),
                OPTION_NUMBER("pages", plan.pages, "of the file"),
                OPTION_NUMBER("updates", plan.updates, "pages written in random order"),
                OPTION_FLAG("durable", plan.is_durable, "with a log and a double-write area"),
                OPTION_FLAG("processor", plan.is_processor, "time of processors instead of the clock's"),
                OPTION_TEXT("csv", csv_path, "where every repetition goes"),
                OPTION_END,
        };

        options_parse(argc, argv, "Pages that go home, and are written again.", options);
        for (uint64_t i = 0; i < plan.repetitions; i++)
                repeat(&plan, &random, &results);
        report(&plan, &results, csv_path);
        for (int i = 0; i < STEPS; i++)
                samples_free(&results.ns[i]);
        return EXIT_SUCCESS;
}
