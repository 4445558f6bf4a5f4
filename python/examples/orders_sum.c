/* SPDX-License-Identifier: MIT */

/*
 * The revenue of each region as of a snapshot that another process has open: orders_sum DIRECTORY
 *
 * Reads numbers of snapshots from standard input, a line each, and answers each by a line: how many rows there are, and
 * the sum of price * quantity for each region, all as of that commit.
 */

#include "python/examples/orders.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include <xac/xac.h>

static void must(int err, const char *what)
{
        if (err) {
                fprintf(stderr, "orders_sum: %s: %s\n", what, xac_strerror(err));
                exit(EXIT_FAILURE);
        }
}

static const void *map(xac_snapshot *snapshot, const char *file)
{
        const void *column = xac_snapshot_map(snapshot, file, NULL);
        if (column == MAP_FAILED) {
                perror(file);
                exit(EXIT_FAILURE);
        }
        return column;
}

static void answer(xac_snapshot *snapshot)
{
        const uint64_t rows = *(const uint64_t *)map(snapshot, "count");
        const int64_t *price = map(snapshot, "price");
        const int32_t *quantity = map(snapshot, "quantity");
        const int8_t *region = map(snapshot, "region");
        int64_t sum[REGIONS] = { 0 };
        for (uint64_t row = 0; row < rows; row++)
                sum[region[row]] += price[row] * quantity[row];
        printf("%" PRIu64, rows);
        for (int i = 0; i < REGIONS; i++)
                printf(" %" PRId64, sum[i]);
        putchar('\n');
        fflush(stdout);
}

int main(int argc, char **argv)
{
        xac_env *shop;
        uint64_t sequence;
        if (argc != 2)
                return fprintf(stderr, "usage: orders_sum DIRECTORY\n"), EXIT_FAILURE;
        must(xac_open(argv[1], 0, NULL, &shop), argv[1]);
        while (scanf("%" SCNu64, &sequence) == 1) {
                xac_snapshot *snapshot;
                must(xac_snapshot_open_at(shop, sequence, &snapshot), "xac_snapshot_open_at");
                answer(snapshot);
                must(xac_snapshot_close(snapshot), "xac_snapshot_close");
        }
        must(xac_close(shop), "xac_close");
        return EXIT_SUCCESS;
}
