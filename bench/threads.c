/* SPDX-License-Identifier: MIT */

/*
 * Workers that are threads of one process, against workers that are processes. A transaction increments an integer on
 * each of some random pages of one file, by plain stores into a view or by declared access; each worker on pages of its
 * own, or all on the same.
 *
 * A view takes page faults and changes mappings, and the kernel does both under locks that belong to the address space,
 * which threads share and processes do not. Declared access does neither.
 *
 * The result is two tables in Markdown. A repetition runs every cell once, threads and processes one after the other;
 * ratios are taken within a repetition, and medians over the repetitions.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "bench/crew.h"
#include "bench/support/csv.h"
#include "bench/support/options.h"
#include "bench/support/scratch.h"

enum { WRITES = 2 }; /* of a transaction */

/* ---- a worker ---- */

struct seat {
        struct scratch scratch;
        uint64_t random, attempts;
        size_t first, count; /* pages it writes */
        size_t page[WRITES]; /* of this transaction, in all attempts */
};

static int increment_plain(void *arg)
{
        struct seat *seat = arg;

        seat->attempts++;
        for (int i = 0; i < WRITES; i++)
                ++*(unsigned *)scratch_page(&seat->scratch, seat->page[i]);
        return 0;
}

static int increment_declared(void *arg)
{
        struct seat *seat = arg;

        seat->attempts++;
        for (int i = 0; i < WRITES; i++) {
                unsigned *word = xac_page_write(seat->scratch.env, scratch_page(&seat->scratch, seat->page[i]));
                if (!word)
                        return -ECANCELED;
                ++*word;
        }
        return 0;
}

static void *open_seat(const struct task *task)
{
        struct seat *seat = crew_new_seat(sizeof(*seat));

        seat->scratch.pages = task->is_same_page ? task->work.pages : (size_t)CREW_MAX * task->work.pages;
        seat->first = task->is_same_page ? 0 : (size_t)task->worker * task->work.pages;
        seat->count = task->work.pages;
        snprintf(seat->scratch.directory, SCRATCH_PATH, "%s", task->directory);
        scratch_open(&seat->scratch, 0);
        seat->random = 88172645463325252u + (uint64_t)task->worker;
        return seat;
}

static void close_seat(void *arg)
{
        struct seat *seat = arg;

        scratch_close(&seat->scratch);
        free(seat);
}

static uint64_t run(struct seat *seat, int (*body)(void *seat))
{
        for (int i = 0; i < WRITES; i++)
                seat->page[i] = seat->first + (measure_random(&seat->random) >> 16) % seat->count;
        seat->attempts = 0;
        must(xac_run(seat->scratch.env, 0, body, seat), "xac_run");
        return seat->attempts - 1;
}

static uint64_t run_plain(void *seat)
{
        return run(seat, increment_plain);
}

static uint64_t run_declared(void *seat)
{
        return run(seat, increment_declared);
}

static unsigned sum(void *arg)
{
        const struct seat *seat = arg;
        unsigned total = 0;

        must(xbegin(seat->scratch.env, XAC_RDONLY), "xbegin");
        for (size_t p = 0; p < seat->scratch.pages; p++) {
                const unsigned *word = xac_page_read(seat->scratch.env, scratch_page(&seat->scratch, p));
                total += word ? *word : 0;
        }
        must(xend(seat->scratch.env), "xend");
        return total;
}

/* ---- cells ---- */

enum { OWN, SAME, PLACES };
static const char *const place_names[PLACES] = { "own", "same" };

enum { VIEW, DECLARED, SYSTEMS };
static const struct system systems[SYSTEMS] = {
        [VIEW] = { "libxac_view", false, NULL, open_seat, close_seat, run_plain, sum },
        [DECLARED] = { "libxac_declared", false, NULL, open_seat, close_seat, run_declared, sum },
};

enum { THREADS, PROCESSES, KINDS };
static const char *const kind_names[KINDS] = { "threads", "processes" };

enum { SIZES = 5 };
static const int sizes[SIZES] = { 1, 2, 4, 8, CREW_MAX };

enum { CELLS = PLACES * SIZES * SYSTEMS * KINDS };

struct cell {
        int place, size, system, kind;
        struct samples us; /* for a transaction, all workers together */
};

struct experiment {
        uint64_t pages[PLACES]; /* of each worker, or of all */
        uint64_t milliseconds, warm_up, repetitions;
        struct cell cells[CELLS]; /* in the order in which they are run */
};

static void plan_cells(struct experiment *experiment)
{
        for (int i = 0; i < CELLS; i++) {
                struct cell *cell = &experiment->cells[i];
                cell->kind = i % KINDS;
                cell->system = i / KINDS % SYSTEMS;
                cell->size = i / KINDS / SYSTEMS % SIZES;
                cell->place = i / KINDS / SYSTEMS / SIZES;
        }
}

static int workers(const struct cell *cell, int kind)
{
        return cell->kind == kind ? sizes[cell->size] : 1;
}

static void run_cell(const struct experiment *experiment, struct cell *cell)
{
        const struct work work = { .ints = 1, .repeats = WRITES, .pages = (unsigned)experiment->pages[cell->place] };
        const struct crew_plan plan = {
                .system = &systems[cell->system],
                .task = { .work = work, .is_same_page = cell->place == SAME },
                .processes = workers(cell, PROCESSES),
                .threads = workers(cell, THREADS),
                .warm_up_ns = experiment->warm_up * 1000000,
                .run_ns = experiment->milliseconds * 1000000,
                .is_pinned = true,
        };
        struct crew_outcome outcome;

        crew_run(&plan, &outcome);
        samples_add(&cell->us, outcome.per_second > 0 ? 1e6 / outcome.per_second : 0);
}

/* ---- results ---- */

static void print_cell(const struct cell *cell)
{
        printf(" %.2f (%.2f to %.2f) |", samples_median(&cell->us), samples_min(&cell->us), samples_max(&cell->us));
}

static void print_tables(const struct experiment *experiment)
{
        for (int i = 0; i < CELLS; i += KINDS) {
                const struct cell *pair = &experiment->cells[i];
                if (pair->size == 0 && pair->system == 0)
                        printf("\n%llu pages %s, us for each transaction\n\n"
                               "| workers | views: threads | processes | x | declared: threads | processes | x |\n"
                               "|---|---|---|---|---|---|---|\n",
                               (unsigned long long)experiment->pages[pair->place],
                               pair->place == OWN ? "for each worker" : "for all");
                if (pair->system == 0)
                        printf("| %d |", sizes[pair->size]);
                print_cell(&pair[THREADS]);
                print_cell(&pair[PROCESSES]);
                printf(" %.2f |", samples_ratio(&pair[THREADS].us, &pair[PROCESSES].us));
                if (pair->system == SYSTEMS - 1)
                        printf("\n");
        }
        printf("\nMedians of %llu repetitions (minimum to maximum); x: times as fast as threads; %ld processors\n",
               (unsigned long long)experiment->repetitions, sysconf(_SC_NPROCESSORS_ONLN));
}

static void write_csv(const struct experiment *experiment, const char *path)
{
        struct csv csv;

        csv_open(&csv, path, "threads");
        for (int i = 0; i < CELLS; i++) {
                const struct cell *cell = &experiment->cells[i];
                char name[80];
                snprintf(name, sizeof(name), "%s_%s", place_names[cell->place], kind_names[cell->kind]);
                struct csv_series series = { systems[cell->system].name,
                                             workers(cell, PROCESSES),
                                             workers(cell, THREADS),
                                             experiment->pages[cell->place],
                                             name,
                                             "us_per_transaction" };
                csv_rows(&csv, &series, &cell->us);
        }
        csv_close(&csv);
}

int main(int argc, char **argv)
{
        static struct experiment experiment = {
                .pages = { [OWN] = 256, [SAME] = 1024 }, .milliseconds = 200, .warm_up = 50, .repetitions = 5
        };
        const char *csv_path = "threads.csv";
        const struct option_spec options[] = {
                OPTION_NUMBER("own-pages", experiment.pages[OWN], "pages of each worker"),
                OPTION_NUMBER("pages", experiment.pages[SAME], "pages where all have the same"),
                OPTION_NUMBER("milliseconds", experiment.milliseconds, "of a cell, in one repetition"),
                OPTION_NUMBER("warm-up", experiment.warm_up, "milliseconds before it is measured"),
                OPTION_NUMBER("repetitions", experiment.repetitions, "how often each cell is run"),
                OPTION_TEXT("csv", csv_path, "where every repetition goes"),
                OPTION_END,
        };
        options_parse(argc, argv, "Threads of one process against processes, in views and by declared access.",
                      options);

        plan_cells(&experiment);
        for (uint64_t r = 0; r < experiment.repetitions; r++)
                for (int i = 0; i < CELLS; i++)
                        run_cell(&experiment, &experiment.cells[i]);
        print_tables(&experiment);
        write_csv(&experiment, csv_path);
        return EXIT_SUCCESS;
}
