/* SPDX-License-Identifier: MIT */
#ifndef REWIRE_MEMORY_H
#define REWIRE_MEMORY_H

/*
 * A file in memory, and its whole length mapped to be written to: physical pages that have numbers.
 *
 *      file     | page 0 | page 1 | page 2 | ... |          sparse: a page has memory once it is prepared
 *      mapped   ^ bytes, aligned to 2 MiB
 *
 * Pages are the system's, or of 2 MiB: from hugetlb, all of them reserved; or the kernel is asked to put each into one
 * (MADV_COLLAPSE, Linux 6.1), which it may refuse.
 *
 * Async-signal-safe but for opening and closing. Keeps no lists: who uses it knows which pages have memory.
 */

#include <stdbool.h>
#include <stdint.h>

enum { HUGE_SHIFT = 21 };
#define HUGE_BYTES (UINT64_C(1) << HUGE_SHIFT)

struct memory {
        int fd;
        char *reserved; /* addresses; NULL: attached */
        char *bytes;
        uint64_t byte_len;
        uint32_t page_shift;
        bool is_hugetlb;
};

/* -ENOMEM, -EMFILE, ... */
int memory_open(struct memory *memory, const char *name, uint64_t byte_len, uint32_t page_shift);
/* The same from hugetlb. Fails where not so many pages are reserved and free. */
int memory_open_hugetlb(struct memory *memory, const char *name, uint64_t byte_len);
/* The same over a file of others that is mapped at `bytes` already, and stays so. */
void memory_attach(struct memory *memory, int fd, char *bytes, uint64_t byte_len, uint32_t page_shift);
void memory_close(struct memory *memory);

static inline char *memory_bytes(const struct memory *memory, uint64_t page)
{
        return memory->bytes + (page << memory->page_shift);
}

/* Gives pages memory. Those that had it keep what they hold; the others are zeros. -ENOMEM, -ENOSPC: some may have got
 * it. */
int memory_prepare(const struct memory *memory, uint64_t page, uint64_t count);
/* The same with the no-th 2 MiB, whatever pages it has. Not touched; is_huge: it is one page for the kernel. */
int memory_prepare_huge(const struct memory *memory, uint64_t no, bool *is_huge);
/* The first touch of a page in this mapping costs less for all at once. Only a hint. */
void memory_touch(const struct memory *memory, uint64_t page, uint64_t count);
/* Gives the memory back: they are zeros, where they are mapped too. */
int memory_release(const struct memory *memory, uint64_t page, uint64_t count);

#endif
