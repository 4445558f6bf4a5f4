/* SPDX-License-Identifier: MIT */
#ifndef TOOLS_XAC_PLACE_H
#define TOOLS_XAC_PLACE_H

/*
 * The environment that a subcommand was pointed to: its directory, its lock file, its manifest.
 *
 * Byte 0 of the lock file is held while somebody opens or closes the environment, and byte n + 1 for as long
 * as process n has it open (R15, R16). The tools hold byte 0 like an open does: who opens meanwhile waits.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/byte_lock.h"
#include "recovery/log_reader.h"
#include "recovery/manifest.h"
#include "tools/xac/tool.h"

#define PLACE_LOCK_FILE "xac.lock"

struct place {
        const char *path;
        int directory;
        struct byte_lock_file lock; /* its fd: -1 also where there is no file, so that nobody has it open */
        bool has_lock_file;
        bool may_lock;  /* it could be opened for writing */
        struct stat st; /* of the directory */
        struct manifest manifest;
};

/* Directory and lock file. Complains if it fails. */
enum tool_exit place_open(struct place *place, const char *path);
/* The same, and the manifest. */
enum tool_exit place_open_with_manifest(struct place *place, const char *path);
void place_close(struct place *place);
/* It has no manifest. */
void place_complain_of_none(const struct place *place);

/* Has any process the environment open? 1, 0, or -errno. */
int place_is_in_use(const struct place *place);
/* Keeps others from opening it, until place_close. -EBUSY: somebody has it open, or is opening or closing
 * it. Where it may only be read (may_lock) nobody is kept, but somebody who is there is seen all the same. */
int place_hold(struct place *place);
/* The same beside others who read it at rest. */
int place_hold_to_look(struct place *place);
/* Makes the lock file where there is none, as an open does. */
int place_make_lock_file(struct place *place);

/* The log from the manifest's redo position on: log_reader_open's result. */
int place_open_log(const struct place *place, struct log_reader **reader);

/* Did its last session name an archive? A copy lies in another directory, and has none. */
bool place_has_archive(const struct place *place);
/* Or did an earlier one, and sessions since then none? */
bool place_remembers_archive(const struct place *place);

/* The name of a data file, for people. */
const char *place_file_name(const struct place *place, uint64_t file_no);

#endif
