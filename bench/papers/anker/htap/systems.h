/* SPDX-License-Identifier: MIT */
#ifndef BENCH_PAPERS_ANKER_HTAP_SYSTEMS_H
#define BENCH_PAPERS_ANKER_HTAP_SYSTEMS_H

/*
 * What is compared: the engines with their isolation, and SQLite. A seat is a thread's use of an open system.
 *
 *      homogeneous, heterogeneous      serializable, by precision locking
 *      homogeneous-eager               the same, with a collector every 10 ms instead of each second
 *      heterogeneous-pages             serializable, by libxac's validation of pages
 *      ...-snapshot                    snapshot isolation
 *      sqlite                          in memory, WAL, nothing is synced; only where it was found by configure
 */

#include "bench/papers/anker/htap/olap.h"
#include "bench/papers/anker/htap/oltp.h"
#include "bench/papers/anker/htap/sql_ops.h"

struct system_spec {
        const char *name;
        enum isolation isolation;
        const struct engine_ops *ops; /* one of the two */
        const struct sql_ops *sql;
        uint64_t collect_ms; /* 0: what the plan says */
};

struct system {
        const struct system_spec *spec;
        const struct tables *tables;
        struct engine *engine;
        void *database;
};

struct system_seat {
        struct system *system;
        struct session *session;
        void *sql;
};

/* NULL: there is no such system. */
const struct system_spec *system_find(const char *name);

/* All end the program on failure. `plan` holds what the name does not say. */
void system_open(struct system *system, const struct system_spec *spec, const struct engine_plan *plan,
                 const struct tables *tables);
void system_close(struct system *system);
void system_join(struct system *system, struct system_seat *seat);
void system_leave(struct system_seat *seat);

/* Until it commits; returns how often it was lost before. */
uint64_t system_oltp(struct system_seat *seat, const struct oltp *oltp);
void system_olap(struct system_seat *seat, const struct olap *olap, struct answer *answer);

#endif
