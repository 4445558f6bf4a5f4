/* SPDX-License-Identifier: MIT */
#include "trees/tree_cursor.h"

#include <stdlib.h>
#include <string.h>

enum { TXN_NONE = 0 };

/* Behind or before a key, not at it; besides enum xac_tree_seek. */
enum { SEEK_GT = XAC_TREE_EQ + 1, SEEK_LT };

enum cursor_move_kind { MOVE_FIRST, MOVE_LAST, MOVE_SEEK, MOVE_NEXT, MOVE_PREVIOUS, MOVE_STAY, MOVE_STAY_OR_NEXT };

struct move {
        struct xac_tree_cursor *cursor;
        enum cursor_move_kind kind;
        struct bpnode_key key; /* MOVE_SEEK */
        int how;
        bool is_outside; /* the transaction is the move's own */
        int result;
};

/* Whether it stands in a leaf of this transaction, so that a step needs no look at the tree. */
static struct leaf_place *at_hand(const struct xac_tree_cursor *cursor)
{
        if (cursor->state != CURSOR_AT || !cursor->handle || cursor->txn != arena_txn(cursor->handle->arena))
                return NULL;
        return cursor->at;
}

/* ---- keys that are kept ---- */

static int key_copy(struct kept_key *kept, struct bpnode_key key)
{
        if (key.len > kept->room) {
                size_t room = key.len < 32 ? 32 : key.len;
                unsigned char *bytes = realloc(kept->bytes, room);
                if (!bytes)
                        return -ENOMEM;
                kept->bytes = bytes;
                kept->room = room;
        }
        memcpy(kept->bytes, key.bytes, key.len);
        kept->len = key.len;
        return 0;
}

static struct bpnode_key key_of(const struct kept_key *kept)
{
        return (struct bpnode_key){ kept->bytes, kept->len };
}

static struct bpnode_key key_at(const struct xac_tree_cursor *cursor, const struct leaf_place *at)
{
        return bpnode_key_at(cursor->shape, at->node, at->i);
}

/* AT becomes KEPT in the same transaction. */
static int keep(struct xac_tree_cursor *cursor)
{
        int err = key_copy(&cursor->key, key_at(cursor, cursor->at));
        if (err)
                return err;
        cursor->state = CURSOR_KEPT;
        cursor->is_deleted = false;
        return 0;
}

int tree_cursors_save(struct xac_tree *handle)
{
        uint64_t txn = arena_txn(handle->arena);
        for (struct xac_tree_cursor *cursor = handle->cursors; cursor; cursor = cursor->next) {
                int err = cursor->state == CURSOR_AT && cursor->txn == txn ? keep(cursor) : 0;
                if (err)
                        return err;
        }
        return 0;
}

void tree_cursors_forget(struct xac_tree *handle)
{
        for (struct xac_tree_cursor *cursor = handle->cursors; cursor; cursor = cursor->next) {
                if (cursor->state != CURSOR_AT)
                        continue;
                cursor->txn = UINT64_MAX; /* no transaction's: -ESTALE */
        }
}

void tree_cursors_orphan(struct xac_tree *handle)
{
        for (struct xac_tree_cursor *cursor = handle->cursors; cursor; cursor = cursor->next)
                cursor->handle = NULL;
        handle->cursors = NULL;
}

void tree_cursors_carry(struct xac_tree *handle, uint64_t txn)
{
        for (struct xac_tree_cursor *cursor = handle->cursors; cursor; cursor = cursor->next)
                if (txn != TXN_NONE && cursor->txn == txn)
                        cursor->txn = arena_txn(handle->arena);
}

/* ---- finding the way ---- */

static int seek_path(const struct xac_tree_cursor *cursor, struct bpnode_key key, int how, struct leaf_place **found)
{
        const void *tree = cursor->handle->tree;
        bool is_equal;
        int err = cursor->ways->seek(tree, key, cursor->path_to_be, found, &is_equal);
        if (err)
                return err;
        struct leaf_place *at = *found;
        if (how == XAC_TREE_EQ || (is_equal && (how == XAC_TREE_GE || how == XAC_TREE_LE)))
                return is_equal ? 0 : -ENOENT;
        if (how == XAC_TREE_GE || how == SEEK_GT) {
                at->i += is_equal;
                return at->i < at->node->count ? 0 : cursor->ways->next(tree, cursor->path_to_be, found);
        }
        if (!at->i)
                return cursor->ways->previous(tree, cursor->path_to_be, found);
        at->i--;
        return 0;
}

static int step_path(const struct xac_tree_cursor *cursor, enum cursor_move_kind kind, struct leaf_place **found)
{
        const void *tree = cursor->handle->tree;
        cursor->ways->copy(cursor->path_to_be, cursor->path, found);
        struct leaf_place *at = *found;
        if (kind == MOVE_NEXT) {
                if (at->i + 1 >= at->node->count)
                        return cursor->ways->next(tree, cursor->path_to_be, found);
                at->i++;
        } else if (kind == MOVE_PREVIOUS) {
                if (!at->i)
                        return cursor->ways->previous(tree, cursor->path_to_be, found);
                at->i--;
        }
        return 0;
}

/* From where the cursor stands. */
static int relative_path(const struct xac_tree_cursor *cursor, enum cursor_move_kind kind, struct leaf_place **found)
{
        if (cursor->state == CURSOR_AT)
                return step_path(cursor, kind, found);
        int how = kind == MOVE_NEXT       ? SEEK_GT
                  : kind == MOVE_PREVIOUS ? SEEK_LT
                  : kind == MOVE_STAY     ? XAC_TREE_EQ
                                          : XAC_TREE_GE;
        if (cursor->is_deleted && (kind == MOVE_STAY || kind == MOVE_STAY_OR_NEXT))
                return -ENOENT;
        return seek_path(cursor, key_of(&cursor->key), how, found);
}

static bool is_relative(enum cursor_move_kind kind)
{
        return kind >= MOVE_NEXT;
}

/* Into path_to_be. */
static int move_path(const struct move *move, struct leaf_place **found)
{
        const struct xac_tree_cursor *cursor = move->cursor;
        if (is_relative(move->kind))
                return relative_path(cursor, move->kind, found);
        if (move->kind == MOVE_SEEK)
                return seek_path(cursor, move->key, move->how, found);
        return (move->kind == MOVE_FIRST ? cursor->ways->first : cursor->ways->last)(cursor->handle->tree,
                                                                                     cursor->path_to_be, found);
}

/* ---- moves ---- */

static int move_body(void *arg)
{
        struct move *move = arg;
        struct xac_tree_cursor *cursor = move->cursor;
        struct leaf_place *found;
        int err = move_path(move, &found);
        if (err)
                return tree_settle(&move->result, err);
        move->result = 0;
        if (move->is_outside)
                return key_copy(&cursor->spare, key_at(cursor, found));
        void *path = cursor->path;
        cursor->path = cursor->path_to_be;
        cursor->path_to_be = path;
        cursor->at = found;
        cursor->state = CURSOR_AT;
        cursor->txn = arena_txn(cursor->handle->arena);
        cursor->place = (struct overflow_place){ 0 };
        return 0;
}

/* Whether it stands somewhere, in what is the present transaction. */
static int check_place(const struct xac_tree_cursor *cursor)
{
        if (cursor->state == CURSOR_NOWHERE)
                return -EINVAL;
        if (cursor->state == CURSOR_KEPT && cursor->txn == TXN_NONE)
                return 0;
        return cursor->txn == arena_txn(cursor->handle->arena) ? 0 : -ESTALE;
}

static int cursor_enter(struct xac_tree_cursor *cursor)
{
        return cursor->handle ? tree_enter(cursor->handle) : -EINVAL;
}

/* It keeps what the transaction that is now committed found. */
static void take_spare(struct xac_tree_cursor *cursor)
{
        struct kept_key key = cursor->key;
        cursor->key = cursor->spare;
        cursor->spare = key;
        cursor->state = CURSOR_KEPT;
        cursor->is_deleted = false;
        cursor->txn = TXN_NONE;
}

static int move_run(struct move *move)
{
        struct xac_tree_cursor *cursor = move->cursor;
        int err = cursor_enter(cursor);
        if (!err && is_relative(move->kind))
                err = check_place(cursor);
        if (err)
                return err;
        move->is_outside = arena_txn(cursor->handle->arena) == TXN_NONE;
        err = arena_run(cursor->handle->arena, XAC_RDONLY, move_body, move);
        if (err || move->result)
                return err ? err : move->result;
        if (move->is_outside)
                take_spare(cursor);
        return 0;
}

static int cursor_move(struct xac_tree_cursor *cursor, enum cursor_move_kind kind)
{
        struct move move = { .cursor = cursor, .kind = kind };
        return move_run(&move);
}

int tree_cursor_seek(struct xac_tree_cursor *cursor, const void *key, size_t key_len, enum xac_tree_seek how)
{
        struct move move = { .cursor = cursor, .kind = MOVE_SEEK, .key = { key, key_len }, .how = how };
        if (!cursor->handle || !leaf_takes_key(cursor->shape, key_len) || how > XAC_TREE_EQ)
                return -EINVAL;
        return move_run(&move);
}

int xac_tree_cursor_first(xac_tree_cursor *cursor)
{
        return cursor_move(cursor, MOVE_FIRST);
}

int xac_tree_cursor_last(xac_tree_cursor *cursor)
{
        return cursor_move(cursor, MOVE_LAST);
}

int xac_tree_cursor_seek(xac_tree_cursor *cursor, const void *key, size_t key_len, enum xac_tree_seek how)
{
        if (cursor->handle && cursor->ways->seek_key)
                return cursor->ways->seek_key(cursor, key, key_len, how);
        return tree_cursor_seek(cursor, key, key_len, how);
}

int xac_tree_cursor_next(xac_tree_cursor *cursor)
{
        struct leaf_place *at = at_hand(cursor);
        if (!at || at->i + 1 >= at->node->count)
                return cursor_move(cursor, MOVE_NEXT);
        at->i++;
        cursor->place.page = PAGE_NONE;
        return 0;
}

int xac_tree_cursor_previous(xac_tree_cursor *cursor)
{
        struct leaf_place *at = at_hand(cursor);
        if (!at || !at->i)
                return cursor_move(cursor, MOVE_PREVIOUS);
        at->i--;
        cursor->place.page = PAGE_NONE;
        return 0;
}

/* ---- the record ---- */

/* Outside a transaction a cursor has its key, and nothing else. */
static int show_kept(const struct xac_tree_cursor *cursor, xac_tree_record *record)
{
        int err = check_place(cursor);
        if (err || cursor->is_deleted)
                return err ? err : -ENOENT;
        *record = (xac_tree_record){ .key = cursor->key.bytes, .key_len = cursor->key.len };
        return 0;
}

int tree_cursor_record(struct xac_tree_cursor *cursor, xac_tree_record *record)
{
        const struct leaf_place *at = at_hand(cursor);
        if (!at) {
                int err = cursor_enter(cursor);
                if (!err && arena_txn(cursor->handle->arena) == TXN_NONE)
                        return show_kept(cursor, record);
                if (!err)
                        err = cursor_move(cursor, MOVE_STAY_OR_NEXT);
                if (err)
                        return err;
                at = cursor->at;
        }
        struct bpnode_record stored = bpnode_record_at(cursor->shape, at->node, at->i);
        leaf_show(&stored, record);
        return 0;
}

int xac_tree_cursor_record(xac_tree_cursor *cursor, xac_tree_record *record)
{
        if (cursor->handle && cursor->ways->record)
                return cursor->ways->record(cursor, record);
        return tree_cursor_record(cursor, record);
}

struct reading {
        struct xac_tree_cursor *cursor;
        uint64_t offset;
        void *bytes;
        size_t room;
        size_t len;
        int result;
};

static int read_record(struct reading *reading, const struct bpnode_record *record, struct overflow_place *place)
{
        const struct xac_tree_cursor *cursor = reading->cursor;
        if (record->is_overflow)
                return overflow_read(cursor->handle->arena, cursor->shape->tree_id, overflow_of(record->value), place,
                                     reading->offset, reading->bytes, reading->room, &reading->len);
        size_t left = reading->offset < record->value_len ? record->value_len - (size_t)reading->offset : 0;
        reading->len = left < reading->room ? left : reading->room;
        if (reading->len)
                memcpy(reading->bytes, (const char *)record->value + reading->offset, reading->len);
        return 0;
}

static int read_body(void *arg)
{
        struct reading *reading = arg;
        const struct xac_tree_cursor *cursor = reading->cursor;
        struct overflow_place place = cursor->state == CURSOR_AT ? cursor->place : (struct overflow_place){ 0 };
        struct leaf_place *at;
        int err = relative_path(cursor, MOVE_STAY, &at);
        if (!err) {
                struct bpnode_record record = bpnode_record_at(cursor->shape, at->node, at->i);
                err = read_record(reading, &record, &place);
        }
        if (cursor->state == CURSOR_AT)
                reading->cursor->place = place;
        return tree_settle(&reading->result, err);
}

int xac_tree_cursor_read(xac_tree_cursor *cursor, uint64_t offset, void *bytes, size_t room, size_t *len)
{
        struct reading reading = { .cursor = cursor, .offset = offset, .bytes = bytes, .room = room };
        int err = cursor_enter(cursor);
        if (!err)
                err = check_place(cursor);
        if (!err)
                err = arena_run(cursor->handle->arena, XAC_RDONLY, read_body, &reading);
        if (!err)
                err = reading.result;
        if (!err)
                *len = reading.len;
        return err;
}

/* ---- deleting ---- */

static int delete_body(void *arg)
{
        struct move *move = arg;
        struct xac_tree_cursor *cursor = move->cursor;
        move->result = 0;
        int err = cursor->ways->remove(cursor->handle->tree, key_of(&cursor->key));
        return err == -ENOENT ? tree_settle(&move->result, err) : err;
}

int xac_tree_cursor_delete(xac_tree_cursor *cursor)
{
        struct move move = { .cursor = cursor };
        int err = cursor_enter(cursor);
        if (!err)
                err = check_place(cursor);
        if (!err && cursor->state == CURSOR_AT)
                err = keep(cursor);
        if (!err && cursor->is_deleted)
                err = -ENOENT;
        if (!err)
                err = arena_run(cursor->handle->arena, 0, delete_body, &move);
        if (err || move.result)
                return err ? err : move.result;
        cursor->is_deleted = true;
        cursor->txn = arena_txn(cursor->handle->arena); /* an abort takes that back */
        return 0;
}

/* ---- opening and closing ---- */

/* Two paths behind the cursor: the present one, and the one that a move makes. */
int xac_tree_cursor_open(xac_tree *tree, xac_tree_cursor **cursor)
{
        const struct leaf_ways *ways = tree->kind->ways;
        struct xac_tree_cursor *made = calloc(1, sizeof(*made) + 2 * ways->path_bytes);
        *cursor = made;
        if (!made)
                return -ENOMEM;
        made->handle = tree;
        made->shape = tree->kind->shape(tree->tree);
        made->ways = ways;
        made->path = made + 1;
        made->path_to_be = (char *)(made + 1) + ways->path_bytes;
        made->next = tree->cursors;
        tree->cursors = made;
        return 0;
}

static void unlink_cursor(struct xac_tree_cursor *cursor)
{
        struct xac_tree_cursor **link = &cursor->handle->cursors;
        while (*link != cursor)
                link = &(*link)->next;
        *link = cursor->next;
}

void xac_tree_cursor_close(xac_tree_cursor *cursor)
{
        if (!cursor)
                return;
        if (cursor->handle)
                unlink_cursor(cursor);
        free(cursor->key.bytes);
        free(cursor->spare.bytes);
        free(cursor);
}
