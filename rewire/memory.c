/* SPDX-License-Identifier: MIT */
#include "rewire/memory.h"

#include <errno.h>
#include <sys/mman.h>

#include "base/sys.h"

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25 /* Linux 6.1 */
#endif

/* Aligned, as huge pages are. Pages of hugetlb are reserved by that, or it fails. */
static int map_aligned(struct memory *memory)
{
        const int flags = MAP_SHARED | MAP_FIXED | (memory->is_hugetlb ? 0 : MAP_NORESERVE);
        void *bytes, *same;
        int err = sys_mmap(NULL, memory->byte_len + HUGE_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                           -1, 0, &bytes);
        if (err)
                return err;
        memory->reserved = bytes;
        memory->bytes = memory->reserved + (-(uintptr_t)bytes & (HUGE_BYTES - 1));
        err = sys_mmap(memory->bytes, memory->byte_len, PROT_READ | PROT_WRITE, flags, memory->fd, 0, &same);
        if (err)
                sys_munmap(memory->reserved, memory->byte_len + HUGE_BYTES);
        return err;
}

static int map_or_close(struct memory *memory)
{
        int err = map_aligned(memory);
        if (err)
                sys_close(memory->fd);
        return err;
}

int memory_open(struct memory *memory, const char *name, uint64_t byte_len, uint32_t page_shift)
{
        *memory = (struct memory){ .fd = -1, .byte_len = byte_len, .page_shift = page_shift };
        int err = sys_memory_file(name, byte_len, &memory->fd);
        return err ? err : map_or_close(memory);
}

int memory_open_hugetlb(struct memory *memory, const char *name, uint64_t byte_len)
{
        *memory = (struct memory){ .fd = -1, .byte_len = byte_len, .page_shift = HUGE_SHIFT, .is_hugetlb = true };
        int err = sys_huge_memory_file(name, byte_len, &memory->fd);
        return err ? err : map_or_close(memory);
}

// NOLINTNEXTLINE(readability-non-const-parameter): it is stored, and written through
void memory_attach(struct memory *memory, int fd, char *bytes, uint64_t byte_len, uint32_t page_shift)
{
        *memory = (struct memory){ .fd = fd, .bytes = bytes, .byte_len = byte_len, .page_shift = page_shift };
}

void memory_close(struct memory *memory)
{
        sys_munmap(memory->reserved, memory->byte_len + HUGE_BYTES);
        sys_close(memory->fd);
}

/* The kernel makes one page of what it finds there, and zeros; it wants to find something. */
int memory_prepare_huge(const struct memory *memory, uint64_t no, bool *is_huge)
{
        const uint64_t offset = no << HUGE_SHIFT;
        *is_huge = memory->is_hugetlb;
        int err = sys_allocate(memory->fd, offset, memory->is_hugetlb ? HUGE_BYTES : 1);
        if (err || memory->is_hugetlb)
                return err;
        *is_huge = !sys_madvise(memory->bytes + offset, HUGE_BYTES, MADV_COLLAPSE);
        return *is_huge ? 0 : sys_allocate(memory->fd, offset, HUGE_BYTES);
}

int memory_prepare(const struct memory *memory, uint64_t page, uint64_t count)
{
        bool is_huge;
        int err = 0;
        if (memory->page_shift != HUGE_SHIFT)
                return sys_allocate(memory->fd, page << memory->page_shift, count << memory->page_shift);
        for (uint64_t i = 0; i < count && !err; i++)
                err = memory_prepare_huge(memory, page + i, &is_huge);
        return err;
}

void memory_touch(const struct memory *memory, uint64_t page, uint64_t count)
{
#ifdef MADV_POPULATE_WRITE
        sys_madvise(memory_bytes(memory, page), count << memory->page_shift, MADV_POPULATE_WRITE);
#else
        (void)memory;
        (void)page;
        (void)count;
#endif
}

int memory_release(const struct memory *memory, uint64_t page, uint64_t count)
{
        return sys_punch_hole(memory->fd, page << memory->page_shift, count << memory->page_shift);
}
