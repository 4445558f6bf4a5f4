/* SPDX-License-Identifier: MIT */
#include "tests/crash/seen.h"

#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>

#include "tests/support/check.h"

struct slot {
        _Atomic uint64_t hash; /* 0: free */
        _Atomic uint32_t is_ready;
        uint32_t found[TRACE_CHANNELS];
};

struct seen {
        uint64_t capacity;
        _Atomic uint64_t count;
        struct slot slots[];
};

struct seen *seen_new(uint64_t capacity)
{
        struct seen *seen = mmap(NULL, sizeof(*seen) + capacity * sizeof(struct slot), PROT_READ | PROT_WRITE,
                                 MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

        check(seen != MAP_FAILED);
        seen->capacity = capacity;
        return seen;
}

void seen_free(struct seen *seen)
{
        munmap(seen, sizeof(*seen) + seen->capacity * sizeof(struct slot));
}

bool seen_find(const struct seen *seen, uint64_t hash, uint64_t found[TRACE_CHANNELS])
{
        hash |= 1;
        for (uint64_t i = hash >> 8;; i++) {
                const struct slot *slot = &seen->slots[i & (seen->capacity - 1)];
                uint64_t there = atomic_load(&slot->hash);

                if (there == 0)
                        return false;
                if (there != hash)
                        continue;
                if (!atomic_load(&slot->is_ready))
                        return false;
                for (int c = 0; c < TRACE_CHANNELS; c++)
                        found[c] = slot->found[c];
                return true;
        }
}

bool seen_add(struct seen *seen, uint64_t hash, const uint64_t found[TRACE_CHANNELS])
{
        hash |= 1;
        check(atomic_load(&seen->count) < seen->capacity - seen->capacity / 8);
        for (uint64_t i = hash >> 8;; i++) {
                struct slot *slot = &seen->slots[i & (seen->capacity - 1)];
                uint64_t there = 0;

                if (atomic_compare_exchange_strong(&slot->hash, &there, hash)) {
                        for (int c = 0; c < TRACE_CHANNELS; c++)
                                slot->found[c] = (uint32_t)found[c];
                        atomic_store(&slot->is_ready, 1);
                        atomic_fetch_add(&seen->count, 1);
                        return true;
                }
                if (there == hash)
                        return false;
        }
}

uint64_t seen_count(const struct seen *seen)
{
        return atomic_load(&seen->count);
}
