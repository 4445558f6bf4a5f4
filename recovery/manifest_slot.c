/* SPDX-License-Identifier: MIT */
#include "recovery/manifest_slot.h"

#include <string.h>

#include "base/checksum.h"
#include "base/zeros.h"
#include "recovery/bytes.h"
#include "recovery/data_name.h"
#include "recovery/log_format.h"

enum {
        FORMAT_VERSION = 7,
        SEALS_SINCE = 7,
        SESSION_SINCE = MANIFEST_SLOT_SESSION,
        TARGET_SINCE = 5,
        PLACES_SINCE = 4,
        OLDEST_VERSION = 2, /* its log has no merged records, and is read as it is */

        AT_MAGIC = 0,
        AT_VERSION = 8,
        AT_CHECKSUM = 12,
        AT_GENERATION = 16,
        AT_UUID = 24,
        AT_PAGE_BYTES = 40,
        AT_MAX_PARTICIPANTS = 44,
        AT_MODE = 48,
        AT_FILE_COUNT = 52,
        AT_TURN = 56,
        AT_INCARNATION = 60,
        AT_SEGMENT_BYTES = 64,
        AT_BASE_SEQUENCE = 72,
        AT_BASE_POSITION = 80,
        AT_REDO_POSITION = 88,
        AT_BUFFER = 96,
        AT_BUFFER_CHECKSUM = 100,
        AT_IS_CLEAN = 104,
        AT_TARGET_SEQUENCE = 112,
        AT_NAMES = 128,
        AT_PLACES = AT_NAMES + MANIFEST_FILES * MANIFEST_NAME_BYTES,
        PLACE_BYTES = 8,
        AT_TIME = AT_PLACES + MANIFEST_FILES * PLACE_BYTES,
        AT_HISTORY = AT_TIME + 8,
        AT_SESSION_INCARNATION = AT_TIME + 12,
        AT_SESSION_HISTORY = AT_TIME + 16,
        AT_SESSION_POSITION = AT_TIME + 24,
        AT_SESSION_TIME = AT_TIME + 32,
        AT_SESSION_PARENT = AT_TIME + 40,
        AT_ARCHIVE_DEVICE = AT_TIME + 48,
        AT_ARCHIVE_INODE = AT_TIME + 56,
        AT_ARCHIVE_HELD = AT_TIME + 64,
        AT_ARCHIVE_FLAGS = AT_TIME + 72,
        AT_ARCHIVE_PATH = AT_TIME + 80,
        AT_SEALED = AT_ARCHIVE_PATH + MANIFEST_PATH_BYTES,
        AT_SEALS = AT_SEALED + 8,
        SEAL_BYTES = 24,
        AT_ARCHIVE_MARKER = AT_SEALS + MANIFEST_FILES * SEAL_BYTES,
        /* Of one that was left, in place of device and inode: for an older library it is that of a copy. */
        AT_ARCHIVE_LEFT_DEVICE = AT_ARCHIVE_MARKER + 16,
        AT_ARCHIVE_LEFT_INODE = AT_ARCHIVE_LEFT_DEVICE + 8,
        AT_END = AT_ARCHIVE_LEFT_INODE + 8,

        UNITS_MAX = 1 << 30, /* so that addresses have 64 bits */

        PAGE_BYTES_MIN = 4096,
        PAGE_BYTES_MAX = 65536,
        PERMISSION_BITS = 0777
};

_Static_assert((int)AT_END <= (int)MANIFEST_SLOT_BYTES, "the names and places fit into a slot");
_Static_assert((int)AT_NAMES <= (int)LOG_SECTOR, "the numbers fit into a sector");

/* Beyond these no log and no counter comes, but sums of damaged numbers would overflow. */
#define POSITION_MAX    (UINT64_C(1) << 60)
#define SEQUENCE_MAX    (UINT64_C(1) << 62) /* of generations too: they must be able to grow */
#define INCARNATION_MAX (UINT32_MAX / 2)

static const char magic[8] = { 'X', 'A', 'C', 'M', 'A', 'N', 'I', 'F' };

/* ---- Bytes ---- */

static uint32_t slot_checksum(const unsigned char *slot)
{
        uint32_t crc = checksum_crc32c(0, slot, AT_CHECKSUM);

        return checksum_crc32c(crc, slot + AT_GENERATION, MANIFEST_SLOT_BYTES - AT_GENERATION);
}

static void log_fields_encode(unsigned char *slot, const struct manifest *manifest)
{
        bytes_put_u32(slot + AT_INCARNATION, manifest->incarnation);
        bytes_put_u64(slot + AT_SEGMENT_BYTES, manifest->segment_bytes);
        bytes_put_u64(slot + AT_BASE_SEQUENCE, manifest->base_sequence);
        bytes_put_u64(slot + AT_BASE_POSITION, manifest->base_position);
        bytes_put_u64(slot + AT_REDO_POSITION, manifest->redo_position);
        bytes_put_u32(slot + AT_BUFFER, (uint32_t)manifest->buffer);
        bytes_put_u32(slot + AT_BUFFER_CHECKSUM, manifest->buffer_checksum);
        bytes_put_u32(slot + AT_IS_CLEAN, manifest->is_clean);
        bytes_put_u64(slot + AT_TARGET_SEQUENCE, manifest->target_sequence);
}

static void session_fields_encode(unsigned char *slot, const struct manifest *manifest)
{
        bytes_put_u64(slot + AT_TIME, manifest->time_ns);
        bytes_put_u32(slot + AT_HISTORY, manifest->history);
        bytes_put_u32(slot + AT_SESSION_INCARNATION, manifest->session.incarnation);
        bytes_put_u32(slot + AT_SESSION_HISTORY, manifest->session.history);
        bytes_put_u64(slot + AT_SESSION_POSITION, manifest->session.position);
        bytes_put_u64(slot + AT_SESSION_TIME, manifest->session.time_ns);
        bytes_put_u64(slot + AT_SESSION_PARENT, manifest->session.parent_ns);
}

static void archive_fields_encode(unsigned char *slot, const struct manifest_archive *archive)
{
        bytes_put_u64(slot + (archive->is_left ? AT_ARCHIVE_LEFT_DEVICE : AT_ARCHIVE_DEVICE), archive->device);
        bytes_put_u64(slot + (archive->is_left ? AT_ARCHIVE_LEFT_INODE : AT_ARCHIVE_INODE), archive->inode);
        bytes_put_u64(slot + AT_ARCHIVE_HELD, archive->held_bytes);
        bytes_put_u64(slot + AT_ARCHIVE_FLAGS, archive->flags);
        memcpy(slot + AT_ARCHIVE_PATH, archive->path, strlen(archive->path));
        memcpy(slot + AT_ARCHIVE_MARKER, archive->marker, sizeof(archive->marker));
}

static void seals_encode(unsigned char *slot, const struct manifest *manifest)
{
        bytes_put_u64(slot + AT_SEALED, manifest->sealed);
        for (uint32_t file = 0; file < manifest->file_count; file++) {
                const struct manifest_seal *seal = &manifest->seal[file];
                unsigned char *bytes = slot + AT_SEALS + (size_t)file * SEAL_BYTES;

                if (!(manifest->sealed >> file & 1))
                        continue;
                bytes_put_u64(bytes, seal->number);
                bytes_put_u64(bytes + 8, seal->outside);
                bytes_put_u64(bytes + 16, seal->beside);
        }
}

static void place_encode(unsigned char *bytes, const struct manifest_place *place)
{
        bytes_put_u32(bytes, place->first);
        bytes_put_u32(bytes + 4, place->units);
}

/* That has what the slot says: so an older library may open what it understands. */
static uint32_t lowest_version(const unsigned char *slot)
{
        if (bytes_get_u64(slot + AT_SEALED))
                return SEALS_SINCE;
        if (!are_zeros(slot + AT_TIME, AT_SEALED - AT_TIME))
                return SESSION_SINCE;
        return bytes_get_u64(slot + AT_TARGET_SEQUENCE) ? TARGET_SINCE : PLACES_SINCE;
}

void manifest_slot_encode(unsigned char *slot, const struct manifest *manifest, uint32_t turn)
{
        memset(slot, 0, MANIFEST_SLOT_BYTES);
        memcpy(slot + AT_MAGIC, magic, sizeof(magic));
        bytes_put_u64(slot + AT_GENERATION, manifest->generation);
        memcpy(slot + AT_UUID, manifest->uuid, sizeof(manifest->uuid));
        bytes_put_u32(slot + AT_PAGE_BYTES, manifest->page_bytes);
        bytes_put_u32(slot + AT_MAX_PARTICIPANTS, manifest->max_participants);
        bytes_put_u32(slot + AT_MODE, manifest->mode);
        bytes_put_u32(slot + AT_FILE_COUNT, manifest->file_count);
        log_fields_encode(slot, manifest);
        session_fields_encode(slot, manifest);
        archive_fields_encode(slot, &manifest->archive);
        seals_encode(slot, manifest);
        /* Copied as strings, so that no byte behind a name's end gets into the file. */
        for (uint32_t file = 0; file < manifest->file_count; file++) {
                const char *name = manifest->file_name[file];

                memcpy(slot + AT_NAMES + (size_t)file * MANIFEST_NAME_BYTES, name, strlen(name));
                place_encode(slot + AT_PLACES + (size_t)file * PLACE_BYTES, &manifest->file_place[file]);
        }
        bytes_put_u32(slot + AT_VERSION, lowest_version(slot));
        manifest_slot_set_turn(slot, turn);
}

uint32_t manifest_slot_version(const unsigned char *slot)
{
        return bytes_get_u32(slot + AT_VERSION);
}

uint32_t manifest_slot_turn(const unsigned char *slot)
{
        return bytes_get_u32(slot + AT_TURN);
}

void manifest_slot_set_turn(unsigned char *slot, uint32_t turn)
{
        bytes_put_u32(slot + AT_TURN, turn);
        bytes_put_u32(slot + AT_CHECKSUM, slot_checksum(slot));
}

static void log_fields_decode(const unsigned char *slot, struct manifest *manifest)
{
        manifest->incarnation = bytes_get_u32(slot + AT_INCARNATION);
        manifest->segment_bytes = bytes_get_u64(slot + AT_SEGMENT_BYTES);
        manifest->base_sequence = bytes_get_u64(slot + AT_BASE_SEQUENCE);
        manifest->base_position = bytes_get_u64(slot + AT_BASE_POSITION);
        manifest->redo_position = bytes_get_u64(slot + AT_REDO_POSITION);
        manifest->buffer = (int32_t)bytes_get_u32(slot + AT_BUFFER);
        manifest->buffer_checksum = bytes_get_u32(slot + AT_BUFFER_CHECKSUM);
        manifest->is_clean = bytes_get_u32(slot + AT_IS_CLEAN);
        manifest->target_sequence = 0;
        if (manifest_slot_version(slot) >= TARGET_SINCE)
                manifest->target_sequence = bytes_get_u64(slot + AT_TARGET_SEQUENCE);
}

static void session_fields_decode(const unsigned char *slot, struct manifest *manifest)
{
        memset(&manifest->session, 0, sizeof(manifest->session));
        manifest->time_ns = 0;
        manifest->history = 0;
        if (manifest_slot_version(slot) < SESSION_SINCE)
                return;
        manifest->time_ns = bytes_get_u64(slot + AT_TIME);
        manifest->history = bytes_get_u32(slot + AT_HISTORY);
        manifest->session.incarnation = bytes_get_u32(slot + AT_SESSION_INCARNATION);
        manifest->session.history = bytes_get_u32(slot + AT_SESSION_HISTORY);
        manifest->session.position = bytes_get_u64(slot + AT_SESSION_POSITION);
        manifest->session.time_ns = bytes_get_u64(slot + AT_SESSION_TIME);
        manifest->session.parent_ns = bytes_get_u64(slot + AT_SESSION_PARENT);
}

static void archive_fields_decode(const unsigned char *slot, struct manifest_archive *archive)
{
        memset(archive, 0, sizeof(*archive));
        if (manifest_slot_version(slot) < SESSION_SINCE)
                return;
        archive->is_left = bytes_get_u64(slot + AT_ARCHIVE_LEFT_INODE) != 0;
        archive->device = bytes_get_u64(slot + (archive->is_left ? AT_ARCHIVE_LEFT_DEVICE : AT_ARCHIVE_DEVICE));
        archive->inode = bytes_get_u64(slot + (archive->is_left ? AT_ARCHIVE_LEFT_INODE : AT_ARCHIVE_INODE));
        archive->held_bytes = bytes_get_u64(slot + AT_ARCHIVE_HELD);
        if (archive->held_bytes > MANIFEST_HELD_MAX)
                archive->held_bytes = MANIFEST_HELD_MAX;
        archive->flags = bytes_get_u64(slot + AT_ARCHIVE_FLAGS);
        memcpy(archive->path, slot + AT_ARCHIVE_PATH, sizeof(archive->path));
        memcpy(archive->marker, slot + AT_ARCHIVE_MARKER, sizeof(archive->marker));
}

static void seals_decode(const unsigned char *slot, struct manifest *manifest)
{
        manifest->sealed = 0;
        memset(manifest->seal, 0, sizeof(manifest->seal));
        if (manifest_slot_version(slot) < SEALS_SINCE)
                return;
        manifest->sealed = bytes_get_u64(slot + AT_SEALED);
        for (uint64_t left = manifest->sealed; left; left &= left - 1) {
                const int file = __builtin_ctzll(left);
                const unsigned char *bytes = slot + AT_SEALS + (size_t)file * SEAL_BYTES;

                manifest->seal[file] = (struct manifest_seal){ bytes_get_u64(bytes), bytes_get_u64(bytes + 8),
                                                               bytes_get_u64(bytes + 16) };
        }
}

static void slot_decode(const unsigned char *slot, struct manifest *manifest)
{
        manifest->generation = bytes_get_u64(slot + AT_GENERATION);
        memcpy(manifest->uuid, slot + AT_UUID, sizeof(manifest->uuid));
        manifest->page_bytes = bytes_get_u32(slot + AT_PAGE_BYTES);
        manifest->max_participants = bytes_get_u32(slot + AT_MAX_PARTICIPANTS);
        manifest->mode = bytes_get_u32(slot + AT_MODE);
        manifest->file_count = bytes_get_u32(slot + AT_FILE_COUNT);
        log_fields_decode(slot, manifest);
        session_fields_decode(slot, manifest);
        archive_fields_decode(slot, &manifest->archive);
        seals_decode(slot, manifest);
        memcpy(manifest->file_name, slot + AT_NAMES, sizeof(manifest->file_name));
        memset(manifest->file_place, 0, sizeof(manifest->file_place));
        for (uint32_t file = 0; file < MANIFEST_FILES && manifest_slot_version(slot) >= PLACES_SINCE; file++) {
                const unsigned char *place = slot + AT_PLACES + (size_t)file * PLACE_BYTES;

                manifest->file_place[file] = (struct manifest_place){ bytes_get_u32(place), bytes_get_u32(place + 4) };
        }
}

/* ---- Sense ---- */

/* No other file of it is called so. */
static bool name_makes_sense(const struct manifest *manifest, uint32_t file)
{
        const char *name = manifest->file_name[file];

        if (!memchr(name, '\0', MANIFEST_NAME_BYTES) || !data_name_makes_sense(name))
                return false;
        for (uint32_t other = 0; other < file; other++)
                if (strcmp(name, manifest->file_name[other]) == 0)
                        return false;
        return true;
}

static bool place_makes_sense(const struct manifest_place *place)
{
        return place->units ? place->units <= UNITS_MAX && place->first <= UNITS_MAX - place->units : !place->first;
}

/* It is on the way there, and has a batch in its double-write buffer. */
static bool target_makes_sense(const struct manifest *manifest)
{
        return manifest->target_sequence > manifest->base_sequence && manifest->target_sequence <= SEQUENCE_MAX &&
               manifest->buffer >= 0 && !manifest->is_clean;
}

bool manifest_sequence_makes_sense(uint64_t sequence)
{
        return sequence && sequence <= SEQUENCE_MAX;
}

static bool log_fields_make_sense(const struct manifest *manifest)
{
        uint64_t segment_bytes = manifest->segment_bytes;

        if (segment_bytes % LOG_BLOCK || segment_bytes < LOG_SEGMENT_MIN || segment_bytes > LOG_SEGMENT_MAX)
                return false;
        /* The log begins in segment 1: position 0 means none. */
        if (manifest->redo_position < segment_bytes || manifest->redo_position > manifest->base_position)
                return false;
        if (manifest->base_position > POSITION_MAX)
                return false;
        if (manifest->redo_position % 8 || manifest->base_position % (manifest->is_clean ? LOG_BLOCK : 8))
                return false;
        if (!manifest_sequence_makes_sense(manifest->base_sequence))
                return false;
        if (manifest->buffer < -1 || manifest->buffer > 1)
                return false;
        if (manifest->target_sequence && !target_makes_sense(manifest))
                return false;
        if (manifest->session.position % LOG_BLOCK || manifest->session.position > manifest->base_position)
                return false;
        if (manifest->session.incarnation > manifest->incarnation || manifest->history > manifest->incarnation)
                return false;
        return manifest->incarnation > 0 && manifest->incarnation <= INCARNATION_MAX && manifest->is_clean <= 1;
}

bool manifest_makes_sense(const struct manifest *manifest)
{
        uint32_t page_bytes = manifest->page_bytes;

        if (page_bytes < PAGE_BYTES_MIN || page_bytes > PAGE_BYTES_MAX || page_bytes & (page_bytes - 1))
                return false;
        if (manifest->generation == 0 || manifest->generation > SEQUENCE_MAX)
                return false;
        if (manifest->max_participants == 0 || manifest->max_participants > MANIFEST_PARTICIPANTS)
                return false;
        if (manifest->mode & ~(uint32_t)PERMISSION_BITS || manifest->file_count > MANIFEST_FILES)
                return false;
        if (manifest->file_count < MANIFEST_FILES && manifest->sealed >> manifest->file_count)
                return false;
        for (uint32_t file = 0; file < manifest->file_count; file++)
                if (!name_makes_sense(manifest, file) || !place_makes_sense(&manifest->file_place[file]))
                        return false;
        return memchr(manifest->archive.path, '\0', MANIFEST_PATH_BYTES) && log_fields_make_sense(manifest);
}

enum manifest_slot_state manifest_slot_judge(const unsigned char *slot, struct manifest *manifest)
{
        if (memcmp(slot + AT_MAGIC, magic, sizeof(magic)) != 0)
                return SLOT_INVALID;
        if (bytes_get_u32(slot + AT_CHECKSUM) != slot_checksum(slot))
                return SLOT_INVALID;
        uint32_t version = bytes_get_u32(slot + AT_VERSION);
        if (version < OLDEST_VERSION || version > FORMAT_VERSION)
                return SLOT_OTHER_VERSION;
        slot_decode(slot, manifest);
        return manifest_makes_sense(manifest) ? SLOT_VALID : SLOT_INVALID;
}
