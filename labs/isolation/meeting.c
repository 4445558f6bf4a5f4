/* SPDX-License-Identifier: MIT */

#include "labs/isolation/meeting.h"

#include <stdio.h>
#include <string.h>

#include "labs/grader/grader.h"
#include "labs/grader/steps.h"
#include "labs/grader/worker.h"
#include "labs/isolation/histories.h"
#include "labs/isolation/judge.h"
#include "labs/isolation/replay.h"

enum { STEPS_MOST = 200, SHOWN_BYTES = 1200 };

static const struct meeting *meeting; /* that is held */

static void leave(int doctor)
{
        int err = ward_step(meeting->flags, meeting->leave, doctor);
        grader_check(err == 0 || err == REFUSED, "doctor %d leaves: the transaction returned %d (%s)", doctor, err,
                     xac_strerror(err));
}

static void leave_a(void *arg)
{
        (void)arg;
        leave(meeting->a);
}

static void leave_b(void *arg)
{
        (void)arg;
        leave(meeting->b);
}

static void show_meeting(const char *cycle, char *text, size_t text_bytes)
{
        char steps[SHOWN_BYTES], history[SHOWN_BYTES];
        steps_show(steps, sizeof(steps), item_name);
        show_history(recorded, history, sizeof(history));
        snprintf(text, text_bytes, "A: doctor %d leaves; B: doctor %d leaves\n%s%s%s", meeting->a, meeting->b, steps,
                 history, cycle);
}

/* Who has left is off call, and nobody else. */
static void check_left(unsigned on_call, const char *shown)
{
        unsigned left = 0;
        for (int t = 0; t < recorded->txns; t++)
                for (int i = 0; i < recorded->txn[t].ops; i++)
                        if (recorded->txn[t].op[i].is_write)
                                left |= 1U << recorded->txn[t].op[i].item;
        unsigned gone = meeting->on_call & ~on_call;
        grader_check(gone != 0 && (gone & ~(1U << meeting->a | 1U << meeting->b)) == 0 && (gone & ~left) == 0,
                     "%s\non call were doctors 0x%x, and are 0x%x", shown, meeting->on_call, on_call);
}

void meet_all(const struct meeting *held, struct meeting_results *results)
{
        char cycle[500], shown[sizeof(results->shown)];
        bool stands = true;

        meeting = held;
        memset(results, 0, sizeof(*results));
        for (int n = 1; stands; n++) {
                ward_fill(meeting->on_call);
                stands = steps_meet(n, leave_a, leave_b, NULL);
                grader_check(stands || n > 1, "doctor %d leaves, and never touched the ward", meeting->a);
                grader_check(!stands || n < STEPS_MOST, "doctor %d leaves, and accesses the ward more than %d times",
                             meeting->a, STEPS_MOST);
                unsigned on_call = ward_look();
                int count = judge_history(recorded, cycle, sizeof(cycle));
                show_meeting(cycle, shown, sizeof(shown));
                check_left(on_call, shown);
                grader_check(count != 0 || replay_finds_order(recorded),
                             "%s\nno serial order gives this history, and the checker finds no cycle", shown);
                grader_check(on_call != 0 || count != 0, "%s\nnobody is on call, and the history has no cycle", shown);
                if (count != 0)
                        memcpy(results->shown, shown, sizeof(shown));
                results->meetings++;
                results->deserted += on_call == 0;
                results->cycles += count != 0;
        }
}

void meet_without_cycle(const struct meeting *held)
{
        struct meeting_results results;
        meet_all(held, &results);
        grader_check(results.deserted == 0, "%s\nnobody is on call", results.shown);
        grader_check(results.cycles == 0, "%s\nno serial order gives this history", results.shown);
}

void meet_without_conflict(const struct meeting *held)
{
        const uint64_t before = ward_conflicts();
        meet_without_cycle(held);
        grader_check(
                ward_conflicts() == before,
                "doctors %d and %d leave, on call are 0x%x: %llu times one of them begins again; each relies on the "
                "next doctor, and these are others",
                held->a, held->b, held->on_call, (unsigned long long)(ward_conflicts() - before));
}

/* ------------------------------------------------------------------ crews */

struct crew {
        enum duty leave;
        int flags, times;
};

static void leave_and_return(void *arg)
{
        const struct crew *crew = arg;
        int doctor = worker_number() - 1;
        ward_begin();
        for (int i = 0; i < crew->times; i++) {
                int err = ward_run(crew->flags, crew->leave, doctor);
                grader_check(err == 0 || err == REFUSED, "doctor %d leaves: %d (%s)", doctor, err, xac_strerror(err));
                if (err == 0)
                        err = ward_run(crew->flags, DUTY_RETURN, doctor);
                grader_check(err == 0 || err == REFUSED, "doctor %d returns: %d (%s)", doctor, err, xac_strerror(err));
        }
        ward_end();
}

void crew_without_cycle(enum duty leave, int flags, int times)
{
        char cycle[500];
        ward_fill((1U << DOCTORS) - 1);
        worker_crew(DOCTORS, leave_and_return, &(struct crew){ leave, flags, times });
        grader_check(ward_look() == (1U << DOCTORS) - 1, "all have returned, and on call are 0x%x", ward_look());
        grader_check(recorded->txns > times, "of %d times hardly anybody could leave: %d transactions", times * DOCTORS,
                     recorded->txns);
        grader_check(judge_history(recorded, cycle, sizeof(cycle)) == 0,
                     "%d doctors leave and return, and the checker finds\n%s", DOCTORS, cycle);
        grader_check(
                replay_finds_order(recorded),
                "%d doctors leave and return: no serial order gives their %d transactions, and the checker finds no "
                "cycle",
                DOCTORS, recorded->txns);
        if (recorded->txns > TXNS_MOST - 2)
                return;
        history_add_skew(recorded);
        grader_check(judge_history(recorded, cycle, sizeof(cycle)) > 0,
                     "after %d transactions of doctors two more with write skew: the checker finds no cycle",
                     recorded->txns - 2);
}
