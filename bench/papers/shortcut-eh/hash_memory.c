/* SPDX-License-Identifier: MIT */
#include "bench/papers/shortcut-eh/hash_memory.h"

#include <sys/mman.h>

#include "bench/support/memory.h"

void hash_memory_make(struct hash_memory *memory, size_t byte_len, size_t page_bytes)
{
        memory->byte_len = byte_len;
        memory->mapped_len = byte_len < HUGE_PAGE ? byte_len : byte_len + HUGE_PAGE;
        memory->bytes = memory->mapped = memory_reserve(memory->mapped_len);
        if (byte_len >= HUGE_PAGE)
                memory->bytes += -(uintptr_t)memory->mapped & (HUGE_PAGE - 1);
        madvise(memory->bytes, byte_len, page_bytes == HUGE_PAGE ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
}

void hash_memory_free(struct hash_memory *memory)
{
        if (memory->mapped)
                memory_free(memory->mapped, memory->mapped_len);
        *memory = (struct hash_memory){ 0 };
}

void hash_slots_make(struct hash_slots *slots, int bits, size_t page_bytes)
{
        hash_memory_make(&slots->memory, sizeof(*slots->slot) << bits, page_bytes);
        slots->slot = (struct hash_slot *)slots->memory.bytes;
        slots->mask = (UINT64_C(1) << bits) - 1;
        slots->shift = 64 - bits;
}
