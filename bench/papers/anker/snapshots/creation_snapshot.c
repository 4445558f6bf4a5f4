/* SPDX-License-Identifier: MIT */
#include "bench/papers/anker/snapshots/creation.h"

/*
 * By libxac: xac_snapshot_refresh() and xac_snapshot_map() of each column.
 */

#include <errno.h>
#include <sys/mman.h>

#include "bench/papers/anker/snapshots/columns.h"
#include "bench/support/memory.h"

static const char *map_all(const struct creation *creation, xac_snapshot *snapshot)
{
        char name[32];
        const char *first = NULL;

        for (int c = 0; c < creation->columns; c++) {
                const char *column = xac_snapshot_map(snapshot, columns_name(c, name), NULL);
                must(column == MAP_FAILED ? -errno : 0, "xac_snapshot_map");
                if (c == 0)
                        first = column;
        }
        return first;
}

/* The older one is closed when the new one has been read. */
static void measure_round(const struct creation *creation, struct columns *columns, uint64_t changed,
                          xac_snapshot **snapshot, struct creation_figures *figures)
{
        xac_snapshot *older = *snapshot;
        const double write_us = columns_change(columns, changed);

        const uint64_t start = measure_now_ns();
        must(xac_snapshot_refresh(older, snapshot), "xac_snapshot_refresh");
        const char *column = map_all(creation, *snapshot);
        const uint64_t created = measure_now_ns();
        const uint64_t sum = memory_sum(column, creation->pages * PAGE);
        const uint64_t scanned = measure_now_ns();

        columns_check(columns, column, sum);
        must(xac_snapshot_close(older), "xac_snapshot_close");
        samples_add(&figures->create_us, (double)(created - start) / 1e3);
        samples_add(&figures->with_scan_us, (double)(scanned - start) / 1e3);
        if (changed)
                samples_add(&figures->write_us, write_us);
        const double mappings = (double)memory_mappings();
        figures->mappings = mappings > figures->mappings ? mappings : figures->mappings;
}

enum { WARM_ROUNDS = 2 };

void creation_by_snapshot(const struct creation *creation, uint64_t changed, struct creation_figures *figures)
{
        struct columns columns;
        struct creation_figures unused = { 0 };
        xac_snapshot *snapshot;

        columns_start(&columns, creation->columns, creation->pages, creation->seed);
        columns_open(&columns);
        must(xac_snapshot_open(columns.scratch.env, 0, &snapshot), "xac_snapshot_open");
        map_all(creation, snapshot);
        for (uint64_t r = 0; r < WARM_ROUNDS + creation->rounds; r++)
                measure_round(creation, &columns, changed, &snapshot, r < WARM_ROUNDS ? &unused : figures);
        must(xac_snapshot_close(snapshot), "xac_snapshot_close");
        columns_close(&columns);
        columns_stop(&columns);
        samples_free(&unused.create_us);
        samples_free(&unused.with_scan_us);
        samples_free(&unused.write_us);
}
