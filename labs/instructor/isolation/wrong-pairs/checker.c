/* SPDX-License-Identifier: MIT */

/* Wrong: a cycle is two transactions that owe each other; longer ones are not found. */

#include "labs/isolation/history.h"

/* ------------------------------------------------------------------ part 1 */

/* The edge that these two owe to each other, if any: `b` touched what `a` touched. */
static void add_edge(struct graph *graph, int from, const struct op *a, int to, const struct op *b)
{
        if (a->item != b->item || from == to)
                return;
        if (a->is_write && !b->is_write && b->version == a->version)
                graph_add(graph, from, to, EDGE_WR, a->item);
        if (a->is_write && b->is_write && b->version == a->version + 1)
                graph_add(graph, from, to, EDGE_WW, a->item);
        if (!a->is_write && b->is_write && b->version == a->version + 1)
                graph_add(graph, from, to, EDGE_RW, a->item);
}

void history_edges(const struct history *history, struct graph *graph)
{
        for (int from = 0; from < history->txns; from++)
                for (int to = 0; to < history->txns; to++)
                        for (int i = 0; i < history->txn[from].ops; i++)
                                for (int j = 0; j < history->txn[to].ops; j++)
                                        add_edge(graph, from, &history->txn[from].op[i], to, &history->txn[to].op[j]);
}

/* ------------------------------------------------------------------ part 2 */

int graph_cycle(const struct graph *graph, int *cycle)
{
        for (int i = 0; i < graph->edges; i++) {
                for (int j = 0; j < i; j++) {
                        if (graph->edge[i].from != graph->edge[j].to || graph->edge[i].to != graph->edge[j].from)
                                continue;
                        cycle[0] = i;
                        cycle[1] = j;
                        return 2;
                }
        }
        return 0;
}
