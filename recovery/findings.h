/* SPDX-License-Identifier: MIT */
#ifndef RECOVERY_FINDINGS_H
#define RECOVERY_FINDINGS_H

/*
 * What recovery has to tell people: damage, in sentences that name file, offset and meaning, and progress.
 */

#include <stdint.h>

#include "recovery/recover.h"

struct findings {
        void (*report)(void *arg, const char *sentence);
        void *arg;
        uint64_t count; /* of damage found */
};

/* Reports damage and returns XAC_CORRUPT. */
int findings_add(struct findings *findings, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Forgets what an earlier run has left in the fields that are results. */
void findings_begin(struct recovery *recovery);

/* Tells the caller of `recovery` how far it is, if that is news: after `step`, and at the end. */
struct progress {
        const struct recovery *recovery;
        const char *what;
        uint64_t step;
        uint64_t told;
};

void progress_tell(struct progress *progress, uint64_t done, uint64_t total);

#endif
