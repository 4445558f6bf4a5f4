/* SPDX-License-Identifier: MIT */
#ifndef EXAMPLES_DEMO_REPORT_H
#define EXAMPLES_DEMO_REPORT_H

/* What the demo shows: progress while it runs, the words and a summary at the end. */

#include <stdint.h>

#include "examples/demo/index.h"
#include "examples/demo/jobs.h"

struct report {
        uint64_t words, distinct_words;
        double seconds;
        int workers;
        xac_stats stats;
        const struct tally *tally;
        struct table_entry *entries; /* by falling count */
};

/* On a terminal one line that is rewritten, else a line every now and then. */
void report_progress(uint64_t words, double done, double seconds);
void report_progress_end(void);

/* Takes the entries out of the table; 0 or a negative code. */
int report_gather(struct report *report, struct index *index);

/* One line "count word" per word; 0 or -errno. */
int report_write_words(const struct report *report, const char *path);

void report_summary(const struct report *report);

#endif
