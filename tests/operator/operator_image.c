/* SPDX-License-Identifier: MIT */
#include "tests/operator/operator_image.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/check.h"

enum { BLOCK = 4096, PATH = 4300 };

static unsigned char *memory;
static size_t memory_len, memory_used;

void image_begin(size_t byte_len)
{
        memory = mmap(NULL, byte_len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        check(memory != MAP_FAILED);
        memory_len = byte_len;
}

size_t image_mark(void)
{
        return memory_used;
}

void image_forget(size_t mark)
{
        memory_used = mark;
}

/* ---- From a directory ---- */

static bool load_file(struct image_file *file, int directory, const char *name)
{
        const int fd = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
        struct stat st;

        check(fd >= 0 && fstat(fd, &st) == 0);
        if (memory_used + (size_t)st.st_size > memory_len) {
                close(fd);
                return false;
        }
        check(snprintf(file->name, sizeof(file->name), "%s", name) < IMAGE_NAME);
        check_equal(pread(fd, memory + memory_used, (size_t)st.st_size, 0), st.st_size);
        close(fd);
        file->bytes = memory + memory_used;
        file->byte_len = (size_t)st.st_size;
        file->changed = st.st_mtim;
        memory_used += ((size_t)st.st_size + BLOCK - 1) / BLOCK * BLOCK;
        return true;
}

static int by_name(const void *one, const void *other)
{
        return strcmp(((const struct image_file *)one)->name, ((const struct image_file *)other)->name);
}

bool image_load(struct image *image, const char *directory)
{
        DIR *all = opendir(directory);
        bool fits = true;
        struct stat st;

        check(all != NULL);
        image->count = 0;
        for (struct dirent *entry; fits && (entry = readdir(all)) != NULL;) {
                if (fstatat(dirfd(all), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode))
                        continue;
                fits = image->count < IMAGE_FILES && load_file(&image->file[image->count], dirfd(all), entry->d_name);
                image->count += fits;
        }
        closedir(all);
        qsort(image->file, image->count, sizeof(image->file[0]), by_name);
        return fits;
}

/* ---- To a directory ---- */

static bool is_zeros(const unsigned char *bytes, size_t byte_len)
{
        return byte_len == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, byte_len - 1) == 0);
}

static int write_parts(int fd, const struct image_file *file)
{
        size_t end;

        if (ftruncate(fd, (off_t)file->byte_len))
                return -errno;
        for (size_t at = 0; at < file->byte_len; at = end) {
                /* A stretch without a block of zeros at once. */
                end = at;
                while (end < file->byte_len) {
                        const size_t part = file->byte_len - end < BLOCK ? file->byte_len - end : BLOCK;
                        if (is_zeros(file->bytes + end, part))
                                break;
                        end += part;
                }
                if (end > at && pwrite(fd, file->bytes + at, end - at, (off_t)at) != (ssize_t)(end - at))
                        return -ENOSPC;
                if (end == at)
                        end = at + BLOCK;
        }
        return 0;
}

int image_put_file(const struct image_file *file, const char *directory, bool keeps_time)
{
        const struct timespec times[2] = { file->changed, file->changed };
        char path[PATH];

        snprintf(path, sizeof(path), "%s/%s", directory, file->name);
        const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd < 0)
                return -errno;
        const int err = write_parts(fd, file);
        if (!err && keeps_time)
                check_equal(futimens(fd, times), 0);
        close(fd);
        return err;
}

static void clear_level(const char *directory, int levels)
{
        DIR *all = opendir(directory);
        char path[PATH];
        struct stat st;

        if (all == NULL)
                return;
        for (struct dirent *entry; (entry = readdir(all)) != NULL;) {
                if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
                        continue;
                if (fstatat(dirfd(all), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode) &&
                    levels > 0) {
                        snprintf(path, sizeof(path), "%s/%s", directory, entry->d_name);
                        clear_level(path, levels - 1);
                        rmdir(path);
                } else {
                        unlinkat(dirfd(all), entry->d_name, 0);
                }
        }
        closedir(all);
}

void image_clear(const char *directory)
{
        clear_level(directory, 1);
}

int image_store(const struct image *image, const char *directory)
{
        int err = mkdir(directory, 0700) && errno != EEXIST ? -errno : 0;

        image_clear(directory);
        for (uint32_t i = 0; !err && i < image->count; i++)
                err = image_put_file(&image->file[i], directory, true);
        return err;
}

const struct image_file *image_find(const struct image *image, const char *name)
{
        for (uint32_t i = 0; i < image->count; i++)
                if (strcmp(image->file[i].name, name) == 0)
                        return &image->file[i];
        return NULL;
}

bool image_is_same(const struct image_file *one, const struct image_file *other)
{
        return one && other && one->byte_len == other->byte_len && memcmp(one->bytes, other->bytes, one->byte_len) == 0;
}
