/* SPDX-License-Identifier: MIT */
#ifndef TOOLS_XAC_METER_H
#define TOOLS_XAC_METER_H

/*
 * How far a recovery is, on standard error: a bar on a terminal, a line now and then elsewhere.
 * Also keeps how long each part took.
 */

#include <stdbool.h>
#include <stdint.h>

enum { METER_PARTS = 8 };

struct meter_part {
        char what[24];
        uint64_t done;
        uint64_t took_ns;
};

struct meter {
        bool is_quiet; /* only takes the times */
        bool is_terminal;
        uint64_t begun_ns; /* the part that is running */
        uint64_t drawn_ns;
        uint64_t quarter; /* of it, that was told last */
        uint32_t part_count;
        struct meter_part part[METER_PARTS];
};

void meter_begin(struct meter *meter, bool is_quiet);
/* A recover_progress; the meter is its argument. */
void meter_tell(void *arg, const char *what, uint64_t done, uint64_t total);
/* The same for what ends when a signal has come: -ECANCELED then, else 0. */
int meter_go_on(void *arg, const char *what, uint64_t done, uint64_t total);
/* Leaves the cursor at the beginning of a line. */
void meter_end(struct meter *meter);
/* How long that part took; 0: it never came to it. */
uint64_t meter_took_ns(const struct meter *meter, const char *what);

#endif
