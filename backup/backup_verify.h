/* SPDX-License-Identifier: MIT */
#ifndef BACKUP_BACKUP_VERIFY_H
#define BACKUP_BACKUP_VERIFY_H

/*
 * Reads back what was written, from the disk where the kernel lets it, and compares the checksums.
 */

#include "backup/backup_index.h"
#include "backup/backup_progress.h"
#include "backup/pace.h"

/* The data files of a directory hold what the index says. XAC_CORRUPT: they do not. Makes the checksums of their pages
 * (recovery/checksums.h), which belong to the environment of `manifest`. */
int backup_verify_files(int directory, const struct backup_index *index, const struct manifest *manifest,
                        const struct backup_progress *progress, struct pace *pace, struct trouble *trouble);
/* The same for the pieces of a backup that continues another. */
int backup_verify_pieces(int directory, const struct backup_index *index, const struct backup_progress *progress,
                         struct pace *pace, struct trouble *trouble);

#endif
