/* SPDX-License-Identifier: MIT */
#ifndef BENCH_PAPERS_COPY_OR_NOT_COPY_OR_NOT_H
#define BENCH_PAPERS_COPY_OR_NOT_COPY_OR_NOT_H

/*
 * What it costs to send records, and to receive them: the experiments of A. Kesavan, R. Ricci and R. Stutsman, "To Copy
 * or Not to Copy" (2016), on trees in an environment, through sockets of this machine.
 */

#include <stdbool.h>
#include <stdint.h>

#include <xac/send.h>

#include "bench/send/channel.h"
#include "bench/send/store.h"
#include "bench/support/options.h"

struct copy_bench {
        uint64_t bytes; /* of records, in each tree */
        uint64_t ways_ms;
        uint64_t rounds, seed;
        const char *tsv; /* a folder, or NULL */
        /* ways: */
        bool sockets[CHANNEL_KINDS], layouts[STORE_LAYOUTS];
        struct option_numbers record_bytes, records; /* of a response */
};

/* Figures 3 to 5: throughput and processor time of each way, by records of a response. */
void ways_run(const struct copy_bench *bench);
/* Figure 6: pages, and what has changed in them. */
void deltas_run(const struct copy_bench *bench);

#endif
