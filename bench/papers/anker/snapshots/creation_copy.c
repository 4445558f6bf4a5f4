/* SPDX-License-Identifier: MIT */
#include "bench/papers/anker/snapshots/creation.h"

/*
 * By a physical copy.
 */

#include <string.h>

#include "bench/papers/anker/snapshots/columns.h"
#include "bench/support/memory.h"

enum { FRESH_ROUNDS = 3 /* they take long */ };

static void measure_round(const struct creation *creation, const char *columns, char *copy,
                          struct creation_figures *figures)
{
        const uint64_t start = measure_now_ns();
        memcpy(copy, columns, creation_all_pages(creation) * PAGE);
        const uint64_t created = measure_now_ns();
        const uint64_t sum = memory_sum(copy, creation->pages * PAGE);
        const uint64_t scanned = measure_now_ns();

        creation_check(creation, 0, sum);
        samples_add(&figures->create_us, (double)(created - start) / 1e3);
        samples_add(&figures->with_scan_us, (double)(scanned - start) / 1e3);
}

/* Allocating is part of a creation in fresh memory. */
static void measure_fresh_round(const struct creation *creation, const char *columns, struct creation_figures *figures)
{
        const size_t byte_len = creation_all_pages(creation) * PAGE;
        char *copy = memory_reserve(byte_len);
        measure_round(creation, columns, copy, figures);
        memory_free(copy, byte_len);
}

void creation_by_copy(const struct creation *creation, bool is_fresh, struct creation_figures *figures)
{
        const size_t byte_len = creation_all_pages(creation) * PAGE;
        char *columns = memory_make(byte_len);
        char *copy = memory_make(byte_len);

        creation_fill(creation, columns);
        figures->mappings = 2;
        for (uint64_t r = 0; r < creation->rounds && (!is_fresh || r < FRESH_ROUNDS); r++) {
                if (is_fresh)
                        measure_fresh_round(creation, columns, figures);
                else
                        measure_round(creation, columns, copy, figures);
        }
        memory_free(copy, byte_len);
        memory_free(columns, byte_len);
}
