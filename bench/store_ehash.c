/* SPDX-License-Identifier: MIT */

/* The hash table of libxactrees; store_tree.h says how it is configured. Pages of 4 KiB. It has no order: a scan is of
 * all records, and a load is puts in one transaction. */

#include "bench/store.h"

#include <errno.h>

#include <xac/bptree.h>
#include <xac/ehash.h>

typedef ehash hash;

static int hash_open(page_arena *arena, const char *name, int flags, const bptree_options *options, hash **table)
{
        const ehash_options its_options = { options->key_bytes, options->value_bytes };
        return ehash_open(arena, name, flags, &its_options, table);
}

static void hash_close(hash *table)
{
        ehash_close(table);
}

static int hash_put(hash *table, const void *key, size_t key_len, const void *value, size_t value_len, int flags)
{
        return ehash_put(table, key, key_len, value, value_len, flags);
}

static int hash_get(hash *table, const void *key, size_t key_len, void *value, size_t room, size_t *value_len)
{
        return ehash_get(table, key, key_len, value, room, value_len);
}

static int hash_delete(hash *table, const void *key, size_t key_len)
{
        return ehash_delete(table, key, key_len);
}

static int hash_scan(hash *table, const void *from, size_t from_len, const void *to, size_t to_len,
                     int (*visit)(void *arg, const bptree_record *record), void *arg)
{
        (void)from;
        (void)from_len;
        (void)to;
        (void)to_len;
        return ehash_scan(table, visit, arg);
}

/* Records one by one: its keys are not stored as they are. */
static int hash_scan_runs(hash *table, const void *from, size_t from_len, const void *to, size_t to_len,
                          int (*visit)(void *arg, const void *records, size_t count), void *arg)
{
        (void)table;
        (void)from;
        (void)from_len;
        (void)to;
        (void)to_len;
        (void)visit;
        (void)arg;
        return -ENOTSUP;
}

static int hash_load(hash *table, int (*next)(void *arg, bptree_record *record), void *arg)
{
        bptree_record record;
        int err;

        while ((err = next(arg, &record)) > 0) {
                err = ehash_put(table, record.key, record.key_len, record.value, record.value_len, 0);
                if (err)
                        return err;
        }
        return err;
}

#define TREE(name)            hash##name
#define TREE_PAGE_BYTES(task) 4096
#define TREE_IS_UNORDERED
#include "bench/store_tree.h"

const struct store store_ehash = STORE_OF_TREE("ehash", "tree", NULL, open_declared);
const struct store store_ehash_view = STORE_OF_TREE("ehash-view", "tree", &store_ehash, open_view);
const struct store store_ehash_serial = STORE_OF_TREE("ehash-serial", NULL, NULL, open_serial);
