/* SPDX-License-Identifier: MIT */
#ifndef RECOVERY_MANIFEST_H
#define RECOVERY_MANIFEST_H

/*
 * The manifest, `xac.manifest`: what an environment is, in two checksummed slots, each of
 * 32 KiB. A change is written and synced first in the slot that is not believed
 * now, then in the other (R18), so that a torn write always leaves a valid manifest.
 */

#include <stdint.h>
#include <sys/types.h>

enum {
        MANIFEST_FILES = 64,
        MANIFEST_NAME_BYTES = 256 /* including the final NUL */
};

#define MANIFEST_NAME "xac.manifest"

struct manifest {
        uint64_t generation; /* grows with each manifest written */
        uint8_t uuid[16];    /* of the environment, drawn at creation */
        uint32_t page_bytes;
        uint32_t max_participants;
        uint32_t mode;       /* permission bits of every file */
        uint32_t file_count;
        char file_name[MANIFEST_FILES][MANIFEST_NAME_BYTES]; /* index = file number */
};

/* Creates the file with generation 1 in both slots and a fresh uuid (both are stored in
 * *manifest), with exactly the permission bits `mode`; synced, the directory too. -EEXIST if
 * there is one; after any failure there is none, or (if even the clean-up failed) a whole one.
 * `directory` is a descriptor. */
int manifest_create(int directory, struct manifest *manifest);

/* The valid slot with the highest generation. -ENOENT: no manifest; XAC_FORMAT: another
 * version's; XAC_CORRUPT: neither slot is valid. */
int manifest_read(int directory, struct manifest *manifest);

/* Raises the generation and makes it durable in both slots, the unbelieved one first. One
 * writer at a time: the caller holds a lock. -ESTALE if the file is of a newer generation
 * than *manifest. After a failure *manifest is unchanged and the file may hold the old or the
 * new one: read it again before writing again. */
int manifest_write(int directory, struct manifest *manifest);

#endif
