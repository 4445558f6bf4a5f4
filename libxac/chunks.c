/* SPDX-License-Identifier: MIT */
#include "libxac/chunks.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/sys.h"

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25 /* Linux 6.1 */
#endif

/* Aligned, as huge pages are. */
static int map_aligned(struct chunks *chunks, uint64_t byte_len)
{
        void *bytes, *same;
        int err = sys_mmap(NULL, byte_len + CHUNK_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0,
                           &bytes);
        if (err)
                return err;
        chunks->reserved = bytes;
        chunks->bytes = chunks->reserved + (-(uintptr_t)bytes & (CHUNK_BYTES - 1));
        err = sys_mmap(chunks->bytes, byte_len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE | MAP_FIXED,
                       chunks->fd, 0, &same);
        if (err)
                sys_munmap(chunks->reserved, byte_len + CHUNK_BYTES);
        return err;
}

int chunks_open(struct chunks *chunks, uint64_t limit_bytes, void (*on_full)(void *arg), void *on_full_arg)
{
        *chunks = (struct chunks){ .fd = -1,
                                   .limit = (uint32_t)(limit_bytes >> CHUNK_SHIFT) + 1,
                                   .on_full = on_full,
                                   .on_full_arg = on_full_arg };
        chunks->count = chunks->limit + CHUNKS_URGENT;
        const uint64_t byte_len = (uint64_t)chunks->count << CHUNK_SHIFT;
        chunks->chunk = calloc(chunks->count, sizeof(*chunks->chunk));
        if (!chunks->chunk)
                return -ENOMEM;
        int err = sys_memory_file("xac-chunks", byte_len, &chunks->fd);
        if (err)
                goto fail_file;
        err = map_aligned(chunks, byte_len);
        if (err)
                goto fail_map;
        atomic_store(&chunks->chunk[0].uses, 1);
        return 0;

fail_map:
        sys_close(chunks->fd);
fail_file:
        free(chunks->chunk);
        return err;
}

void chunks_forget_in_child(struct chunks *chunks)
{
        sys_munmap(chunks->reserved, ((uint64_t)chunks->count + 1) << CHUNK_SHIFT);
        sys_close(chunks->fd);
}

void chunks_close(struct chunks *chunks)
{
        chunks_forget_in_child(chunks);
        free(chunks->chunk);
}

/* A huge page makes scans faster, and showing the chunk cheap. The kernel makes one of what it finds there, and zeros;
 * it wants to find something. What it does not have, we do without. */
static bool make_ready(struct chunks *chunks, uint32_t no)
{
        struct chunk *chunk = &chunks->chunk[no];
        const uint64_t offset = (uint64_t)no << CHUNK_SHIFT;
        if (atomic_load_explicit(&chunk->is_ready, memory_order_relaxed))
                return true;
        if (sys_allocate(chunks->fd, offset, 1))
                return false;
        const bool is_huge = !sys_madvise(chunks_bytes(chunks, no), CHUNK_BYTES, MADV_COLLAPSE);
        if (!is_huge && sys_allocate(chunks->fd, offset, CHUNK_BYTES))
                return false;
        atomic_store(&chunk->is_huge, is_huge);
        atomic_store(&chunk->is_ready, 1);
        return true;
}

/* An unused one that has memory, or has none. */
static uint32_t take_unused(struct chunks *chunks, uint32_t end, bool is_ready)
{
        for (uint32_t no = 1; no < end; no++) {
                struct chunk *chunk = &chunks->chunk[no];
                uint32_t unused = 0;
                if (atomic_load_explicit(&chunk->uses, memory_order_relaxed) ||
                    atomic_load_explicit(&chunk->is_ready, memory_order_relaxed) != is_ready)
                        continue;
                if (atomic_compare_exchange_strong(&chunk->uses, &unused, 1))
                        return no;
        }
        return 0;
}

static uint32_t take(struct chunks *chunks, uint32_t end)
{
        uint32_t no = take_unused(chunks, end, true);
        if (!no)
                no = take_unused(chunks, end, false);
        if (no && !make_ready(chunks, no)) {
                chunks_give_back(chunks, no);
                return 0;
        }
        return no;
}

uint32_t chunks_take(struct chunks *chunks, bool is_urgent)
{
        const uint32_t end = is_urgent ? chunks->count : chunks->limit;
        atomic_store_explicit(&chunks->taken_ns, sys_monotonic_ns(), memory_order_relaxed);
        uint32_t no = take(chunks, end);
        if (no)
                return no;
        chunks->on_full(chunks->on_full_arg);
        return take(chunks, end);
}

void chunks_share(struct chunks *chunks, uint32_t no)
{
        atomic_fetch_add(&chunks->chunk[no].uses, 1);
}

void chunks_give_back(struct chunks *chunks, uint32_t no)
{
        atomic_fetch_sub(&chunks->chunk[no].uses, 1);
}

static void trim(struct chunks *chunks, uint32_t no)
{
        struct chunk *chunk = &chunks->chunk[no];
        uint32_t unused = 0;
        if (!atomic_load(&chunk->is_ready) || !atomic_compare_exchange_strong(&chunk->uses, &unused, 1))
                return;
        if (!sys_punch_hole(chunks->fd, (uint64_t)no << CHUNK_SHIFT, CHUNK_BYTES))
                atomic_store(&chunk->is_ready, 0);
        chunks_give_back(chunks, no);
}

void chunks_trim(struct chunks *chunks, uint64_t idle_ns)
{
        const uint64_t taken_ns = atomic_load(&chunks->taken_ns);
        if (taken_ns == chunks->trimmed_ns || sys_monotonic_ns() - taken_ns < idle_ns)
                return;
        chunks->trimmed_ns = taken_ns;
        for (uint32_t no = 1; no < chunks->count; no++)
                trim(chunks, no);
}
