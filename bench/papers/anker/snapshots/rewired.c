/* SPDX-License-Identifier: MIT */
#include "bench/papers/anker/snapshots/rewired.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bench/papers/anker/snapshots/columns.h"

static char *must_map(size_t byte_len, int prot, int flags, int fd)
{
        void *memory = mmap(NULL, byte_len, prot, flags | MAP_NORESERVE, fd, 0);
        if (memory == MAP_FAILED)
                scratch_fail(-errno, "mmap");
        return memory;
}

void rewired_open(struct rewired *rewired, uint64_t pages)
{
        *rewired = (struct rewired){ .pages = pages, .file_pages = 2 * pages, .used = pages };
        rewired->fd = memfd_create("columns", MFD_CLOEXEC);
        rewired->place = malloc(pages * sizeof(*rewired->place));
        if (!rewired->place || rewired->fd < 0 || ftruncate(rewired->fd, (off_t)(rewired->file_pages * PAGE)) != 0)
                scratch_fail(-errno, "memfd_create");
        rewired->base = must_map(pages * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, rewired->fd);
        rewired->file = must_map(rewired->file_pages * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, rewired->fd);
        for (uint64_t p = 0; p < pages; p++)
                rewired->place[p] = (uint32_t)p;
}

void rewired_close(struct rewired *rewired)
{
        munmap(rewired->base, rewired->pages * PAGE);
        munmap(rewired->file, rewired->file_pages * PAGE);
        close(rewired->fd);
        free(rewired->place);
}

int rewired_write(struct rewired *rewired, uint64_t page)
{
        const uint64_t place = rewired->used;
        char *at = rewired->base + page * PAGE;

        if (place == rewired->file_pages)
                return -ENOSPC;
        memcpy(rewired->file + place * PAGE, at, PAGE);
        if (mmap(at, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, rewired->fd, (off_t)(place * PAGE)) ==
            MAP_FAILED)
                return -errno;
        rewired->place[page] = (uint32_t)place;
        rewired->used++;
        return 0;
}

/* How many pages from there lie one behind the other in the file. */
static uint64_t run_length(const struct rewired *rewired, uint64_t first, uint64_t end)
{
        uint64_t next = first + 1;
        while (next < end && rewired->place[next] == rewired->place[next - 1] + 1)
                next++;
        return next - first;
}

uint64_t rewired_runs(const struct rewired *rewired, uint64_t first, uint64_t pages)
{
        uint64_t runs = 0;
        for (uint64_t p = first; p < first + pages; p += run_length(rewired, p, first + pages))
                runs++;
        return runs;
}

static int map_runs(const struct rewired *rewired, uint64_t first, uint64_t pages, char *to)
{
        for (uint64_t p = first, length; p < first + pages; p += length) {
                length = run_length(rewired, p, first + pages);
                if (mmap(to + (p - first) * PAGE, length * PAGE, PROT_READ, MAP_SHARED | MAP_FIXED, rewired->fd,
                         (off_t)rewired->place[p] * PAGE) == MAP_FAILED)
                        return -errno;
        }
        return 0;
}

int rewired_snapshot(struct rewired *rewired, uint64_t first, uint64_t pages, char **snapshot)
{
        char *to = must_map(pages * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
        munmap(to, pages * PAGE); /* into nothing is faster than over a mapping, and nobody else maps anything now */
        int err = map_runs(rewired, first, pages, to);

        if (!err && mprotect(rewired->base + first * PAGE, pages * PAGE, PROT_READ) != 0)
                err = -errno;
        if (err)
                rewired_drop(to, pages);
        else
                *snapshot = to;
        return err;
}

void rewired_drop(char *snapshot, uint64_t pages)
{
        munmap(snapshot, pages * PAGE);
}
