/* SPDX-License-Identifier: MIT */
#ifndef LABS_ISOLATION_HISTORY_H
#define LABS_ISOLATION_HISTORY_H

/*
 * What committed transactions have read and written.
 *
 * Each item has versions: 0 is what it held at first, and each commit that writes it makes the next one. So a history
 * is written down like this:
 *
 *      T0: r(x,0) w(x,1)          T0 read version 0 of item x, and wrote version 1
 *      T1: r(x,1) r(y,0) w(y,1)
 *
 * A transaction writes at most one version of an item, and each version but 0 is written by one transaction. It may
 * read what it has written itself. The numbers of the transactions say nothing of their order.
 */

#include <stdbool.h>

enum { ITEMS = 8, OPS_MOST = 48, TXNS_MOST = 2000 };

struct op {
        bool is_write;
        int item;
        long version; /* which it has read, or made */
};

struct txn {
        int ops;
        struct op op[OPS_MOST]; /* in the order in which they happened */
};

struct history {
        int txns;
        struct txn txn[TXNS_MOST];
};

/*
 * What one transaction owes to another: `from` comes before `to` in each serial order that gives this history.
 *
 *      EDGE_WR    `from` wrote the version that `to` has read
 *      EDGE_WW    `from` wrote the version before the one that `to` wrote
 *      EDGE_RW    `from` read the version before the one that `to` wrote: it has not seen what `to` did
 *
 * After A. Adya, "Weak Consistency: A Generalized Theory and Optimistic Implementations for Distributed Transactions"
 * (PhD thesis, MIT 1999).
 */
enum edge_kind { EDGE_WR, EDGE_WW, EDGE_RW };

struct edge {
        int from, to; /* transactions, never the same */
        enum edge_kind kind;
        int item;
};

struct graph {
        int nodes; /* transactions 0 to nodes - 1 */
        int edges;
        struct edge *edge;
        int edges_most;
};

/* ------------------------------------------------------------------ yours, in checker.c */

/* Adds each edge of the history to a graph that has nodes and no edge. The same edge may be added more than once. */
void history_edges(const struct history *history, struct graph *graph);

/* Finds a cycle: edges that lead from a transaction over others, each of them once, back to it. Their numbers go to
 * cycle[0] and on, which has room for one for each node; returns how many, or 0: there is no cycle. A graph may have
 * tens of thousands of edges. */
int graph_cycle(const struct graph *graph, int *cycle);

/* ------------------------------------------------------------------ given, in graph.c */

struct graph *graph_create(int nodes);
void graph_free(struct graph *graph);
void graph_add(struct graph *graph, int from, int to, enum edge_kind kind, int item);

#endif
