/* SPDX-License-Identifier: MIT */
#include "trees/bptree.h"

#include <stdlib.h>
#include <string.h>

#include "trees/overflow.h"

/*
 * Cursors. Where one stands:
 *
 *      NOWHERE --placed in a transaction--> AT --the tree is about to change--> KEPT --next use--> AT
 *              --placed outside of one----------------------------------------> KEPT
 *
 * AT: a path, and pointers into pages, that hold in transaction `txn` alone. KEPT: a key, to be looked up again; in
 * transaction `txn`, or in any when that is 0. A cursor whose transaction has ended stays behind: -ESTALE.
 *
 * A move makes a path of its own and takes it over at the end, so that one that fails leaves the cursor where it was.
 */

enum cursor_state { CURSOR_NOWHERE, CURSOR_AT, CURSOR_KEPT };

enum { TXN_NONE = 0 };

struct kept_key {
        unsigned char *bytes;
        size_t len;
        size_t room;
};

struct bptree_cursor {
        struct bptree *tree; /* NULL: it was closed */
        enum cursor_state state;
        bool is_deleted; /* KEPT: the record was deleted through this cursor; it stands where it was */
        uint64_t txn;
        struct kept_key key;
        struct kept_key spare; /* where it will stand, should the transaction be committed */
        struct overflow_place place; /* AT: where reading its value goes on */
        struct bptree_cursor *next;
        struct bptree_path path;
};

enum cursor_move { MOVE_FIRST, MOVE_LAST, MOVE_SEEK, MOVE_NEXT, MOVE_PREVIOUS, MOVE_STAY, MOVE_STAY_OR_NEXT };

/* Behind or before a key, not at it; besides enum bptree_seek. */
enum { SEEK_GT = BPTREE_EQ + 1, SEEK_LT };

struct move {
        struct bptree_cursor *cursor;
        enum cursor_move kind;
        struct bpnode_key key; /* MOVE_SEEK */
        int how;
        bool is_outside; /* the transaction is the move's own */
        int result;
};

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

static struct bpnode_key key_at(const struct bptree *tree, const struct bptree_path *path)
{
        const struct bptree_step *leaf = &path->steps[path->depth];
        return bpnode_key_at(&tree->shape, leaf->node, leaf->i);
}

/* AT becomes KEPT in the same transaction. */
static int keep(struct bptree_cursor *cursor)
{
        int err = key_copy(&cursor->key, key_at(cursor->tree, &cursor->path));
        if (err)
                return err;
        cursor->state = CURSOR_KEPT;
        cursor->is_deleted = false;
        return 0;
}

int bptree_save_cursors(struct bptree *tree)
{
        uint64_t txn = arena_txn(tree->arena);
        for (struct bptree_cursor *cursor = tree->cursors; cursor; cursor = cursor->next) {
                int err = cursor->state == CURSOR_AT && cursor->txn == txn ? keep(cursor) : 0;
                if (err)
                        return err;
        }
        return 0;
}

void bptree_forget_cursors(struct bptree *tree)
{
        for (struct bptree_cursor *cursor = tree->cursors; cursor; cursor = cursor->next) {
                if (cursor->state != CURSOR_AT)
                        continue;
                cursor->txn = UINT64_MAX; /* no transaction's: -ESTALE */
        }
}

void bptree_orphan_cursors(struct bptree *tree)
{
        for (struct bptree_cursor *cursor = tree->cursors; cursor; cursor = cursor->next)
                cursor->tree = NULL;
        tree->cursors = NULL;
}

void bptree_carry_cursors(struct bptree *tree, uint64_t txn)
{
        for (struct bptree_cursor *cursor = tree->cursors; cursor; cursor = cursor->next)
                if (txn != TXN_NONE && cursor->txn == txn)
                        cursor->txn = arena_txn(tree->arena);
}

/* ---- finding the way ---- */

static int seek_path(const struct bptree *tree, struct bpnode_key key, int how, struct bptree_path *path)
{
        bool is_equal;
        int err = bptree_path_seek(tree, key, path, &is_equal);
        if (err)
                return err;
        struct bptree_step *leaf = bptree_path_leaf(path);
        if (how == BPTREE_EQ || (is_equal && (how == BPTREE_GE || how == BPTREE_LE)))
                return is_equal ? 0 : -ENOENT;
        if (how == BPTREE_GE || how == SEEK_GT) {
                leaf->i += is_equal;
                return leaf->i < leaf->node->count ? 0 : bptree_path_next_leaf(tree, path);
        }
        if (!leaf->i)
                return bptree_path_previous_leaf(tree, path);
        leaf->i--;
        return 0;
}

static int step_path(const struct bptree *tree, enum cursor_move kind, struct bptree_path *path)
{
        struct bptree_step *leaf = bptree_path_leaf(path);
        if (kind == MOVE_NEXT) {
                if (leaf->i + 1 >= leaf->node->count)
                        return bptree_path_next_leaf(tree, path);
                leaf->i++;
        } else if (kind == MOVE_PREVIOUS) {
                if (!leaf->i)
                        return bptree_path_previous_leaf(tree, path);
                leaf->i--;
        }
        return 0;
}

static int edge_path(const struct bptree *tree, enum cursor_move kind, struct bptree_path *path)
{
        int err = kind == MOVE_FIRST ? bptree_path_first(tree, path) : bptree_path_last(tree, path);
        if (err)
                return err;
        return bptree_path_leaf(path)->node->count ? 0 : -ENOENT;
}

static void path_copy(struct bptree_path *to, const struct bptree_path *from)
{
        to->depth = from->depth;
        memcpy(to->steps, from->steps, (from->depth + 1) * sizeof(from->steps[0]));
}

/* From where the cursor stands. */
static int relative_path(const struct bptree_cursor *cursor, enum cursor_move kind, struct bptree_path *path)
{
        if (cursor->state == CURSOR_AT) {
                path_copy(path, &cursor->path);
                return step_path(cursor->tree, kind, path);
        }
        int how = kind == MOVE_NEXT       ? SEEK_GT
                  : kind == MOVE_PREVIOUS ? SEEK_LT
                  : kind == MOVE_STAY     ? BPTREE_EQ
                                          : BPTREE_GE;
        if (cursor->is_deleted && (kind == MOVE_STAY || kind == MOVE_STAY_OR_NEXT))
                return -ENOENT;
        return seek_path(cursor->tree, key_of(&cursor->key), how, path);
}

static bool is_relative(enum cursor_move kind)
{
        return kind >= MOVE_NEXT;
}

static int move_path(const struct move *move, struct bptree_path *path)
{
        const struct bptree *tree = move->cursor->tree;
        if (is_relative(move->kind))
                return relative_path(move->cursor, move->kind, path);
        if (move->kind == MOVE_SEEK)
                return seek_path(tree, move->key, move->how, path);
        return edge_path(tree, move->kind, path);
}

/* ---- moves ---- */

static int move_body(void *arg)
{
        struct move *move = arg;
        struct bptree_cursor *cursor = move->cursor;
        struct bptree_path path;
        int err = move_path(move, &path);
        if (err)
                return bptree_settle(&move->result, err);
        move->result = 0;
        if (move->is_outside)
                return key_copy(&cursor->spare, key_at(cursor->tree, &path));
        path_copy(&cursor->path, &path);
        cursor->state = CURSOR_AT;
        cursor->txn = arena_txn(cursor->tree->arena);
        cursor->place = (struct overflow_place){ 0 };
        return 0;
}

/* Whether it stands somewhere, in what is the present transaction. */
static int check_place(const struct bptree_cursor *cursor)
{
        if (cursor->state == CURSOR_NOWHERE)
                return -EINVAL;
        if (cursor->state == CURSOR_KEPT && cursor->txn == TXN_NONE)
                return 0;
        return cursor->txn == arena_txn(cursor->tree->arena) ? 0 : -ESTALE;
}

static int cursor_enter(struct bptree_cursor *cursor)
{
        return cursor->tree ? bptree_enter(cursor->tree) : -EINVAL;
}

/* It keeps what the transaction that is now committed found. */
static void take_spare(struct bptree_cursor *cursor)
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
        struct bptree_cursor *cursor = move->cursor;
        int err = cursor_enter(cursor);
        if (!err && is_relative(move->kind))
                err = check_place(cursor);
        if (err)
                return err;
        move->is_outside = arena_txn(cursor->tree->arena) == TXN_NONE;
        err = arena_run(cursor->tree->arena, XAC_RDONLY, move_body, move);
        if (err || move->result)
                return err ? err : move->result;
        if (move->is_outside)
                take_spare(cursor);
        return 0;
}

static int move_to(struct bptree_cursor *cursor, enum cursor_move kind)
{
        struct move move = { .cursor = cursor, .kind = kind };
        return move_run(&move);
}

int bptree_cursor_first(bptree_cursor *cursor)
{
        return move_to(cursor, MOVE_FIRST);
}

int bptree_cursor_last(bptree_cursor *cursor)
{
        return move_to(cursor, MOVE_LAST);
}

int bptree_cursor_seek(bptree_cursor *cursor, const void *key, size_t key_len, enum bptree_seek how)
{
        struct move move = { .cursor = cursor, .kind = MOVE_SEEK, .key = { key, key_len }, .how = how };
        if (!cursor->tree || !bptree_takes_key(cursor->tree, key_len) || how > BPTREE_EQ)
                return -EINVAL;
        return move_run(&move);
}

/* Whether it stands in a leaf of this transaction, so that a step needs no look at the tree. */
static inline struct bptree_step *leaf_at_hand(struct bptree_cursor *cursor)
{
        if (cursor->state != CURSOR_AT || !cursor->tree || cursor->txn != arena_txn(cursor->tree->arena))
                return NULL;
        return bptree_path_leaf(&cursor->path);
}

int bptree_cursor_next(bptree_cursor *cursor)
{
        struct bptree_step *leaf = leaf_at_hand(cursor);
        if (!leaf || leaf->i + 1 >= leaf->node->count)
                return move_to(cursor, MOVE_NEXT);
        leaf->i++;
        cursor->place.page = PAGE_NONE;
        return 0;
}

int bptree_cursor_previous(bptree_cursor *cursor)
{
        struct bptree_step *leaf = leaf_at_hand(cursor);
        if (!leaf || !leaf->i)
                return move_to(cursor, MOVE_PREVIOUS);
        leaf->i--;
        cursor->place.page = PAGE_NONE;
        return 0;
}

/* ---- the record ---- */

/* Outside a transaction a cursor has its key, and nothing else. */
static int show_kept(const struct bptree_cursor *cursor, bptree_record *record)
{
        int err = check_place(cursor);
        if (err || cursor->is_deleted)
                return err ? err : -ENOENT;
        *record = (bptree_record){ .key = cursor->key.bytes, .key_len = cursor->key.len };
        return 0;
}

int bptree_cursor_record(bptree_cursor *cursor, bptree_record *record)
{
        struct bptree_step *leaf = leaf_at_hand(cursor);
        if (!leaf) {
                int err = cursor_enter(cursor);
                if (!err && arena_txn(cursor->tree->arena) == TXN_NONE)
                        return show_kept(cursor, record);
                if (!err)
                        err = move_to(cursor, MOVE_STAY_OR_NEXT);
                if (err)
                        return err;
                leaf = bptree_path_leaf(&cursor->path);
        }
        struct bpnode_record stored = bpnode_record_at(&cursor->tree->shape, leaf->node, leaf->i);
        bptree_show(&stored, record);
        return 0;
}

struct reading {
        struct bptree_cursor *cursor;
        uint64_t offset;
        void *bytes;
        size_t room;
        size_t len;
        int result;
};

static int read_record(struct reading *reading, const struct bpnode_record *record, struct overflow_place *place)
{
        const struct bptree *tree = reading->cursor->tree;
        if (record->is_overflow)
                return overflow_read(tree->arena, tree->shape.tree_id, overflow_of(record->value), place,
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
        const struct bptree_cursor *cursor = reading->cursor;
        struct overflow_place place = cursor->state == CURSOR_AT ? cursor->place : (struct overflow_place){ 0 };
        struct bptree_path path;
        int err = relative_path(cursor, MOVE_STAY, &path);
        if (!err) {
                const struct bptree_step *leaf = bptree_path_leaf(&path);
                struct bpnode_record record = bpnode_record_at(&cursor->tree->shape, leaf->node, leaf->i);
                err = read_record(reading, &record, &place);
        }
        if (cursor->state == CURSOR_AT)
                reading->cursor->place = place;
        return bptree_settle(&reading->result, err);
}

int bptree_cursor_read(bptree_cursor *cursor, uint64_t offset, void *bytes, size_t room, size_t *len)
{
        struct reading reading = { .cursor = cursor, .offset = offset, .bytes = bytes, .room = room };
        int err = cursor_enter(cursor);
        if (!err)
                err = check_place(cursor);
        if (!err)
                err = arena_run(cursor->tree->arena, XAC_RDONLY, read_body, &reading);
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
        move->result = 0;
        int err = bptree_remove_key(move->cursor->tree, key_of(&move->cursor->key));
        return err == -ENOENT ? bptree_settle(&move->result, err) : err;
}

int bptree_cursor_delete(bptree_cursor *cursor)
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
                err = arena_run(cursor->tree->arena, 0, delete_body, &move);
        if (err || move.result)
                return err ? err : move.result;
        cursor->is_deleted = true;
        cursor->txn = arena_txn(cursor->tree->arena); /* an abort takes that back */
        return 0;
}

/* ---- opening and closing ---- */

int bptree_cursor_open(bptree *tree, bptree_cursor **cursor)
{
        struct bptree_cursor *made = calloc(1, sizeof(*made));
        *cursor = made;
        if (!made)
                return -ENOMEM;
        made->tree = tree;
        made->next = tree->cursors;
        tree->cursors = made;
        return 0;
}

static void unlink_cursor(struct bptree_cursor *cursor)
{
        struct bptree_cursor **link = &cursor->tree->cursors;
        while (*link != cursor)
                link = &(*link)->next;
        *link = cursor->next;
}

void bptree_cursor_close(bptree_cursor *cursor)
{
        if (!cursor)
                return;
        if (cursor->tree)
                unlink_cursor(cursor);
        free(cursor->key.bytes);
        free(cursor->spare.bytes);
        free(cursor);
}
