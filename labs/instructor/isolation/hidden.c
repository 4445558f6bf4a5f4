/* SPDX-License-Identifier: MIT */

/* What history.h and ward.h promise and grade.c does not try. */

#include <stddef.h>
#include <stdlib.h>

#include "labs/grader/grader.h"
#include "labs/isolation/crowd.h"
#include "labs/isolation/histories.h"
#include "labs/isolation/judge.h"
#include "labs/isolation/meeting.h"
#include "labs/isolation/recorder.h"

enum { ROUNDS = 30, TXNS = 30, DIAMONDS = 200, CHAIN = 3000, TIMES = 100, SHOWN_BYTES = 2000 };

static struct history history;
static char shown[SHOWN_BYTES];

static bool has_edge(const struct graph *graph, int from, int to, enum edge_kind kind, int item)
{
        for (int i = 0; i < graph->edges; i++) {
                const struct edge *edge = &graph->edge[i];
                if (edge->from == from && edge->to == to && edge->kind == kind && edge->item == item)
                        return true;
        }
        return false;
}

static void require_edge(const struct graph *graph, int from, const struct op *a, int to, const struct op *b)
{
        enum edge_kind kind = !a->is_write ? EDGE_RW : b->is_write ? EDGE_WW : EDGE_WR;
        long version = a->version + (kind == EDGE_WR ? 0 : 1);
        if (from == to || a->item != b->item || b->version != version || (kind == EDGE_RW && !b->is_write))
                return;
        if (has_edge(graph, from, to, kind, a->item))
                return;
        char edge[80];
        show_edge(&(struct edge){ from, to, kind, a->item }, edge, sizeof(edge));
        show_history(&history, shown, sizeof(shown));
        grader_fail("%shistory_edges() did not add %s", shown, edge);
}

static void check_all_edges(void)
{
        struct graph *graph = graph_create(history.txns);
        judge_ask(&history, graph);
        judge_edges(&history, graph);
        for (int from = 0; from < history.txns; from++)
                for (int to = 0; to < history.txns; to++)
                        for (int i = 0; i < history.txn[from].ops; i++)
                                for (int j = 0; j < history.txn[to].ops; j++)
                                        require_edge(graph, from, &history.txn[from].op[i], to, &history.txn[to].op[j]);
        graph_free(graph);
}

static void test_random(void)
{
        int place[TXNS];
        for (int round = 0; round < ROUNDS; round++) {
                history_draw_serial(&history, TXNS, place);
                check_all_edges();
                history_draw_anomaly(&history, TXNS - ITEMS, (enum anomaly)(round % 4));
                check_all_edges();
        }
        history_draw_anomaly(&history, TXNS_MOST / 2 + (int)grader_random(TXNS_MOST / 2 - ITEMS),
                             (enum anomaly)grader_random(4));
        check_all_edges();
}

/* So many ways lead through a row of diamonds that none may be gone twice; and a long way back. */
static void test_deep(void)
{
        struct graph *graph = graph_create(3 * DIAMONDS + 1);
        for (int i = 0; i < DIAMONDS; i++)
                for (int side = 1; side <= 2; side++) {
                        graph_add(graph, 3 * i, 3 * i + side, EDGE_WR, 0);
                        graph_add(graph, 3 * i + side, 3 * i + 3, EDGE_WW, 1);
                }
        grader_check(judge_cycle(graph, shown, sizeof(shown)) == 0, "diamonds in a row: %s", shown);
        graph_free(graph);

        graph = graph_create(CHAIN);
        for (int i = 0; i + 1 < CHAIN; i++)
                graph_add(graph, i, i + 1, EDGE_WR, 0);
        grader_check(judge_cycle(graph, shown, sizeof(shown)) == 0, "a chain: %s", shown);
        graph_add(graph, CHAIN - 1, 0, EDGE_RW, 0);
        grader_check(judge_cycle(graph, shown, sizeof(shown)) == CHAIN, "a chain that leads back: %s", shown);
        graph_free(graph);
}

/* Histories without a cycle that look as if they had one, and the smallest ones. */
static void test_edge_cases(void)
{
        static const char *const fine[] = {
                "r(a,0)",
                "w(a,1) r(a,1)",
                "r(a,0) w(a,1) r(a,1)",
                "r(a,1) w(b,1); w(a,1) r(b,0)",
                "r(a,0) r(b,0) w(a,1); r(a,1) r(b,0) w(b,1); r(a,1) r(b,1)",
        };
        static const char *const bad[] = {
                "r(a,0) w(a,1) r(b,1); w(b,1) r(a,1)",
                "r(a,0) r(a,1); w(a,1)",
                "r(a,1) w(b,1); w(a,1) w(b,2)",
                "w(a,1) w(b,2); w(b,1) w(a,2)",
                "r(a,0) w(b,1); r(b,0) w(c,1); r(c,0) w(a,1)",
        };
        for (size_t i = 0; i < sizeof(fine) / sizeof(fine[0]); i++) {
                history_read(&history, fine[i]);
                grader_check(judge_history(&history, shown, sizeof(shown)) == 0, "%s: %s", fine[i], shown);
        }
        for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
                history_read(&history, bad[i]);
                grader_check(judge_history(&history, shown, sizeof(shown)) > 0, "%s: no cycle was found", bad[i]);
        }
}

static void test_crew(void)
{
        judge_is_awake();
        ward_open();
        for (int a = 0; a < DOCTORS; a++)
                for (int b = 0; b < DOCTORS; b++)
                        if (a != b)
                                meet_without_cycle(&(struct meeting){ DUTY_LEAVE_PROMOTED, XAC_SNAPSHOT_ISOLATION, a, b,
                                                                      1U << a | 1U << b });
        crowd_leaves(DUTY_LEAVE_PROMOTED, XAC_SNAPSHOT_ISOLATION, 0x7);
        crew_without_cycle(DUTY_LEAVE, 0, TIMES);
        crew_without_cycle(DUTY_LEAVE_PROMOTED, XAC_SNAPSHOT_ISOLATION, TIMES);
}

const struct grader_test hidden_tests[] = {
        { "random", "all edges of random histories", 10, 0, test_random },
        { "deep", "long chains, and many ways", 10, 0, test_deep },
        { "few", "small histories, right and wrong", 10, 0, test_edge_cases },
        { "crew", "each two doctors, and four who leave and return", 10, 0, test_crew },
        { NULL, NULL, 0, 0, NULL },
};
