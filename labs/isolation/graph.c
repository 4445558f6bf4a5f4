/* SPDX-License-Identifier: MIT */

#include <stdlib.h>

#include "labs/grader/grader.h"
#include "labs/isolation/history.h"

enum { EDGES_LIMIT = 4000000 };

struct graph *graph_create(int nodes)
{
        struct graph *graph = calloc(1, sizeof(*graph));
        if (graph == NULL)
                abort();
        graph->nodes = nodes;
        return graph;
}

void graph_free(struct graph *graph)
{
        free(graph->edge);
        free(graph);
}

void graph_add(struct graph *graph, int from, int to, enum edge_kind kind, int item)
{
        grader_check(from >= 0 && from < graph->nodes && to >= 0 && to < graph->nodes && from != to,
                     "graph_add(from T%d, to T%d): there are T0 to T%d, and an edge leads to another one", from, to,
                     graph->nodes - 1);
        grader_check(kind == EDGE_WR || kind == EDGE_WW || kind == EDGE_RW, "graph_add(): there is no kind %d of edges",
                     (int)kind);
        grader_check(graph->edges < EDGES_LIMIT, "graph_add(): %d edges already; do you ever stop?", EDGES_LIMIT);
        if (graph->edges == graph->edges_most) {
                graph->edges_most = graph->edges_most ? 2 * graph->edges_most : 64;
                struct edge *edge = reallocarray(graph->edge, (size_t)graph->edges_most, sizeof(*edge));
                if (edge == NULL)
                        abort();
                graph->edge = edge;
        }
        graph->edge[graph->edges++] = (struct edge){ from, to, kind, item };
}
