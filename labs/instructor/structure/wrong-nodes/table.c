/* SPDX-License-Identifier: MIT */

/* Wrong: nodes are taken one after the other, from one place: neighbours in time share a page, and everybody writes
 * where the next one is taken from. */

#include "labs/structure/table.h"

#include <stddef.h>

enum { CHAINS = 4096, NODES = 40000 };

struct node {
        uint64_t key, value;
        uint64_t next; /* number of the node behind it; 0: none */
};

struct table {
        uint32_t chain[CHAINS]; /* the first node */
        uint64_t used;          /* nodes that were ever taken */
        uint64_t free;          /* the first node that was given back */
        uint64_t keys;
        struct node node[NODES]; /* number 0 is not used */
};

_Static_assert(sizeof(struct table) <= TABLE_BYTES, "it fits");

/* ------------------------------------------------------------------ part 1: serial code */

static size_t chain_of(uint64_t key)
{
        key = (key ^ key >> 32) * 0x9e3779b97f4a7c15U;
        return (key ^ key >> 29) * 0xbf58476d1ce4e5b9U >> 52;
}

static uint64_t find(const struct table *table, uint64_t key)
{
        uint64_t node = table->chain[chain_of(key)];
        while (node != 0 && table->node[node].key != key)
                node = table->node[node].next;
        return node;
}

static uint64_t take_node(struct table *table)
{
        uint64_t node = table->free;
        if (node != 0)
                table->free = table->node[node].next;
        else if (table->used + 1 < NODES)
                node = ++table->used;
        return node;
}

int table_put(struct table *table, uint64_t key, uint64_t value)
{
        uint64_t node = find(table, key);
        if (node == 0) {
                node = take_node(table);
                if (node == 0)
                        return TABLE_FULL;
                table->node[node].key = key;
                table->node[node].next = table->chain[chain_of(key)];
                table->chain[chain_of(key)] = (uint32_t)node;
                table->keys++;
        }
        table->node[node].value = value;
        return 0;
}

bool table_get(const struct table *table, uint64_t key, uint64_t *value)
{
        uint64_t node = find(table, key);
        if (node == 0)
                return false;
        *value = table->node[node].value;
        return true;
}

bool table_delete(struct table *table, uint64_t key)
{
        uint64_t node = table->chain[chain_of(key)], before = 0;
        for (; node != 0 && table->node[node].key != key; node = table->node[node].next)
                before = node;
        if (node == 0)
                return false;
        if (before != 0)
                table->node[before].next = table->node[node].next;
        else
                table->chain[chain_of(key)] = (uint32_t)table->node[node].next;
        table->node[node].next = table->free;
        table->free = node;
        table->keys--;
        return true;
}

uint64_t table_count(const struct table *table)
{
        return table->keys;
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
