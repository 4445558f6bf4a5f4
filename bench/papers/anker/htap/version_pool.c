/* SPDX-License-Identifier: MIT */
#include "bench/papers/anker/htap/version_pool.h"

#include <stdlib.h>

enum { BATCH = 512, SLAB_VERSIONS = 8192 };

struct version_slab {
        struct version_slab *next;
        struct version version[SLAB_VERSIONS];
};

void version_pool_open(struct version_pool *pool)
{
        *pool = (struct version_pool){ .lock = PTHREAD_MUTEX_INITIALIZER };
}

void version_pool_close(struct version_pool *pool)
{
        while (pool->slabs) {
                struct version_slab *slab = pool->slabs;
                pool->slabs = slab->next;
                free(slab);
        }
        pthread_mutex_destroy(&pool->lock);
}

static struct version *pop(struct version_list *list)
{
        struct version *version = list->first;
        if (version) {
                list->first = atomic_load_explicit(&version->next, memory_order_relaxed);
                list->count--;
        }
        return version;
}

void version_put(struct version_list *own, struct version *version)
{
        atomic_store_explicit(&version->next, own->first, memory_order_relaxed);
        own->first = version;
        own->count++;
}

static void add_slab_locked(struct version_pool *pool)
{
        struct version_slab *slab = malloc(sizeof(*slab));
        if (!slab)
                return;
        slab->next = pool->slabs;
        pool->slabs = slab;
        for (int v = SLAB_VERSIONS - 1; v >= 0; v--)
                version_put(&pool->spare, &slab->version[v]);
        atomic_fetch_add_explicit(&pool->bytes, sizeof(*slab), memory_order_relaxed);
}

struct version *version_take(struct version_pool *pool, struct version_list *own)
{
        if (own->first)
                return pop(own);
        pthread_mutex_lock(&pool->lock);
        if (pool->spare.count < BATCH)
                add_slab_locked(pool);
        for (int v = 0; v < BATCH && pool->spare.first; v++)
                version_put(own, pop(&pool->spare));
        pthread_mutex_unlock(&pool->lock);
        return pop(own);
}

void version_give_back(struct version_pool *pool, struct version_list *list)
{
        struct version_list given = *list;
        struct version *last = given.first;

        *list = (struct version_list){ 0 };
        if (!last)
                return;
        for (struct version *next; (next = atomic_load_explicit(&last->next, memory_order_relaxed));)
                last = next;
        pthread_mutex_lock(&pool->lock);
        atomic_store_explicit(&last->next, pool->spare.first, memory_order_relaxed);
        pool->spare.first = given.first;
        pool->spare.count += given.count;
        pthread_mutex_unlock(&pool->lock);
}
