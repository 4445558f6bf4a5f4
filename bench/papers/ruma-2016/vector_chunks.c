/* SPDX-License-Identifier: MIT */

/*
 * A vector of chunks, and a directory that says where they are, as std::deque has it: nothing moves but the directory,
 * and each access by index looks into it first. Chunks are pages of memory that was touched before, or was not. Where
 * the next entry goes is known while entries are appended; the directory is asked once for each chunk.
 */

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "bench/papers/ruma-2016/rewire.h"
#include "bench/papers/ruma-2016/vector_systems.h"
#include "bench/support/memory.h"
#include "bench/support/scratch.h"

enum { SMALL_SHIFT = 9, HUGE_SHIFT = 18 }; /* entries of a chunk */

struct chunks {
        char *spare; /* memory that is no chunk yet */
        uint64_t **directory;
        size_t count, room;   /* of the directory */
        uint64_t *next, *end; /* where the next entry goes, and the end of its chunk */
        size_t chunk_bytes;
        uint64_t entries;
};

static void *open_chunks(const struct vector_system *system, uint64_t entries)
{
        const size_t bytes = vector_room(entries);
        struct chunks *chunks = calloc(1, sizeof(*chunks));

        must(chunks ? 0 : -ENOMEM, "malloc");
        chunks->chunk_bytes = system->page_bytes;
        if (system->is_touched) {
                chunks->spare = system->page_bytes == HUGE_PAGE ? memory_make_huge(bytes) : memory_make(bytes);
        } else {
                chunks->spare = memory_reserve(bytes + HUGE_PAGE);
                chunks->spare += -(uintptr_t)chunks->spare & (HUGE_PAGE - 1);
                madvise(chunks->spare, bytes, system->page_bytes == HUGE_PAGE ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
        }
        return chunks;
}

static void add_chunk(struct chunks *chunks)
{
        if (chunks->count == chunks->room) {
                chunks->room = chunks->room ? 2 * chunks->room : VECTOR_FIRST_BYTES / SMALL_PAGE;
                uint64_t **directory = realloc(chunks->directory, chunks->room * sizeof(*directory));
                must(directory ? 0 : -ENOMEM, "malloc");
                chunks->directory = directory;
        }
        chunks->next = (uint64_t *)chunks->spare;
        chunks->spare += chunks->chunk_bytes;
        chunks->end = (uint64_t *)chunks->spare;
        chunks->directory[chunks->count++] = chunks->next;
}

static void append(void *arg, uint64_t first, uint64_t count)
{
        struct chunks *chunks = arg;
        uint64_t *next = chunks->next, *end = chunks->end;

        for (uint64_t i = 0; i < count; i++) {
                if (next == end) {
                        add_chunk(chunks);
                        next = chunks->next;
                        end = chunks->end;
                }
                *next++ = vector_entry(first + i);
        }
        chunks->next = next;
        chunks->entries += count;
}

/* Compiled for each size of chunks. */
static inline uint64_t chunk_item(const struct chunks *chunks, uint64_t no, int shift)
{
        return chunks->directory[no >> shift][no & ((UINT64_C(1) << shift) - 1)];
}

static inline uint64_t read_chunks(const struct chunks *chunks, uint64_t entries, uint64_t reads, uint64_t seed,
                                   int shift)
{
        uint64_t sum = 0;

        for (uint64_t i = 0; i < reads; i++)
                sum += chunk_item(chunks, vector_place(&seed, entries), shift);
        return sum;
}

static uint64_t read_small(const void *arg, uint64_t entries, uint64_t reads, uint64_t seed)
{
        return read_chunks(arg, entries, reads, seed, SMALL_SHIFT);
}

static uint64_t read_huge(const void *arg, uint64_t entries, uint64_t reads, uint64_t seed)
{
        return read_chunks(arg, entries, reads, seed, HUGE_SHIFT);
}

static uint64_t check(const void *arg, uint64_t entries)
{
        const struct chunks *chunks = arg;
        const int shift = chunks->chunk_bytes == HUGE_PAGE ? HUGE_SHIFT : SMALL_SHIFT;
        uint64_t no = 0;

        if (chunks->entries != entries)
                return chunks->entries;
        while (no < entries && chunk_item(chunks, no, shift) == vector_entry(no))
                no++;
        return no;
}

const struct vector_system vector_chunks[] = {
        { "chunks", SMALL_PAGE, 1, NULL, open_chunks, append, read_small, check },
        { "chunks", HUGE_PAGE, 1, "1.2", open_chunks, append, read_huge, check },
        { "chunks", SMALL_PAGE, 0, NULL, open_chunks, append, read_small, check },
        { "chunks", HUGE_PAGE, 0, NULL, open_chunks, append, read_huge, check },
        { 0 },
};
