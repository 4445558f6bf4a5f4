/* SPDX-License-Identifier: MIT */
#include "bench/store.h"

static const struct store *const stores[] = {
        &store_bptree,       &store_bptree_view,    &store_bptree_serial, &store_cobtree,
        &store_cobtree_view, &store_cobtree_serial, &store_ehash,         &store_ehash_view,
        &store_ehash_serial, &store_dense,          &store_dense_visit,
#ifdef HAVE_LMDB
        &store_lmdb,         &store_lmdb_write,
#endif
#ifdef HAVE_BDB
        &store_bdb,          &store_bdb_256k,       &store_bdb_64m,       &store_bdb_hash,
#endif
#ifdef HAVE_ROCKSDB
        &store_rocksdb,
#endif
#ifdef HAVE_SQLITE
        &store_sqlite,
#endif
};

enum { STORES = sizeof(stores) / sizeof(stores[0]) };

const struct store *store_find(const char *name)
{
        for (size_t i = 0; i < STORES; i++)
                if (strcmp(stores[i]->name, name) == 0)
                        return stores[i];
        return NULL;
}

const char *store_names(void)
{
        static char names[256];

        names[0] = '\0';
        for (size_t i = 0; i < STORES; i++) {
                strncat(names, i ? "," : "", sizeof(names) - strlen(names) - 1);
                strncat(names, stores[i]->name, sizeof(names) - strlen(names) - 1);
        }
        return names;
}
