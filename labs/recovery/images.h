/* SPDX-License-Identifier: MIT */
#ifndef LABS_RECOVERY_IMAGES_H
#define LABS_RECOVERY_IMAGES_H

/*
 * All disks that a power cut can leave behind: of each sector that was written since the last sync of its file, what
 * was written last, or before, or what that sync left, or garbage; in every combination. First the disk on which all
 * has arrived, then those that lack one sector, then two, and so on.
 *
 * An answer that syncs too seldom has more of them than can be tried. Then half of those that are tried come in this
 * order, and the other half is drawn: of a file all sectors have arrived, or none, or each by chance.
 */

#include <stdbool.h>
#include <stdint.h>

#include "labs/recovery/disk.h"

/* A word of a sector that is garbage. */
#define IMAGES_GARBAGE INT64_C(0x5a5a5a5a5a5a5a5a)

struct image {
        uint8_t sector[DISK_SECTORS][SECTOR_BYTES];
        int lost;                   /* sectors that hold something else than was written last */
        int unsynced;               /* sectors that may */
        uint8_t fate[DISK_SECTORS]; /* enum fate */
        uint8_t spoilt[DISK_FILES]; /* pages of each file that image_spoil() has changed: 1 << page, added up */
};

enum fate { FATE_ARRIVED, FATE_OLDER, FATE_TORN, FATE_GARBAGE };

/* Calls judge(arg, image) for the disks that a cut after so many events can leave, at most for so many. Returns whether
 * there are no more. */
bool images_each(const struct trace *trace, int events, uint64_t most,
                 void (*judge)(void *arg, const struct image *image), void *arg);

/* Makes garbage of each page of the areas and of home from which no recovery needs to read: what the manifest names is
 * in its area, all else at home. */
void image_spoil(struct image *image);

#endif
