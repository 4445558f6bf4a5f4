/* SPDX-License-Identifier: MIT */
#ifndef LABS_STRUCTURE_ACTS_H
#define LABS_STRUCTURE_ACTS_H

/* What the tests let the answer do, in a process of its own (labs/grader/host.h). */

#include <stdbool.h>
#include <stdint.h>

#include "labs/structure/pairs.h"

enum act {
        ACT_NEW,     /* an empty table of this process alone */
        ACT_SERIAL,  /* struct operation[], on that one, by the serial code; comes back: struct outcome[] */
        ACT_FILL,    /* uint64_t[]: empties the shared table, and puts these keys; comes back: int */
        ACT_INSPECT, /* a table's bytes, uint64_t[]: keys; comes back: struct outcome[], of these, then of table_count()
                      */
        ACT_MEET,    /* struct operation, by the code in transactions; opens the table and closes it; steps */
        ACT_OPEN,    /* opens the table, for those below: its accesses stumble */
        ACT_OPERATION, /* struct operation[], by the code in transactions; comes back: struct outcome[] */
        ACT_CLOSE,
};

/* What an operation has come to. */
struct outcome {
        int err;
        bool is_there;
        uint64_t value; /* or the count */
};

#endif
