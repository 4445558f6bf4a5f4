/* SPDX-License-Identifier: MIT */
#ifndef LABS_ISOLATION_JUDGE_H
#define LABS_ISOLATION_JUDGE_H

/* What the checker says, looked at with suspicion: each edge must be one, and a cycle must be a cycle. */

#include <stddef.h>

#include "labs/isolation/history.h"

/* The answer's history_edges(), into a graph that has no edge. */
void judge_ask(const struct history *history, struct graph *graph);

/* Fails the test if one of the edges is none. */
void judge_edges(const struct history *history, const struct graph *graph);

/* Runs graph_cycle(), and fails the test if what it returns is no cycle of the graph. Returns the length; the cycle, as
 * text, goes to `shown`. */
int judge_cycle(const struct graph *graph, char *shown, size_t shown_bytes);

/* The checker on a history: history_edges(), graph_cycle(), and both of the above. */
int judge_history(const struct history *history, char *shown, size_t shown_bytes);

/* Fails the test unless the checker finds a cycle where there is one: else that it finds none means nothing. */
void judge_is_awake(void);

void show_history(const struct history *history, char *text, size_t text_bytes);
void show_edge(const struct edge *edge, char *text, size_t text_bytes);

#endif
