/* SPDX-License-Identifier: MIT */
#ifndef LABS_ISOLATION_HISTORIES_H
#define LABS_ISOLATION_HISTORIES_H

/* Histories that were not recorded: written by hand, or drawn. */

#include "labs/isolation/history.h"

/* "r(a,0) w(a,1); r(a,1)": transactions, with a semicolon between two. */
void history_read(struct history *history, const char *text);

/* Transactions one after the other. place[i]: where in that order transaction i stands; the numbers are shuffled. */
void history_draw_serial(struct history *history, int txns, int *place);

/* The same, and in the middle some that overlap so that no serial order gives the history. */
enum anomaly {
        ANOMALY_SKEW,  /* two read what the other one writes */
        ANOMALY_RING,  /* so do several, in a ring */
        ANOMALY_TORN,  /* one reads an item before the other one writes it, and another item after that */
        ANOMALY_READER /* one that only reads sees an order that cannot be */
};
void history_draw_anomaly(struct history *history, int txns, enum anomaly anomaly);

/* Two more transactions, the last ones of any history without a cycle: write skew. */
void history_add_skew(struct history *history);

/* Of a history that is long: some hundred transactions. */
int history_draw_length(void);

#endif
