/* SPDX-License-Identifier: MIT */
#ifndef EXAMPLES_DEMO_LEXICON_REPORT_H
#define EXAMPLES_DEMO_LEXICON_REPORT_H

/* What the demo identifiers shows at the end: the dictionary, how fast it is read, and a summary. */

#include "examples/demo/children.h"
#include "examples/demo/lexicon.h"

struct lexicon_report {
        uint64_t steps;
        double seconds; /* at work, the crash and the recovery not included */
        const struct tally *tally;
};

/* One line "identifier files occurrences most place" per entry, in the order of the tree; 0 or a negative code. */
int lexicon_write(struct lexicon *lexicon, const char *path);

/* Looks identifiers up, reads all, lists some, and sums up; 0 or a negative code. */
int lexicon_summary(struct lexicon *lexicon, const struct lexicon_report *report);

#endif
