/* SPDX-License-Identifier: MIT */

/* Wrong: whoever inserts or deletes writes one counter, and so the page that it is in. */

#include "labs/structure/table.h"

#include <stddef.h>

struct entry {
        uint64_t key, value;
};

enum { BUCKET_ENTRIES = (TABLE_PAGE_BYTES - sizeof(uint64_t)) / sizeof(struct entry) };

struct bucket {
        uint64_t count; /* entries in use: the first ones */
        struct entry entry[BUCKET_ENTRIES];
        uint64_t keys; /* of bucket 0: in all buckets */
};

struct table {
        struct bucket bucket[TABLE_PAGES];
};

_Static_assert(sizeof(struct bucket) == TABLE_PAGE_BYTES, "a bucket is a page");

/* ------------------------------------------------------------------ part 1: serial code */

/* All bits of the key have a part in it. */
static size_t bucket_of(uint64_t key)
{
        key = (key ^ key >> 32) * 0x9e3779b97f4a7c15U;
        return ((key ^ key >> 29) * 0xbf58476d1ce4e5b9U >> 32) % TABLE_PAGES;
}

static struct entry *find(struct bucket *bucket, uint64_t key)
{
        for (uint64_t i = 0; i < bucket->count; i++)
                if (bucket->entry[i].key == key)
                        return &bucket->entry[i];
        return NULL;
}

int table_put(struct table *table, uint64_t key, uint64_t value)
{
        struct bucket *bucket = &table->bucket[bucket_of(key)];
        struct entry *entry = find(bucket, key);
        if (entry == NULL) {
                if (bucket->count == BUCKET_ENTRIES)
                        return TABLE_FULL;
                entry = &bucket->entry[bucket->count++];
                entry->key = key;
                table->bucket[0].keys++;
        }
        entry->value = value;
        return 0;
}

bool table_get(const struct table *table, uint64_t key, uint64_t *value)
{
        const struct entry *entry = find((struct bucket *)&table->bucket[bucket_of(key)], key);
        if (entry == NULL)
                return false;
        *value = entry->value;
        return true;
}

bool table_delete(struct table *table, uint64_t key)
{
        struct bucket *bucket = &table->bucket[bucket_of(key)];
        struct entry *entry = find(bucket, key);
        if (entry == NULL)
                return false;
        *entry = bucket->entry[--bucket->count];
        table->bucket[0].keys--;
        return true;
}

uint64_t table_count(const struct table *table)
{
        return table->bucket[0].keys;
}

/* ------------------------------------------------------------------ part 2: transactions */

struct call {
        struct table *table;
        uint64_t key, value;
        bool is_there; /* this, and `value` of a get or count: output */
};

static int put_body(void *arg)
{
        const struct call *call = arg;
        return table_put(call->table, call->key, call->value);
}

static int get_body(void *arg)
{
        struct call *call = arg;
        call->is_there = table_get(call->table, call->key, &call->value);
        return 0;
}

static int delete_body(void *arg)
{
        struct call *call = arg;
        call->is_there = table_delete(call->table, call->key);
        return 0;
}

static int count_body(void *arg)
{
        struct call *call = arg;
        call->value = table_count(call->table);
        return 0;
}

int shared_put(xac_env *env, struct table *table, uint64_t key, uint64_t value)
{
        return xac_run(env, 0, put_body, &(struct call){ table, key, value, false });
}

int shared_get(xac_env *env, const struct table *table, uint64_t key, uint64_t *value, bool *is_there)
{
        struct call call = { (struct table *)table, key, 0, false };
        int err = xac_run(env, XAC_RDONLY, get_body, &call);
        *value = call.value;
        *is_there = call.is_there;
        return err;
}

int shared_delete(xac_env *env, struct table *table, uint64_t key, bool *was_there)
{
        struct call call = { table, key, 0, false };
        int err = xac_run(env, 0, delete_body, &call);
        *was_there = call.is_there;
        return err;
}

int shared_count(xac_env *env, const struct table *table, uint64_t *count)
{
        struct call call = { (struct table *)table, 0, 0, false };
        int err = xac_run(env, XAC_RDONLY, count_body, &call);
        *count = call.value;
        return err;
}
