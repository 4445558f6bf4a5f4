/* SPDX-License-Identifier: MIT */
#include "trees/ehash.h"

#include <stdlib.h>

/* Cursors of hash tables: leaf_cursor.h with ways through the directory, by keys as they are stored. */

struct ehash_cursor {
        struct leaf_cursor *cursor;
        struct ehash *table;
        unsigned char shown[EHASH_FRONT]; /* fixed: the key of the record that was asked for last */
};

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

int ehash_cursor_open(ehash *table, ehash_cursor **cursor)
{
        static const struct leaf_ways ways = { sizeof(struct ehash_path),
                                               ways_seek,
                                               ways_first,
                                               ways_last,
                                               ways_next,
                                               ways_previous,
                                               ways_copy,
                                               ways_remove };
        struct ehash_cursor *made = malloc(sizeof(*made));
        *cursor = NULL;
        if (!made)
                return -ENOMEM;
        made->table = table;
        int err = leaf_cursor_open(&table->handle, &table->shape, &ways, &made->cursor);
        if (err)
                free(made);
        else
                *cursor = made;
        return err;
}

void ehash_cursor_close(ehash_cursor *cursor)
{
        if (!cursor)
                return;
        leaf_cursor_close(cursor->cursor);
        free(cursor);
}

int ehash_cursor_first(ehash_cursor *cursor)
{
        return leaf_cursor_move(cursor->cursor, MOVE_FIRST);
}

int ehash_cursor_last(ehash_cursor *cursor)
{
        return leaf_cursor_move(cursor->cursor, MOVE_LAST);
}

int ehash_cursor_seek(ehash_cursor *cursor, const void *key, size_t key_len)
{
        struct ehash_key stored;
        if (!cursor->cursor->handle || !ehash_takes_key(cursor->table, key_len))
                return -EINVAL;
        int err = ehash_enter(cursor->table);
        if (err)
                return err;
        ehash_key_make(&cursor->table->shape, cursor->table->seed, key, key_len, &stored);
        return leaf_cursor_seek(cursor->cursor, stored.bytes, stored.len, BPTREE_EQ);
}

int ehash_cursor_next(ehash_cursor *cursor)
{
        return leaf_cursor_next(cursor->cursor);
}

int ehash_cursor_previous(ehash_cursor *cursor)
{
        return leaf_cursor_previous(cursor->cursor);
}

int ehash_cursor_record(ehash_cursor *cursor, ehash_record *record)
{
        if (!cursor->cursor->handle)
                return -EINVAL;
        int err = ehash_enter(cursor->table);
        if (!err)
                err = leaf_cursor_record(cursor->cursor, record);
        if (!err)
                ehash_key_show(&cursor->table->shape, cursor->table->seed, record, cursor->shown);
        return err;
}

int ehash_cursor_read(ehash_cursor *cursor, uint64_t offset, void *bytes, size_t room, size_t *len)
{
        return leaf_cursor_read(cursor->cursor, offset, bytes, room, len);
}

int ehash_cursor_delete(ehash_cursor *cursor)
{
        return leaf_cursor_delete(cursor->cursor);
}
