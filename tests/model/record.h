/* SPDX-License-Identifier: MIT */
#ifndef TESTS_MODEL_RECORD_H
#define TESTS_MODEL_RECORD_H

/*
 * What a worker notes of each attempt, in memory it shares with the checker:
 *
 *      struct record | struct touch [touch_count] | values read [read_count] | next record ...
 *
 * A round's records are checked while the workers wait; then the log is empty again.
 */

#include <stddef.h>
#include <stdint.h>

#include "tests/model/script.h"

enum { RECORD_READS_MAX = 1024, RECORD_LOG_WORDS = 1 << 22 };

struct record {
        uint64_t seed;
        uint64_t tag;
        uint64_t begin_ns; /* the transaction began after this, */
        uint64_t end_ns;   /* and had ended before that */
        uint64_t ticket;
        int32_t outcome; /* what xend returned, or RECORD_ABORTED */
        uint32_t calls;
        uint16_t was_stopped;
        uint16_t touch_count;
        uint32_t read_count;
};

#define RECORD_ABORTED 1 /* by its own wish */

struct record_log {
        uint64_t used; /* words */
        uint64_t attempts;
        uint64_t transactions; /* attempts that were not lost */
        uint64_t conflicts;
        uint64_t full; /* lost to XAC_FULL */
        uint64_t words[RECORD_LOG_WORDS];
};

/* A tag tells the round, the worker and the attempt; 0 is nobody's. */
static inline uint64_t tag_make(uint32_t round, uint32_t worker, uint64_t attempt)
{
        return (uint64_t)(round + 1) << 40 | (uint64_t)worker << 32 | attempt;
}

static inline uint32_t tag_round(uint64_t tag)
{
        return (uint32_t)(tag >> 40) - 1;
}

static inline uint32_t tag_worker(uint64_t tag)
{
        return (uint32_t)(tag >> 32) & 0xff;
}

static inline uint64_t tag_attempt(uint64_t tag)
{
        return tag & 0xffffffff;
}

static inline const struct touch *record_touches(const struct record *record)
{
        return (const struct touch *)(record + 1);
}

static inline const uint64_t *record_reads(const struct record *record)
{
        return (const uint64_t *)(record_touches(record) + record->touch_count);
}

static inline size_t record_words(const struct record *record)
{
        return (sizeof(*record) + record->touch_count * sizeof(struct touch)) / 8 + record->read_count;
}

/* Did it change anything others can see? */
static inline int record_is_published(const struct record *record)
{
        return record->outcome == 0;
}

#endif
