/* SPDX-License-Identifier: MIT */
#ifndef TESTS_UNIT_MANIFEST_IMAGE_H
#define TESTS_UNIT_MANIFEST_IMAGE_H

/*
 * A manifest in a scratch directory, and the bytes of its file: to damage them and to put them back.
 */

#include "tests/base/directory.h"

#include <stdbool.h>

#include <xac/xac.h>

#include "base/checksum.h"
#include "recovery/manifest.h"

enum { SLOT_BYTES = 32 * 1024, FILE_BYTES = 2 * SLOT_BYTES };

static unsigned char image[FILE_BYTES]; /* of the file, to damage and to put back */

static inline struct manifest sample(void)
{
        return (struct manifest){
                .page_bytes = 4096, .max_participants = 1024, .mode = 0600, .segment_bytes = 64 * 1024
        };
}

static inline void add_file(struct manifest *manifest, const char *name)
{
        snprintf(manifest->file_name[manifest->file_count++], MANIFEST_NAME_BYTES, "%s", name);
}

static inline void create(struct manifest *manifest)
{
        assert_int_equal(manifest_create(directory, manifest), 0);
}

static inline struct manifest read_back(void)
{
        struct manifest manifest;

        memset(&manifest, 0xee, sizeof(manifest));
        assert_int_equal(manifest_read(directory, &manifest), 0);
        return manifest;
}

static inline void assert_same(const struct manifest *a, const struct manifest *b)
{
        assert_memory_equal(a, b, sizeof(*a));
}

static inline void load_image(void)
{
        int fd = openat(directory, MANIFEST_NAME, O_RDONLY | O_CLOEXEC);
        struct stat st;

        assert_int_equal(fstat(fd, &st), 0);
        assert_int_equal(st.st_size, FILE_BYTES);
        assert_int_equal(pread(fd, image, FILE_BYTES, 0), FILE_BYTES);
        close(fd);
}

static inline void store_image(size_t byte_len)
{
        int fd = openat(directory, MANIFEST_NAME, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

        assert_int_equal(ftruncate(fd, (off_t)byte_len), 0);
        assert_int_equal(pwrite(fd, image, byte_len, 0), byte_len);
        close(fd);
}

static inline void store_bytes(size_t offset, size_t byte_len)
{
        int fd = openat(directory, MANIFEST_NAME, O_WRONLY | O_CLOEXEC);

        assert_int_equal(pwrite(fd, image + offset, byte_len, (off_t)offset), byte_len);
        close(fd);
}

/* The slots differ in whose turn it was, and so in the checksum. */
static inline void assert_slots_agree(void)
{
        load_image();
        assert_memory_equal(image, image + SLOT_BYTES, 12);
        assert_memory_equal(image + 16, image + SLOT_BYTES + 16, 40);
        assert_int_not_equal(image[56], image[SLOT_BYTES + 56]);
        assert_memory_equal(image + 60, image + SLOT_BYTES + 60, SLOT_BYTES - 60);
}

/* Makes the checksum of a slot of the image right again. */
static inline void seal(int slot)
{
        unsigned char *bytes = image + slot * SLOT_BYTES;
        uint32_t crc = checksum_crc32c(checksum_crc32c(0, bytes, 12), bytes + 16, SLOT_BYTES - 16);

        for (int i = 0; i < 4; i++)
                bytes[12 + i] = (unsigned char)(crc >> (8 * i));
}

#define MANIFEST_TEST(name) cmocka_unit_test_setup(name, directory_empty)

#endif
