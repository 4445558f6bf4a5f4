/* SPDX-License-Identifier: MIT */
#ifndef TESTS_MODEL_ORDER_H
#define TESTS_MODEL_ORDER_H

/*
 * A serial order of the attempts of a round that explains everything they saw, if there is
 * one (P1, P2, and real time). Two independent ways to find it:
 *
 * By tickets: every writer took one, so they tell the order; it is checked that it agrees
 * with real time.
 *
 * By the graph: a version is made before it is seen and seen before it is replaced; who had
 * ended before another began comes before it. An order exists if there is no circle.
 *
 * Who read as of what was durable must come after those only that had been promised to be so, and ended, before it
 * began. Whoever began after it had ended comes after it as ever.
 *
 * Attempts that published nothing (readers, aborted and lost ones) stand in the order as
 * readers: they, too, must have seen one snapshot. One under snapshot isolation stands in it
 * twice, where it read and where it wrote.
 */

#include "tests/model/history.h"

enum part {
        PART_WHOLE, /* reads, and writes if it published any */
        PART_READS,
        PART_WRITES
};

struct position {
        uint32_t attempt;
        enum part part;
};

struct order {
        struct position *positions;
        uint32_t count;
        uint32_t room;
};

/* Differences are printed, and counted in the history. False: no order. */
bool order_by_tickets(struct order *order, struct history *history);
bool order_by_graph(struct order *order, struct history *history);
void order_free(struct order *order);

#endif
