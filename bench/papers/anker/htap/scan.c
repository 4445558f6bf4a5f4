/* SPDX-License-Identifier: MIT */
#include "bench/papers/anker/htap/scan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool is_plain(const struct scan *scan, const struct reader *reader)
{
        for (int c = 0; c < scan->columns; c++)
                if (!reader->plain[scan->column[c]])
                        return false;
        return true;
}

static struct stretch stretch_of(uint32_t block_no, uint32_t rows)
{
        const uint32_t first = block_no * BLOCK_ROWS, left = rows - first;
        return (struct stretch){ first, first + (left < BLOCK_ROWS ? left : BLOCK_ROWS) };
}

static void run_plain(const struct scan *scan, const struct reader *reader, uint32_t rows)
{
        const int32_t *column[SCAN_COLUMNS];

        for (uint32_t b = 0; b < blocks_of(rows); b++) {
                const struct stretch stretch = stretch_of(b, rows);
                for (int c = 0; c < scan->columns; c++)
                        column[c] = reader->plain[scan->column[c]] + stretch.first;
                scan->kernel(column, stretch.first, stretch.end - stretch.first, scan->state);
        }
}

static void pin_stretch(const struct scan *scan, const struct reader *reader, struct stretch stretch,
                        struct block_pin *pins, const int32_t **column)
{
        for (int c = 0; c < scan->columns; c++) {
                const int no = scan->column[c];
                if (reader->plain[no])
                        column[c] = reader->plain[no] + stretch.first;
                else if (c < scan->columns - scan->late)
                        column[c] = reader->block(reader->of, no, stretch, &pins[c]);
                else
                        column[c] = reader->in_place(reader->of, no, stretch, &pins[c]);
        }
}

static bool is_unchanged(const struct scan *scan, const struct reader *reader, struct stretch stretch,
                         const struct block_pin *pins)
{
        for (int c = 0; c < scan->columns; c++)
                if (!reader->plain[scan->column[c]] &&
                    !reader->is_unchanged(reader->of, scan->column[c], stretch, &pins[c]))
                        return false;
        return true;
}

static void run_pinned(const struct scan *scan, const struct reader *reader, uint32_t rows, struct block_pin *pins)
{
        const int32_t *column[SCAN_COLUMNS];
        char before[SCAN_STATE_MAX];

        for (uint32_t b = 0; b < blocks_of(rows); b++) {
                const struct stretch stretch = stretch_of(b, rows);
                memcpy(before, scan->state, scan->state_bytes);
                for (;;) {
                        pin_stretch(scan, reader, stretch, pins, column);
                        scan->kernel(column, stretch.first, stretch.end - stretch.first, scan->state);
                        if (is_unchanged(scan, reader, stretch, pins))
                                break;
                        memcpy(scan->state, before, scan->state_bytes);
                }
        }
}

int scan_run(const struct scan *scan, const struct reader *reader, uint32_t rows)
{
        if (is_plain(scan, reader)) {
                run_plain(scan, reader, rows);
                return 0;
        }
        struct block_pin *pins = malloc((size_t)scan->columns * sizeof(*pins));
        if (!pins)
                return -ENOMEM;
        run_pinned(scan, reader, rows, pins);
        free(pins);
        return 0;
}
