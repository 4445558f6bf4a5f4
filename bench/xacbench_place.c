/* SPDX-License-Identifier: MIT */
#include "bench/xacbench.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench/support/mappings.h"

enum { STAT_BLOCK = 512, DATA_PATH = SCRATCH_PATH + 64 };

void place_make(struct place *place)
{
        scratch_make(&place->scratch, 0);
        place->is_made = true;
        place->is_filled = false;
}

void place_remove(struct place *place)
{
        if (!place->is_made)
                return;
        scratch_remove_memory(place->scratch.directory);
        scratch_remove(&place->scratch);
        place->is_made = false;
}

static void name_data_file(const struct place *place, const struct store *store, char path[DATA_PATH])
{
        snprintf(path, DATA_PATH, "%s/%s", place->scratch.directory, store->data_file);
}

void place_cool(const struct place *place, const struct store *store)
{
        char path[DATA_PATH];
        int fd;

        name_data_file(place, store, path);
        fd = open(path, O_RDWR | O_CLOEXEC);
        if (fd < 0 || fsync(fd) != 0)
                scratch_fail(-errno, path);
        must(-posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED), path);
        close(fd);
}

static void advise_random(void *path, char *begin, size_t byte_len)
{
        if (madvise(begin, byte_len, MADV_RANDOM) != 0)
                scratch_fail(-errno, path);
}

void place_expect_random(const struct place *place, const struct store *store)
{
        char path[DATA_PATH];
        name_data_file(place, store, path);
        mappings_of_file(path, advise_random, path);
}

uint64_t place_data_bytes(const struct place *place, const struct store *store)
{
        char path[DATA_PATH];
        glob_t found;
        uint64_t bytes = 0;
        struct stat st;

        if (!store->data_file)
                return 0;
        name_data_file(place, store, path);
        if (glob(path, GLOB_ERR, NULL, &found) != 0)
                scratch_fail(-ENOENT, path);
        for (size_t i = 0; i < found.gl_pathc; i++)
                if (stat(found.gl_pathv[i], &st) == 0)
                        bytes += (uint64_t)st.st_blocks * STAT_BLOCK;
        globfree(&found);
        return bytes;
}
