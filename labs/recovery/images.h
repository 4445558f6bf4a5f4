/* SPDX-License-Identifier: MIT */
#ifndef LABS_RECOVERY_IMAGES_H
#define LABS_RECOVERY_IMAGES_H

/*
 * All disks that a power cut can leave behind: of each sector that was written since the last sync of its file, what
 * was written last, or before, or what that sync left, or garbage; in every combination. First the disk on which all
 * has arrived, then those that lack one sector, then two, and so on.
 */

#include <stdbool.h>
#include <stdint.h>

#include "labs/recovery/disk.h"

enum { IMAGES_MOST = 60000 }; /* of one cut. An answer that syncs too seldom has more than can be tried */

/* A word of a sector that is garbage. */
#define IMAGES_GARBAGE INT64_C(0x5a5a5a5a5a5a5a5a)

struct image {
        uint8_t sector[DISK_SECTORS][SECTOR_BYTES];
        int lost;                   /* sectors that hold something else than was written last */
        int unsynced;               /* sectors that may */
        uint8_t fate[DISK_SECTORS]; /* enum fate */
};

enum fate { FATE_ARRIVED, FATE_OLDER, FATE_TORN, FATE_GARBAGE };

/* Calls judge(arg, image) for the disks that a cut after so many events can leave, until it returns false. Returns how
 * many there were. */
uint64_t images_each(const struct trace *trace, int events, bool (*judge)(void *arg, const struct image *image),
                     void *arg);

#endif
