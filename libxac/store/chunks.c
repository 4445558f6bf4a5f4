/* SPDX-License-Identifier: MIT */
#include "libxac/store/chunks.h"

#include <errno.h>
#include <stdlib.h>

#include "base/sys.h"

int chunks_open(struct chunks *chunks, uint64_t limit_bytes, void (*on_full)(void *arg), void *on_full_arg)
{
        *chunks = (struct chunks){ .limit = (uint32_t)(limit_bytes >> CHUNK_SHIFT) + 1,
                                   .on_full = on_full,
                                   .on_full_arg = on_full_arg };
        chunks->count = chunks->limit + CHUNKS_URGENT;
        chunks->chunk = calloc(chunks->count, sizeof(*chunks->chunk));
        if (!chunks->chunk)
                return -ENOMEM;
        int err = memory_open(&chunks->memory, "xac-chunks", (uint64_t)chunks->count << CHUNK_SHIFT, CHUNK_SHIFT);
        if (err)
                free(chunks->chunk);
        else
                atomic_store(&chunks->chunk[0].uses, 1);
        return err;
}

void chunks_forget_in_child(struct chunks *chunks)
{
        memory_close(&chunks->memory);
}

void chunks_close(struct chunks *chunks)
{
        chunks_forget_in_child(chunks);
        free(chunks->chunk);
}

/* A huge page makes scans faster, and showing the chunk cheap. What the kernel does not have, we do without. */
static bool make_ready(struct chunks *chunks, uint32_t no)
{
        struct chunk *chunk = &chunks->chunk[no];
        bool is_huge;
        if (atomic_load_explicit(&chunk->is_ready, memory_order_relaxed))
                return true;
        if (memory_prepare_huge(&chunks->memory, no, &is_huge))
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

bool chunks_are_used(const struct chunks *chunks)
{
        for (uint32_t no = 1; no < chunks->count; no++)
                if (!atomic_load_explicit(&chunks->chunk[no].uses, memory_order_relaxed))
                        return false;
        return true;
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
        if (!memory_release(&chunks->memory, no, 1))
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
