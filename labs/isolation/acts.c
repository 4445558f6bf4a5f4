/* SPDX-License-Identifier: MIT */

#include "labs/isolation/acts.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "labs/grader/access.h"
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

/* ------------------------------------------------------------------ notes and accesses agree */

enum { NO_ITEM = -1 };

static bool is_noted[ITEMS];        /* what the transaction has noted: it may read that */
static int unnoted;                 /* the item whose version it has read, and is to note now; or NO_ITEM */
static const struct item *writable; /* the one that it has noted a write of, last; or NULL */

static void begin_notes(void)
{
        current.ops = 0; /* an attempt before this one never happened */
        memset(is_noted, 0, sizeof(is_noted));
        unnoted = NO_ITEM;
        writable = NULL;
}

static void check_noted(int but)
{
        grader_check(unnoted == NO_ITEM || unnoted == but, "the version of item %d was read, and that was not noted",
                     unnoted);
        unnoted = NO_ITEM;
}

/* ward_read() and ward_write() read the version, and note it then. */
static void judge_read(size_t at, size_t byte_len)
{
        const size_t item = at / sizeof(struct item), field = at % sizeof(struct item);
        if (item < ITEMS && is_noted[item] && field + byte_len <= sizeof(struct item))
                return;
        grader_check(item < ITEMS && field == offsetof(struct item, version) && byte_len == sizeof(long),
                     "a read of byte %zu: items are read by ward_read() alone", at);
        unnoted = (int)item;
}

/* What is read or written besides would be in no history. */
static void judge(const void *addr, size_t byte_len, bool is_write)
{
        const uintptr_t start = (uintptr_t)view, from = (uintptr_t)addr;
        if (from + byte_len <= start || from >= start + sizeof(*view))
                return;
        check_noted(NO_ITEM);
        if (is_write)
                grader_check(from - (uintptr_t)writable < sizeof(*writable),
                             "a write to byte %zu: items are written by ward_write() alone", from - start);
        else
                judge_read(from - start, byte_len);
}

static void note(bool is_write, int item, long version)
{
        grader_check(item >= 0 && item < ITEMS, "item %d: there are 0 to %d", item, ITEMS - 1);
        grader_check(current.ops < OPS_MOST, "a transaction reads and writes more than %d times", OPS_MOST);
        check_noted(item);
        grader_check(version == view->item[item].version + is_write, "version %ld of item %d is noted; it has %ld",
                     version - is_write, item, view->item[item].version);
        is_noted[item] = true;
        current.op[current.ops++] = (struct op){ is_write, item, version };
}

void note_read(int item, long version)
{
        note(false, item, version);
}

static bool has_written(int item, long version)
{
        for (int i = 0; i < current.ops; i++)
                if (current.op[i].is_write && current.op[i].item == item && current.op[i].version == version)
                        return true;
        return false;
}

long note_write(int item, long version)
{
        if (has_written(item, version))
                check_noted(item); /* it has made a version already */
        else
                note(true, item, ++version);
        writable = &view->item[item];
        return version;
}

/* Before the transaction ends: what is noted as written is. */
static void check_notes(void)
{
        check_noted(NO_ITEM);
        for (int i = 0; i < current.ops; i++) {
                const struct op *op = &current.op[i];
                grader_check(!op->is_write || view->item[op->item].version == op->version,
                             "a write of item %d is noted, and it has not been written", op->item);
        }
}

static int call_answer(const struct duty_call *call)
{
        if (call->duty == DUTY_LEAVE)
                return duty_leave(view, call->doctor);
        if (call->duty == DUTY_RETURN)
                return duty_return(view, call->doctor);
        return duty_leave_promoted(view, call->doctor);
}

static int duty_body(void *arg)
{
        begin_notes();
        access_judge(judge);
        int err = call_answer(arg);
        access_judge(NULL);
        check_notes();
        return err;
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

/* In two acts, so that others begin meanwhile. */
static size_t act_begin(const void *in, size_t in_len, void *out, size_t out_most)
{
        struct duty_call call;
        (void)in_len;
        (void)out;
        (void)out_most;
        memcpy(&call, in, sizeof(call));
        int err = xbegin(env, call.flags);
        grader_check(err == 0, "xbegin: %s", xac_strerror(err));
        return 0;
}

static size_t act_end(const void *in, size_t in_len, void *out, size_t out_most)
{
        struct duty_call call;
        struct duty_result *result = out;
        (void)in_len;
        (void)out_most;
        memcpy(&call, in, sizeof(call));
        result->err = duty_body(&call);
        int err = result->err == 0 ? xend(env) : xabort(env);
        result->err = result->err == 0 ? err : result->err;
        result->txn = current;
        return sizeof(*result);
}

static void open_ward(void)
{
        view = environment_open("ward.xac", sizeof(*view), XAC_NOSYNC | XAC_STRICT, &env);
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
        [ACT_EDGES] = act_edges, [ACT_CYCLE] = act_cycle, [ACT_LEAVE] = act_leave,
        [ACT_OPEN] = act_open,   [ACT_DUTY] = act_duty,   [ACT_BEGIN] = act_begin,
        [ACT_END] = act_end,     [ACT_CLOSE] = act_close, NULL,
};
