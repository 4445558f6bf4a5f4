/* SPDX-License-Identifier: MIT */
#include "trees/ehash.h"

#include <stdlib.h>

#include "trees/overflow.h"

struct put {
        struct ehash *table;
        const struct ehash_key *key;
        const void *value;
        size_t value_len;
        int flags;
        int result;
};

/* What a put needs before it changes anything. */
struct supplies {
        struct page_reserve reserve;  /* for splits */
        struct bpnode_overflow place; /* of the value, which nothing leads to yet */
        struct bpnode_record record;
        struct bpnode_overflow old; /* the value that goes */
};

/* Where the record is, or is to be, in its bucket. */
struct place {
        unsigned i;
        bool is_equal;
        bool has_room;
};

static void look(const struct ehash *table, const struct ehash_way *way, const struct bpnode_record *record,
                 struct place *place)
{
        *place = (struct place){ 0 };
        if (!way->leaf)
                return;
        place->i = bpnode_find(&table->shape, way->leaf, record->key, &place->is_equal);
        place->has_room = leaf_bytes_to_store(&table->shape, record) <=
                          leaf_room_at(&table->shape, way->leaf, place->i, place->is_equal);
}

/* Leaves no page taken when it fails. */
static int prepare(const struct ehash *table, const struct ehash_way *way, uint64_t hash, const struct place *place,
                   struct supplies *supplies)
{
        const struct bpnode_shape *shape = &table->shape;
        int err = place->is_equal ? leaf_chain(table->arena, shape, way->leaf, place->i, &supplies->old) : 0;
        if (!err && !place->has_room)
                err = ehash_split_reserve(table, way, hash, leaf_bytes_to_store(shape, &supplies->record),
                                          &supplies->reserve);
        if (err)
                return err;
        err = leaf_store_value(table->arena, shape, &supplies->record, &supplies->place);
        if (!err || err == ARENA_LOST)
                return err;
        int release_err = page_alloc_release(table->arena, &supplies->reserve);
        return release_err ? release_err : err;
}

/* The change itself, when everything is ready for it (T3). */
static int store_at(struct ehash *table, struct ehash_way *way, uint64_t hash, const struct place *place,
                    struct supplies *supplies)
{
        const struct bpnode_shape *shape = &table->shape;
        if (!place->is_equal && !place->has_room)
                return ehash_split(table, way, hash, &supplies->record, &supplies->reserve);
        struct bpnode *leaf;
        int err = ehash_write_bucket(table, way->page, &leaf);
        if (err)
                return err;
        if (place->has_room && place->is_equal)
                bpnode_replace(shape, leaf, place->i, &supplies->record);
        else if (place->has_room)
                bpnode_insert(shape, leaf, place->i, &supplies->record);
        else
                bpnode_remove(shape, leaf, place->i);
        return place->has_room ? 0 : ehash_split(table, way, hash, &supplies->record, &supplies->reserve);
}

/* A bucket that is full or not there, or a value in overflow pages: the new one or the old. */
static int put_slowly(const struct put *put)
{
        struct ehash *table = put->table;
        struct supplies supplies = {
                .record = { .key = ehash_stored(put->key), .value = put->value, .value_len = put->value_len }
        };
        struct ehash_way way;
        struct place place;
        int err = ehash_find(table, put->key->hash, &way);
        if (err)
                return err;
        look(table, &way, &supplies.record, &place);
        err = prepare(table, &way, put->key->hash, &place, &supplies);
        if (!err)
                err = store_at(table, &way, put->key->hash, &place, &supplies);
        if (!err && supplies.old.byte_len)
                err = overflow_free(table->arena, table->shape.tree_id, supplies.old);
        if (!err && supplies.reserve.count)
                err = page_alloc_release(table->arena, &supplies.reserve);
        return err;
}

static int put_into(const struct put *put, struct bpnode *leaf)
{
        struct bpnode_record record = { .key = ehash_stored(put->key),
                                        .value = put->value,
                                        .value_len = put->value_len };
        int err = leaf_put(&put->table->shape, leaf, &record);
        return err == -EAGAIN ? put_slowly(put) : err;
}

/* From a copy, as the page is going to be rearranged under the original. The key is one already. */
static int put_copy(const struct put *put, struct bpnode *leaf)
{
        struct put copy = *put;
        void *value = malloc(put->value_len ? put->value_len : 1);
        if (!value)
                return -ENOMEM;
        memcpy(value, put->value, put->value_len);
        copy.value = value;
        int err = put_into(&copy, leaf);
        free(value);
        return err;
}

/* XAC_TREE_NOOVERWRITE: looks before it writes. */
static bool is_there(const struct put *put, const struct ehash_way *way)
{
        bool is_equal = false;
        if (way->leaf)
                bpnode_find(&put->table->shape, way->leaf, ehash_stored(put->key), &is_equal);
        return is_equal;
}

static int put_body(void *arg)
{
        struct put *put = arg;
        struct ehash_way way;
        put->result = 0;
        int err = ehash_find(put->table, put->key->hash, &way);
        if (!err && put->flags & XAC_TREE_NOOVERWRITE && is_there(put, &way))
                err = -EEXIST;
        if (err)
                return tree_settle(&put->result, err);
        err = tree_cursors_before_change(&put->table->handle);
        if (err || !way.page)
                return err ? err : put_slowly(put);
        struct bpnode *leaf;
        err = ehash_write_bucket(put->table, way.page, &leaf);
        if (err)
                return err;
        return leaf_is_inside(&put->table->shape, leaf, put->value) ? put_copy(put, leaf) : put_into(put, leaf);
}

int ehash_put(struct xac_tree *handle, const void *key, size_t key_len, const void *value, size_t value_len, int flags)
{
        struct ehash *table = handle->tree;
        struct ehash_key stored;
        struct put put = { table, &stored, value, value_len, flags, 0 };
        if (!ehash_takes_key(table, key_len) || !leaf_takes_value(&table->shape, value_len) ||
            flags & ~XAC_TREE_NOOVERWRITE)
                return -EINVAL;
        int err = ehash_enter(table);
        if (err)
                return err;
        ehash_key_make(&table->shape, table->seed, key, key_len, &stored);
        err = arena_run(table->arena, 0, put_body, &put);
        return err ? err : put.result;
}
