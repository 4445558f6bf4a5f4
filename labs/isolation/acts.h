/* SPDX-License-Identifier: MIT */
#ifndef LABS_ISOLATION_ACTS_H
#define LABS_ISOLATION_ACTS_H

/* What the tests let the answer do, in a process of its own (labs/grader/host.h). */

#include "labs/isolation/history.h"
#include "labs/isolation/recorder.h"

enum act {
        ACT_EDGES, /* a packed history; comes back: struct edge[] */
        ACT_CYCLE, /* struct packed_graph with its edges; comes back: int[], the cycle */
        ACT_LEAVE, /* struct duty_call; each access is a step */
        ACT_OPEN,  /* opens the ward, whose accesses stumble */
        ACT_DUTY,  /* struct duty_call */
        ACT_BEGIN, /* struct duty_call: begins its transaction */
        ACT_END,   /* struct duty_call: does it in the transaction that has begun, and ends that */
        ACT_CLOSE,
};

/* For each transaction its ops, and before them how many there are. */
struct packed_txn {
        int ops;
};

struct packed_graph {
        int nodes, edges;
};

struct duty_call {
        int flags;
        enum duty duty;
        int doctor;
};

struct duty_result {
        int err;
        struct txn txn; /* what it has read and written */
};

#endif
