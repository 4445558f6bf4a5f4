/* SPDX-License-Identifier: MIT */
#include "bench/papers/anker/snapshots/reading.h"

#include <errno.h>
#include <sys/mman.h>

#include "bench/support/memory.h"

static const char *begin_view(const struct reading *reading)
{
        must(xbegin(reading->columns->scratch.env, XAC_RDONLY), "xbegin");
        return reading->columns->view[0];
}

static const char *begin_snapshot(struct reading *reading)
{
        char name[32];
        size_t byte_len;

        reading->older = reading->snapshot;
        if (reading->older)
                must(xac_snapshot_refresh(reading->older, &reading->snapshot), "xac_snapshot_refresh");
        else
                must(xac_snapshot_open(reading->columns->scratch.env, 0, &reading->snapshot), "xac_snapshot_open");
        const char *column = xac_snapshot_map(reading->snapshot, columns_name(0, name), &byte_len);
        must(column == MAP_FAILED ? -errno : 0, "xac_snapshot_map");
        must(byte_len == columns_byte_len(reading->columns) ? 0 : -EIO, "the length of a column");
        return column;
}

static void end_view(const struct reading *reading)
{
        must(xend(reading->columns->scratch.env), "xend");
}

static void end_snapshot(struct reading *reading)
{
        if (reading->older)
                must(xac_snapshot_close(reading->older), "xac_snapshot_close");
        reading->older = NULL;
}

void reading_stop(struct reading *reading)
{
        if (reading->snapshot)
                must(xac_snapshot_close(reading->snapshot), "xac_snapshot_close");
        reading->snapshot = NULL;
}

/* Microseconds since *start, which becomes now. */
static double lap(uint64_t *start)
{
        const uint64_t now = measure_now_ns();
        const double us = (double)(now - *start) / 1e3;
        *start = now;
        return us;
}

static double scan_us(const struct reading *reading, const char *bytes, uint64_t *sum)
{
        uint64_t start = measure_now_ns();
        *sum = memory_sum_by(reading->threads, bytes, columns_byte_len(reading->columns));
        return lap(&start);
}

void reading_round(struct reading *reading, uint64_t pages, struct reading_round *round)
{
        uint64_t plain, first, second, plain_again;

        round->change_us = columns_change(reading->columns, pages);
        const double before_us = scan_us(reading, reading->plain, &plain);
        uint64_t start = measure_now_ns();
        const char *column = reading->is_view ? begin_view(reading) : begin_snapshot(reading);
        round->begin_us = lap(&start);
        round->first_us = scan_us(reading, column, &first);
        round->second_us = scan_us(reading, column, &second);
        round->mappings = (double)memory_mappings();
        columns_check_sum(reading->columns, first);
        columns_check(reading->columns, column, second);
        start = measure_now_ns();
        if (reading->is_view)
                end_view(reading);
        else
                end_snapshot(reading);
        round->end_us = lap(&start);
        round->plain_us = (before_us + scan_us(reading, reading->plain, &plain_again)) / 2;
        must(plain == plain_again ? 0 : -EIO, "the sum of plain memory");
}

void reading_samples_add(struct reading_samples *samples, const struct reading_round *round)
{
        samples_add(&samples->begin_us, round->begin_us);
        samples_add(&samples->first_us, round->first_us);
        samples_add(&samples->second_us, round->second_us);
        samples_add(&samples->end_us, round->end_us);
        samples_add(&samples->plain_us, round->plain_us);
        samples_add(&samples->change_us, round->change_us);
        samples_add(&samples->mappings, round->mappings);
        samples_add(&samples->first_ratio, round->first_us / round->plain_us);
        samples_add(&samples->second_ratio, round->second_us / round->plain_us);
}

void reading_samples_free(struct reading_samples *samples)
{
        samples_free(&samples->begin_us);
        samples_free(&samples->first_us);
        samples_free(&samples->second_us);
        samples_free(&samples->end_us);
        samples_free(&samples->plain_us);
        samples_free(&samples->change_us);
        samples_free(&samples->mappings);
        samples_free(&samples->first_ratio);
        samples_free(&samples->second_ratio);
}
