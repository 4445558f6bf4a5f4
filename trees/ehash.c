/* SPDX-License-Identifier: MIT */
#include "trees/ehash.h"

void ehash_init(struct page_arena *arena, const struct catalog_record *record, struct ehash *table)
{
        memset(table, 0, sizeof(*table));
        table->arena = arena;
        table->root = record->root;
        table->shape = (struct bpnode_shape){ .page_bytes = arena->page_bytes,
                                              .tree_id = record->tree_id,
                                              .is_fixed = record->key_bytes != 0,
                                              .value_bytes = record->value_bytes };
}

void ehash_end(struct ehash *table)
{
        ehash_cache_free(&table->cache);
}

/* ---- the seed ---- */

struct learning {
        struct ehash *table;
        int result;
};

int ehash_read_seed(struct ehash *table)
{
        const struct ehash_node *root;
        int err = ehash_node(table, table->root, 0, &root);
        if (err)
                return err;
        table->seed = root->seed;
        table->has_seed = true;
        return 0;
}

static int seed_body(void *arg)
{
        struct learning *learning = arg;
        return handle_settle(&learning->result, ehash_read_seed(learning->table));
}

int ehash_enter(struct ehash *table)
{
        struct learning learning = { .table = table };
        int err = handle_enter(&table->handle);
        if (err || table->has_seed)
                return err;
        err = arena_run(table->arena, XAC_RDONLY, seed_body, &learning);
        return err ? err : learning.result;
}

/* ---- lookups ---- */

struct get {
        struct ehash *table;
        void *value;
        size_t room;
        size_t value_len;
        int result;
        struct ehash_key key;
};

/* Where the cache leads: what is found there is right (E1). -ENOENT: it may be elsewhere. */
static int get_by_cache(struct get *get)
{
        const struct ehash *table = get->table;
        const struct ehash_node *root;
        int err = ehash_node(table, table->root, 0, &root);
        if (err)
                return err;
        const page_no page = ehash_cache_page(&table->cache, get->key.hash);
        if (!page)
                return -ENOENT;
        const struct bpnode *leaf = arena_read(table->arena, page);
        if (!leaf)
                return ARENA_LOST;
        if (!bpnode_is_of(&table->shape, leaf, 0))
                return -ENOENT;
        return leaf_get(table->arena, &table->shape, leaf, ehash_stored(&get->key), get->value, get->room,
                        &get->value_len);
}

static int get_by_directory(struct get *get)
{
        struct ehash *table = get->table;
        struct ehash_way way;
        int err = ehash_find(table, get->key.hash, &way);
        if (err)
                return err;
        ehash_learn(table, &way);
        if (!way.leaf)
                return -ENOENT;
        return leaf_get(table->arena, &table->shape, way.leaf, ehash_stored(&get->key), get->value, get->room,
                        &get->value_len);
}

static int get_body(void *arg)
{
        struct get *get = arg;
        int err = get_by_cache(get);
        if (err == -ENOENT)
                err = get_by_directory(get);
        return handle_settle(&get->result, err);
}

int ehash_get(ehash *table, const void *key, size_t key_len, void *value, size_t room, size_t *value_len)
{
        struct get get;
        if (!ehash_takes_key(table, key_len))
                return -EINVAL;
        int err = ehash_enter(table);
        if (err)
                return err;
        get.table = table;
        get.value = value;
        get.room = room;
        ehash_key_make(&table->shape, table->seed, key, key_len, &get.key);
        err = arena_run(table->arena, XAC_RDONLY, get_body, &get);
        if (!err)
                err = get.result;
        if (value_len && (!err || err == -ERANGE))
                *value_len = get.value_len;
        return err;
}
