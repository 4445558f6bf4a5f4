/* SPDX-License-Identifier: MIT */
#ifndef TESTS_CRASH_IMAGE_H
#define TESTS_CRASH_IMAGE_H

/*
 * What a crash left of a directory: names and bytes. An image is put on disk (into memory, rather: a
 * tmpfs) to be judged.
 */

#include <stddef.h>
#include <stdint.h>

enum { IMAGE_FILES = 128 /* an archive that lags has each segment twice */, IMAGE_NAME_BYTES = 64 };

struct image_file {
        char name[IMAGE_NAME_BYTES];
        unsigned char *bytes;
        size_t size;
        size_t room;
};

struct image {
        unsigned count;
        struct image_file files[IMAGE_FILES]; /* those beyond `count` keep their memory */
};

struct image *image_new(void);
void image_free(struct image *image);
void image_clear(struct image *image);
/* One more file; its bytes are all zero. */
struct image_file *image_add(struct image *image, const char *name, size_t size);

uint64_t image_hash(const struct image *image);

/* Makes `directory` hold exactly the image. */
void image_store(const struct image *image, const char *directory);
/* Removes all files of a directory. */
void image_erase(const char *directory);

#endif
