/* SPDX-License-Identifier: MIT */
#ifndef EXAMPLES_DEMO_REPORT_H
#define EXAMPLES_DEMO_REPORT_H

/* What the demo shows: progress while it runs, the crash, the words and a summary at the end. */

#include <stdint.h>

#include "examples/demo/crash.h"
#include "examples/demo/index.h"
#include "examples/demo/jobs.h"

struct report {
        uint64_t words, distinct_words;
        double seconds; /* of indexing, the crash and the recovery not included */
        int workers;
        const struct tally *tally;
        struct table_entry *entries; /* by falling count */
};

/* On a terminal one line that is rewritten, else a line every now and then. `new_words` were done in the
 * `seconds` since the workers were started. */
void report_progress(uint64_t words, uint64_t all_words, uint64_t new_words, double seconds);
void report_progress_end(void);

void report_crash(int workers, const struct acks *acks, uint64_t lost_bytes);

/* xac_options' progress: how far recovery is. `arg` is a uint64_t, for the bytes of log that are replayed. */
void report_recovery(void *arg, const char *what, uint64_t done, uint64_t total);

/* Says it in words; returns whether all is as it must be. */
int report_survival(const struct survival *survival, uint64_t replayed_bytes, double seconds);

/* Takes the entries out of the table; 0 or a negative code. */
int report_gather(struct report *report, struct index *index);

/* One line "count word" per word; 0 or -errno. */
int report_write_words(const struct report *report, const char *path);

void report_summary(const struct report *report);

#endif
