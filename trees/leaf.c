/* SPDX-License-Identifier: MIT */
#include "trees/leaf.h"

#include <stdlib.h>

#include "trees/overflow.h"

int leaf_copy_record(const struct bpnode_record *record, struct bpnode_record *copy)
{
        char *bytes = malloc(record->key.len + record->value_len + 1);
        if (!bytes)
                return -ENOMEM;
        memcpy(bytes, record->key.bytes, record->key.len);
        if (record->value_len)
                memcpy(bytes + record->key.len, record->value, record->value_len);
        *copy = *record;
        copy->key.bytes = bytes;
        copy->value = bytes + record->key.len;
        return 0;
}

static int copy_bytes(const void *stored, size_t len, void *value, size_t room, size_t *value_len)
{
        size_t part = len < room ? len : room;
        *value_len = len;
        if (part)
                memcpy(value, stored, part);
        return part < len ? -ERANGE : 0;
}

static int copy_chain(struct xac_arena *arena, uint32_t tree_id, struct bpnode_overflow chain, void *value, size_t room,
                      size_t *value_len)
{
        struct overflow_place place = { 0 };
        size_t copied;
        *value_len = chain.byte_len;
        int err = overflow_read(arena, tree_id, chain, &place, 0, value, room, &copied);
        return err ? err : chain.byte_len > room ? -ERANGE : 0;
}

int leaf_get(struct xac_arena *arena, const struct bpnode_shape *shape, const struct bpnode *leaf,
             struct bpnode_key key, void *value, size_t room, size_t *value_len)
{
        bool is_equal;
        unsigned i = bpnode_find(shape, leaf, key, &is_equal);
        if (!is_equal)
                return -ENOENT;
        struct bpnode_record record = bpnode_record_at(shape, leaf, i);
        if (record.is_overflow)
                return copy_chain(arena, shape->tree_id, overflow_of(record.value), value, room, value_len);
        return copy_bytes(record.value, record.value_len, value, room, value_len);
}

int leaf_chain(struct xac_arena *arena, const struct bpnode_shape *shape, const struct bpnode *leaf, unsigned i,
               struct bpnode_overflow *chain)
{
        struct bpnode_record record = bpnode_record_at(shape, leaf, i);
        *chain = (struct bpnode_overflow){ 0 };
        if (!record.is_overflow)
                return 0;
        *chain = overflow_of(record.value);
        return overflow_probe(arena, shape->tree_id, *chain);
}

int leaf_store_value(struct xac_arena *arena, const struct bpnode_shape *shape, struct bpnode_record *record,
                     struct bpnode_overflow *chain)
{
        const void *value = record->value;
        size_t value_len = record->value_len;
        if (bpnode_is_inline(shape, record->key.len, value_len))
                return 0;
        record->value = chain;
        record->value_len = sizeof(*chain);
        record->is_overflow = true;
        return overflow_write(arena, shape->tree_id, value, value_len, chain);
}
