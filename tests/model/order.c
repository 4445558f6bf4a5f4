/* SPDX-License-Identifier: MIT */
#include "tests/model/order.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static void *allocate(size_t count, size_t element_bytes)
{
        void *memory = calloc(count + 1, element_bytes);

        if (memory == NULL) {
                perror("model: order");
                exit(2);
        }
        return memory;
}

static void order_start(struct order *order, const struct history *history)
{
        if (order->room < 2 * history->attempt_count) {
                free(order->positions);
                order->room = 3 * history->attempt_count;
                order->positions = allocate(order->room, sizeof(order->positions[0]));
        }
        order->count = 0;
}

void order_free(struct order *order)
{
        free(order->positions);
}

/*
 * By tickets. Who read ticket t and published took t + 1; everybody else who read t comes
 * before that.
 */

static _Thread_local const struct attempt *sorting;

static int compare_tickets(const void *a_, const void *b_)
{
        const struct attempt *a = &sorting[((const struct position *)a_)->attempt];
        const struct attempt *b = &sorting[((const struct position *)b_)->attempt];

        if (a->record->ticket != b->record->ticket)
                return a->record->ticket < b->record->ticket ? -1 : 1;
        if (a->is_published != b->is_published)
                return a->is_published ? 1 : -1;
        return a->record->begin_ns < b->record->begin_ns ? -1 : a->record->begin_ns > b->record->begin_ns;
}

struct earliest {
        uint64_t end_ns;
        uint32_t attempt;
};

static void earliest_note(struct earliest *earliest, const struct attempt *attempt, uint32_t attempt_no)
{
        if (attempt->record->end_ns < earliest->end_ns)
                *earliest = (struct earliest){ attempt->record->end_ns, attempt_no };
}

/* Nobody may have ended before somebody began who stands before him. */
static bool agrees_with_real_time(const struct order *order, struct history *history)
{
        struct earliest any = { UINT64_MAX, 0 }, promised = { UINT64_MAX, 0 };

        for (uint32_t i = order->count; i-- > 0;) {
                uint32_t attempt_no = order->positions[i].attempt;
                const struct attempt *attempt = &history->attempts[attempt_no];
                const struct earliest *earliest = attempt->is_durable ? &promised : &any;

                if (earliest->end_ns < attempt->record->begin_ns) {
                        printf("DIFFERENCE (run seed %" PRIu64 "): a transaction did not see what had ended before\n",
                               history->seed);
                        history_print_attempt(history, earliest->attempt);
                        history_print_attempt(history, attempt_no);
                        history->differences++;
                        return false;
                }
                earliest_note(&any, attempt, attempt_no);
                if (attempt->is_promised)
                        earliest_note(&promised, attempt, attempt_no);
        }
        return true;
}

static bool tickets_are_taken_once(const struct order *order, struct history *history)
{
        const struct attempt *last = NULL;

        for (uint32_t i = 0; i < order->count; i++) {
                const struct attempt *attempt = &history->attempts[order->positions[i].attempt];

                if (!attempt->is_published)
                        continue;
                if (last != NULL && attempt->record->ticket != last->record->ticket + 1) {
                        printf("DIFFERENCE (run seed %" PRIu64 "): tickets %" PRIu64 " and %" PRIu64
                               " follow each other\n",
                               history->seed, last->record->ticket, attempt->record->ticket);
                        history_print_attempt(history, order->positions[i].attempt);
                        history->differences++;
                        return false;
                }
                last = attempt;
        }
        return true;
}

bool order_by_tickets(struct order *order, struct history *history)
{
        order_start(order, history);
        for (uint32_t a = 0; a < history->attempt_count; a++)
                if (history->attempts[a].record->read_count >= 2 || !history->attempts[a].record->was_stopped)
                        order->positions[order->count++] = (struct position){ a, PART_WHOLE };
        sorting = history->attempts;
        qsort(order->positions, order->count, sizeof(order->positions[0]), compare_tickets);
        return tickets_are_taken_once(order, history) && agrees_with_real_time(order, history);
}

/*
 * By the graph: nodes 2a (attempt a reads) and 2a + 1 (it writes; only if it is split). A
 * node is ready when everything that must come before it is in the order. Real time is not
 * edges but a gate: a may read once everybody is in the order who ended before a began. Durable readers have a gate
 * of their own, at which only those count whose commits were promised to be durable.
 */

struct gate {
        uint32_t *by_begin; /* attempts that are to come through */
        uint32_t *by_end;   /* attempts that must be in the order before */
        uint32_t begins, ends;
        uint32_t begun; /* gone through, in by_begin */
        uint32_t ended; /* all in the order, in by_end */
};

enum { GATE_ANY, GATE_DURABLE, GATES };

struct graph {
        struct history *history;
        struct order *order;
        uint32_t *waits_for; /* of each node: how many others */
        uint32_t *ready;     /* nodes */
        uint32_t ready_count;
        struct gate gates[GATES];
        uint8_t *is_out; /* attempts completely in the order */
};

static uint32_t reads_node(uint32_t attempt)
{
        return 2 * attempt;
}

static uint32_t writes_node(const struct history *history, uint32_t attempt)
{
        return 2 * attempt + history->attempts[attempt].is_split;
}

static int compare_begins(const void *a, const void *b)
{
        uint64_t x = sorting[*(const uint32_t *)a].record->begin_ns;
        uint64_t y = sorting[*(const uint32_t *)b].record->begin_ns;

        return x < y ? -1 : x > y;
}

static int compare_ends(const void *a, const void *b)
{
        uint64_t x = sorting[*(const uint32_t *)a].record->end_ns;
        uint64_t y = sorting[*(const uint32_t *)b].record->end_ns;

        return x < y ? -1 : x > y;
}

/* Who replaced the version that this touch saw, if not the same attempt. */
static uint32_t replacer(const struct history *history, uint32_t touch)
{
        const struct seen *seen = &history->seen[touch];
        uint32_t next;

        if (seen->version == HISTORY_NONE)
                return HISTORY_NONE;
        next = history->versions[seen->version].next_writer;
        return next == seen->attempt ? HISTORY_NONE : next;
}

static void graph_count(struct graph *graph, uint32_t attempt_no)
{
        const struct history *history = graph->history;
        const struct attempt *attempt = &history->attempts[attempt_no];

        graph->waits_for[reads_node(attempt_no)]++; /* the gate */
        if (attempt->is_split)
                graph->waits_for[writes_node(history, attempt_no)]++;
        for (uint32_t i = 0; i < attempt->record->touch_count; i++) {
                uint32_t touch = attempt->first_touch + i;

                if (history_writer(history, history->seen[touch].version) != HISTORY_NONE)
                        graph->waits_for[reads_node(attempt_no)]++;
                if (replacer(history, touch) != HISTORY_NONE)
                        graph->waits_for[writes_node(history, replacer(history, touch))]++;
        }
}

static void gates_make(struct graph *graph)
{
        const struct history *history = graph->history;

        for (uint32_t a = 0; a < history->attempt_count; a++) {
                const struct attempt *attempt = &history->attempts[a];
                struct gate *mine = &graph->gates[attempt->is_durable ? GATE_DURABLE : GATE_ANY];
                struct gate *any = &graph->gates[GATE_ANY], *durable = &graph->gates[GATE_DURABLE];

                mine->by_begin[mine->begins++] = a;
                any->by_end[any->ends++] = a;
                if (attempt->is_promised)
                        durable->by_end[durable->ends++] = a;
        }
        sorting = history->attempts;
        for (uint32_t i = 0; i < GATES; i++) {
                struct gate *gate = &graph->gates[i];

                qsort(gate->by_begin, gate->begins, sizeof(uint32_t), compare_begins);
                qsort(gate->by_end, gate->ends, sizeof(uint32_t), compare_ends);
        }
}

static void graph_make(struct graph *graph, struct order *order, struct history *history)
{
        uint32_t n = history->attempt_count;

        *graph = (struct graph){ .history = history, .order = order };
        graph->waits_for = allocate(2 * (size_t)n, sizeof(uint32_t));
        graph->ready = allocate(2 * (size_t)n, sizeof(uint32_t));
        graph->is_out = allocate(n, 1);
        for (uint32_t i = 0; i < GATES; i++) {
                graph->gates[i].by_begin = allocate(n, sizeof(uint32_t));
                graph->gates[i].by_end = allocate(n, sizeof(uint32_t));
        }
        for (uint32_t a = 0; a < n; a++)
                graph_count(graph, a);
        gates_make(graph);
}

static void graph_free(struct graph *graph)
{
        free(graph->waits_for);
        free(graph->ready);
        for (uint32_t i = 0; i < GATES; i++) {
                free(graph->gates[i].by_begin);
                free(graph->gates[i].by_end);
        }
        free(graph->is_out);
}

static void came_before(struct graph *graph, uint32_t node)
{
        if (--graph->waits_for[node] == 0)
                graph->ready[graph->ready_count++] = node;
}

static void gate_open(struct graph *graph, struct gate *gate)
{
        const struct attempt *attempts = graph->history->attempts;

        while (gate->ended < gate->ends && graph->is_out[gate->by_end[gate->ended]])
                gate->ended++;
        while (gate->begun < gate->begins &&
               (gate->ended == gate->ends || attempts[gate->by_begin[gate->begun]].record->begin_ns <=
                                                     attempts[gate->by_end[gate->ended]].record->end_ns))
                came_before(graph, reads_node(gate->by_begin[gate->begun++]));
}

static void gates_open(struct graph *graph)
{
        for (uint32_t i = 0; i < GATES; i++)
                gate_open(graph, &graph->gates[i]);
}

/* Its reads are in the order: whoever replaces what it saw may follow. */
static void reads_out(struct graph *graph, uint32_t attempt_no)
{
        const struct attempt *attempt = &graph->history->attempts[attempt_no];

        for (uint32_t i = 0; i < attempt->record->touch_count; i++) {
                uint32_t next = replacer(graph->history, attempt->first_touch + i);

                if (next != HISTORY_NONE)
                        came_before(graph, writes_node(graph->history, next));
        }
        if (attempt->is_split)
                came_before(graph, writes_node(graph->history, attempt_no));
}

/* Its writes are in the order: whoever saw them may follow. */
static void writes_out(struct graph *graph, uint32_t attempt_no)
{
        const struct history *history = graph->history;
        const struct attempt *attempt = &history->attempts[attempt_no];

        graph->is_out[attempt_no] = 1;
        if (!attempt->is_published)
                return;
        for (uint32_t i = 0; i < attempt->record->touch_count; i++) {
                uint32_t made = history->world->pages + attempt->first_touch + i;
                uint32_t reader = history->versions[made].first_reader;

                for (; reader != HISTORY_NONE; reader = history->seen[reader].next_reader)
                        came_before(graph, reads_node(history->seen[reader].attempt));
        }
}

static void node_out(struct graph *graph, uint32_t node)
{
        uint32_t attempt_no = node / 2;
        bool is_split = graph->history->attempts[attempt_no].is_split;
        enum part part = !is_split ? PART_WHOLE : node % 2 ? PART_WRITES : PART_READS;

        graph->order->positions[graph->order->count++] = (struct position){ attempt_no, part };
        if (part != PART_WRITES)
                reads_out(graph, attempt_no);
        if (part != PART_READS)
                writes_out(graph, attempt_no);
}

/*
 * A circle: from any node that is not in the order, go to one that it waits for, until one
 * comes again.
 */

/* An attempt that `attempt_no` waits for, and why. */
static uint32_t waits_for_whom(const struct graph *graph, uint32_t attempt_no, const char **why)
{
        const struct history *history = graph->history;
        const struct attempt *attempt = &history->attempts[attempt_no];
        const struct gate *gate = &graph->gates[attempt->is_durable ? GATE_DURABLE : GATE_ANY];

        for (uint32_t i = 0; i < attempt->record->touch_count; i++) {
                const struct seen *seen = &history->seen[attempt->first_touch + i];
                uint32_t writer = history_writer(history, seen->version);
                uint32_t reader;

                *why = "saw a version of";
                if (writer != HISTORY_NONE && !graph->is_out[writer])
                        return writer;
                if (seen->version == HISTORY_NONE || history->versions[seen->version].next_writer != attempt_no)
                        continue;
                *why = "replaced a version that was seen by";
                reader = history->versions[seen->version].first_reader;
                for (; reader != HISTORY_NONE; reader = history->seen[reader].next_reader)
                        if (history->seen[reader].attempt != attempt_no &&
                            graph->waits_for[reads_node(history->seen[reader].attempt)] != 0)
                                return history->seen[reader].attempt;
        }
        *why = "began after the end of";
        return gate->ended < gate->ends ? gate->by_end[gate->ended] : attempt_no;
}

static void print_circle(const struct graph *graph)
{
        uint32_t n = graph->history->attempt_count;
        uint8_t *is_seen = allocate(n, 1);
        uint32_t at = graph->gates[GATE_ANY].by_end[graph->gates[GATE_ANY].ended];
        const char *why;

        while (!is_seen[at]) {
                is_seen[at] = 1;
                at = waits_for_whom(graph, at, &why);
        }
        for (int i = 0; i < 12 && is_seen[at] != 2; i++) {
                uint32_t next = waits_for_whom(graph, at, &why);

                is_seen[at] = 2;
                printf("  attempt %u %s attempt %u\n", at, why, next);
                history_print_attempt(graph->history, at);
                at = next;
        }
        free(is_seen);
}

bool order_by_graph(struct order *order, struct history *history)
{
        struct graph graph;
        bool is_complete;

        order_start(order, history);
        graph_make(&graph, order, history);
        gates_open(&graph);
        while (graph.ready_count > 0) {
                node_out(&graph, graph.ready[--graph.ready_count]);
                gates_open(&graph);
        }
        is_complete = graph.gates[GATE_ANY].ended == history->attempt_count;
        if (!is_complete) {
                history->differences++;
                printf("DIFFERENCE (run seed %" PRIu64 ", round %u): no serial order explains what was seen:\n",
                       history->seed, history->round);
                print_circle(&graph);
        }
        graph_free(&graph);
        return is_complete;
}
