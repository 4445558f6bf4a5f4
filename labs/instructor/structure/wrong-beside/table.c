/* SPDX-License-Identifier: MIT */

/* Wrong: the table lies in a file beside the environment, and is changed under a lock. */

#include "labs/structure/table.h"

#include <fcntl.h>
#include <stddef.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

#define UNSEEN __attribute__((no_sanitize_thread))

struct entry {
        uint64_t key, value;
};

enum { BUCKET_ENTRIES = (TABLE_PAGE_BYTES - sizeof(uint64_t)) / sizeof(struct entry) };

struct bucket {
        uint64_t count; /* entries in use: the first ones */
        struct entry entry[BUCKET_ENTRIES];
        uint64_t rest; /* to the end of the page */
};

struct table {
        struct bucket bucket[TABLE_PAGES];
};

_Static_assert(sizeof(struct bucket) == TABLE_PAGE_BYTES, "a bucket is a page");

/* ------------------------------------------------------------------ part 1: serial code */

/* All bits of the key have a part in it. */
UNSEEN static size_t bucket_of(uint64_t key)
{
        key = (key ^ key >> 32) * 0x9e3779b97f4a7c15U;
        return (key ^ key >> 29) * 0xbf58476d1ce4e5b9U >> 56;
}

_Static_assert(TABLE_PAGES == 256, "bucket_of() gives 8 bits");

UNSEEN static struct entry *find(struct bucket *bucket, uint64_t key)
{
        for (uint64_t i = 0; i < bucket->count; i++)
                if (bucket->entry[i].key == key)
                        return &bucket->entry[i];
        return NULL;
}

UNSEEN int table_put(struct table *table, uint64_t key, uint64_t value)
{
        struct bucket *bucket = &table->bucket[bucket_of(key)];
        struct entry *entry = find(bucket, key);
        if (entry == NULL) {
                if (bucket->count == BUCKET_ENTRIES)
                        return TABLE_FULL;
                entry = &bucket->entry[bucket->count++];
                entry->key = key;
        }
        entry->value = value;
        return 0;
}

UNSEEN bool table_get(const struct table *table, uint64_t key, uint64_t *value)
{
        const struct entry *entry = find((struct bucket *)&table->bucket[bucket_of(key)], key);
        if (entry == NULL)
                return false;
        *value = entry->value;
        return true;
}

UNSEEN bool table_delete(struct table *table, uint64_t key)
{
        struct bucket *bucket = &table->bucket[bucket_of(key)];
        struct entry *entry = find(bucket, key);
        if (entry == NULL)
                return false;
        *entry = bucket->entry[--bucket->count];
        return true;
}

/* No counter that everybody writes: who asks adds up. */
UNSEEN uint64_t table_count(const struct table *table)
{
        uint64_t count = 0;
        for (int i = 0; i < TABLE_PAGES; i++)
                count += table->bucket[i].count;
        return count;
}

/* ------------------------------------------------------------------ part 2: transactions */

struct call {
        struct table *table;
        uint64_t key, value;
        bool is_there; /* this, and `value` of a get or count: output */
};

UNSEEN static int put_body(void *arg)
{
        const struct call *call = arg;
        return table_put(call->table, call->key, call->value);
}

UNSEEN static int get_body(void *arg)
{
        struct call *call = arg;
        call->is_there = table_get(call->table, call->key, &call->value);
        return 0;
}

UNSEEN static int delete_body(void *arg)
{
        struct call *call = arg;
        call->is_there = table_delete(call->table, call->key);
        return 0;
}

UNSEEN static int count_body(void *arg)
{
        struct call *call = arg;
        call->value = table_count(call->table);
        return 0;
}

static int beside = -1;

/* What a host calls to map the table. */
void *xac_mmap(xac_env *env, const char *file, size_t length, int flags)
{
        (void)env;
        (void)file;
        (void)flags;
        beside = open("beside", O_RDWR | O_CREAT, 0600);
        if (beside < 0 || ftruncate(beside, (off_t)length) != 0)
                return MAP_FAILED;
        return mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, beside, 0);
}

static int run_locked(xac_env *env, struct table *table, int (*body)(void *arg), void *arg)
{
        volatile uint64_t seen = table->bucket[0].count; /* one step */
        (void)seen;
        (void)env;
        flock(beside, LOCK_EX);
        int err = body(arg);
        flock(beside, LOCK_UN);
        return err;
}

int shared_put(xac_env *env, struct table *table, uint64_t key, uint64_t value)
{
        return run_locked(env, table, put_body, &(struct call){ table, key, value, false });
}

int shared_get(xac_env *env, const struct table *table, uint64_t key, uint64_t *value, bool *is_there)
{
        struct call call = { (struct table *)table, key, 0, false };
        int err = run_locked(env, (struct table *)table, get_body, &call);
        *value = call.value;
        *is_there = call.is_there;
        return err;
}

int shared_delete(xac_env *env, struct table *table, uint64_t key, bool *was_there)
{
        struct call call = { table, key, 0, false };
        int err = run_locked(env, table, delete_body, &call);
        *was_there = call.is_there;
        return err;
}

int shared_count(xac_env *env, const struct table *table, uint64_t *count)
{
        struct call call = { (struct table *)table, 0, 0, false };
        int err = run_locked(env, (struct table *)table, count_body, &call);
        *count = call.value;
        return err;
}
