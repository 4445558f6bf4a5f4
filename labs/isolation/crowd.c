/* SPDX-License-Identifier: MIT */

#include "labs/isolation/crowd.h"

#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>

#include "labs/grader/grader.h"
#include "labs/grader/worker.h"
#include "labs/isolation/judge.h"
#include "labs/isolation/replay.h"

enum { ORDERS = 4, WAIT_MS = 5000 };

struct crowd {
        enum duty leave;
        int flags, count;
        int doctor[DOCTORS];        /* in the order in which they leave */
        atomic_int begun, has_left; /* how many */
};

static struct crowd *crowd; /* no process of the answer sees it */

static void await(atomic_int *number, int least)
{
        const int limit_ms = WAIT_MS * grader_patience();
        for (int ms = 0; ms < limit_ms && atomic_load(number) < least; ms++)
                poll(NULL, 0, 1);
        grader_check(atomic_load(number) >= least, "another doctor has not come so far");
}

static void leave_together(void *arg)
{
        const int turn = worker_number() - 1, doctor = crowd->doctor[turn];
        (void)arg;
        ward_begin();
        ward_start(crowd->flags, crowd->leave, doctor);
        atomic_fetch_add(&crowd->begun, 1);
        await(&crowd->begun, crowd->count);
        await(&crowd->has_left, turn);
        int err = ward_finish(crowd->flags, crowd->leave, doctor);
        if (err == XAC_CONFLICT)
                err = ward_run(crowd->flags, crowd->leave, doctor);
        grader_check(err == 0 || err == REFUSED, "doctor %d leaves: %d (%s)", doctor, err, xac_strerror(err));
        atomic_fetch_add(&crowd->has_left, 1);
        ward_end();
}

static void draw_order(unsigned doctors)
{
        crowd->count = 0;
        for (int doctor = 0; doctor < DOCTORS; doctor++) {
                if ((doctors >> doctor & 1) == 0)
                        continue;
                int place = (int)grader_random((uint32_t)crowd->count + 1);
                crowd->doctor[crowd->count++] = crowd->doctor[place];
                crowd->doctor[place] = doctor;
        }
}

static void leave_once(unsigned doctors)
{
        char history[1200], cycle[500];
        draw_order(doctors);
        atomic_store(&crowd->begun, 0);
        atomic_store(&crowd->has_left, 0);
        ward_fill(doctors);
        worker_crew(crowd->count, leave_together, NULL);
        const unsigned on_call = ward_look();
        const int cycles = judge_history(recorded, cycle, sizeof(cycle));
        show_history(recorded, history, sizeof(history));
        grader_check(__builtin_popcount(on_call) == 1,
                     "doctors 0x%x are on call. All begin to leave at one moment, and do so one after the other:\n%s"
                     "on call are 0x%x, and it should be one",
                     doctors, history, on_call);
        grader_check(cycles == 0, "doctors 0x%x begin to leave at one moment:\n%s%s", doctors, history, cycle);
        grader_check(replay_finds_order(recorded),
                     "doctors 0x%x begin to leave at one moment:\n%s"
                     "no serial order gives this history, and the checker finds no cycle",
                     doctors, history);
}

void crowd_leaves(enum duty leave, int flags, unsigned doctors)
{
        if (crowd == NULL)
                crowd = mmap(NULL, sizeof(*crowd), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        grader_check(crowd != MAP_FAILED, "mmap: %s", strerror(errno));
        crowd->leave = leave;
        crowd->flags = flags;
        for (int i = 0; i < ORDERS; i++)
                leave_once(doctors);
}
