/* SPDX-License-Identifier: MIT */
#include "bench/serial/memory.h"

/*
 * A view of a file in a volatile environment, and xac_run() around the operations. The file has the same address in all
 * processes, so that the pointers in it are right.
 */

#include <errno.h>
#include <stdlib.h>

#include "bench/support/scratch.h"

static void *make(size_t byte_len, int processes)
{
        struct scratch *scratch = malloc(sizeof(*scratch));

        (void)processes;
        if (!scratch)
                scratch_fail(-ENOMEM, "malloc");
        scratch_make(scratch, (byte_len + SCRATCH_PAGE - 1) / SCRATCH_PAGE);
        return scratch;
}

static void remove_scratch(void *arg)
{
        scratch_remove(arg);
        free(arg);
}

static void open_seat(void *arg, struct seat *seat)
{
        struct scratch scratch = *(struct scratch *)arg;

        scratch_open(&scratch, 0);
        *seat = (struct seat){ scratch.file, scratch.env, arg };
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

const struct memory memory_view = { make, remove_scratch, open_seat, close_seat, run, faults };
