/* SPDX-License-Identifier: MIT */
#include "examples/demo/acks.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

int acks_create(const char *path)
{
        int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        if (fd < 0)
                return -errno;
        if (ftruncate(fd, sizeof(struct acks)) == 0)
                return fd;
        int err = -errno;
        close(fd);
        return err;
}

int acks_note(int fd, int worker, uint64_t done)
{
        const off_t offset = worker * (off_t)sizeof(done);
        ssize_t put = pwrite(fd, &done, sizeof(done), offset);
        return put == sizeof(done) ? 0 : put < 0 ? -errno : -EIO;
}

int acks_read(int fd, struct acks *acks)
{
        ssize_t got = pread(fd, acks, sizeof(*acks), 0);
        return got == sizeof(*acks) ? 0 : got < 0 ? -errno : -EIO;
}

uint64_t acks_total(const struct acks *acks)
{
        uint64_t total = 0;
        for (int i = 0; i < WORKERS_MAX; i++)
                total += acks->done[i];
        return total;
}
