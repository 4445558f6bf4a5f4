/* SPDX-License-Identifier: MIT */
#include "bench/papers/ruma-2016/rearrange_memory.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "bench/support/scratch.h"

enum { HUGE_PAGE = 2 << 20 };

void rearrange_memory_open(struct rearrange_memory *memory, size_t byte_len, bool is_huge)
{
        void *reserved = mmap(NULL, byte_len + HUGE_PAGE, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (reserved == MAP_FAILED)
                scratch_fail(-errno, "mmap");
        memory->reserved = reserved;
        memory->bytes = memory->reserved + (-(uintptr_t)reserved & (HUGE_PAGE - 1));
        memory->byte_len = byte_len;
        madvise(memory->bytes, byte_len, is_huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
}

void rearrange_memory_close(struct rearrange_memory *memory)
{
        if (memory->bytes)
                munmap(memory->reserved, memory->byte_len + HUGE_PAGE);
        *memory = (struct rearrange_memory){ 0 };
}

void rearrange_memory_touch(const struct rearrange_memory *memory)
{
        memset(memory->bytes, 1, memory->byte_len);
}

void rearrange_memory_warm(size_t byte_len)
{
        struct rearrange_memory memory;

        rearrange_memory_open(&memory, byte_len, true);
        rearrange_memory_touch(&memory);
        rearrange_memory_close(&memory);
}
