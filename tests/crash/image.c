/* SPDX-License-Identifier: MIT */
#include "tests/crash/image.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/chance.h"
#include "tests/support/check.h"

enum { PIECE = 4096 };

struct image *image_new(void)
{
        struct image *image = calloc(1, sizeof(*image));

        check(image != NULL);
        return image;
}

void image_free(struct image *image)
{
        for (unsigned i = 0; i < IMAGE_FILES; i++)
                free(image->files[i].bytes);
        free(image);
}

void image_clear(struct image *image)
{
        image->count = 0;
}

struct image_file *image_add(struct image *image, const char *name, size_t size)
{
        struct image_file *file = &image->files[image->count++];

        check(image->count <= IMAGE_FILES);
        check(strlen(name) < IMAGE_NAME_BYTES);
        strcpy(file->name, name);
        if (size > file->room) {
                free(file->bytes);
                file->bytes = malloc(size);
                check(file->bytes != NULL);
                file->room = size;
        }
        file->size = size;
        if (size)
                memset(file->bytes, 0, size);
        return file;
}

static uint64_t hash_bytes(const unsigned char *bytes, size_t byte_len, uint64_t hash)
{
        uint64_t word;

        for (; byte_len >= 8; bytes += 8, byte_len -= 8) {
                memcpy(&word, bytes, 8);
                hash = (hash ^ word) * 0x9fb21c651e98df25u;
                hash ^= hash >> 29;
        }
        word = 0;
        memcpy(&word, bytes, byte_len);
        return chance_mix(hash ^ word);
}

/* The order of the files does not matter. */
uint64_t image_hash(const struct image *image)
{
        uint64_t sum = 0;

        for (unsigned i = 0; i < image->count; i++) {
                const struct image_file *file = &image->files[i];
                uint64_t hash = hash_bytes((const unsigned char *)file->name, strlen(file->name), file->size);

                sum += file->size ? hash_bytes(file->bytes, file->size, hash) : hash;
        }
        return chance_mix(sum);
}

/* ---- On disk ---- */

static int is_zero(const unsigned char *bytes, size_t byte_len)
{
        return bytes[0] == 0 && memcmp(bytes, bytes + 1, byte_len - 1) == 0;
}

static void store_file(int directory, const struct image_file *file)
{
        int fd = openat(directory, file->name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

        check(fd >= 0);
        check_equal(ftruncate(fd, (off_t)file->size), 0);
        for (size_t at = 0; at < file->size; at += PIECE) {
                size_t piece = file->size - at < PIECE ? file->size - at : PIECE;

                if (!is_zero(file->bytes + at, piece))
                        check_equal(pwrite(fd, file->bytes + at, piece, (off_t)at), piece);
        }
        close(fd);
}

void image_store(const struct image *image, const char *directory)
{
        int fd;

        image_erase(directory);
        fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        check(fd >= 0);
        for (unsigned i = 0; i < image->count; i++)
                store_file(fd, &image->files[i]);
        close(fd);
}

void image_erase(const char *directory)
{
        DIR *all = opendir(directory);
        struct dirent *entry;

        check(all != NULL);
        while ((entry = readdir(all)) != NULL)
                if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
                        check_equal(unlinkat(dirfd(all), entry->d_name, 0), 0);
        closedir(all);
}
