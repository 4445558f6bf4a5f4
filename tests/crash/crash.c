/* SPDX-License-Identifier: MIT */

/*
 * Every state that a power cut can leave, tried (P5). Records workloads (workloads.h), builds what a
 * crash could have left after each event (disk.h, choices.h), and has each image opened and verified (verify.c).
 *
 *      crash                                      a small round of everything: what make check runs
 *      crash --images 100000                      until there were so many different images
 *      crash --seconds 100                        for about so long
 *      crash --workload growth --seed 7           one workload
 *      crash --gentle                             sectors are atomic: none is left half-written or worse
 *      crash --trace F --cut N --choice C         one image again; a violation prints the line
 *
 * With --events that prints the trace as well. CRASH_IMAGES stands for --images, XAC_TEST_SEED for --seed.
 * Images lie in memory.
 */

#include <dirent.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libxac/care/archive_place.h"

#include "tests/crash/choices.h"
#include "tests/crash/engine.h"
#include "tests/crash/verify.h"
#include "tests/crash/workloads.h"
#include "tests/support/chance.h"
#include "tests/support/check.h"
#include "tests/support/crew.h"
#include "tests/support/places.h"

enum {
        TRACE_BYTES = 256 << 20,
        SEEN_MAX = 1 << 21,
        FEW = 500,   /* images */
        SHARE = 300, /* images of a workload, each time it is recorded, when the time is given and not their number */
        WORKERS_MAX = 16,
        PASSES = 4
};

struct orders {
        const char *workload;
        uint64_t seed;
        uint64_t images;
        uint64_t end_ns; /* of the time given; 0: none is */
        unsigned workers, deeper_every;
        const char *trace, *choice, *keep_in, *command;
        uint64_t cut;
        bool is_quiet, prints_events;
};

/* One workload while its trace is gone through. */
struct round {
        const struct orders *orders;
        struct engine engine;
        const struct trace *trace;
        unsigned pass;
        const char *directory;
};

/* ---- Going through ---- */

static void run_worker(int index, void *arg)
{
        struct round *round = arg;
        struct engine engine = round->engine;
        struct verifier verifier = { .shared = NULL };
        char directory[256];

        snprintf(directory, sizeof(directory), "%s/image-%d", round->directory, index);
        check(mkdir(directory, 0700) == 0 || access(directory, W_OK) == 0);
        verifier_init(&verifier, directory);
        engine.judge = &verifier.judge;
        engine.worker = (unsigned)index;
        engine_pass(&engine, round->trace, round->pass);
}

static void print_progress(const struct round *round, const char *name, uint64_t begin_ns)
{
        const struct engine_tally *tally = round->engine.tally;

        if (round->orders->is_quiet)
                return;
        printf("%-12s pass %u: %" PRIu64 " cuts, %" PRIu64 " distinct images so far, judged %" PRIu64 " + %" PRIu64
               " + %" PRIu64 " in generations 1 + 2 + 3 (%.0f s)\n",
               name, round->pass, atomic_load(&tally->cuts), seen_count(round->engine.distinct),
               atomic_load(&tally->deeper[0]), atomic_load(&tally->deeper[1]), atomic_load(&tally->deeper[2]),
               (double)(crew_clock_ns() - begin_ns) / 1e9);
        fflush(stdout);
}

static bool is_time_up(const struct round *round)
{
        return round->orders->end_ns && crew_clock_ns() >= round->orders->end_ns;
}

/* Several passes, until the share of images is made or hardly anything new comes up. */
static void go_through(struct round *round, const char *name, uint64_t share)
{
        struct engine *engine = &round->engine;
        uint64_t begin_ns = crew_clock_ns();

        uint64_t target = seen_count(engine->distinct) + share;

        engine->stride = (unsigned)(trace_count(round->trace) * ENGINE_PER_CUT / share) + 1;
        for (round->pass = 0; round->pass < PASSES; round->pass++) {
                uint64_t before = seen_count(engine->distinct);

                crew_processes((int)engine->workers, run_worker, round);
                print_progress(round, name, begin_ns);
                if (seen_count(engine->distinct) >= target || atomic_load(&engine->tally->violations) > 0)
                        return;
                if (round->pass > 0 && seen_count(engine->distinct) < before + share / 20)
                        return;
                if (is_time_up(round))
                        return;
        }
}

/* In memory or, for what is special about direct writes, on the disk of temporary files. */
static void record(struct round *round, const struct workload *workload, uint64_t seed, bool is_on_disk,
                   struct trace *trace)
{
        struct world world = { .workload = workload, .seed = seed };
        char directory[512];

        snprintf(directory, sizeof(directory), "%s/xac-crash-XXXXXX", is_on_disk ? places_files() : round->directory);
        check(mkdtemp(directory) != NULL);
        workload_record(&world, directory, trace);
        image_erase(directory);
        check_equal(rmdir(directory), 0);
}

/* A round records each workload once, with seeds of its own. */
static void run_round(struct round *round, unsigned number, uint64_t share, struct trace *trace)
{
        const struct workload *workload;

        for (unsigned i = 0; (workload = workload_get(i)) != NULL; i++) {
                if (round->orders->workload && strcmp(workload->name, round->orders->workload) != 0)
                        continue;
                if (atomic_load(&round->engine.tally->violations) > 0 || is_time_up(round))
                        return;
                record(round, workload, round->orders->seed + number, (i + number) % 2, trace);
                round->trace = trace;
                go_through(round, workload->name, share);
        }
}

static unsigned count_workloads(const struct orders *orders)
{
        unsigned count = 0;

        while (workload_get(count))
                count++;
        return orders->workload ? 1 : count;
}

static void run_all(struct round *round, uint64_t images)
{
        enum { ROUNDS_MAX = 200 };
        struct trace *trace = trace_new(TRACE_BYTES);
        unsigned workloads = count_workloads(round->orders);
        struct engine *engine = &round->engine;

        check(workloads > 0);
        for (unsigned number = 0; number < ROUNDS_MAX; number++) {
                uint64_t rest = images - seen_count(engine->distinct);

                run_round(round, number, round->orders->end_ns ? SHARE : rest / workloads + 1, trace);
                if (seen_count(engine->distinct) >= images || atomic_load(&engine->tally->violations) > 0 ||
                    is_time_up(round))
                        break;
        }
        trace_free(trace);
}

/* ---- One image again ---- */

static bool replay(struct round *round)
{
        const struct orders *orders = round->orders;
        struct trace *trace = trace_load(orders->trace);
        struct verifier verifier = { .shared = NULL };
        char directory[256];

        check(trace != NULL);
        if (orders->prints_events)
                trace_print(trace);
        snprintf(directory, sizeof(directory), "%s/image", round->directory);
        check_equal(mkdir(directory, 0700), 0);
        verifier_init(&verifier, directory);
        round->engine.judge = &verifier.judge;
        return engine_replay(&round->engine, trace, orders->cut, orders->choice);
}

/* ---- The command ---- */

static void take_option(struct orders *orders, int option)
{
        switch (option) {
        case 'w':
                orders->workload = optarg;
                break;
        case 's':
                orders->seed = strtoull(optarg, NULL, 0);
                break;
        case 'i':
                orders->images = strtoull(optarg, NULL, 0);
                break;
        case 'S':
                orders->end_ns = crew_clock_ns() + strtoull(optarg, NULL, 0) * 1000000000;
                break;
        case 'j':
                orders->workers = (unsigned)atoi(optarg);
                break;
        case 'd':
                orders->deeper_every = (unsigned)atoi(optarg);
                break;
        case 't':
                orders->trace = optarg;
                break;
        case 'c':
                orders->cut = strtoull(optarg, NULL, 0);
                break;
        case 'C':
                orders->choice = optarg;
                break;
        case 'k':
                orders->keep_in = optarg;
                break;
        case 'e':
                orders->prints_events = true;
                break;
        case 'g':
                choices_harm = false;
                break;
        default:
                fprintf(stderr, "usage: crash [--workload W] [--seed S] [--images N | --seconds N] [--workers N]\n"
                                "             [--deeper N] [--keep DIR] [--gentle] | --trace FILE --cut N --choice C "
                                "[--events]\n");
                exit(2);
        }
}

static void take_options(struct orders *orders, int argc, char **argv)
{
        static const struct option options[] = { { "workload", 1, NULL, 'w' }, { "seed", 1, NULL, 's' },
                                                 { "images", 1, NULL, 'i' },   { "seconds", 1, NULL, 'S' },
                                                 { "workers", 1, NULL, 'j' },  { "deeper", 1, NULL, 'd' },
                                                 { "trace", 1, NULL, 't' },    { "cut", 1, NULL, 'c' },
                                                 { "choice", 1, NULL, 'C' },   { "keep", 1, NULL, 'k' },
                                                 { "gentle", 0, NULL, 'g' },   { "events", 0, NULL, 'e' },
                                                 { NULL, 0, NULL, 0 } };
        const char *images = getenv("CRASH_IMAGES");
        int option;

        *orders = (struct orders){
                .workers = 2, .deeper_every = 50, .choice = "new", .keep_in = places_kept(), .command = argv[0]
        };
        orders->images = images ? strtoull(images, NULL, 0) : 0;
        while ((option = getopt_long(argc, argv, "", options, NULL)) != -1)
                take_option(orders, option);
        if (orders->workload && !workload_find(orders->workload)) {
                fprintf(stderr, "there is no workload %s\n", orders->workload);
                exit(2);
        }
        if (orders->end_ns)
                orders->images = SEEN_MAX / 2;
        orders->is_quiet = orders->images == 0;
        if (orders->workers < 1 || orders->workers > WORKERS_MAX)
                orders->workers = 1;
        if (!orders->trace && !orders->seed)
                orders->seed = chance_seed();
}

static void print_sum(const struct engine *engine)
{
        const struct engine_tally *tally = engine->tally;

        printf("%" PRIu64 " distinct crash images (%" PRIu64 " made, %" PRIu64 " judged, of these %" PRIu64
               " of recoveries and %" PRIu64 " of recoveries of recoveries), %u violations\n",
               seen_count(engine->distinct), atomic_load(&tally->tried), atomic_load(&tally->judged),
               atomic_load(&tally->deeper[1]), atomic_load(&tally->deeper[2]), atomic_load(&tally->violations));
}

/* The work; a process of its own, so that its directory is removed however it ends. */
static void run_orders(int index, void *arg)
{
        struct round *round = arg;
        const struct orders *orders = round->orders;
        bool is_fine;

        (void)index;
        round->engine = (struct engine){ .judged = seen_new(SEEN_MAX),
                                         .distinct = seen_new(SEEN_MAX),
                                         .tally = crew_shared(sizeof(struct engine_tally)),
                                         .seed = orders->seed,
                                         .workers = orders->workers,
                                         .deeper_every = orders->deeper_every,
                                         .keep_in = orders->keep_in,
                                         .command = orders->command };
        if (orders->trace) {
                is_fine = replay(round);
        } else {
                run_all(round, orders->images ? orders->images : FEW);
                print_sum(&round->engine);
                is_fine = atomic_load(&round->engine.tally->violations) == 0;
        }
        fflush(stdout);
        crew_exit(is_fine ? 0 : 1);
}

static volatile pid_t working;

static void pass_on(int signal)
{
        if (working > 0)
                kill(working, signal);
}

static void clean_up(const char *directory)
{
        DIR *all = opendir(directory);
        struct dirent *entry;
        char path[800];

        check(all != NULL);
        while ((entry = readdir(all)) != NULL) {
                if (entry->d_name[0] == '.')
                        continue;
                snprintf(path, sizeof(path), "%s/%s", directory, entry->d_name);
                workload_remove_shared_memory(path);
                image_erase(path);
                rmdir(path);
        }
        closedir(all);
        rmdir(directory);
}

int main(int argc, char **argv)
{
        char directory[512];
        struct orders orders;
        struct round round = { .orders = &orders, .directory = directory };
        int status;

        archive_place_may_be_own = true;
        take_options(&orders, argc, argv);
        snprintf(directory, sizeof(directory), "%s/xac-crash-XXXXXX", places_memory());
        check(mkdtemp(directory) != NULL);
        working = crew_fork(run_orders, 0, &round);
        signal(SIGTERM, pass_on);
        signal(SIGINT, pass_on);
        status = crew_status(working);
        clean_up(directory);
        return WIFEXITED(status) ? WEXITSTATUS(status) : 3;
}
