/* SPDX-License-Identifier: MIT */
#ifndef LIBXAC_STORE_CHUNKS_H
#define LIBXAC_STORE_CHUNKS_H

/*
 * Memory of this process in which readers keep copies: chunks of 2 MiB, each for one region of a file (regions.h).
 *
 *      memory file   | chunk 0 (unused) | chunk 1 | chunk 2 | ... the limit | CHUNKS_URGENT more |     sparse
 *
 * The whole file is mapped once, to be written to; a region maps its chunk where it is read. Several regions may show
 * one chunk, which then does not change any more. A chunk gets memory when it is first taken, in one huge page if the
 * kernel has one (MADV_COLLAPSE), and keeps it until somebody trims: memory that was never touched costs more than the
 * copying.
 *
 * Without locks, and async-signal-safe but for opening and closing, as regions are shown by the fault handler.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "rewire/memory.h"

enum { CHUNK_SHIFT = HUGE_SHIFT, CHUNKS_URGENT = 64 };
#define CHUNK_BYTES HUGE_BYTES

struct chunk {
        _Atomic uint32_t uses;     /* regions that show it */
        _Atomic uint32_t is_ready; /* it has memory, */
        _Atomic uint32_t is_huge;  /* in one page */
};

struct chunks {
        struct memory memory; /* whose pages they are */
        struct chunk *chunk;
        uint32_t count;            /* with chunk 0, which is none, */
        uint32_t limit;            /* and without those beyond the limit */
        _Atomic uint64_t taken_ns; /* when one was last taken, */
        uint64_t trimmed_ns;       /* and the same when chunks_trim last looked */
        /* Is asked to give back what is of no use at present, when there is none left. */
        void (*on_full)(void *arg);
        void *on_full_arg;
};

/* At most so many bytes, once they are needed. -ENOMEM, -EMFILE, ... */
int chunks_open(struct chunks *chunks, uint64_t limit_bytes, void (*on_full)(void *arg), void *on_full_arg);
void chunks_close(struct chunks *chunks);
/* In a forked child, which frees nothing. */
void chunks_forget_in_child(struct chunks *chunks);

/* One with a use; 0: the limit is reached, or there is no memory. Who has none at all, and cannot do without, may go
 * beyond the limit (is_urgent), as long as they are not more than CHUNKS_URGENT. */
uint32_t chunks_take(struct chunks *chunks, bool is_urgent);
/* None is left that nobody uses, within the limit or beyond: then chunks_take() lacks no memory, but chunks. */
bool chunks_are_used(const struct chunks *chunks);
/* One more region shows it. */
void chunks_share(struct chunks *chunks, uint32_t no);
void chunks_give_back(struct chunks *chunks, uint32_t no);

/* Does another region show it, so that it must not change? */
static inline bool chunks_is_shared(const struct chunks *chunks, uint32_t no)
{
        return atomic_load_explicit(&chunks->chunk[no].uses, memory_order_acquire) > 1;
}

static inline bool chunks_is_huge(const struct chunks *chunks, uint32_t no)
{
        return atomic_load_explicit(&chunks->chunk[no].is_huge, memory_order_relaxed);
}

static inline char *chunks_bytes(const struct chunks *chunks, uint32_t no)
{
        return memory_bytes(&chunks->memory, no);
}

/* Gives the memory of unused ones back, if none was taken for so long. For one caller, now and then. */
void chunks_trim(struct chunks *chunks, uint64_t idle_ns);

#endif
