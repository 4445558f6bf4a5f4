/* SPDX-License-Identifier: MIT */
#include "bench/send/store.h"

#include <endian.h>
#include <string.h>

static const char file_name[] = "trees", tree_name[] = "tree";

const char *const store_layouts[STORE_LAYOUTS] = { "packed", "scattered" };

void store_key(uint64_t number, unsigned char key[STORE_KEY])
{
        const uint64_t big = htobe64(number);
        memcpy(key, &big, STORE_KEY);
}

static void fill_value(const struct store *store, uint64_t number, unsigned char *value)
{
        memset(value, (int)number, store->record_bytes - STORE_KEY);
        memcpy(value, &number, sizeof(number));
}

void store_change(struct store *store, uint64_t number, uint64_t value)
{
        unsigned char key[STORE_KEY], bytes[STORE_RECORD_MAX];

        store_key(number, key);
        fill_value(store, value, bytes);
        must(xac_tree_put(store->tree, key, sizeof(key), bytes, store->record_bytes - STORE_KEY, 0), "xac_tree_put");
}

struct loading {
        const struct store *store;
        uint64_t next;
        unsigned char key[STORE_KEY], value[STORE_RECORD_MAX];
};

static int load_next(void *loading_, xac_tree_record *record)
{
        struct loading *loading = loading_;

        if (loading->next == loading->store->records)
                return 0;
        store_key(loading->next, loading->key);
        fill_value(loading->store, loading->next++, loading->value);
        *record =
                (xac_tree_record){ loading->key, STORE_KEY, loading->value, loading->store->record_bytes - STORE_KEY };
        return 1;
}

bool store_is_possible(uint32_t record_bytes, enum store_layout layout)
{
        return layout == STORE_SCATTERED || record_bytes <= STORE_KEY + XAC_TREE_FIXED_VALUE_MAX;
}

void store_open(struct store *store, uint32_t record_bytes, enum store_layout layout, uint64_t bytes, bool is_durable)
{
        const bool is_packed = layout == STORE_PACKED;
        const xac_tree_options options = { .key_bytes = is_packed ? STORE_KEY : 0,
                                           .value_bytes = is_packed ? record_bytes - STORE_KEY : 0 };
        const xac_options sizes = { .pool_bytes = 4 * bytes + (64 << 20) };
        struct loading loading = { .store = store };

        *store = (struct store){ .records = bytes / record_bytes, .record_bytes = record_bytes, .layout = layout };
        scratch_make(&store->scratch, 1);
        store->scratch.is_durable = is_durable;
        store->scratch.options = &sizes;
        scratch_open(&store->scratch, XAC_CREATE);
        must(xac_arena_open_env(store->scratch.env, file_name, XAC_ARENA_DECLARED, &store->arena),
             "xac_arena_open_env");
        must(xac_tree_open(store->arena, tree_name, XAC_TREE_CREATE, &options, &store->tree), "xac_tree_open");
        must(xac_tree_load(store->tree, load_next, &loading), "xac_tree_load");
        store->scratch.options = NULL;
}

void store_close(struct store *store)
{
        xac_tree_close(store->tree);
        must(xac_arena_close(store->arena), "xac_arena_close");
        scratch_close(&store->scratch);
        scratch_remove(&store->scratch);
}
