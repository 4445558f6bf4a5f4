/* SPDX-License-Identifier: MIT */

#include "labs/isolation/judge.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "labs/grader/grader.h"
#include "labs/grader/host.h"
#include "labs/isolation/acts.h"
#include "labs/isolation/histories.h"

enum { SHOWN_BYTES = 2500, SHOWN_TXNS = 24, PACKED_BYTES = 4 << 20, EDGES_MOST = 4 << 20 };

static const char *const kind_name[] = { "wr", "ww", "rw" };

static void append(char *text, size_t text_bytes, const char *more)
{
        size_t used = strlen(text);
        snprintf(text + used, text_bytes - used, "%s", more);
}

void show_edge(const struct edge *edge, char *text, size_t text_bytes)
{
        snprintf(text, text_bytes, "T%d -%s(%c)-> T%d", edge->from, edge->kind <= EDGE_RW ? kind_name[edge->kind] : "?",
                 'a' + edge->item, edge->to);
}

void show_history(const struct history *history, char *text, size_t text_bytes)
{
        char one[64];
        text[0] = '\0';
        for (int t = 0; t < history->txns && t < SHOWN_TXNS; t++) {
                snprintf(one, sizeof(one), "    T%d:", t);
                append(text, text_bytes, one);
                for (int i = 0; i < history->txn[t].ops; i++) {
                        const struct op *op = &history->txn[t].op[i];
                        snprintf(one, sizeof(one), " %c(%c,%ld)", op->is_write ? 'w' : 'r', 'a' + op->item,
                                 op->version);
                        append(text, text_bytes, one);
                }
                append(text, text_bytes, "\n");
        }
        if (history->txns > SHOWN_TXNS)
                append(text, text_bytes, "    ...\n");
}

/* ------------------------------------------------------------------ what the answer says */

static size_t pack_history(const struct history *history, char *bytes, size_t bytes_most)
{
        size_t used = 0;
        for (int t = 0; t < history->txns; t++) {
                const struct txn *txn = &history->txn[t];
                struct packed_txn head = { txn->ops };
                size_t byte_len = (size_t)txn->ops * sizeof(txn->op[0]);
                if (used + sizeof(head) + byte_len > bytes_most)
                        abort();
                memcpy(bytes + used, &head, sizeof(head));
                memcpy(bytes + used + sizeof(head), txn->op, byte_len);
                used += sizeof(head) + byte_len;
        }
        return used;
}

void judge_ask(const struct history *history, struct graph *graph)
{
        static char packed[PACKED_BYTES];
        static struct edge edges[EDGES_MOST];
        size_t byte_len = pack_history(history, packed, sizeof(packed));
        size_t got = host_ask(ACT_EDGES, packed, byte_len, edges, sizeof(edges));
        for (size_t i = 0; i < got / sizeof(edges[0]); i++)
                graph_add(graph, edges[i].from, edges[i].to, edges[i].kind, edges[i].item);
}

static int ask_cycle(const struct graph *graph, int *cycle)
{
        static char packed[PACKED_BYTES];
        struct packed_graph head = { graph->nodes, graph->edges };
        size_t byte_len = (size_t)graph->edges * sizeof(graph->edge[0]);
        grader_check(sizeof(head) + byte_len <= sizeof(packed), "history_edges() added %d edges", graph->edges);
        memcpy(packed, &head, sizeof(head));
        if (byte_len > 0)
                memcpy(packed + sizeof(head), graph->edge, byte_len);
        return (int)(host_ask(ACT_CYCLE, packed, sizeof(head) + byte_len, cycle,
                              (size_t)graph->nodes * sizeof(*cycle)) /
                     sizeof(*cycle));
}

/* ------------------------------------------------------------------ edges */

static bool has_op(const struct txn *txn, bool is_write, int item, long version)
{
        for (int i = 0; i < txn->ops; i++) {
                const struct op *op = &txn->op[i];
                if (op->is_write == is_write && op->item == item && op->version == version)
                        return true;
        }
        return false;
}

/* Is there a version by which `from` and `to` owe each other such an edge? */
static bool is_true(const struct history *history, const struct edge *edge)
{
        const struct txn *from = &history->txn[edge->from], *to = &history->txn[edge->to];
        for (int i = 0; i < to->ops; i++) {
                const struct op *op = &to->op[i];
                long version = op->version - (edge->kind == EDGE_WR ? 0 : 1);
                if (op->item == edge->item && op->is_write == (edge->kind != EDGE_WR) &&
                    has_op(from, edge->kind != EDGE_RW, edge->item, version))
                        return true;
        }
        return false;
}

void judge_edges(const struct history *history, const struct graph *graph)
{
        char shown[SHOWN_BYTES], edge[80];
        for (int i = 0; i < graph->edges; i++) {
                if (is_true(history, &graph->edge[i]))
                        continue;
                show_history(history, shown, sizeof(shown));
                show_edge(&graph->edge[i], edge, sizeof(edge));
                grader_fail("%shistory_edges() added %s, which is not so", shown, edge);
        }
}

/* ------------------------------------------------------------------ cycles */

static void show_graph(const struct graph *graph, char *text, size_t text_bytes)
{
        char edge[80];
        text[0] = '\0';
        for (int i = 0; i < graph->edges && i < SHOWN_TXNS; i++) {
                show_edge(&graph->edge[i], edge, sizeof(edge));
                append(text, text_bytes, i % 4 ? "    " : i ? "\n    " : "    ");
                append(text, text_bytes, edge);
        }
        append(text, text_bytes, graph->edges > SHOWN_TXNS ? "\n    ...\n" : "\n");
}

static _Noreturn void fail_cycle(const struct graph *graph, int count, const char *what)
{
        char shown[SHOWN_BYTES];
        show_graph(graph, shown, sizeof(shown));
        grader_fail("%sgraph_cycle() returned %d edges: %s", shown, count, what);
}

static void check_cycle(const struct graph *graph, const int *cycle, int count)
{
        bool *is_met = calloc((size_t)graph->nodes + 1, sizeof(*is_met));
        if (is_met == NULL)
                abort();
        if (count < 0 || count > graph->nodes)
                fail_cycle(graph, count, "a cycle has no more than there are transactions");
        for (int i = 0; i < count; i++) {
                if (cycle[i] < 0 || cycle[i] >= graph->edges)
                        fail_cycle(graph, count, "one of them has a number that no edge has");
                const struct edge *edge = &graph->edge[cycle[i]], *next = &graph->edge[cycle[(i + 1) % count]];
                if (edge->to != next->from)
                        fail_cycle(graph, count,
                                   "one does not begin where the one before it ends, or the last does "
                                   "not lead back");
                if (is_met[edge->from])
                        fail_cycle(graph, count, "they pass through a transaction twice");
                is_met[edge->from] = true;
        }
        free(is_met);
}

static void show_cycle(const struct graph *graph, const int *cycle, int count, char *shown, size_t shown_bytes)
{
        char one[64];
        shown[0] = '\0';
        for (int i = 0; i < count && i < SHOWN_TXNS; i++) {
                const struct edge *edge = &graph->edge[cycle[i]];
                snprintf(one, sizeof(one), "T%d -%s(%c)-> ", edge->from, kind_name[edge->kind], 'a' + edge->item);
                append(shown, shown_bytes, one);
        }
        snprintf(one, sizeof(one), count > SHOWN_TXNS ? "..." : "T%d", count ? graph->edge[cycle[0]].from : 0);
        append(shown, shown_bytes, count ? one : "no cycle");
}

int judge_cycle(const struct graph *graph, char *shown, size_t shown_bytes)
{
        int *cycle = calloc((size_t)graph->nodes + 1, sizeof(*cycle));
        if (cycle == NULL)
                abort();
        int count = ask_cycle(graph, cycle);
        check_cycle(graph, cycle, count);
        show_cycle(graph, cycle, count, shown, shown_bytes);
        free(cycle);
        return count;
}

int judge_history(const struct history *history, char *shown, size_t shown_bytes)
{
        struct graph *graph = graph_create(history->txns);
        judge_ask(history, graph);
        judge_edges(history, graph);
        int count = judge_cycle(graph, shown, shown_bytes);
        graph_free(graph);
        return count;
}

void judge_is_awake(void)
{
        static struct history skew;
        char shown[SHOWN_BYTES];
        history_read(&skew, "r(a,0) w(b,1); r(b,0) w(a,1)");
        grader_check(
                judge_history(&skew, shown, sizeof(shown)) > 0,
                "    T0: r(a,0) w(b,1)\n    T1: r(b,0) w(a,1)\nthe checker finds no cycle: parts 1 and 2 come first");
}
