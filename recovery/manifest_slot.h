/* SPDX-License-Identifier: MIT */
#ifndef RECOVERY_MANIFEST_SLOT_H
#define RECOVERY_MANIFEST_SLOT_H

/*
 * The bytes of a slot of the manifest; the second slot follows the first. Numbers are little-endian.
 *
 *      offset  bytes   field
 *           0      8   magic "XACMANIF"
 *           8      4   version of this format
 *          12      4   CRC-32C of all other bytes of the slot
 *          16      8   generation
 *          24     16   uuid
 *          40      4   page_bytes
 *          44      4   max_participants
 *          48      4   mode
 *          52      4   file_count
 *          56      4   turn: the slot with the lower one was written first
 *          60      4   incarnation
 *          64      8   segment_bytes
 *          72      8   base_sequence
 *          80      8   base_position
 *          88      8   redo_position
 *          96      4   buffer: 0, 1, or -1 for none
 *         100      4   buffer_checksum
 *         104      4   is_clean
 *         108      4   zero
 *         112      8   target_sequence; before version 5 zero
 *         120      8   zero
 *         128  64*256  names of the files, each filled up with zeros
 *       16512   64*8  places of the files, each the first unit of 16 GiB (4 bytes) and how many (4 bytes); before
 *                      version 4 zero: no file has a place yet
 *       17024      8   time_ns; this and the following: before version 6 zero
 *       17032      4   history
 *       17036      4   of the last session: incarnation
 *       17040      4   history
 *       17044      4   zero
 *       17048      8   position
 *       17056      8   time_ns
 *       17064      8   time_ns of the session before
 *       17072     32   of the archive: device, inode, held_bytes, flags
 *       17104   1024   its path, filled up with zeros
 *       18128      8   sealed: a bit for each file; this and the following: before version 7 zero
 *       18136  64*24   seals of the files, each number, outside, beside
 *       19672     16   of the archive: id of its marker; zeros: not known. Older libraries leave it out
 *       19688  13080   zero
 *
 * The version is the lowest that has what the manifest says, so that an older library may open what it understands.
 *
 * Valid = magic, version and checksum are right and the values make sense. Any bytes may be given.
 */

#include <stdbool.h>

#include "recovery/manifest.h"

enum {
        MANIFEST_SLOT_BYTES = 32 * 1024,
        MANIFEST_SLOT_SESSION = 6 /* the first version that knows of sessions */
};

enum manifest_slot_state { SLOT_INVALID, SLOT_OTHER_VERSION, SLOT_VALID };

/* May this be written, and believed when read? */
bool manifest_makes_sense(const struct manifest *manifest);
/* Can it be the number of a commit? */
bool manifest_sequence_makes_sense(uint64_t sequence);

void manifest_slot_encode(unsigned char *slot, const struct manifest *manifest, uint32_t turn);
/* *manifest is filled in if it is valid. */
enum manifest_slot_state manifest_slot_judge(const unsigned char *slot, struct manifest *manifest);

uint32_t manifest_slot_version(const unsigned char *slot);
uint32_t manifest_slot_turn(const unsigned char *slot);
void manifest_slot_set_turn(unsigned char *slot, uint32_t turn);

#endif
