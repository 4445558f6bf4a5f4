/* SPDX-License-Identifier: MIT */
#ifndef LABS_ISOLATION_MEETING_H
#define LABS_ISOLATION_MEETING_H

/*
 * Two doctors leave at the same time: A is stopped before each of its steps in turn, and B leaves meanwhile. After each
 * meeting the checker looks at the history, and so does the grader (replay.h).
 */

#include "labs/isolation/recorder.h"

struct meeting {
        enum duty leave;
        int flags;        /* of the transactions */
        int a, b;         /* the doctors */
        unsigned on_call; /* at first */
};

/* Of all meetings: how many left nobody on call; how many have a cycle. */
struct meeting_results {
        int meetings, deserted, cycles;
        char shown[3000]; /* steps, history and cycle of the last that has a cycle */
};

/* Fails the test if no serial order gives the history and the checker finds no cycle, or if the history is not that of
 * two who leave. */
void meet_all(const struct meeting *held, struct meeting_results *results);

/* The same, where no cycle and no deserted ward may come out. */
void meet_without_cycle(const struct meeting *held);

/* The same of two who rely on others: neither begins again. */
void meet_without_conflict(const struct meeting *held);

/* Crews: each doctor, a process of its own, leaves and returns so many times, and stumbles. Nothing may go wrong, and
 * the checker must be awake at the end of what it has looked at. */
void crew_without_cycle(enum duty leave, int flags, int times);

#endif
