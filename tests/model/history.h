/* SPDX-License-Identifier: MIT */
#ifndef TESTS_MODEL_HISTORY_H
#define TESTS_MODEL_HISTORY_H

/*
 * The records of one round as a graph of attempts and versions.
 *
 * A version is a page as one commit left it; it is known by its tag. Versions 0 ... pages - 1
 * are those that stood at the beginning of the round; version pages + t is the one that the
 * t-th touch of the round made (if it made one). Each touch saw one version, so a page's
 * versions are a chain, from the beginning to the last.
 */

#include <stdbool.h>
#include <stdint.h>

#include "tests/model/record.h"

#define HISTORY_NONE UINT32_MAX

struct attempt {
        const struct record *record;
        uint32_t first_touch; /* of the round */
        uint32_t worker;
        bool is_published; /* others could see what it wrote */
        bool is_split;     /* snapshot isolation: it read at one moment and wrote at another */
        bool is_durable;   /* it read as of what was durable: perhaps an earlier moment than its own */
        bool is_promised;  /* what it published was durable when it ended */
};

struct version {
        uint32_t next_writer;  /* the attempt that replaced it */
        uint32_t first_reader; /* a touch */
};

struct seen {
        uint32_t attempt;
        uint32_t version;
        uint32_t next_reader; /* of the same version */
};

struct history {
        const struct script_world *world;
        uint32_t round;
        uint32_t attempt_count;
        uint32_t touch_count;
        struct attempt *attempts;
        struct seen *seen;           /* of each touch */
        struct version *versions;    /* pages + touches */
        uint32_t first_attempt[256]; /* of each worker */
        uint32_t room_attempts, room_touches;
        uint64_t differences;
        bool is_nosync; /* no commit waits for the disk */
        uint64_t seed;  /* of the run, for what is printed */
};

/* Reads the logs of all workers; initial_tag is each page's at the beginning. What no
 * correct library can produce (a tag that nobody published, an update that was lost) is
 * printed and counted as a difference. */
void history_read(struct history *history, const struct record_log *logs, const uint64_t *initial_tag);
void history_free(struct history *history);

/* Prints one attempt, after a difference. */
void history_print_attempt(const struct history *history, uint32_t attempt);

/* The attempt that made a version; HISTORY_NONE: it stood at the beginning. */
uint32_t history_writer(const struct history *history, uint32_t version);

#endif
