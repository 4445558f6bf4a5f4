/* SPDX-License-Identifier: MIT */

/*
 * The manifest: any bytes may be in its file. manifest_read believes a slot only if its checksum is right and
 * its numbers make sense, and of two the right one; what it has read can be settled, written and read back.
 *
 *      first byte   bit 0: the slots as they come, a length (2 bytes) before the first; else a program
 *                   bit 1: settle; bit 2: write and read back; bits 3, 4: seal slot 0, 1 at the end
 */

#include <errno.h>
#include <string.h>

#include <xac/xac.h>

#include "recovery/bytes.h"
#include "recovery/manifest_slot.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/model.h"

const char fuzz_target[] = "manifest";

enum {
        SLOT = MANIFEST_SLOT_BYTES,
        USED = 2048, /* of a slot: the rest is zeros unless a program says otherwise */
        NAMES = 128,
        PLACES = NAMES + MANIFEST_FILES * MANIFEST_NAME_BYTES,
        PLACES_SINCE = 4, /* version */
        TARGET_SINCE = 5,
        SESSION_SINCE = 6,
        SEALS_SINCE = 7,
        TIME = PLACES + MANIFEST_FILES * 8,
        SEALED = TIME + 80 + MANIFEST_PATH_BYTES,
        UNITS = 1 << 30,
        MODE_RAW = 1,
        MODE_SETTLE = 2,
        MODE_WRITE = 4,
        MODE_SEAL = 8
};

/* Numbers that are raised have room to grow. */
#define GROWS_TO (UINT64_C(1) << 62)

static unsigned char slots[2][SLOT];
static uint64_t file_len;

static void seal(unsigned char *slot)
{
        bytes_put_u32(slot + 12, model_crc_around(slot, 12, SLOT));
}

/* ---- Making and damaging ---- */

static void make_slot(struct fuzz_input *input, unsigned char *slot, uint32_t turn)
{
        uint8_t how = fuzz_u8(input);
        struct manifest manifest = {
                .generation = 1 + (how & 3),
                .page_bytes = 4096,
                .max_participants = 1024,
                .mode = 0600,
                .file_count = how >> 2 & 3,
                .segment_bytes = 65536,
                .base_sequence = 1 + (how >> 4),
                .base_position = 131072,
                .redo_position = 65536,
                .incarnation = 3,
                .buffer = (how >> 6) - 1,
                .is_clean = how >> 7,
        };
        uint8_t more = fuzz_u8(input);

        if (manifest.buffer > 1)
                manifest.buffer = 1;
        if (more & 1)
                manifest.target_sequence = manifest.base_sequence + (more >> 4);
        if (more & 2)
                manifest.session = (struct manifest_session){ more >> 6, 1, 65536, 77, 76 };
        if (more & 8)
                memset(manifest.archive.path, 'p', 1 + more);
        if (more & 4)
                manifest.history = more >> 6;
        for (uint32_t i = 0; i < manifest.file_count; i++) {
                if (more & 16) {
                        manifest.sealed |= UINT64_C(1) << i;
                        manifest.seal[i] = (struct manifest_seal){ more, UINT64_C(1) << 40 | i, how };
                }
                memset(manifest.file_name[i], 'a' + (int)i, 1 + i);
                if (how & 1)
                        manifest.file_place[i] = (struct manifest_place){ 2048 + i, 1 };
        }
        manifest_slot_encode(slot, &manifest, turn);
}

static void damage_slots(struct fuzz_input *input)
{
        static const uint8_t field[][2] = { { 0, 8 },  { 8, 4 },   { 12, 4 },  { 16, 8 }, { 24, 8 },
                                            { 40, 4 }, { 44, 4 },  { 48, 4 },  { 52, 4 }, { 56, 4 },
                                            { 60, 4 }, { 64, 8 },  { 72, 8 },  { 80, 8 }, { 88, 8 },
                                            { 96, 4 }, { 100, 4 }, { 104, 4 }, { 112, 8 } };
        uint8_t how = fuzz_u8(input);
        unsigned char *slot = slots[how >> 7];
        unsigned char number[8];
        size_t i;

        switch (how % 8) {
        case 0:
                fuzz_damage(input, slot, USED);
                break;
        case 1:
                fuzz_damage(input, slot, SLOT);
                break;
        case 2:
        case 3:
        case 4:
                i = fuzz_u8(input) % (sizeof(field) / sizeof(field[0]));
                bytes_put_u64(number, fuzz_number(input, bytes_get_u64(slot + field[i][0])));
                memcpy(slot + field[i][0], number, field[i][1]);
                break;
        case 5: /* bytes of a name */
                i = NAMES + (size_t)(fuzz_u8(input) % MANIFEST_FILES) * MANIFEST_NAME_BYTES + fuzz_u8(input);
                memset(slot + i, fuzz_u8(input), 1 + (fuzz_u16(input) & 511));
                break;
        case 6:
                if (how & 16) { /* a number of a place */
                        i = PLACES + (size_t)(fuzz_u8(input) % 8) * 4;
                        bytes_put_u32(slot + i, (uint32_t)fuzz_number(input, bytes_get_u32(slot + i)));
                        break;
                }
                file_len = fuzz_number(input, how & 8 ? SLOT : 2 * SLOT) & 0x1ffff;
                break;
        default:
                seal(slot);
                break;
        }
}

/* ---- The second reading ---- */

/* Not one of the library's own, and no other file's. */
static bool name_is_right(const unsigned char *slot, uint32_t file)
{
        const char *name = (const char *)slot + NAMES + (size_t)file * MANIFEST_NAME_BYTES;
        size_t len = strnlen(name, MANIFEST_NAME_BYTES);

        if (len == 0 || len == MANIFEST_NAME_BYTES || memchr(name, '/', len) || (len >= 4 && !memcmp(name, "xac.", 4)))
                return false;
        for (const char *other = (const char *)slot + NAMES; other < name; other += MANIFEST_NAME_BYTES)
                if (!memcmp(other, name, len + 1))
                        return false;
        return !(len == 1 && name[0] == '.') && !(len == 2 && name[0] == '.' && name[1] == '.');
}

static bool has_places(const unsigned char *slot)
{
        return bytes_get_u32(slot + 8) >= PLACES_SINCE;
}

static bool place_is_right(const unsigned char *place)
{
        uint64_t first = bytes_get_u32(place), units = bytes_get_u32(place + 4);

        return units ? first + units <= UNITS : first == 0;
}

/* A checkpoint that goes home in batches is behind the base, and has a double-write buffer. */
static bool target_is_right(const unsigned char *slot)
{
        uint64_t target = bytes_get_u32(slot + 8) >= TARGET_SINCE ? bytes_get_u64(slot + 112) : 0;

        return !target || (target > bytes_get_u64(slot + 72) && target <= GROWS_TO &&
                           bytes_get_u32(slot + 96) != UINT32_MAX && !bytes_get_u32(slot + 104));
}

static bool session_is_right(const unsigned char *slot)
{
        uint32_t incarnation = bytes_get_u32(slot + 60);
        uint64_t position = bytes_get_u64(slot + TIME + 24);

        return bytes_get_u32(slot + 8) < SESSION_SINCE ||
               (position % 4096 == 0 && position <= bytes_get_u64(slot + 80) &&
                bytes_get_u32(slot + TIME + 12) <= incarnation && bytes_get_u32(slot + TIME + 8) <= incarnation &&
                memchr(slot + TIME + 80, 0, MANIFEST_PATH_BYTES));
}

/* No bit of a file that is not there. */
static bool sealed_is_right(const unsigned char *slot)
{
        uint32_t files = bytes_get_u32(slot + 52);

        return bytes_get_u32(slot + 8) < SEALS_SINCE || files >= 64 || !(bytes_get_u64(slot + SEALED) >> files);
}

static bool log_is_right(const unsigned char *slot)
{
        uint64_t segment = bytes_get_u64(slot + 64), sequence = bytes_get_u64(slot + 72);
        uint64_t base = bytes_get_u64(slot + 80), redo = bytes_get_u64(slot + 88);
        uint32_t buffer = bytes_get_u32(slot + 96);

        return segment % 4096 == 0 && segment >= 65536 && segment <= 64 << 20 && redo >= segment && redo <= base &&
               base <= UINT64_C(1) << 60 && redo % 8 == 0 && base % (bytes_get_u32(slot + 104) ? 4096 : 8) == 0 &&
               sequence >= 1 && sequence <= GROWS_TO && (buffer == 0 || buffer == 1 || buffer == UINT32_MAX) &&
               bytes_get_u32(slot + 60) - 1 < UINT32_MAX / 2 && bytes_get_u32(slot + 104) <= 1 &&
               target_is_right(slot) && session_is_right(slot);
}

static bool slot_is_right(const unsigned char *slot)
{
        uint32_t page_bytes = bytes_get_u32(slot + 40), files = bytes_get_u32(slot + 52);

        if (page_bytes != 4096 && page_bytes != 8192 && page_bytes != 16384 && page_bytes != 32768 &&
            page_bytes != 65536)
                return false;
        if (bytes_get_u64(slot + 16) - 1 >= GROWS_TO || bytes_get_u32(slot + 44) - 1 >= 32768 ||
            bytes_get_u32(slot + 48) > 0777 || files > 64)
                return false;
        for (uint32_t i = 0; i < files; i++)
                if (!name_is_right(slot, i) || (has_places(slot) && !place_is_right(slot + PLACES + (size_t)i * 8)))
                        return false;
        return log_is_right(slot) && sealed_is_right(slot);
}

static enum manifest_slot_state judge(int which)
{
        const unsigned char *slot = slots[which];

        if (file_len < (uint64_t)(which + 1) * SLOT || memcmp(slot, "XACMANIF", 8) != 0 ||
            bytes_get_u32(slot + 12) != model_crc_around(slot, 12, SLOT))
                return SLOT_INVALID;
        if (bytes_get_u32(slot + 8) < 2 || bytes_get_u32(slot + 8) > SEALS_SINCE)
                return SLOT_OTHER_VERSION;
        return slot_is_right(slot) ? SLOT_VALID : SLOT_INVALID;
}

/* The slot that is to be believed, or the code. */
static int believe(void)
{
        enum manifest_slot_state state[2] = { judge(0), judge(1) };
        uint64_t first = bytes_get_u64(slots[0] + 16), second = bytes_get_u64(slots[1] + 16);

        if (state[0] == SLOT_VALID && state[1] == SLOT_VALID) {
                if (first != second)
                        return second > first;
                return bytes_get_u32(slots[0] + 56) > bytes_get_u32(slots[1] + 56);
        }
        if (state[0] == SLOT_VALID || state[1] == SLOT_VALID)
                return state[1] == SLOT_VALID;
        return state[0] == SLOT_OTHER_VERSION || state[1] == SLOT_OTHER_VERSION ? XAC_FORMAT : XAC_CORRUPT;
}

/* Is *manifest what stands in the slot, each field and name? */
static void check_fields(const struct manifest *manifest, const unsigned char *slot)
{
        unsigned char again[SLOT];
        uint32_t files = bytes_get_u32(slot + 52);

        manifest_slot_encode(again, manifest, bytes_get_u32(slot + 56));
        fuzz_check(memcmp(again, slot, 8) == 0); /* the version is what is written now */
        fuzz_check(memcmp(again + 16, slot + 16, 108 - 16) == 0);
        for (uint32_t i = 0; i < files; i++) {
                static const unsigned char nowhere[8];
                const size_t place = PLACES + (size_t)i * 8;

                fuzz_check(strcmp((const char *)again + NAMES + (size_t)i * MANIFEST_NAME_BYTES,
                                  (const char *)slot + NAMES + (size_t)i * MANIFEST_NAME_BYTES) == 0);
                fuzz_check(memcmp(again + place, has_places(slot) ? slot + place : nowhere, 8) == 0);
        }
}

/* ---- Reading, settling, writing ---- */

static void check_same(const struct manifest *a, const struct manifest *b)
{
        static unsigned char bytes[2][SLOT];

        manifest_slot_encode(bytes[0], a, 0);
        manifest_slot_encode(bytes[1], b, 0);
        fuzz_check(memcmp(bytes[0], bytes[1], SLOT) == 0);
}

/* The last generation there is remains what it is. */
static void check_write(struct manifest *manifest)
{
        static struct manifest again;
        uint64_t generation = manifest->generation;
        bool may_grow = generation < GROWS_TO;

        uint64_t target = manifest->target_sequence, base = manifest->base_position;

        manifest->target_sequence = 0; /* a clean one cannot have any, and its log ends with a block */
        manifest->is_clean = !manifest->is_clean;
        if (manifest->is_clean)
                manifest->base_position = (base + 4095) / 4096 * 4096;
        fuzz_check(manifest_write(fuzz_directory(), manifest) == (may_grow ? 0 : -EINVAL));
        fuzz_check(manifest->generation == generation + may_grow);
        if (!may_grow) {
                manifest->is_clean = !manifest->is_clean;
                manifest->target_sequence = target;
                manifest->base_position = base;
        }
        fuzz_check(manifest_read(fuzz_directory(), &again) == 0);
        check_same(manifest, &again);
}

static void check_manifest(uint8_t mode)
{
        static struct manifest manifest, again;
        int expected = believe();
        int err = manifest_read(fuzz_directory(), &manifest);

        if (expected < 0) {
                fuzz_check(err == expected);
                fuzz_check(manifest_read_settled(fuzz_directory(), &again) == expected);
                fuzz_check(manifest_read(fuzz_directory(), &again) == expected);
                return;
        }
        fuzz_check(err == 0);
        check_fields(&manifest, slots[expected]);
        if (mode & MODE_SETTLE) {
                fuzz_check(manifest_read_settled(fuzz_directory(), &again) == 0);
                check_same(&manifest, &again);
                fuzz_check(manifest_read(fuzz_directory(), &again) == 0);
                check_same(&manifest, &again);
        }
        if (mode & MODE_WRITE)
                check_write(&manifest);
}

/* Not more than was written: the rest of the file is a hole. */
static void store(void)
{
        static unsigned char file[2 * SLOT];

        memcpy(file, slots, sizeof(file));
        fuzz_store(MANIFEST_NAME, file, sizeof(file), file_len);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t byte_len)
{
        struct fuzz_input input = { bytes, byte_len };
        uint8_t mode = fuzz_u8(&input);

        file_len = sizeof(slots);
        if (mode & MODE_RAW) {
                uint16_t first = fuzz_u16(&input);

                memset(slots, 0, sizeof(slots));
                fuzz_bytes(&input, slots[0], first < SLOT ? first : SLOT);
                fuzz_bytes(&input, slots[1], SLOT);
        } else {
                make_slot(&input, slots[0], 0);
                make_slot(&input, slots[1], 1);
                while (input.left)
                        damage_slots(&input);
        }
        for (int i = 0; i < 2; i++)
                if (mode & MODE_SEAL << i)
                        seal(slots[i]);
        store();
        check_manifest(mode);
        return 0;
}
