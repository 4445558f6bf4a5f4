/* SPDX-License-Identifier: MIT */

/*
 * Orders come in, and some are sent back: orders_writer DIRECTORY SECONDS SEED
 *
 * A transaction appends a batch of rows to four columns, and adds them to the revenue of their regions; another one
 * takes a row back. Any number of such programs may run at once, and live_orders.py beside them. In the end it prints
 * how many orders it took.
 */

#include "python/examples/orders.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <xac/xac.h>

enum { PAUSE_US = 3000, BATCHES_PER_RETURN = 4, RUSH_US = 4000000 };

static xac_env *shop;
static uint64_t *row_count;
static int64_t *placed, *price, *revenue;
static int32_t *quantity;
static int8_t *region;

static void must(int err, const char *what)
{
        if (err) {
                fprintf(stderr, "orders_writer: %s: %s\n", what, xac_strerror(err));
                exit(EXIT_FAILURE);
        }
}

static void *map(const char *file, size_t byte_len)
{
        void *view = xac_mmap(shop, file, byte_len, XAC_ANYWHERE); /* it stores no pointers */
        if (view == MAP_FAILED) {
                perror(file);
                exit(EXIT_FAILURE);
        }
        return view;
}

static void open_shop(const char *directory)
{
        must(xac_open(directory, XAC_CREATE, NULL, &shop), directory);
        row_count = map("count", sizeof(*row_count));
        placed = map("placed", ROWS_MAX * sizeof(*placed));
        price = map("price", ROWS_MAX * sizeof(*price));
        quantity = map("quantity", ROWS_MAX * sizeof(*quantity));
        region = map("region", ROWS_MAX * sizeof(*region));
        revenue = map("revenue", REGIONS * sizeof(*revenue));
}

static int64_t microseconds_now(void)
{
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        return now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

struct order {
        int64_t price;
        int32_t quantity;
        int8_t region;
};

/* One region after the other has its rush hour. */
static int8_t draw_region(unsigned short *seed)
{
        const int64_t busy = microseconds_now() / RUSH_US;
        return (int8_t)((nrand48(seed) % 4 ? nrand48(seed) : busy) % REGIONS);
}

/* Made before the transaction: it may run several times. */
static void draw_orders(struct order *orders, unsigned short *seed)
{
        for (int i = 0; i < BATCH; i++) {
                orders[i].price = 100 + nrand48(seed) % 9900;
                orders[i].quantity = 1 + (int32_t)(nrand48(seed) % 5);
                orders[i].region = draw_region(seed);
        }
}

static int append(void *orders)
{
        const struct order *order = orders;
        const uint64_t first = *row_count;
        if (first + BATCH > ROWS_MAX)
                return 0;
        for (uint64_t row = first; row < first + BATCH; row++, order++) {
                placed[row] = microseconds_now();
                price[row] = order->price;
                quantity[row] = order->quantity;
                region[row] = order->region;
                revenue[order->region] += order->price * order->quantity;
        }
        *row_count = first + BATCH;
        return 0;
}

static int send_back(void *chance)
{
        if (*row_count == 0)
                return 0;
        const uint64_t row = *(const uint64_t *)chance % *row_count;
        revenue[region[row]] -= price[row] * quantity[row];
        quantity[row] = 0;
        return 0;
}

int main(int argc, char **argv)
{
        if (argc != 4)
                return fprintf(stderr, "usage: orders_writer DIRECTORY SECONDS SEED\n"), EXIT_FAILURE;
        struct order orders[BATCH];
        unsigned short seed[3] = { 0x330e, (unsigned short)atoi(argv[3]), 1 };
        const int64_t end = microseconds_now() + (int64_t)(1e6 * strtod(argv[2], NULL));
        long batches = 0;
        open_shop(argv[1]);
        for (; microseconds_now() < end; batches++) {
                draw_orders(orders, seed);
                must(xac_run(shop, 0, append, orders), "append");
                uint64_t chance = (uint64_t)nrand48(seed);
                if (batches % BATCHES_PER_RETURN == 0)
                        must(xac_run(shop, 0, send_back, &chance), "send_back");
                usleep(PAUSE_US);
        }
        printf("%ld\n", batches * BATCH);
        must(xac_close(shop), "xac_close");
        return EXIT_SUCCESS;
}
