/* SPDX-License-Identifier: MIT */

/* Your part of the lab. README.md says what to do; table.h says what each function promises. */

#include "labs/structure/table.h"

struct table {
        /* TODO: what is it made of? Begin with what is simple; part 3 is about changing it. */
        char bytes[TABLE_BYTES];
};

/* ------------------------------------------------------------------ part 1: serial code */

int table_put(struct table *table, uint64_t key, uint64_t value)
{
        /* TODO */
        (void)table;
        (void)key;
        (void)value;
        return 0;
}

bool table_get(const struct table *table, uint64_t key, uint64_t *value)
{
        /* TODO */
        (void)table;
        (void)key;
        *value = 0;
        return false;
}

bool table_delete(struct table *table, uint64_t key)
{
        /* TODO */
        (void)table;
        (void)key;
        return false;
}

uint64_t table_count(const struct table *table)
{
        /* TODO */
        (void)table;
        return 0;
}

/* ------------------------------------------------------------------ part 2: transactions */

int shared_put(xac_env *env, struct table *table, uint64_t key, uint64_t value)
{
        /* TODO */
        (void)env;
        return table_put(table, key, value);
}

int shared_get(xac_env *env, const struct table *table, uint64_t key, uint64_t *value, bool *is_there)
{
        /* TODO */
        (void)env;
        *is_there = table_get(table, key, value);
        return 0;
}

int shared_delete(xac_env *env, struct table *table, uint64_t key, bool *was_there)
{
        /* TODO */
        (void)env;
        *was_there = table_delete(table, key);
        return 0;
}

int shared_count(xac_env *env, const struct table *table, uint64_t *count)
{
        /* TODO */
        (void)env;
        *count = table_count(table);
        return 0;
}
