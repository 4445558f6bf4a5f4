/* SPDX-License-Identifier: MIT */
#ifndef TESTS_OPERATOR_OPERATOR_IMAGE_H
#define TESTS_OPERATOR_OPERATOR_IMAGE_H

/*
 * A directory of plain files, in memory: names, bytes, times of change. Put back, it is what cp -a would have made of
 * it, holes included; the directory itself stays the same one, so that an environment in it keeps its archive.
 *
 * The bytes lie in memory that processes share (image_begin), so that a fork does not copy page tables of it.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

enum { IMAGE_FILES = 192, IMAGE_NAME = 96 };

struct image_file {
        char name[IMAGE_NAME];
        const unsigned char *bytes;
        size_t byte_len;
        struct timespec changed;
};

struct image {
        uint32_t count;
        struct image_file file[IMAGE_FILES]; /* by name */
};

void image_begin(size_t byte_len); /* once */
size_t image_mark(void);
void image_forget(size_t mark); /* what was loaded since; 0: all */

/* False: there is more than fits. */
bool image_load(struct image *image, const char *directory);
/* The directory has these files then, and no others; it is made where there is none. 0 or -errno. */
int image_store(const struct image *image, const char *directory);

const struct image_file *image_find(const struct image *image, const char *name);
bool image_is_same(const struct image_file *one, const struct image_file *other); /* the bytes */
/* One file as it was; `keeps_time`: as cp -p. 0 or -errno. */
int image_put_file(const struct image_file *file, const char *directory, bool keeps_time);

/* Removes all plain files in the directory and one level below. */
void image_clear(const char *directory);

#endif
