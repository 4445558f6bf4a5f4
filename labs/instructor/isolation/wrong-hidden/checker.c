/* SPDX-License-Identifier: MIT */

/* As the solution. */

#include <stdlib.h>

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

enum state { UNSEEN, ON_PATH, DONE };

struct search {
        const struct graph *graph;
        int *first, *next; /* edges by the transaction that they lead from: lists, -1 ends them */
        int *state;        /* of each transaction: enum state */
        int *path, *depth; /* edges that led here; how many had led to a transaction on the path */
        int path_len;
};

/* Depth first. Returns the transaction of the path to which an edge leads back, the last one of the path; or -1. */
static int visit(struct search *search, int node)
{
        search->state[node] = ON_PATH;
        search->depth[node] = search->path_len;
        for (int edge = search->first[node]; edge >= 0; edge = search->next[edge]) {
                int to = search->graph->edge[edge].to;
                if (search->state[to] == DONE)
                        continue;
                search->path[search->path_len++] = edge;
                int found = search->state[to] == ON_PATH ? to : visit(search, to);
                if (found >= 0)
                        return found;
                search->path_len--;
        }
        search->state[node] = DONE;
        return -1;
}

static void sort_edges(struct search *search)
{
        for (int node = 0; node < search->graph->nodes; node++)
                search->first[node] = -1;
        for (int edge = 0; edge < search->graph->edges; edge++) {
                int from = search->graph->edge[edge].from;
                search->next[edge] = search->first[from];
                search->first[from] = edge;
        }
}

int graph_cycle(const struct graph *graph, int *cycle)
{
        size_t nodes = (size_t)graph->nodes, edges = (size_t)graph->edges;
        struct search search = { .graph = graph };
        int count = 0, found = -1;

        int *memory = calloc(4 * nodes + edges + 1, sizeof(*memory));
        if (memory == NULL)
                abort();
        search.state = memory;
        search.path = memory + nodes;
        search.depth = memory + 2 * nodes;
        search.next = memory + 3 * nodes;
        search.first = memory + 3 * nodes + edges;
        sort_edges(&search);
        for (int node = 0; node < graph->nodes && found < 0; node++)
                if (search.state[node] == UNSEEN)
                        found = visit(&search, node);
        for (int i = found < 0 ? search.path_len : search.depth[found]; i < search.path_len; i++)
                cycle[count++] = search.path[i];
        free(memory);
        return count;
}
