/* SPDX-License-Identifier: MIT */
#include "bench/programs/crowd_run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "bench/support/scratch.h"

enum { WARM_UP_PART = 4, ARGUMENTS = 5, NS_PER_MS = 1000000 };

struct crowd_task crowd_task;

/* In memory that workers share. The first worker notes them, for all. */
struct notes {
        uint64_t (*faults)(void *seat);
        uint64_t begun, ended;
};

void crowd_arguments(int argc, char **argv)
{
        if (argc == ARGUMENTS)
                crowd_task = (struct crowd_task){ argv[1], atoi(argv[2]), strtoull(argv[3], NULL, 10),
                                                  strtoull(argv[4], NULL, 10) };
        if (crowd_task.processes > 0 && crowd_task.processes <= CREW_MAX && crowd_task.milliseconds &&
            crowd_task.records)
                return;
        fprintf(stderr, "usage: %s WAY PROCESSES MILLISECONDS RECORDS\n", argv[0]);
        exit(2);
}

static void note_faults(void *arg, void *seat, int worker, enum crew_moment moment)
{
        struct notes *notes = arg;

        if (worker || !notes->faults)
                return;
        *(moment == CREW_BEGINS ? &notes->begun : &notes->ended) = notes->faults(seat);
}

int crowd_run(const struct system *system, uint64_t (*faults)(void *seat))
{
        struct notes *notes = mmap(NULL, sizeof(*notes), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (notes == MAP_FAILED)
                scratch_fail(-errno, "mmap");
        const struct crew_plan plan = { .system = system,
                                        .task = { .work = { .ints = 1, .repeats = 1, .pages = 1 } },
                                        .processes = crowd_task.processes,
                                        .threads = 1,
                                        .warm_up_ns = crowd_task.milliseconds * NS_PER_MS / WARM_UP_PART,
                                        .run_ns = crowd_task.milliseconds * NS_PER_MS,
                                        .is_pinned = true,
                                        .note = note_faults,
                                        .notes = notes };
        struct crew_outcome outcome;

        notes->faults = faults;
        crew_run(&plan, &outcome);
        const double operations = outcome.per_second * (double)crowd_task.milliseconds / 1e3;
        printf("%.4f %.4f %.4f\n", 1e6 / outcome.per_second, (double)(notes->ended - notes->begun) / operations,
               outcome.aborts_per_commit);
        return EXIT_SUCCESS;
}
