/* SPDX-License-Identifier: MIT */
#include "tests/trees/tree_model_state.h"

/* Cursors, and where they should stand. */

#include <errno.h>
#include <string.h>

static struct model_cursor *choose_cursor(struct model *model)
{
        return &model->cursors[chance_below(&model->chance, CURSORS)];
}

static void place(struct model *model, struct model_cursor *cursor, size_t i)
{
        const struct sorted_record *record = model->now.records[i];

        cursor->is_placed = true;
        cursor->is_deleted = false;
        cursor->txn = model->txn;
        memcpy(cursor->key, record->bytes, record->key_len);
        cursor->key_len = record->key_len;
}

static int usable(const struct model *model, const struct model_cursor *cursor)
{
        if (!cursor->is_placed)
                return -EINVAL;
        return cursor->txn == 0 || cursor->txn == model->txn ? 0 : -ESTALE;
}

void model_cursor_edge(struct model *model)
{
        struct model_cursor *cursor = choose_cursor(model);
        bool is_first = chance_percent(&model->chance, 50);
        int err = is_first ? xac_tree_cursor_first(cursor->cursor) : xac_tree_cursor_last(cursor->cursor);

        model_same(model, "first or last", err, model->now.count ? 0 : -ENOENT);
        if (!err)
                place(model, cursor, is_first ? 0 : model->now.count - 1);
}

void model_cursor_seek(struct model *model)
{
        struct model_cursor *cursor = choose_cursor(model);
        enum xac_tree_seek how = (enum xac_tree_seek)chance_below(&model->chance, 3);
        bool is_equal;

        model_choose_key(model, 50);
        size_t i = sorted_find(&model->now, model->key, model->key_len, &is_equal);
        if (how == XAC_TREE_LE && !is_equal)
                i--; /* SIZE_MAX: none */
        bool is_there = how == XAC_TREE_EQ ? is_equal : i < model->now.count;
        int err = xac_tree_cursor_seek(cursor->cursor, model->key, model->key_len, how);
        model_same(model, "xac_tree_cursor_seek", err, is_there ? 0 : -ENOENT);
        if (!err)
                place(model, cursor, i);
}

void model_cursor_step(struct model *model)
{
        struct model_cursor *cursor = choose_cursor(model);
        bool is_next = chance_percent(&model->chance, 60);

        for (unsigned steps = 1 + (unsigned)chance_below(&model->chance, 30); steps; steps--) {
                bool is_equal = false;
                int expected = usable(model, cursor);
                size_t i = expected ? 0 : sorted_find(&model->now, cursor->key, cursor->key_len, &is_equal);
                i = is_next ? i + is_equal : i - 1;
                if (!expected && i >= model->now.count)
                        expected = -ENOENT;
                int err = is_next ? xac_tree_cursor_next(cursor->cursor) : xac_tree_cursor_previous(cursor->cursor);
                model_same(model, is_next ? "xac_tree_cursor_next" : "xac_tree_cursor_previous", err, expected);
                if (err)
                        return;
                place(model, cursor, i);
        }
}

/* Outside a transaction: the key it keeps. */
static void look_outside(struct model *model, struct model_cursor *cursor)
{
        xac_tree_record record;
        int expected = usable(model, cursor);

        if (!expected && cursor->is_deleted)
                expected = -ENOENT;
        model_same(model, "xac_tree_cursor_record, outside", xac_tree_cursor_record(cursor->cursor, &record), expected);
        if (expected)
                return;
        model_same(model, "the kept key's length", (long long)record.key_len, (long long)cursor->key_len);
        model_same(model, "the kept key", memcmp(record.key, cursor->key, record.key_len), 0);
        model_same(model, "whether there is a value", record.value != NULL, 0);
}

void model_cursor_look(struct model *model)
{
        struct model_cursor *cursor = choose_cursor(model);
        xac_tree_record record;
        bool is_equal;
        size_t i = 0;
        int expected = usable(model, cursor);

        if (model->txn == 0) {
                look_outside(model, cursor);
                return;
        }
        if (!expected)
                i = sorted_find(&model->now, cursor->key, cursor->key_len, &is_equal);
        if (!expected && (cursor->is_deleted || i == model->now.count))
                expected = -ENOENT;
        model_same(model, "xac_tree_cursor_record", xac_tree_cursor_record(cursor->cursor, &record), expected);
        if (expected)
                return;
        place(model, cursor, i);
        model_compare(model, &record, i);
}

void model_cursor_read(struct model *model)
{
        struct model_cursor *cursor = choose_cursor(model);
        const struct sorted_record *record = NULL;
        int expected = usable(model, cursor);

        if (!expected && !cursor->is_deleted)
                record = sorted_get(&model->now, cursor->key, cursor->key_len);
        if (!expected && !record)
                expected = -ENOENT;
        size_t offset = 0, len = 0;
        for (unsigned parts = 0; parts < 5; parts++) {
                size_t room = chance_below(&model->chance, model->options.value_max + 1);
                if (record && chance_percent(&model->chance, 30))
                        offset = chance_below(&model->chance, record->value_len + 10);
                int err = xac_tree_cursor_read(cursor->cursor, offset, model->got, room, &len);
                model_same(model, "xac_tree_cursor_read", err, expected);
                if (expected)
                        return;
                size_t left = offset < record->value_len ? record->value_len - offset : 0;
                model_same(model, "the part's length", (long long)len, (long long)(left < room ? left : room));
                if (len)
                        model_same(model, "the part", memcmp(model->got, sorted_value(record) + offset, len), 0);
                offset += len;
        }
}

void model_cursor_delete(struct model *model)
{
        struct model_cursor *cursor = choose_cursor(model);
        int expected = usable(model, cursor);

        if (!expected && (cursor->is_deleted || !sorted_delete(&model->now, cursor->key, cursor->key_len)))
                expected = -ENOENT;
        model_same(model, "xac_tree_cursor_delete", xac_tree_cursor_delete(cursor->cursor), expected);
        if (expected)
                return;
        cursor->is_deleted = true;
        cursor->txn = model->txn;
}
