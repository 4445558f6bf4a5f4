/* SPDX-License-Identifier: MIT */

/* The public tests of the lab. */

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "labs/grader/environment.h"
#include "labs/grader/grader.h"
#include "labs/isolation/crowd.h"
#include "labs/isolation/histories.h"
#include "labs/isolation/judge.h"
#include "labs/isolation/meeting.h"
#include "labs/isolation/recorder.h"

enum { ROUNDS = 60, TXNS = 40, SHOWN_BYTES = 3000 };

static struct history history;
static char shown[SHOWN_BYTES];

/* ------------------------------------------------------------------ part 1 */

/* Each with all of its edges. */
static const struct example {
        const char *history;
        int edges;
        struct edge edge[4];
} examples[] = {
        { "r(a,0); r(a,0) r(b,0)", 0, { { 0, 0, 0, 0 } } },
        { "w(a,1); r(a,1)", 1, { { 0, 1, EDGE_WR, 0 } } },
        { "w(a,1); w(a,2)", 1, { { 0, 1, EDGE_WW, 0 } } },
        { "r(b,0); w(b,1)", 1, { { 0, 1, EDGE_RW, 1 } } },
        { "r(a,2); w(a,3) r(a,3); w(a,2); w(a,1)",
          4,
          { { 2, 0, EDGE_WR, 0 }, { 0, 1, EDGE_RW, 0 }, { 3, 2, EDGE_WW, 0 }, { 2, 1, EDGE_WW, 0 } } },
        { "r(a,0) w(a,1) r(a,1); r(a,1) w(a,2)",
          3,
          { { 0, 1, EDGE_WR, 0 }, { 0, 1, EDGE_WW, 0 }, { 0, 1, EDGE_RW, 0 } } },
        { "r(a,0) r(b,0) w(a,1); r(a,0) r(b,0) w(b,1)", 2, { { 0, 1, EDGE_RW, 1 }, { 1, 0, EDGE_RW, 0 } } },
        { "r(c,0) w(d,1); w(c,1) w(e,1); r(e,1) r(d,0)",
          3,
          { { 0, 1, EDGE_RW, 2 }, { 1, 2, EDGE_WR, 4 }, { 2, 0, EDGE_RW, 3 } } },
};

static bool has_edge(const struct graph *graph, const struct edge *edge)
{
        for (int i = 0; i < graph->edges; i++) {
                const struct edge *one = &graph->edge[i];
                if (one->from == edge->from && one->to == edge->to && one->kind == edge->kind &&
                    one->item == edge->item)
                        return true;
        }
        return false;
}

static void test_edges(void)
{
        char edge[80];
        for (size_t e = 0; e < sizeof(examples) / sizeof(examples[0]); e++) {
                const struct example *example = &examples[e];
                history_read(&history, example->history);
                struct graph *graph = graph_create(history.txns);
                judge_ask(&history, graph);
                judge_edges(&history, graph);
                show_history(&history, shown, sizeof(shown));
                for (int i = 0; i < example->edges; i++) {
                        show_edge(&example->edge[i], edge, sizeof(edge));
                        grader_check(has_edge(graph, &example->edge[i]), "%shistory_edges() did not add %s", shown,
                                     edge);
                }
                graph_free(graph);
        }
}

/* ------------------------------------------------------------------ part 2 */

/* Edges that lead upwards in a drawn order, and so make no cycle. */
static struct graph *draw_graph(int nodes, int edges, int *order)
{
        struct graph *graph = graph_create(nodes);
        for (int i = 0; i < nodes; i++) {
                int other = (int)grader_random((uint32_t)i + 1);
                order[i] = order[other];
                order[other] = i;
        }
        for (int i = 0; i < edges; i++) {
                int low = (int)grader_random((uint32_t)nodes - 1);
                int high = low + 1 + (int)grader_random((uint32_t)(nodes - 1 - low));
                graph_add(graph, order[low], order[high], (enum edge_kind)grader_random(3), (int)grader_random(ITEMS));
        }
        return graph;
}

static void test_cycle(void)
{
        int order[TXNS] = { 0 };
        for (int round = 0; round < ROUNDS; round++) {
                int nodes = 4 + (int)grader_random(TXNS - 4);
                struct graph *graph = draw_graph(nodes, 2 * nodes, order);
                grader_check(judge_cycle(graph, shown, sizeof(shown)) == 0, "a graph without a cycle: %s", shown);
                int length = 2 + (int)grader_random((uint32_t)nodes - 1);
                for (int i = 0; i < length; i++)
                        graph_add(graph, order[i], order[(i + 1) % length], EDGE_RW, 0);
                grader_check(judge_cycle(graph, shown, sizeof(shown)) > 0,
                             "a graph of %d transactions, with a cycle of %d edges from T%d: graph_cycle() finds none",
                             nodes, length, order[0]);
                graph_free(graph);
        }
}

static void check_anomaly(int txns, enum anomaly anomaly)
{
        static const char *const names[] = { "write skew", "a ring of reads and writes", "a torn read",
                                             "a reader that sees an order that cannot be" };
        history_draw_anomaly(&history, txns, anomaly);
        if (judge_history(&history, shown, sizeof(shown)) > 0)
                return;
        show_history(&history, shown, sizeof(shown));
        grader_fail("%sthere is %s in it, of %d transactions: the checker finds no cycle", shown, names[anomaly],
                    history.txns);
}

/* A serial history has no cycle, and one with an anomaly has one, be it ever so long. */
static void test_verdict(void)
{
        int place[TXNS];
        for (int round = 0; round < ROUNDS; round++) {
                history_draw_serial(&history, TXNS, place);
                grader_check(judge_history(&history, shown, sizeof(shown)) == 0,
                             "a history that was serial: the checker finds\n%s", shown);
                check_anomaly(round / 4, (enum anomaly)(round % 4));
        }
        for (int anomaly = 0; anomaly < 4; anomaly++)
                check_anomaly(history_draw_length(), (enum anomaly)anomaly);
}

/* ------------------------------------------------------------------ parts 3 and 4 */

static void check_duty(enum duty duty, int doctor, unsigned before, int should, unsigned after)
{
        ward_fill(before);
        int err = ward_run(0, duty, doctor);
        unsigned on_call = ward_look();
        grader_check(
                err == should && on_call == after,
                "on call were doctors 0x%x; doctor %d %s: returned %d, should return %d; on call are 0x%x, should be "
                "0x%x",
                before, doctor, duty == DUTY_RETURN ? "returns" : "leaves", err, should, on_call, after);
}

static void test_serial(void)
{
        ward_open();
        ward_begin();
        for (int doctor = 0; doctor < DOCTORS; doctor++)
                for (unsigned on_call = 0; on_call < 1U << DOCTORS; on_call++) {
                        unsigned self = 1U << doctor;
                        check_duty(DUTY_RETURN, doctor, on_call, 0, on_call | self);
                        if ((on_call & self) == 0)
                                continue;
                        bool may_leave = on_call != self;
                        unsigned after = may_leave ? on_call & ~self : on_call;
                        check_duty(DUTY_LEAVE, doctor, on_call, may_leave ? 0 : REFUSED, after);
                        check_duty(DUTY_LEAVE_PROMOTED, doctor, on_call, may_leave ? 0 : REFUSED, after);
                }
        ward_end();
}

static void test_skew(void)
{
        struct meeting_results results;
        judge_is_awake();
        ward_open();
        meet_all(&(struct meeting){ DUTY_LEAVE, XAC_SNAPSHOT_ISOLATION, 0, 1, 0x3 }, &results);
        grader_check(results.deserted > 0,
                     "doctors 0 and 1 leave at the same time, under XAC_SNAPSHOT_ISOLATION: in none of %d orders both "
                     "left.\n"
                     "Does duty_leave() write no more than it has to?",
                     results.meetings);
}

static void test_none(void)
{
        judge_is_awake();
        ward_open();
        meet_without_cycle(&(struct meeting){ DUTY_LEAVE, 0, 0, 1, 0x3 });
        meet_without_cycle(&(struct meeting){ DUTY_LEAVE, 0, 2, 3, 0xf });
}

static void test_promoted(void)
{
        judge_is_awake();
        ward_open();
        for (int other = 1; other < DOCTORS; other++)
                meet_without_cycle(
                        &(struct meeting){ DUTY_LEAVE_PROMOTED, XAC_SNAPSHOT_ISOLATION, 0, other, 1U | 1U << other });
        meet_without_conflict(&(struct meeting){ DUTY_LEAVE_PROMOTED, XAC_SNAPSHOT_ISOLATION, 1, 3, 0xf });
        meet_without_conflict(&(struct meeting){ DUTY_LEAVE_PROMOTED, XAC_SNAPSHOT_ISOLATION, 0, 2, 0xf });
        for (int doctor = 0; doctor < DOCTORS; doctor++)
                crowd_leaves(DUTY_LEAVE_PROMOTED, XAC_SNAPSHOT_ISOLATION, 0xf & ~(1U << doctor));
        crowd_leaves(DUTY_LEAVE_PROMOTED, XAC_SNAPSHOT_ISOLATION, 0xf);
}

static const struct grader_test tests[] = {
        { "edges", "who comes before whom, in histories by hand", 20, 0, test_edges },
        { "cycle", "a cycle is found if there is one", 15, 0, test_cycle },
        { "verdict", "histories that are serial, and others", 15, 0, test_verdict },
        { "serial", "doctors leave and return, one after the other", 10, 0, test_serial },
        { "skew", "two leave under XAC_SNAPSHOT_ISOLATION: the checker finds it", 15, 0, test_skew },
        { "none", "two leave, fully serializable: nothing to be found", 10, 0, test_none },
        { "promoted", "two leave by duty_leave_promoted(), under XAC_SNAPSHOT_ISOLATION", 15, 0, test_promoted },
        { NULL, NULL, 0, 0, NULL },
};

int main(int argc, char **argv)
{
        static const struct grader_lab lab = { "isolation", tests, hidden_tests, environment_clean };
        return grader_main(argc, argv, &lab);
}
