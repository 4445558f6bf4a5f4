/* SPDX-License-Identifier: MIT */
#include "examples/demo/crash.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SHARED_MEMORY "/dev/shm"

/* Shared memory is named after the directory: xac.DEVICE.INODE.PART, in hexadecimal. */
static int name_prefix(const char *directory, char prefix[64])
{
        struct stat st;
        if (stat(directory, &st) != 0)
                return -errno;
        snprintf(prefix, 64, "xac.%" PRIxMAX ".%" PRIxMAX ".", (uintmax_t)st.st_dev, (uintmax_t)st.st_ino);
        return 0;
}

int crash_lose_memory(const char *directory, uint64_t *lost_bytes)
{
        char prefix[64];
        int removed = 0;

        int err = name_prefix(directory, prefix);
        DIR *names = err ? NULL : opendir(SHARED_MEMORY);
        if (!names)
                return err ? err : -errno;
        *lost_bytes = 0;
        for (struct dirent *entry; (entry = readdir(names));) {
                struct stat st;
                if (strncmp(entry->d_name, prefix, strlen(prefix)) != 0)
                        continue;
                if (fstatat(dirfd(names), entry->d_name, &st, 0) == 0)
                        *lost_bytes += (uint64_t)st.st_blocks * 512;
                removed += unlinkat(dirfd(names), entry->d_name, 0) == 0;
        }
        closedir(names);
        return removed > 0 ? 0 : -ENOENT;
}

void crash_compare(const struct acks *acks, const uint64_t done[WORKERS_MAX], int workers, struct survival *survival)
{
        *survival = (struct survival){ .acknowledged = acks_total(acks) };
        for (int i = 0; i < WORKERS_MAX; i++) {
                const uint64_t at_hand = i < workers;
                survival->recovered += done[i];
                if (done[i] < acks->done[i])
                        survival->missing += acks->done[i] - done[i];
                if (done[i] > acks->done[i] + at_hand)
                        survival->unexplained += done[i] - acks->done[i] - at_hand;
        }
}
