/* SPDX-License-Identifier: MIT */
#ifndef BENCH_SUPPORT_PAGE_ORDER_H
#define BENCH_SUPPORT_PAGE_ORDER_H

/*
 * The pages of a column in an order by chance: uniformly scattered ones, none of them twice.
 */

#include <stdint.h>

struct page_order {
        uint32_t *page;
        uint64_t count, taken;
        uint64_t random;
};

void page_order_make(struct page_order *order, uint64_t pages, uint64_t seed);
void page_order_free(struct page_order *order);
/* None of the next `count` comes twice: if fewer are left, the pages are shuffled again. */
void page_order_prepare(struct page_order *order, uint64_t count);
uint64_t page_order_take(struct page_order *order);

#endif
