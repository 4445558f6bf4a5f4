/* SPDX-License-Identifier: MIT */
#ifndef RECOVERY_RESTORED_FILES_H
#define RECOVERY_RESTORED_FILES_H

/*
 * The data files that a restore to a moment needs, as the archived part with that moment lists them. They begin with
 * those of the base. All is judged before anything is changed; then they are made.
 */

#include "recovery/archive_header.h"
#include "recovery/findings.h"

struct restored_files {
        int directory; /* of the base, which becomes the result */
        int archive;
        const struct archive_part *part;
        struct findings *findings;
        struct archive_files files; /* after restored_files_plan() */
};

/* Puts names and places into *manifest, which is the base's, and changes nothing else. XAC_CORRUPT, reported: these are
 * not the base's files, no environment can have them, or something else is in their place. */
int restored_files_plan(struct restored_files *files, struct manifest *manifest);

/* Makes what is missing, and makes longer what is too short; durably. */
int restored_files_make(const struct restored_files *files, uint32_t mode);

#endif
