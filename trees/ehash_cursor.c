/* SPDX-License-Identifier: MIT */
#include "trees/ehash.h"

/* Cursors of hash tables: tree_cursor.h with ways through the directory, by keys as they are stored. */

struct ehash_path {
        struct ehash_way way;
        struct leaf_place at;
};

/* Where there is no bucket: before all that comes next, behind all that was before. */
static const struct bpnode nothing;

static struct leaf_place *place_at(struct ehash_path *path, unsigned i)
{
        path->at = (struct leaf_place){ path->way.leaf ? path->way.leaf : &nothing, path->way.page, i };
        return &path->at;
}

static int ways_seek(const void *table_, struct bpnode_key key, void *path_, struct leaf_place **at, bool *is_equal)
{
        const struct ehash *table = table_;
        struct ehash_path *path = path_;
        int err = ehash_find(table, ehash_front(key.bytes), &path->way);
        *is_equal = false;
        if (err)
                return err;
        *at = place_at(path, path->way.leaf ? bpnode_find(&table->shape, path->way.leaf, key, is_equal) : 0);
        return 0;
}

static int ways_first(const void *table, void *path_, struct leaf_place **at)
{
        struct ehash_path *path = path_;
        int err = ehash_find_first(table, &path->way);
        if (!err)
                *at = place_at(path, 0);
        return err;
}

static int ways_last(const void *table, void *path_, struct leaf_place **at)
{
        struct ehash_path *path = path_;
        int err = ehash_find_last(table, &path->way);
        if (!err)
                *at = place_at(path, path->way.leaf->count - 1u);
        return err;
}

static int ways_next(const void *table, void *path_, struct leaf_place **at)
{
        struct ehash_path *path = path_;
        int err = ehash_find_next(table, &path->way);
        if (!err)
                *at = place_at(path, 0);
        return err;
}

static int ways_previous(const void *table, void *path_, struct leaf_place **at)
{
        struct ehash_path *path = path_;
        int err = ehash_find_previous(table, &path->way);
        if (!err)
                *at = place_at(path, path->way.leaf->count - 1u);
        return err;
}

static void ways_copy(void *to_, const void *from, struct leaf_place **at)
{
        struct ehash_path *to = to_;
        memcpy(to, from, sizeof(*to));
        *at = &to->at;
}

static int ways_remove(void *table, struct bpnode_key key)
{
        return ehash_remove_key(table, key);
}

static int ways_seek_key(struct xac_tree_cursor *cursor, const void *key, size_t key_len, enum xac_tree_seek how)
{
        struct ehash_key stored;
        struct ehash *table = cursor->handle->tree;
        if (how != XAC_TREE_EQ)
                return -EOPNOTSUPP;
        if (!ehash_takes_key(table, key_len))
                return -EINVAL;
        int err = ehash_enter(table);
        if (err)
                return err;
        ehash_key_make(&table->shape, table->seed, key, key_len, &stored);
        return tree_cursor_seek(cursor, stored.bytes, stored.len, XAC_TREE_EQ);
}

static int ways_record(struct xac_tree_cursor *cursor, xac_tree_record *record)
{
        struct ehash *table = cursor->handle->tree;
        int err = ehash_enter(table);
        if (!err)
                err = tree_cursor_record(cursor, record);
        if (!err)
                ehash_key_show(&table->shape, table->seed, record, cursor->shown);
        return err;
}

_Static_assert(sizeof(((struct xac_tree_cursor *)NULL)->shown) == EHASH_FRONT, "ehash_key_show()");

const struct leaf_ways ehash_ways = { .path_bytes = sizeof(struct ehash_path),
                                      .seek = ways_seek,
                                      .first = ways_first,
                                      .last = ways_last,
                                      .next = ways_next,
                                      .previous = ways_previous,
                                      .copy = ways_copy,
                                      .remove = ways_remove,
                                      .seek_key = ways_seek_key,
                                      .record = ways_record };
