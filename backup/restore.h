/* SPDX-License-Identifier: MIT */
#ifndef BACKUP_RESTORE_H
#define BACKUP_RESTORE_H

/*
 * Puts a full backup, and others that continue it one after the other, together to an environment as of the last of
 * them. Each page is read from the newest of them that has it, compared with its checksum, and once more when all is
 * written. It ends like a backup: the directory is there as a whole or not at all (backup_writer.h).
 */

#include "backup/backup_verify.h"
#include "backup/partial.h"

struct restore_order {
        const char *const *backups; /* their directories: a full one, and what continues it */
        uint32_t count;
        const char *destination; /* a directory that is not there yet, or empty; NULL: read and compare only */
        /* Whose the files are to be. Not given: the empty directory's that was there; else, if root restores, the owner
         * of the last backup. */
        struct partial_owner owner;
        struct backup_progress progress;
        /* Takes the environment, which nobody can open yet, further before it gets its name; may be NULL. */
        int (*go_on)(void *arg, int directory);
        void *go_on_arg;
};

struct restore_result {
        uint64_t sequence;
        uint64_t pages;
        uint64_t byte_len; /* of the pages */
        uint32_t files;
};

/* -EINVAL: they do not fit together; XAC_CORRUPT: one of them is damaged, or was changed. */
int restore_run(const struct restore_order *order, struct restore_result *result, struct trouble *trouble);

#endif
