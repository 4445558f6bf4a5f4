/* SPDX-License-Identifier: MIT */
#ifndef EXAMPLES_DEMO_REPORT_H
#define EXAMPLES_DEMO_REPORT_H

/* What wordcount shows at the end: the words and a summary. */

#include <stdint.h>

#include "examples/demo/children.h"
#include "examples/demo/index.h"

struct report {
        uint64_t words, distinct_words;
        double seconds; /* of indexing, the crash and the recovery not included */
        int workers;
        const struct tally *tally;
        struct table_entry *entries; /* by falling count */
};

/* Takes the entries out of the table; 0 or a negative code. */
int report_gather(struct report *report, struct index *index);

/* One line "count word" per word; 0 or -errno. */
int report_write_words(const struct report *report, const char *path);

void report_summary(const struct report *report);

#endif
