/* SPDX-License-Identifier: MIT */
#ifndef BENCH_PAPERS_ANKER_HTAP_HOMOGENEOUS_H
#define BENCH_PAPERS_ANKER_HTAP_HOMOGENEOUS_H

/*
 * The paper's baseline: one representation of the tables, in plain memory of one process, for transactions and queries.
 * Commits are the commits of precision locking: the sequence is the timestamp.
 *
 * A snapshot is the number of the newest commit when it begins, which a session shows in its seat as long as it uses
 * it. The collector takes the smallest of these, or the newest commit where nobody is, and drops the versions that
 * nobody from there on can see. What it drops it reuses only when all who were there have left.
 */

#include "bench/papers/anker/htap/engine.h"
#include "bench/papers/anker/htap/version_pool.h"
#include "bench/papers/anker/htap/versions.h"

enum { SEATS = 64 };

struct seat {
        _Alignas(64) _Atomic uint64_t snapshot; /* + 1; 0: none */
        struct session *session;                /* whose it is; NULL: free */
};

struct engine {
        struct engine_plan plan;
        const struct tables *tables;
        struct precision precision;
        struct versioned column[COLUMNS];
        struct version_pool pool;
        struct seat seat[SEATS];
        pthread_mutex_t seats_lock;

        pthread_t collector;
        pthread_mutex_t collector_lock;
        pthread_cond_t collector_wakes;
        bool is_ending;
        struct version_list limbo; /* dropped as of commit limbo_until; perhaps still looked at */
        uint64_t limbo_until;
        _Atomic uint64_t passes, dropped;
};

/* The newest commit that all snapshots have, now and from now on. */
uint64_t homogeneous_oldest(struct engine *engine);

int collector_start(struct engine *engine);
void collector_end(struct engine *engine);
void collector_pass(struct engine *engine);

#endif
