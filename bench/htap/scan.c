/* SPDX-License-Identifier: MIT */
#include "bench/htap/scan.h"

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

static uint32_t rows_of(uint32_t block_no, uint32_t rows)
{
        const uint32_t left = rows - block_no * BLOCK_ROWS;
        return left < BLOCK_ROWS ? left : BLOCK_ROWS;
}

static void run_plain(const struct scan *scan, const struct reader *reader, uint32_t rows)
{
        const int32_t *column[SCAN_COLUMNS];

        for (uint32_t b = 0; b < blocks_of(rows); b++) {
                for (int c = 0; c < scan->columns; c++)
                        column[c] = reader->plain[scan->column[c]] + (size_t)b * BLOCK_ROWS;
                scan->kernel(column, b * BLOCK_ROWS, rows_of(b, rows), scan->state);
        }
}

static void pin_block(const struct scan *scan, const struct reader *reader, uint32_t block_no, struct block_pin *pins,
                      const int32_t **column)
{
        for (int c = 0; c < scan->columns; c++) {
                const int32_t *plain = reader->plain[scan->column[c]];
                column[c] = plain ? plain + (size_t)block_no * BLOCK_ROWS
                                  : reader->block(reader->of, scan->column[c], block_no, &pins[c]);
        }
}

static bool is_unchanged(const struct scan *scan, const struct reader *reader, uint32_t block_no,
                         const struct block_pin *pins)
{
        for (int c = 0; c < scan->columns; c++)
                if (!reader->plain[scan->column[c]] &&
                    !reader->is_unchanged(reader->of, scan->column[c], block_no, &pins[c]))
                        return false;
        return true;
}

static void run_pinned(const struct scan *scan, const struct reader *reader, uint32_t rows, struct block_pin *pins)
{
        const int32_t *column[SCAN_COLUMNS];
        char before[SCAN_STATE_MAX];

        for (uint32_t b = 0; b < blocks_of(rows); b++) {
                memcpy(before, scan->state, scan->state_bytes);
                for (;;) {
                        pin_block(scan, reader, b, pins, column);
                        scan->kernel(column, b * BLOCK_ROWS, rows_of(b, rows), scan->state);
                        if (is_unchanged(scan, reader, b, pins))
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
