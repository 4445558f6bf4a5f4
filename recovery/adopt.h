/* SPDX-License-Identifier: MIT */
#ifndef RECOVERY_ADOPT_H
#define RECOVERY_ADOPT_H

/*
 * Data files are plain files, and others may change them while the environment is closed. Whoever opens it next sees
 * by size and time of change that a file may be another, and compares it with its checksums (checksums.h): either
 * nothing has changed, or the pages that did are taken as they are, and get new checksums. The same is done for a file
 * whose last session was volatile and did not end: its pages may be of any age.
 *
 * Only for what was closed cleanly: after a crash of a durable session files and checksums must agree.
 */

#include <stdbool.h>

#include "recovery/checksums.h"
#include "recovery/manifest.h"
#include "recovery/recover.h"

struct adoption {
        struct recovery *recovery; /* directory and progress ("sum": pages) */
        bool is_refused;           /* changes by others are XAC_CORRUPT */
        bool is_looking;           /* so are they, and those of sessions without a log; nothing is written */
        /* Told of each file that was adopted, or refused; the sentence begins with its name. */
        void (*tell)(void *arg, const char *sentence);
        /* Before the first checksum is written: whoever opens it after that finds nothing changed. */
        int (*begin)(void *arg);
        void *arg;
};

/* Caller holds the environment alone, and the manifest says that it is clean and has no double-write buffer. Changes no
 * data file. The manifest gets the seals of what was adopted, and is the caller's to write. */
int adopt_run(const struct adoption *adoption, struct manifest *manifest);

/* The first file, from number `from` on, that is not as it was closed, as far as size, time and number tell;
 * file_count: none. Of what is at rest, as above; changes nothing. */
int adopt_find_changed(int directory, const struct manifest *manifest, uint32_t from, uint32_t *file_no);

/* What was recovered has its size and time noted, as if it had been closed: else pages that are damaged would be taken
 * for changed by others. The manifest gets the notes' numbers, and is the caller's to write. */
int adopt_note_recovered(int directory, struct manifest *manifest);

/* Has a session of a version that makes checksums had it open? */
bool adopt_expects_checksums(const struct manifest *manifest);

#endif
