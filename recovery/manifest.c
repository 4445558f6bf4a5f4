/* SPDX-License-Identifier: MIT */
#include "recovery/manifest.h"

/*
 * The bytes of a slot; the second slot follows the first. Numbers are little-endian.
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
 *          56      4   turn: 0 in the slot that was written first, 1 in the other
 *          60      4   zero
 *          64  64*256  names of the files, each filled up with zeros
 *       16448  16320   zero
 *
 * Valid = magic, version and checksum are right and the values make sense. Believed = valid
 * and of the highest generation; if both are, the one that was written first.
 *
 * R18: the believed slot is not touched before the other one is on disk. And it must itself
 * be on disk by then, which the page cache does not tell: a sync may have failed. Hence:
 *   1. When the slots are of one generation, the one written first was synced: the second was
 *      not begun before.
 *   2. When they differ, the believed one may not be: it is first written again, over its own
 *      bytes, which cannot tear them.
 */

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <xac/xac.h>

#include "base/checksum.h"
#include "base/sys.h"

enum {
        FORMAT_VERSION = 1,
        SLOTS = 2,
        SLOT_BYTES = 32 * 1024,

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
        AT_NAMES = 64,
        AT_END = AT_NAMES + MANIFEST_FILES * MANIFEST_NAME_BYTES,

        PAGE_BYTES_MIN = 4096,
        PAGE_BYTES_MAX = 65536,
        PERMISSION_BITS = 0777
};

_Static_assert(AT_END <= SLOT_BYTES, "the names fit into a slot");

static const char magic[8] = {'X', 'A', 'C', 'M', 'A', 'N', 'I', 'F'};

#define HALF_MADE_NAME MANIFEST_NAME ".new"

enum manifest_slot_state { SLOT_INVALID, SLOT_OTHER_VERSION, SLOT_VALID };

/* What the file holds. On the heap: callers may have small stacks. */
struct slots {
        unsigned char bytes[SLOTS][SLOT_BYTES];
        enum manifest_slot_state state[SLOTS];
        struct manifest manifest[SLOTS]; /* of the valid ones */
};

/* ---- Bytes ---- */

static void put_u32(unsigned char *slot, int at, uint32_t value)
{
        value = htole32(value);
        memcpy(slot + at, &value, sizeof(value));
}

static void put_u64(unsigned char *slot, int at, uint64_t value)
{
        value = htole64(value);
        memcpy(slot + at, &value, sizeof(value));
}

static uint32_t get_u32(const unsigned char *slot, int at)
{
        uint32_t value;

        memcpy(&value, slot + at, sizeof(value));
        return le32toh(value);
}

static uint64_t get_u64(const unsigned char *slot, int at)
{
        uint64_t value;

        memcpy(&value, slot + at, sizeof(value));
        return le64toh(value);
}

static uint32_t slot_checksum(const unsigned char *slot)
{
        uint32_t crc = checksum_crc32c(0, slot, AT_CHECKSUM);

        return checksum_crc32c(crc, slot + AT_GENERATION, SLOT_BYTES - AT_GENERATION);
}

static void slot_encode(unsigned char *slot, const struct manifest *manifest, uint32_t turn)
{
        memset(slot, 0, SLOT_BYTES);
        memcpy(slot + AT_MAGIC, magic, sizeof(magic));
        put_u32(slot, AT_VERSION, FORMAT_VERSION);
        put_u64(slot, AT_GENERATION, manifest->generation);
        memcpy(slot + AT_UUID, manifest->uuid, sizeof(manifest->uuid));
        put_u32(slot, AT_PAGE_BYTES, manifest->page_bytes);
        put_u32(slot, AT_MAX_PARTICIPANTS, manifest->max_participants);
        put_u32(slot, AT_MODE, manifest->mode);
        put_u32(slot, AT_FILE_COUNT, manifest->file_count);
        put_u32(slot, AT_TURN, turn);
        /* Copied as strings, so that no byte behind a name's end gets into the file. */
        for (uint32_t file = 0; file < manifest->file_count; file++) {
                const char *name = manifest->file_name[file];

                memcpy(slot + AT_NAMES + (size_t)file * MANIFEST_NAME_BYTES, name, strlen(name));
        }
        put_u32(slot, AT_CHECKSUM, slot_checksum(slot));
}

static void slot_decode(const unsigned char *slot, struct manifest *manifest)
{
        manifest->generation = get_u64(slot, AT_GENERATION);
        memcpy(manifest->uuid, slot + AT_UUID, sizeof(manifest->uuid));
        manifest->page_bytes = get_u32(slot, AT_PAGE_BYTES);
        manifest->max_participants = get_u32(slot, AT_MAX_PARTICIPANTS);
        manifest->mode = get_u32(slot, AT_MODE);
        manifest->file_count = get_u32(slot, AT_FILE_COUNT);
        memcpy(manifest->file_name, slot + AT_NAMES, sizeof(manifest->file_name));
}

/* ---- Sense ---- */

/* A plain name inside the directory. What else a name may not be is the caller's business. */
static bool name_makes_sense(const char name[MANIFEST_NAME_BYTES])
{
        return memchr(name, '\0', MANIFEST_NAME_BYTES) && name[0] != '\0' && !strchr(name, '/') &&
               strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

static bool manifest_makes_sense(const struct manifest *manifest)
{
        uint32_t page_bytes = manifest->page_bytes;

        if (page_bytes < PAGE_BYTES_MIN || page_bytes > PAGE_BYTES_MAX || page_bytes & (page_bytes - 1))
                return false;
        if (manifest->generation == 0 || manifest->max_participants == 0)
                return false;
        if (manifest->mode & ~(uint32_t)PERMISSION_BITS || manifest->file_count > MANIFEST_FILES)
                return false;
        for (uint32_t file = 0; file < manifest->file_count; file++)
                if (!name_makes_sense(manifest->file_name[file]))
                        return false;
        return true;
}

static enum manifest_slot_state slot_judge(const unsigned char *slot, struct manifest *manifest)
{
        if (memcmp(slot + AT_MAGIC, magic, sizeof(magic)) != 0)
                return SLOT_INVALID;
        if (get_u32(slot, AT_CHECKSUM) != slot_checksum(slot))
                return SLOT_INVALID;
        if (get_u32(slot, AT_VERSION) != FORMAT_VERSION)
                return SLOT_OTHER_VERSION;
        slot_decode(slot, manifest);
        return manifest_makes_sense(manifest) ? SLOT_VALID : SLOT_INVALID;
}

/* ---- Slots ---- */

static int slots_read(int fd, struct slots *slots)
{
        for (int slot = 0; slot < SLOTS; slot++) {
                unsigned char *bytes = slots->bytes[slot];
                int err = sys_read_all(fd, bytes, SLOT_BYTES, (uint64_t)slot * SLOT_BYTES);

                /* A file that was cut short is damage like any other; an error that may pass is
                 * not: the other slot may be the older one. */
                if (err && err != -ENODATA)
                        return err;
                slots->state[slot] = err ? SLOT_INVALID : slot_judge(bytes, &slots->manifest[slot]);
        }
        return 0;
}

static bool slots_agree(const struct slots *slots)
{
        return slots->state[0] == SLOT_VALID && slots->state[1] == SLOT_VALID &&
               slots->manifest[0].generation == slots->manifest[1].generation;
}

/* The believed slot, or why there is none. */
static int slots_believe(const struct slots *slots, int *believed)
{
        bool valid[SLOTS] = {slots->state[0] == SLOT_VALID, slots->state[1] == SLOT_VALID};

        if (slots_agree(slots))
                *believed = get_u32(slots->bytes[0], AT_TURN) > get_u32(slots->bytes[1], AT_TURN);
        else if (valid[0] && valid[1])
                *believed = slots->manifest[1].generation > slots->manifest[0].generation;
        else if (valid[0] || valid[1])
                *believed = valid[1];
        else if (slots->state[0] == SLOT_OTHER_VERSION || slots->state[1] == SLOT_OTHER_VERSION)
                return XAC_FORMAT;
        else
                return XAC_CORRUPT;
        return 0;
}

/* The bytes of one slot, on disk when it returns. */
static int slot_write(int fd, const struct slots *slots, int slot)
{
        int err = sys_write_all(fd, slots->bytes[slot], SLOT_BYTES, (uint64_t)slot * SLOT_BYTES);

        return err ? err : sys_sync(fd);
}

/* Both slots, one after the other. */
static int slots_write(int fd, struct slots *slots, int first, const struct manifest *manifest)
{
        int err;

        slot_encode(slots->bytes[first], manifest, 0);
        err = slot_write(fd, slots, first);
        if (err)
                return err;
        slot_encode(slots->bytes[!first], manifest, 1);
        return slot_write(fd, slots, !first);
}

/* ---- Create ---- */

/* The half-made file: complete when this returns, but for its name. */
static int half_made_write(int fd, struct slots *slots, const struct manifest *manifest)
{
        int err = sys_chmod(fd, (mode_t)manifest->mode);

        return err ? err : slots_write(fd, slots, 0, manifest);
}

static int half_made_create(int directory, struct slots *slots, const struct manifest *manifest)
{
        int fd;
        int err = sys_unlink(directory, HALF_MADE_NAME);

        /* Never opened but removed: after a crash between link and unlink it would be the
         * manifest itself under another name. */
        if (err && err != -ENOENT)
                return err;
        err = sys_open(directory, HALF_MADE_NAME, O_WRONLY | O_CREAT | O_EXCL, 0600, &fd);
        if (err)
                return err;
        err = half_made_write(fd, slots, manifest);
        sys_close(fd);
        if (err)
                (void)sys_unlink(directory, HALF_MADE_NAME);
        return err;
}

/* The link is what makes the manifest: it is there as a whole or not at all. */
static int half_made_publish(int directory)
{
        int err = sys_link(directory, HALF_MADE_NAME, MANIFEST_NAME);

        (void)sys_unlink(directory, HALF_MADE_NAME);
        if (err)
                return err;
        err = sys_sync(directory);
        if (err)
                (void)sys_unlink(directory, MANIFEST_NAME);
        return err;
}

int manifest_create(int directory, struct manifest *manifest)
{
        struct stat st;
        struct slots *slots;
        int err = sys_stat_at(directory, MANIFEST_NAME, &st);

        if (err != -ENOENT)
                return err ? err : -EEXIST;
        manifest->generation = 1;
        if (!manifest_makes_sense(manifest))
                return -EINVAL;
        err = sys_random(manifest->uuid, sizeof(manifest->uuid));
        if (err)
                return err;
        slots = malloc(sizeof(*slots));
        if (!slots)
                return -ENOMEM;
        err = half_made_create(directory, slots, manifest);
        if (!err)
                err = half_made_publish(directory);
        free(slots);
        return err;
}

/* ---- Read and write ---- */

/* Opens the manifest and reads it; *slots and *fd are the caller's on success. */
static int slots_open(int directory, int flags, struct slots **slots, int *believed, int *fd)
{
        int err = sys_open(directory, MANIFEST_NAME, flags, 0, fd);

        if (err)
                return err;
        *slots = malloc(sizeof(**slots));
        if (!*slots) {
                err = -ENOMEM;
                goto fail_alloc;
        }
        err = slots_read(*fd, *slots);
        if (!err)
                err = slots_believe(*slots, believed);
        if (!err)
                return 0;

        free(*slots);
fail_alloc:
        sys_close(*fd);
        return err;
}

int manifest_read(int directory, struct manifest *manifest)
{
        struct slots *slots;
        int believed;
        int fd;
        int err = slots_open(directory, O_RDONLY, &slots, &believed, &fd);

        if (err)
                return err;
        *manifest = slots->manifest[believed];
        free(slots);
        sys_close(fd);
        return 0;
}

static int slots_replace(int fd, struct slots *slots, int believed, const struct manifest *manifest)
{
        int err = slots_agree(slots) ? 0 : slot_write(fd, slots, believed);

        return err ? err : slots_write(fd, slots, !believed, manifest);
}

int manifest_write(int directory, struct manifest *manifest)
{
        uint64_t generation = manifest->generation;
        struct slots *slots;
        int believed;
        int fd;
        int err;

        if (!manifest_makes_sense(manifest))
                return -EINVAL;
        err = slots_open(directory, O_RDWR, &slots, &believed, &fd);
        if (err)
                return err;
        err = -ESTALE;
        if (slots->manifest[believed].generation <= generation) {
                manifest->generation = generation + 1;
                err = slots_replace(fd, slots, believed, manifest);
        }
        if (err)
                manifest->generation = generation;
        free(slots);
        sys_close(fd);
        return err;
}
