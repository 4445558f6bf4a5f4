/* SPDX-License-Identifier: MIT */
#ifndef BENCH_SERIAL_CREW_H
#define BENCH_SERIAL_CREW_H

/*
 * Runs one cell of bench/serial: so many processes work on one structure in one way, which is made and filled before.
 * What they do follows from the seed.
 */

#include "bench/serial/ways.h"

enum { CREW_MAX = 16 };

struct crew_plan {
        const struct way *way;
        enum structure_no structure;
        int processes;
        uint64_t batch;      /* operations of a transaction */
        uint64_t operations; /* of all processes together */
        uint64_t seed;
};

struct crew_outcome {
        double us;              /* for each operation: from the first that begins to the last that ends */
        double cpu_us;          /* what it took of a processor, whichever process had it */
        double lost;            /* attempts, for each transaction */
        double faults;          /* in views, for each operation */
        uint64_t digest;        /* of what the operations of the first process returned */
        struct content content; /* in the end */
};

/* Ends the program when a worker fails or is stuck, or the structure is not what it should be. */
void crew_run(const struct crew_plan *plan, struct crew_outcome *outcome);

#endif
