/* SPDX-License-Identifier: MIT */
#include "trees/cobtree.h"

/* Cursors of cache-oblivious B-trees: leaf_cursor.h with the places of segments. */

struct cobtree_cursor {
        struct leaf_cursor cursor;
};

/* Where a record is. */
struct cobtree_path {
        struct cobindex_place segment;
        struct leaf_place at;
};

static int enter_segment(const struct cobtree *tree, struct cobtree_path *path, struct leaf_place **at)
{
        path->at = (struct leaf_place){ .page = cobtree_page(tree, path->segment) };
        *at = &path->at;
        return cobtree_read(tree, path->at.page, &path->at.node);
}

static int ways_first(const void *tree_, void *path_, struct leaf_place **at)
{
        const struct cobtree *tree = tree_;
        struct cobtree_path *path = path_;
        int err = cobindex_first(&tree->index, &path->segment);
        return err ? err : enter_segment(tree, path, at);
}

static int to_last_record(const struct cobtree *tree, struct cobtree_path *path, struct leaf_place **at)
{
        int err = enter_segment(tree, path, at);
        if (!err)
                path->at.i = path->at.node->count - 1u;
        return err;
}

static int ways_last(const void *tree_, void *path_, struct leaf_place **at)
{
        const struct cobtree *tree = tree_;
        struct cobtree_path *path = path_;
        int err = cobindex_last(&tree->index, &path->segment);
        return err ? err : to_last_record(tree, path, at);
}

static int ways_seek(const void *tree_, struct bpnode_key key, void *path_, struct leaf_place **at, bool *is_equal)
{
        const struct cobtree *tree = tree_;
        struct cobtree_path *path = path_;
        bool is_used;
        int err = cobindex_find(&tree->index, key, &path->segment, &is_used);
        if (err || !is_used)
                return err ? err : -ENOENT;
        err = enter_segment(tree, path, at);
        if (!err)
                path->at.i = bpnode_find(&tree->index.shape, path->at.node, key, is_equal);
        return err;
}

static int ways_next(const void *tree_, void *path_, struct leaf_place **at)
{
        const struct cobtree *tree = tree_;
        struct cobtree_path *path = path_;
        int err = cobindex_next(&tree->index, &path->segment);
        return err ? err : enter_segment(tree, path, at);
}

static int ways_previous(const void *tree_, void *path_, struct leaf_place **at)
{
        const struct cobtree *tree = tree_;
        struct cobtree_path *path = path_;
        int err = cobindex_previous(&tree->index, &path->segment);
        return err ? err : to_last_record(tree, path, at);
}

static void ways_copy(void *to_, const void *from, struct leaf_place **at)
{
        struct cobtree_path *to = to_;
        memcpy(to, from, sizeof(*to));
        *at = &to->at;
}

static int ways_remove(void *tree, struct bpnode_key key)
{
        return cobtree_remove_key(tree, key);
}

int cobtree_cursor_open(cobtree *tree, cobtree_cursor **cursor)
{
        static const struct leaf_ways ways = { sizeof(struct cobtree_path),
                                               ways_seek,
                                               ways_first,
                                               ways_last,
                                               ways_next,
                                               ways_previous,
                                               ways_copy,
                                               ways_remove };
        struct leaf_cursor *made;
        int err = leaf_cursor_open(&tree->handle, &tree->index.shape, &ways, &made);
        *cursor = (struct cobtree_cursor *)made;
        return err;
}

void cobtree_cursor_close(cobtree_cursor *cursor)
{
        if (cursor)
                leaf_cursor_close(&cursor->cursor);
}

int cobtree_cursor_first(cobtree_cursor *cursor)
{
        return leaf_cursor_move(&cursor->cursor, MOVE_FIRST);
}

int cobtree_cursor_last(cobtree_cursor *cursor)
{
        return leaf_cursor_move(&cursor->cursor, MOVE_LAST);
}

int cobtree_cursor_seek(cobtree_cursor *cursor, const void *key, size_t key_len, enum bptree_seek how)
{
        return leaf_cursor_seek(&cursor->cursor, key, key_len, how);
}

int cobtree_cursor_next(cobtree_cursor *cursor)
{
        return leaf_cursor_next(&cursor->cursor);
}

int cobtree_cursor_previous(cobtree_cursor *cursor)
{
        return leaf_cursor_previous(&cursor->cursor);
}

int cobtree_cursor_record(cobtree_cursor *cursor, cobtree_record *record)
{
        return leaf_cursor_record(&cursor->cursor, record);
}

int cobtree_cursor_read(cobtree_cursor *cursor, uint64_t offset, void *bytes, size_t room, size_t *len)
{
        return leaf_cursor_read(&cursor->cursor, offset, bytes, room, len);
}

int cobtree_cursor_delete(cobtree_cursor *cursor)
{
        int err = leaf_cursor_delete(&cursor->cursor);
        return err ? err : cobtree_tidy(cursor->cursor.handle->tree);
}
