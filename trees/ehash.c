/* SPDX-License-Identifier: MIT */
#include "trees/ehash.h"

void ehash_init(struct xac_arena *arena, const struct catalog_record *record, struct ehash *table)
{
        memset(table, 0, sizeof(*table));
        table->arena = arena;
        table->root = record->root;
        table->shape = (struct bpnode_shape){ .page_bytes = arena->page_bytes,
                                              .tree_id = record->tree_id,
                                              .is_fixed = record->key_bytes != 0,
                                              .value_bytes = record->value_bytes,
                                              .has_quarters = true };
}

void ehash_end(struct ehash *table)
{
        ehash_shortcut_stop(table->shortcut);
        ehash_cache_free(&table->cache);
}

/* ---- what is known of the directory ---- */

void ehash_learn(struct ehash *table, const struct ehash_way *way)
{
        const struct xac_arena *arena = table->arena;
        const struct ehash_lesson lesson = ehash_cache_learn(&table->cache, way->begin, ehash_way_depth(way), way->page,
                                                             arena->byte_len >> arena->page_shift);
        if (!table->shortcut)
                return;
        if (lesson.is_anew)
                ehash_shortcut_anew(table->shortcut, table->cache.bits, table->cache.page);
        else if (lesson.count)
                ehash_shortcut_set(table->shortcut, lesson.first, lesson.count, way->page);
}

void ehash_count(struct ehash *table, int more)
{
        if (!table->shortcut)
                return;
        table->buckets += (uint64_t)more;
        ehash_shortcut_note_buckets(table->shortcut, table->buckets);
}

static int learn_all(struct ehash *table)
{
        struct ehash_way way;
        int err = ehash_find_first(table, &way);
        for (; !err; err = ehash_find_next(table, &way)) {
                ehash_learn(table, &way);
                table->buckets++;
        }
        return err == -ENOENT ? 0 : err;
}

/* An arena that can be rewired has no transactions. */
int ehash_take_shortcut(struct ehash *table, bool is_tried)
{
        struct ehash_shortcut *shortcut = NULL;
        if (table->shortcut)
                return 0;
        table->buckets = 0;
        int err = ehash_shortcut_start(table->arena, is_tried, &shortcut);
        if (!err)
                err = learn_all(table);
        if (err) {
                ehash_shortcut_stop(shortcut);
                return err;
        }
        table->shortcut = shortcut;
        if (table->cache.page)
                ehash_shortcut_anew(shortcut, table->cache.bits, table->cache.page);
        ehash_count(table, 0);
        return 0;
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
        return 0;
}

static int seed_body(void *arg)
{
        struct learning *learning = arg;
        return tree_settle(&learning->result, ehash_read_seed(learning->table));
}

/* E5 */
static bool is_seed_known(const struct ehash *table)
{
        return table->seed_in == SEED_FOR_GOOD || (table->seed_in && table->seed_in == arena_txn(table->arena));
}

int ehash_enter(struct ehash *table)
{
        struct learning learning = { .table = table };
        int err = tree_enter(&table->handle);
        if (err || is_seed_known(table))
                return err;
        err = arena_run(table->arena, XAC_RDONLY, seed_body, &learning);
        if (!err)
                err = learning.result;
        if (!err)
                table->seed_in = table->handle.confirm ? arena_txn(table->arena) : SEED_FOR_GOOD;
        return err;
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

/* By the shortcut, or where the cache leads; NULL, and 0: it is not known. */
static inline int get_leaf(const struct ehash *table, uint64_t hash, const struct bpnode **leaf)
{
        const char *base = table->shortcut ? ehash_shortcut_base(table->shortcut) : NULL;
        *leaf = NULL;
        if (base) {
                *leaf = (const struct bpnode *)(base + (hash >> (64 - table->cache.bits) << table->arena->page_shift));
                return 0;
        }
        const page_no page = ehash_cache_page(&table->cache, hash);
        if (page)
                *leaf = arena_read(table->arena, page);
        return page && !*leaf ? ARENA_LOST : 0;
}

/* What is found there is right (E1). -ENOENT: it may be elsewhere. */
static int get_at_once(struct get *get)
{
        const struct ehash *table = get->table;
        const struct ehash_node *root;
        const struct bpnode *leaf;
        int err = ehash_node(table, table->root, 0, &root);
        if (!err)
                err = get_leaf(table, get->key.hash, &leaf);
        if (err)
                return err;
        if (!leaf || !bpnode_is_of(&table->shape, leaf, 0))
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
        int err = get_at_once(get);
        if (err == -ENOENT)
                err = get_by_directory(get);
        return tree_settle(&get->result, err);
}

int ehash_get(struct xac_tree *handle, const void *key, size_t key_len, void *value, size_t room, size_t *value_len)
{
        struct ehash *table = handle->tree;
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

/* ---- as a kind of tree ---- */

static int make(struct xac_arena *arena, const struct catalog_record *record)
{
        struct ehash table;
        ehash_init(arena, record, &table);
        return ehash_create(&table);
}

static struct xac_tree *begin(struct xac_arena *arena, const struct catalog_record *record, xac_tree_compare compare,
                              void *compare_arg, void *table_)
{
        struct ehash *table = table_;
        (void)compare, (void)compare_arg;
        ehash_init(arena, record, table);
        return &table->handle;
}

static void end(void *table)
{
        ehash_end(table);
}

static const struct bpnode_shape *shape(const void *table)
{
        return &((const struct ehash *)table)->shape;
}

const struct tree_kind ehash_kind = { .number = XAC_TREE_HASH,
                                      .flag = CATALOG_EHASH,
                                      .tree_bytes = sizeof(struct ehash),
                                      .make = make,
                                      .begin = begin,
                                      .end = end,
                                      .shape = shape,
                                      .ways = &ehash_ways,
                                      .put = ehash_put,
                                      .get = ehash_get,
                                      .delete = ehash_delete,
                                      .scan = ehash_scan,
                                      .arrange = ehash_arrange,
                                      .stat = ehash_stat };
