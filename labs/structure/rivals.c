/* SPDX-License-Identifier: MIT */

#include "labs/structure/rivals.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#include <xac/tree.h>

#include "labs/grader/environment.h"
#include "labs/grader/grader.h"
#include "labs/structure/table.h"

static void must(int err, const char *what)
{
        grader_check(err == 0, "%s: %s", what, xac_strerror(err));
}

static void *shared_zeros(size_t byte_len)
{
        void *memory = mmap(NULL, byte_len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        grader_check(memory != MAP_FAILED, "mmap: %s", strerror(errno));
        return memory;
}

static void make_lock(pthread_mutex_t *lock)
{
        pthread_mutexattr_t attributes;
        pthread_mutexattr_init(&attributes);
        pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
        pthread_mutex_init(lock, &attributes);
        pthread_mutexattr_destroy(&attributes);
}

static void nothing(void)
{
}

/* ------------------------------------------------------------------ your serial code under one lock */

static pthread_mutex_t *lock;
static struct table *locked_table;

static void locked_prepare(void)
{
        lock = shared_zeros(TABLE_PAGE_BYTES);
        make_lock(lock);
        locked_table = shared_zeros(TABLE_BYTES);
}

static void locked_put(uint64_t key, uint64_t value)
{
        pthread_mutex_lock(lock);
        table_put(locked_table, key, value);
        pthread_mutex_unlock(lock);
}

static bool locked_get(uint64_t key, uint64_t *value)
{
        pthread_mutex_lock(lock);
        bool is_there = table_get(locked_table, key, value);
        pthread_mutex_unlock(lock);
        return is_there;
}

static void locked_remove(uint64_t key)
{
        pthread_mutex_lock(lock);
        table_delete(locked_table, key);
        pthread_mutex_unlock(lock);
}

/* ------------------------------------------------------------------ a table with a lock in each bucket */

enum { BUCKETS = 4096, BUCKET_KEYS = 15 };

struct bucket {
        pthread_mutex_t lock;
        uint64_t count;
        uint64_t key[BUCKET_KEYS], value[BUCKET_KEYS];
};

static struct bucket *buckets;

static void buckets_prepare(void)
{
        buckets = shared_zeros(BUCKETS * sizeof(*buckets));
        for (int i = 0; i < BUCKETS; i++)
                make_lock(&buckets[i].lock);
}

static struct bucket *bucket_of(uint64_t key)
{
        return &buckets[(key * 0x9e3779b97f4a7c15U) >> 52];
}

static uint64_t bucket_find(const struct bucket *bucket, uint64_t key)
{
        uint64_t i = 0;
        while (i < bucket->count && bucket->key[i] != key)
                i++;
        return i;
}

static void buckets_put(uint64_t key, uint64_t value)
{
        struct bucket *bucket = bucket_of(key);
        pthread_mutex_lock(&bucket->lock);
        uint64_t i = bucket_find(bucket, key);
        if (i < BUCKET_KEYS) {
                bucket->count += i == bucket->count;
                bucket->key[i] = key;
                bucket->value[i] = value;
        }
        pthread_mutex_unlock(&bucket->lock);
}

static bool buckets_get(uint64_t key, uint64_t *value)
{
        struct bucket *bucket = bucket_of(key);
        pthread_mutex_lock(&bucket->lock);
        uint64_t i = bucket_find(bucket, key);
        bool is_there = i < bucket->count;
        if (is_there)
                *value = bucket->value[i];
        pthread_mutex_unlock(&bucket->lock);
        return is_there;
}

static void buckets_remove(uint64_t key)
{
        struct bucket *bucket = bucket_of(key);
        pthread_mutex_lock(&bucket->lock);
        uint64_t i = bucket_find(bucket, key);
        if (i < bucket->count) {
                bucket->count--;
                bucket->key[i] = bucket->key[bucket->count];
                bucket->value[i] = bucket->value[bucket->count];
        }
        pthread_mutex_unlock(&bucket->lock);
}

/* ------------------------------------------------------------------ transactions: your table, and a B+-tree */

static xac_env *env;
static struct table *table;
static xac_arena *arena;
static xac_tree *tree;

static void table_enter(void)
{
        table = environment_open("table.xac", TABLE_BYTES, XAC_VOLATILE, &env);
}

static void table_leave(void)
{
        environment_close(env);
}

static void transaction_put(uint64_t key, uint64_t value)
{
        must(shared_put(env, table, key, value), "shared_put");
}

static bool transaction_get(uint64_t key, uint64_t *value)
{
        bool is_there = false;
        must(shared_get(env, table, key, value, &is_there), "shared_get");
        return is_there;
}

static void transaction_remove(uint64_t key)
{
        bool was_there;
        must(shared_delete(env, table, key, &was_there), "shared_delete");
}

static uint64_t conflicts(void)
{
        xac_stats stats;
        must(xac_stat(env, &stats), "xac_stat");
        return stats.conflicts;
}

static void tree_enter(void)
{
        environment_open("tree.xac", TABLE_PAGE_BYTES, XAC_VOLATILE, &env);
        must(xac_arena_open_env(env, "tree", XAC_ARENA_DECLARED, &arena), "xac_arena_open_env");
        const xac_tree_options options = { .key_bytes = 8, .value_bytes = 8 };
        must(xac_tree_open(arena, "numbers", XAC_TREE_CREATE, &options, &tree), "xac_tree_open");
}

static void tree_leave(void)
{
        xac_tree_close(tree);
        must(xac_arena_close(arena), "xac_arena_close");
        environment_close(env);
}

static void tree_put(uint64_t key, uint64_t value)
{
        must(xac_tree_put(tree, &key, sizeof(key), &value, sizeof(value), 0), "xac_tree_put");
}

static bool tree_get(uint64_t key, uint64_t *value)
{
        int err = xac_tree_get(tree, &key, sizeof(key), value, sizeof(*value), NULL);
        must(err == -ENOENT ? 0 : err, "xac_tree_get");
        return err == 0;
}

static void tree_remove(uint64_t key)
{
        int err = xac_tree_delete(tree, &key, sizeof(key));
        must(err == -ENOENT ? 0 : err, "xac_tree_delete");
}

const struct rival rivals[RIVALS] = {
        { "your table, one lock", locked_prepare, nothing, locked_put, locked_get, locked_remove, nothing, NULL },
        { "a lock for each bucket", buckets_prepare, nothing, buckets_put, buckets_get, buckets_remove, nothing, NULL },
        { "your table, transactions", table_enter, table_enter, transaction_put, transaction_get, transaction_remove,
          table_leave, conflicts },
        { "B+-tree, transactions", tree_enter, tree_enter, tree_put, tree_get, tree_remove, tree_leave, conflicts },
};
