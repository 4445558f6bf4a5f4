/* SPDX-License-Identifier: MIT */
#ifndef BENCH_PAPERS_ANKER_HTAP_VERSION_POOL_H
#define BENCH_PAPERS_ANKER_HTAP_VERSION_POOL_H

/* Where versions come from, and where the collector brings them back: each session takes them by the batch. */

#include <pthread.h>

#include "bench/papers/anker/htap/versions.h"

struct version_slab;

struct version_pool {
        pthread_mutex_t lock;
        struct version_list spare;
        struct version_slab *slabs;
        _Atomic uint64_t bytes;
};

void version_pool_open(struct version_pool *pool);
void version_pool_close(struct version_pool *pool);

/* `own` is the caller's; NULL when memory is short. */
struct version *version_take(struct version_pool *pool, struct version_list *own);
void version_put(struct version_list *own, struct version *version);
void version_give_back(struct version_pool *pool, struct version_list *list);

#endif
