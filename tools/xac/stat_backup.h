/* SPDX-License-Identifier: MIT */
#ifndef TOOLS_XAC_STAT_BACKUP_H
#define TOOLS_XAC_STAT_BACKUP_H

/* What `xac stat` says of a backup: of which commit, of what environment, what it goes on from. */

#include <stdint.h>

#include "tools/xac/place.h"

/* 1: it is one, and was told of; 0: it is none; or an error, which was complained of. `place` has no manifest if it
 * goes on from another one (has_manifest: it has). */
int stat_backup_print(const struct place *place, bool has_manifest);

/* As people write it. */
void stat_print_uuid(const uint8_t uuid[16]);

#endif
