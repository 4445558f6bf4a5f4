/* SPDX-License-Identifier: MIT */

#include "labs/isolation/acts.h"

#include <stdlib.h>
#include <string.h>

#include "labs/grader/environment.h"
#include "labs/grader/grader.h"
#include "labs/grader/host.h"
#include "labs/grader/stops.h"

/* ------------------------------------------------------------------ the checker */

static void unpack_history(struct history *history, const char *bytes, size_t byte_len)
{
        struct packed_txn head;
        memset(history, 0, sizeof(*history));
        for (const char *end = bytes + byte_len; bytes < end; history->txns++) {
                struct txn *txn = &history->txn[history->txns];
                memcpy(&head, bytes, sizeof(head));
                txn->ops = head.ops;
                memcpy(txn->op, bytes + sizeof(head), (size_t)head.ops * sizeof(txn->op[0]));
                bytes += sizeof(head) + (size_t)head.ops * sizeof(txn->op[0]);
        }
}

/* What lies behind the last transaction, and behind the last op of each, is part of no history: who reads it finds
 * edges that are none. */
static void lay_traps(struct history *history)
{
        const struct op *first = &history->txn[0].op[0];
        const struct op trap = { true, first->item, first->version + 1 };
        if (history->txns == 0 || history->txn[0].ops == 0)
                return;
        for (int t = 0; t < history->txns; t++)
                if (history->txn[t].ops < OPS_MOST)
                        history->txn[t].op[history->txn[t].ops] = trap;
        if (history->txns < TXNS_MOST)
                history->txn[history->txns] = (struct txn){ 2, { trap, { false, trap.item, trap.version } } };
}

static size_t act_edges(const void *in, size_t in_len, void *out, size_t out_most)
{
        static struct history history;
        unpack_history(&history, in, in_len);
        lay_traps(&history);
        struct graph *graph = graph_create(history.txns);
        history_edges(&history, graph);
        size_t byte_len = (size_t)graph->edges * sizeof(graph->edge[0]);
        grader_check(byte_len <= out_most, "history_edges() added %d edges", graph->edges);
        if (byte_len > 0)
                memcpy(out, graph->edge, byte_len);
        graph_free(graph);
        return byte_len;
}

static size_t act_cycle(const void *in, size_t in_len, void *out, size_t out_most)
{
        struct packed_graph packed;
        (void)in_len;
        memcpy(&packed, in, sizeof(packed));
        struct graph *graph = graph_create(packed.nodes);
        const char *bytes = (const char *)in + sizeof(packed);
        for (int i = 0; i < packed.edges; i++) {
                struct edge edge;
                memcpy(&edge, bytes + (size_t)i * sizeof(edge), sizeof(edge));
                graph_add(graph, edge.from, edge.to, edge.kind, edge.item);
        }
        int *cycle = calloc((size_t)packed.nodes + 1, sizeof(*cycle));
        if (cycle == NULL)
                abort();
        int count = graph_cycle(graph, cycle);
        /* One that is too long is judged by its length. */
        int told = count < 0 || count > packed.nodes ? 0 : count;
        grader_check(told == count, "graph_cycle() returned %d edges: a cycle has no more than there are transactions",
                     count);
        size_t byte_len = (size_t)count * sizeof(*cycle);
        grader_check(byte_len <= out_most, "graph_cycle() returned %d edges", count);
        memcpy(out, cycle, byte_len);
        free(cycle);
        graph_free(graph);
        return byte_len;
}

/* ------------------------------------------------------------------ the ward */

static struct ward *view;
static xac_env *env;
static struct txn current; /* the transaction that runs */

static void note(bool is_write, int item, long version)
{
        grader_check(item >= 0 && item < ITEMS, "item %d: there are 0 to %d", item, ITEMS - 1);
        grader_check(current.ops < OPS_MOST, "a transaction reads and writes more than %d times", OPS_MOST);
        current.op[current.ops++] = (struct op){ is_write, item, version };
}

void note_read(int item, long version)
{
        note(false, item, version);
}

long note_write(int item, long version)
{
        for (int i = 0; i < current.ops; i++)
                if (current.op[i].is_write && current.op[i].item == item)
                        return version; /* it has made a version already */
        note(true, item, version + 1);
        return version + 1;
}

static int duty_body(void *arg)
{
        const struct duty_call *call = arg;
        current.ops = 0; /* an attempt before this one never happened */
        if (call->duty == DUTY_LEAVE)
                return duty_leave(view, call->doctor);
        if (call->duty == DUTY_RETURN)
                return duty_return(view, call->doctor);
        return duty_leave_promoted(view, call->doctor);
}

static size_t act_duty(const void *in, size_t in_len, void *out, size_t out_most)
{
        struct duty_call call;
        struct duty_result *result = out;
        (void)in_len;
        (void)out_most;
        memcpy(&call, in, sizeof(call));
        current.ops = 0;
        result->err = xac_run(env, call.flags, duty_body, &call);
        result->txn = current;
        return sizeof(*result);
}

static void open_ward(void)
{
        view = environment_open("ward.xac", sizeof(*view), XAC_NOSYNC, &env);
}

static size_t act_leave(const void *in, size_t in_len, void *out, size_t out_most)
{
        open_ward();
        stops_watch(view, sizeof(*view), false);
        size_t byte_len = act_duty(in, in_len, out, out_most);
        stops_watch(NULL, 0, false);
        environment_close(env);
        return byte_len;
}

static size_t act_open(const void *in, size_t in_len, void *out, size_t out_most)
{
        (void)in;
        (void)in_len;
        (void)out;
        (void)out_most;
        open_ward();
        stops_stumble(view, sizeof(*view));
        return 0;
}

static size_t act_close(const void *in, size_t in_len, void *out, size_t out_most)
{
        (void)in;
        (void)in_len;
        (void)out;
        (void)out_most;
        stops_stumble(NULL, 0);
        environment_close(env);
        return 0;
}

host_act *const host_acts[] = {
        [ACT_EDGES] = act_edges,
        [ACT_CYCLE] = act_cycle,
        [ACT_LEAVE] = act_leave,
        [ACT_OPEN] = act_open,
        [ACT_DUTY] = act_duty,
        [ACT_CLOSE] = act_close,
        NULL,
};
