/* SPDX-License-Identifier: MIT */
#include "libxac/ranges.h"

#include <errno.h>
#include <stdatomic.h>

#include "base/sys.h"

enum { RANGES_MAX = 1 << 16 };

/* An entry is taken while its end is not 0, and counts while its base is not 0. */
static struct {
        _Atomic uintptr_t base;
        _Atomic uintptr_t end;
        _Atomic(const char *) file;
} ranges[RANGES_MAX];
static _Atomic uint32_t ranges_used;

static void raise_used(uint32_t to)
{
        uint32_t used = atomic_load(&ranges_used);
        while (used < to && !atomic_compare_exchange_weak(&ranges_used, &used, to))
                ;
}

int ranges_add(const void *base, size_t byte_len, const char *file)
{
        for (uint32_t i = 0; i < RANGES_MAX; i++) {
                uintptr_t free_end = 0;
                if (!atomic_compare_exchange_strong(&ranges[i].end, &free_end, (uintptr_t)base + byte_len))
                        continue;
                atomic_store(&ranges[i].file, file);
                atomic_store(&ranges[i].base, (uintptr_t)base);
                raise_used(i + 1);
                return 0;
        }
        return -ENOMEM;
}

void ranges_remove(const void *base)
{
        for (uint32_t i = 0; i < atomic_load(&ranges_used); i++) {
                if (atomic_load(&ranges[i].base) != (uintptr_t)base)
                        continue;
                atomic_store(&ranges[i].base, 0);
                atomic_store(&ranges[i].end, 0);
                return;
        }
}

const char *ranges_file_at(const void *addr, uint64_t *offset)
{
        for (uint32_t i = 0; i < atomic_load(&ranges_used); i++) {
                uintptr_t base = atomic_load(&ranges[i].base);
                if (!base || (uintptr_t)addr < base || (uintptr_t)addr >= atomic_load(&ranges[i].end))
                        continue;
                *offset = (uintptr_t)addr - base;
                return atomic_load(&ranges[i].file);
        }
        return NULL;
}

void ranges_unmap_all_in_child(void)
{
        for (uint32_t i = 0; i < atomic_load(&ranges_used); i++) {
                uintptr_t base = atomic_load(&ranges[i].base);
                if (base)
                        sys_munmap((void *)base, atomic_load(&ranges[i].end) - base);
                atomic_store(&ranges[i].base, 0);
                atomic_store(&ranges[i].end, 0);
        }
        atomic_store(&ranges_used, 0);
}
