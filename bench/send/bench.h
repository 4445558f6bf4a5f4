/* SPDX-License-Identifier: MIT */
#ifndef BENCH_SEND_BENCH_H
#define BENCH_SEND_BENCH_H

/*
 * What it costs others that a file is sent, through sockets of this machine. What it costs to send is
 * bench/papers/copy-or-not.
 */

#include <stdint.h>

#include <xac/send.h>

struct send_bench {
        uint64_t bytes; /* of records, in each tree */
        uint64_t writers_ms;
        uint64_t rounds;
        const char *tsv; /* a folder, or NULL */
};

/* What commits of others lose while clients stream. */
void writers_run(const struct send_bench *bench);

#endif
