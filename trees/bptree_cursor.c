/* SPDX-License-Identifier: MIT */
#include "trees/bptree.h"

/* Cursors of B+-trees: leaf_cursor.h with paths from the root. */

struct bptree_cursor {
        struct leaf_cursor cursor;
};

static int ways_seek(const void *tree, struct bpnode_key key, void *path, struct leaf_place **at, bool *is_equal)
{
        int err = bptree_path_seek(tree, key, path, is_equal);
        *at = bptree_path_leaf(path);
        return err;
}

static int ways_first(const void *tree, void *path, struct leaf_place **at)
{
        int err = bptree_path_first(tree, path);
        *at = bptree_path_leaf(path);
        return err ? err : (*at)->node->count ? 0 : -ENOENT;
}

static int ways_last(const void *tree, void *path, struct leaf_place **at)
{
        int err = bptree_path_last(tree, path);
        *at = bptree_path_leaf(path);
        return err ? err : (*at)->node->count ? 0 : -ENOENT;
}

static int ways_next(const void *tree, void *path, struct leaf_place **at)
{
        *at = bptree_path_leaf(path);
        return bptree_path_next_leaf(tree, path);
}

static int ways_previous(const void *tree, void *path, struct leaf_place **at)
{
        *at = bptree_path_leaf(path);
        return bptree_path_previous_leaf(tree, path);
}

static void ways_copy(void *to_, const void *from_, struct leaf_place **at)
{
        struct bptree_path *to = to_;
        const struct bptree_path *from = from_;
        to->depth = from->depth;
        memcpy(to->steps, from->steps, (from->depth + 1) * sizeof(from->steps[0]));
        *at = bptree_path_leaf(to);
}

static int ways_remove(void *tree, struct bpnode_key key)
{
        return bptree_remove_key(tree, key);
}

int bptree_cursor_open(bptree *tree, bptree_cursor **cursor)
{
        static const struct leaf_ways ways = { sizeof(struct bptree_path),
                                               ways_seek,
                                               ways_first,
                                               ways_last,
                                               ways_next,
                                               ways_previous,
                                               ways_copy,
                                               ways_remove };
        struct leaf_cursor *made;
        int err = leaf_cursor_open(&tree->handle, &tree->shape, &ways, &made);
        *cursor = (struct bptree_cursor *)made;
        return err;
}

void bptree_cursor_close(bptree_cursor *cursor)
{
        if (cursor)
                leaf_cursor_close(&cursor->cursor);
}

int bptree_cursor_first(bptree_cursor *cursor)
{
        return leaf_cursor_move(&cursor->cursor, MOVE_FIRST);
}

int bptree_cursor_last(bptree_cursor *cursor)
{
        return leaf_cursor_move(&cursor->cursor, MOVE_LAST);
}

int bptree_cursor_seek(bptree_cursor *cursor, const void *key, size_t key_len, enum bptree_seek how)
{
        return leaf_cursor_seek(&cursor->cursor, key, key_len, how);
}

int bptree_cursor_next(bptree_cursor *cursor)
{
        return leaf_cursor_next(&cursor->cursor);
}

int bptree_cursor_previous(bptree_cursor *cursor)
{
        return leaf_cursor_previous(&cursor->cursor);
}

int bptree_cursor_record(bptree_cursor *cursor, bptree_record *record)
{
        return leaf_cursor_record(&cursor->cursor, record);
}

int bptree_cursor_read(bptree_cursor *cursor, uint64_t offset, void *bytes, size_t room, size_t *len)
{
        return leaf_cursor_read(&cursor->cursor, offset, bytes, room, len);
}

int bptree_cursor_delete(bptree_cursor *cursor)
{
        return leaf_cursor_delete(&cursor->cursor);
}
