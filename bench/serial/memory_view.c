/* SPDX-License-Identifier: MIT */
#include "bench/serial/memory.h"

/*
 * A view of a file in a volatile environment, and xac_run() around the operations.
 *
 * The library chooses where a view lies, and the kernel for it: at the top of the highest gap that is large enough. So
 * the parent keeps such a gap, above all others, and its children inherit it; each opens a view, which brings with it
 * what else the library maps, closes it, gives the gap free, and opens the view again: in the gap. That they agree is
 * checked.
 */

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "bench/support/scratch.h"

/* Of address space: a view, and what aligning it may take. */
#define VIEW_BYTES  ((size_t)1 << 30)
#define ALIGN_BYTES ((size_t)64 << 20)

struct place {
        struct scratch scratch;
        void *gap;
        _Atomic(char *) agreed; /* where the view of whoever came first lies */
};

static const xac_options options = { .reserve_bytes = VIEW_BYTES };

static void *map(size_t byte_len, int protection, int flags)
{
        void *mapped = mmap(NULL, byte_len, protection, flags | MAP_ANONYMOUS, -1, 0);
        if (mapped == MAP_FAILED)
                scratch_fail(-errno, "mmap");
        return mapped;
}

static void *make(size_t byte_len, int processes)
{
        struct place *place = map(sizeof(*place), PROT_READ | PROT_WRITE, MAP_SHARED);

        (void)processes;
        scratch_make(&place->scratch, (byte_len + SCRATCH_PAGE - 1) / SCRATCH_PAGE);
        place->scratch.options = &options;
        place->gap = map(VIEW_BYTES + ALIGN_BYTES, PROT_NONE, MAP_PRIVATE | MAP_NORESERVE);
        return place;
}

static void remove_place(void *arg)
{
        struct place *place = arg;
        munmap(place->gap, VIEW_BYTES + ALIGN_BYTES);
        scratch_remove(&place->scratch);
        munmap(place, sizeof(*place));
}

static void agree(struct place *place, char *bytes)
{
        char *expected = NULL;

        if (atomic_compare_exchange_strong(&place->agreed, &expected, bytes) || expected == bytes)
                return;
        fprintf(stderr, "a view lies at %p instead of %p, where pointers into it lead\n", (void *)bytes,
                (void *)expected);
        exit(EXIT_FAILURE);
}

static void open_seat(void *arg, struct seat *seat)
{
        struct place *place = arg;
        struct scratch scratch = place->scratch;

        scratch_open(&scratch, 0);
        must(xac_munmap(scratch.env, scratch.file), "xac_munmap");
        munmap(place->gap, VIEW_BYTES + ALIGN_BYTES);
        char *bytes = xac_mmap(scratch.env, "pages", scratch.pages * SCRATCH_PAGE, 0);
        if (bytes == MAP_FAILED)
                scratch_fail(-errno, "xac_mmap");
        agree(place, bytes);
        *seat = (struct seat){ bytes, scratch.env, place };
}

static void close_seat(struct seat *seat)
{
        must(xac_close(seat->env), "xac_close");
}

static void run(struct seat *seat, int (*body)(void *arg), void *arg)
{
        must(xac_run(seat->env, 0, body, arg), "xac_run");
}

static uint64_t faults(const struct seat *seat)
{
        xac_stats stats;
        must(xac_stat(seat->env, &stats), "xac_stat");
        return stats.read_faults + stats.write_faults;
}

const struct memory memory_view = { make, remove_place, open_seat, close_seat, run, faults };
