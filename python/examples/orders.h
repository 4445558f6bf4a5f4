/* SPDX-License-Identifier: MIT */
#ifndef EXAMPLES_ORDERS_H
#define EXAMPLES_ORDERS_H

/*
 * The environment of a shop: columns of orders, a file each, and what they add up to. live_orders.py knows the same.
 *
 *     count        uint64, how many rows the columns have
 *     placed       int64, microseconds since 1970
 *     price        int64, cents
 *     quantity     int32; 0: sent back
 *     region       int8, 0 to 4
 *     revenue      int64, for each region: the sum of price * quantity
 */

enum { ROWS_MAX = 1 << 23, REGIONS = 5, BATCH = 100 };

#endif
