/* SPDX-License-Identifier: MIT */
#ifndef BENCH_PAPERS_RUMA_2016_PARTITION_GROWTH_H
#define BENCH_PAPERS_RUMA_2016_PARTITION_GROWTH_H

/*
 * One pass over the keys, while partitions grow by units of memory: chunks, or pages of a pool. A unit is aligned to
 * its length, a power of 2, so that an address tells that it is full.
 *
 *      partition 0     | lead | keys ...... | -> | keys ...... | -> | keys .. |         |
 *      partition 1     |  lead  | keys .... | -> | keys ... |             |
 *
 * Were the next keys of all partitions at the same place in their units, their lines would displace each other in the
 * caches. So each partition begins some lines later than the one before (its lead), all of them spread over 64 KiB: the
 * second cache looks at no more than 128 KiB of an address, and 4 KiB, which are enough for the first, cost half of the
 * speed with 512 partitions in huge pages. Small pages lie anywhere in physical memory; there 4 KiB are enough.
 */

#include <stdbool.h>
#include <stdint.h>

#include "bench/papers/ruma-2016/partition.h"

struct growth_unit {
        char *bytes;
        uint32_t next; /* of the same partition */
};

struct growth_partition {
        uint32_t first, last; /* units */
        uint32_t units;
        uint32_t lead; /* bytes */
};

struct partition_growth {
        uint64_t unit_bytes;
        uint32_t partitions;
        uint64_t **next; /* of each partition, where its next key goes */
        struct growth_partition *partition;
        struct partition_line *lines;
        struct growth_unit *unit;
        uint32_t units, units_max;
        /* Another unit; NULL: there is none. */
        char *(*take)(void *arg);
        void *arg;
};

/* So many units suffice for any keys. */
uint64_t growth_units_max(const struct partition_task *task, uint64_t unit_bytes);
/* lead_max: bytes, a power of 2 up to a unit. */
void growth_open(struct partition_growth *growth, const struct partition_task *task, uint64_t unit_bytes,
                 uint64_t lead_max);
void growth_close(struct partition_growth *growth);

/* -ENOSPC: there was no unit. */
int growth_scatter(struct partition_growth *growth, const struct partition_task *task, bool is_buffered);
/* Bytes of keys that a partition has. */
uint64_t growth_byte_len(const struct partition_growth *growth, uint32_t partition);

#endif
