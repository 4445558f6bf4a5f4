/* SPDX-License-Identifier: MIT */
#ifndef BENCH_PAPERS_SHORTCUT_EH_HASH_MEMORY_H
#define BENCH_PAPERS_SHORTCUT_EH_HASH_MEMORY_H

/*
 * Memory of a hash table: zeros, fresh from the kernel, which is asked for pages of 4 KiB or 2 MiB.
 */

#include <stddef.h>
#include <stdint.h>

struct hash_memory {
        char *bytes;
        size_t byte_len;
        char *mapped; /* with room to align */
        size_t mapped_len;
};

/* Ends the program when there is none. */
void hash_memory_make(struct hash_memory *memory, size_t byte_len, size_t page_bytes);
void hash_memory_free(struct hash_memory *memory);

/* Slots of a record each; key 0: free. */
struct hash_slot {
        uint64_t key, value;
};

struct hash_slots {
        struct hash_slot *slot;
        uint64_t mask;
        int shift; /* of a hash value, to the place of its slot */
        struct hash_memory memory;
};

void hash_slots_make(struct hash_slots *slots, int bits, size_t page_bytes);

#endif
