/* SPDX-License-Identifier: MIT */
#ifndef TOOLS_XAC_STAT_BACKUP_H
#define TOOLS_XAC_STAT_BACKUP_H

/* What `xac stat` says of a backup: of which commit, of what environment, what it goes on from. */

#include <stdint.h>

#include "tools/xac/json.h"
#include "tools/xac/place.h"

/* 1: it is one, and was told of; 0: it is none; or an error, which was complained of. `place` has no manifest if it
 * goes on from another one (has_manifest: it has). */
int stat_backup_print(const struct place *place, bool has_manifest);

bool stat_backup_is_one(const char *path);
/* The same for programs: "backup", null where the directory is none. `manifest`: NULL, it has none.
 * Returns as stat_backup_print() does. */
int stat_backup_put(struct json *json, const char *path, const struct manifest *manifest);

enum { STAT_UUID_BYTES = 37 };

/* As people write it. */
void stat_uuid(const uint8_t uuid[16], char text[STAT_UUID_BYTES]);

#endif
