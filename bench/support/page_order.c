/* SPDX-License-Identifier: MIT */
#include "bench/support/page_order.h"

#include <errno.h>
#include <stdlib.h>

#include "bench/support/measure.h"
#include "bench/support/scratch.h"

/* R. A. Fisher, F. Yates. */
static void shuffle(struct page_order *order)
{
        for (uint64_t i = order->count - 1; i > 0; i--) {
                const uint64_t other = (measure_random(&order->random) >> 16) % (i + 1);
                const uint32_t page = order->page[i];
                order->page[i] = order->page[other];
                order->page[other] = page;
        }
        order->taken = 0;
}

void page_order_make(struct page_order *order, uint64_t pages, uint64_t seed)
{
        *order = (struct page_order){ .page = malloc(pages * sizeof(*order->page)),
                                      .count = pages,
                                      .random = seed * UINT64_C(0x9e3779b97f4a7c15) | 1 };
        must(order->page ? 0 : -ENOMEM, "memory");
        for (uint64_t i = 0; i < pages; i++)
                order->page[i] = (uint32_t)i;
        shuffle(order);
}

void page_order_free(struct page_order *order)
{
        free(order->page);
}

void page_order_prepare(struct page_order *order, uint64_t count)
{
        if (order->count - order->taken < count)
                shuffle(order);
}

uint64_t page_order_take(struct page_order *order)
{
        page_order_prepare(order, 1);
        return order->page[order->taken++];
}
