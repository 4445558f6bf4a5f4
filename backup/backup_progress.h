/* SPDX-License-Identifier: MIT */
#ifndef BACKUP_BACKUP_PROGRESS_H
#define BACKUP_BACKUP_PROGRESS_H

/* Whoever asked for a backup or a restore is told how far it is, and may end it. */

#include <stddef.h>
#include <stdint.h>

#include "backup/trouble.h"

struct backup_progress {
        int (*tell)(void *arg, const char *what, uint64_t done, uint64_t total); /* may be NULL; not 0 ends it */
        void *arg;
};

/* What was said. To be called again as long as one rests. */
static inline int backup_progress_tell(const struct backup_progress *progress, struct trouble *trouble,
                                       const char *what, uint64_t done, uint64_t total)
{
        int err = progress->tell ? progress->tell(progress->arg, what, done, total) : 0;

        return err ? trouble_say(trouble, err, "it was ended before all was done") : 0;
}

#endif
