/* SPDX-License-Identifier: MIT */

/*
 * P7 and R15: shared memory is believed only if everything in its header is right, else it is as
 * if there were none; a damaged manifest is a code.
 */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/checksum.h"
#include "libxac/ground/control.h"
#include "recovery/manifest_slot.h"
#include "tests/failure/remains.h"
#include "tests/failure/world.h"
#include "tests/support/chance.h"
#include "tests/support/check.h"
#include "tests/support/isolate.h"
#include "tests/support/places.h"
#include "tests/support/scratch.h"

/* ---- Shared memory that somebody left ---- */

static void change_bytes(const char *name, off_t offset, const void *bytes, size_t byte_len)
{
        int fd = open(name, O_RDWR | O_CLOEXEC);

        check(fd >= 0);
        check_equal(pwrite(fd, bytes, byte_len, offset), byte_len);
        close(fd);
}

/* Believed: what was committed is there. Not believed: what is at home is. */
static void expect_home_only(const struct world_truth *at_home)
{
        *world_truth = *at_home;
        remains_prove();
}

struct field {
        const char *name;
        size_t offset;
        size_t byte_len;
};

#define FIELD(name)                                                                        \
        {                                                                                  \
#name, offsetof(struct control, name), sizeof(((struct control *)0)->name) \
        }
static const struct field fields[] = {
        FIELD(magic), FIELD(version), FIELD(page_bytes), FIELD(max_participants), FIELD(pool_slots), FIELD(device),
        FIELD(inode), FIELD(uuid),    FIELD(boot_id),    FIELD(is_ready),         FIELD(session_ns),
};

/* The control: whole shared memory of dead processes is believed. */
static void left_shared_memory_is_believed(void)
{
        remains_of_killed();
        remains_prove();
}

static void spoil_field(const struct field *field)
{
        unsigned char bytes[64];
        const char *name = world_shared_name(WORLD_CONTROL);
        int fd = open(name, O_RDWR | O_CLOEXEC);

        check(fd >= 0 && field->byte_len <= sizeof(bytes));
        check_equal(pread(fd, bytes, field->byte_len, (off_t)field->offset), field->byte_len);
        bytes[0] ^= 1;
        check_equal(pwrite(fd, bytes, field->byte_len, (off_t)field->offset), field->byte_len);
        close(fd);
}

static void a_wrong_header_is_not_believed(void)
{
        for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
                remains_of_killed();
                spoil_field(&fields[i]);
                expect_home_only(&remains_at_home);
                world_remove_directory();
        }
}

/* Both generations must be wrong: one of them may be that of a manifest in the making. */
static void a_wrong_generation_is_not_believed(void)
{
        const uint64_t wrong[2] = { 7777, 7778 };

        remains_of_killed();
        change_bytes(world_shared_name(WORLD_CONTROL), offsetof(struct control, generation), wrong, sizeof(wrong));
        expect_home_only(&remains_at_home);
}

static void short_and_garbled_control_is_not_believed(void)
{
        static const off_t lengths[] = { 0, 1, 100, 4096, 65536 };
        struct chance chance = { chance_seed() };

        for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
                remains_of_killed();
                check_equal(truncate(world_shared_name(WORLD_CONTROL), lengths[i]), 0);
                expect_home_only(&remains_at_home);
                world_remove_directory();
        }
        for (int i = 0; i < 4; i++) {
                uint64_t garbage[128];

                remains_of_killed();
                for (size_t word = 0; word < 128; word++)
                        garbage[word] = chance_next(&chance);
                change_bytes(world_shared_name(WORLD_CONTROL), 0, garbage, sizeof(garbage));
                expect_home_only(&remains_at_home);
                world_remove_directory();
        }
}

/* One of the three files is gone, or too short for what the header says. */
static void parts_that_are_missing_or_short_are_not_believed(void)
{
        for (int i = 0; i < WORLD_PARTS; i++) {
                remains_of_killed();
                check_equal(unlink(world_shared_name(i)), 0);
                expect_home_only(&remains_at_home);
                world_remove_directory();
        }
        for (int i = WORLD_HEADS; i < WORLD_PARTS; i++) {
                remains_of_killed();
                check_equal(truncate(world_shared_name(i), 4096), 0);
                expect_home_only(&remains_at_home);
                world_remove_directory();
        }
}

/* ---- A copy in another directory ---- */

static void copy_file(const char *from, const char *to)
{
        char command[10000];

        snprintf(command, sizeof(command), "cp '%s' '%s'", from, to);
        check_equal(system(command), 0);
}

/* Shared memory of another directory under this one's names. */
static void shared_memory_of_another_directory_is_not_believed(void)
{
        char kept[WORLD_PARTS][128];
        struct world_truth truth;

        remains_of_killed();
        for (int i = 0; i < WORLD_PARTS; i++)
                snprintf(kept[i], sizeof(kept[i]), "%s", world_shared_name(i));
        truth = *world_truth;
        world_set_directory(scratch_path("other"));
        *world_truth = truth;
        check_equal(mkdir(world_directory(), 0700), 0);
        copy_file(scratch_path("env/first"), scratch_path("other/first"));
        copy_file(scratch_path("env/xac.manifest"), scratch_path("other/xac.manifest"));
        copy_file(scratch_path("env/xac.lock"), scratch_path("other/xac.lock"));
        for (int i = 0; i < WORLD_PARTS; i++)
                copy_file(kept[i], world_shared_name(i));
        expect_home_only(&remains_at_home);
        for (int i = 0; i < WORLD_PARTS; i++)
                check_equal(unlink(kept[i]), 0);
}

/* ---- The manifest ---- */

enum {
        MANIFEST_BYTES = 65536,
        SLOT_BYTES = MANIFEST_BYTES / 2,
        AT_VERSION = 8, /* in a slot; see recovery/manifest_slot.h */
        AT_CHECKSUM = 12,
        AT_REST = 16
};

static unsigned char good[MANIFEST_BYTES], bad[MANIFEST_BYTES];

static const char *make_manifest(void)
{
        const char *name = scratch_path("env/xac.manifest");

        remains_of_closed();
        check_equal(scratch_file_size(name), MANIFEST_BYTES);
        scratch_read_file(name, good, MANIFEST_BYTES);
        memcpy(bad, good, MANIFEST_BYTES);
        return name;
}

static void a_garbled_manifest_is_corrupt(void)
{
        static const size_t lengths[] = { 0, 1, 100, SLOT_BYTES - 1 };
        const char *name = make_manifest();
        struct chance chance = { chance_seed() };

        for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
                scratch_write_file(name, good, lengths[i]);
                check_code(world_open(0, NULL), XAC_CORRUPT);
                check_code(world_open(XAC_CREATE, NULL), XAC_CORRUPT);
        }
        for (int i = 0; i < 32; i++) {
                for (size_t at = 0; at < MANIFEST_BYTES; at++)
                        bad[at] = (unsigned char)chance_next(&chance);
                scratch_write_file(name, bad, MANIFEST_BYTES);
                check_code(world_open(XAC_CREATE, NULL), XAC_CORRUPT);
        }
        scratch_write_file(name, good, MANIFEST_BYTES);
        world_prove(true);
        world_check_files();
}

static void one_whole_slot_is_enough(void)
{
        for (int slot = 0; slot < 2; slot++) {
                const char *name = make_manifest();

                memset(bad + slot * SLOT_BYTES + 20, 0x55, 100);
                scratch_write_file(name, bad, MANIFEST_BYTES);
                world_prove(true);
                world_check_files();
                world_remove_directory();
        }
}

static void seal_slot(unsigned char *slot, uint32_t version)
{
        uint32_t crc;

        memcpy(slot + AT_VERSION, &version, sizeof(version)); /* little-endian machines only */
        crc = checksum_crc32c(0, slot, AT_CHECKSUM);
        crc = checksum_crc32c(crc, slot + AT_REST, SLOT_BYTES - AT_REST);
        memcpy(slot + AT_CHECKSUM, &crc, sizeof(crc));
}

/* Whole, but not ours: refused, and left as it is. */
static void a_manifest_of_another_version_is_xac_format(void)
{
        static const uint32_t others[] = { 1, 77 };
        const char *name = make_manifest();
        const uint32_t ours = manifest_slot_version(good);
        unsigned char now[MANIFEST_BYTES];

        for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
                check(others[i] != ours);
                seal_slot(bad, others[i]);
                seal_slot(bad + SLOT_BYTES, others[i]);
                scratch_write_file(name, bad, MANIFEST_BYTES);
                check_code(world_open(0, NULL), XAC_FORMAT);
                check_code(world_open(XAC_CREATE, NULL), XAC_FORMAT);
                scratch_read_file(name, now, MANIFEST_BYTES);
                check_equal(memcmp(now, bad, MANIFEST_BYTES), 0);
        }
        seal_slot(bad, ours);
        seal_slot(bad + SLOT_BYTES, ours);
        scratch_write_file(name, bad, MANIFEST_BYTES);
        world_prove(true);
        world_check_files();
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_test(left_shared_memory_is_believed),
                isolated_test(a_wrong_header_is_not_believed),
                isolated_test(a_wrong_generation_is_not_believed),
                isolated_test(short_and_garbled_control_is_not_believed),
                isolated_test(parts_that_are_missing_or_short_are_not_believed),
                isolated_test(shared_memory_of_another_directory_is_not_believed),
                isolated_test(a_garbled_manifest_is_corrupt),
                isolated_test(one_whole_slot_is_enough),
                isolated_test(a_manifest_of_another_version_is_xac_format),
        };

        places_prefer_memory(); /* many syncs */
        return cmocka_run_group_tests_name("damaged", tests, NULL, NULL);
}
