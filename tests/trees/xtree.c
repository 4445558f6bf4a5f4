/* SPDX-License-Identifier: MIT */
#include "tests/trees/xtree.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include <xac/cobtree.h>
#include <xac/ehash.h>

#include "tests/trees/xtree_hash.h"

const char *const xtree_names[XTREE_KINDS] = {
        [XTREE_BPTREE] = "bptree", [XTREE_COBTREE] = "cobtree", [XTREE_EHASH] = "ehash"
};

_Static_assert((int)COBTREE_CREATE == BPTREE_CREATE && (int)COBTREE_EXCL == BPTREE_EXCL &&
                       (int)COBTREE_NOOVERWRITE == BPTREE_NOOVERWRITE && (int)EHASH_CREATE == BPTREE_CREATE &&
                       (int)EHASH_EXCL == BPTREE_EXCL && (int)EHASH_NOOVERWRITE == BPTREE_NOOVERWRITE,
               "flags are the same for all");

static _Atomic enum xtree_kind chosen = XTREE_BPTREE;

void xtree_choose(enum xtree_kind kind)
{
        atomic_store_explicit(&chosen, kind, memory_order_relaxed);
}

bool xtree_is_cob(void)
{
        return atomic_load_explicit(&chosen, memory_order_relaxed) == XTREE_COBTREE;
}

bool xtree_is_hash(void)
{
        return atomic_load_explicit(&chosen, memory_order_relaxed) == XTREE_EHASH;
}

const char *xtree_name(void)
{
        return xtree_names[atomic_load_explicit(&chosen, memory_order_relaxed)];
}

bool xtree_choose_named(const char *name)
{
        for (int kind = 0; kind < XTREE_KINDS; kind++) {
                if (strcmp(name, xtree_names[kind]) != 0)
                        continue;
                xtree_choose((enum xtree_kind)kind);
                return true;
        }
        return false;
}

/* The call of the kind that was chosen, on a tree or on a cursor. */
#define on_tree(call, ...)                                                \
        (xtree_is_cob()    ? cobtree_##call((cobtree *)tree, __VA_ARGS__) \
         : xtree_is_hash() ? ehash_##call((ehash *)tree, __VA_ARGS__)     \
                           : bptree_##call((bptree *)tree, __VA_ARGS__))
#define on_cursor(call)                                                      \
        (xtree_is_cob()    ? cobtree_cursor_##call((cobtree_cursor *)cursor) \
         : xtree_is_hash() ? ehash_cursor_##call((ehash_cursor *)cursor)     \
                           : bptree_cursor_##call((bptree_cursor *)cursor))
#define on_cursor_with(call, ...)                                                         \
        (xtree_is_cob()    ? cobtree_cursor_##call((cobtree_cursor *)cursor, __VA_ARGS__) \
         : xtree_is_hash() ? ehash_cursor_##call((ehash_cursor *)cursor, __VA_ARGS__)     \
                           : bptree_cursor_##call((bptree_cursor *)cursor, __VA_ARGS__))

/* What a hash table has not. */
#define on_ordered(call, ...)                                             \
        (xtree_is_cob()    ? cobtree_##call((cobtree *)tree, __VA_ARGS__) \
         : xtree_is_hash() ? -ENOTSUP                                     \
                           : bptree_##call((bptree *)tree, __VA_ARGS__))

/* ---- trees ---- */

int xtree_open(page_arena *arena, const char *name, int flags, const bptree_options *options, xtree **tree)
{
        if (xtree_is_hash()) {
                const ehash_options asked = { options ? options->key_bytes : 0, options ? options->value_bytes : 0 };

                return ehash_open(arena, name, flags, options ? &asked : NULL, (ehash **)tree);
        }
        return xtree_is_cob() ? cobtree_open(arena, name, flags, options, (cobtree **)tree)
                              : bptree_open(arena, name, flags, options, (bptree **)tree);
}

void xtree_close(xtree *tree)
{
        if (xtree_is_cob())
                cobtree_close((cobtree *)tree);
        else if (xtree_is_hash())
                ehash_close((ehash *)tree);
        else
                bptree_close((bptree *)tree);
}

int xtree_put(xtree *tree, const void *key, size_t key_len, const void *value, size_t value_len, int flags)
{
        return on_tree(put, key, key_len, value, value_len, flags);
}

int xtree_get(xtree *tree, const void *key, size_t key_len, void *value, size_t room, size_t *value_len)
{
        return on_tree(get, key, key_len, value, room, value_len);
}

int xtree_delete(xtree *tree, const void *key, size_t key_len)
{
        return on_tree(delete, key, key_len);
}

int xtree_scan(xtree *tree, const void *from, size_t from_len, const void *to, size_t to_len,
               int (*visit)(void *arg, const bptree_record *record), void *arg)
{
        if (xtree_is_hash())
                return xtree_hash_scan((ehash *)tree, from, from_len, to, to_len, visit, arg);
        return on_ordered(scan, from, from_len, to, to_len, visit, arg);
}

int xtree_scan_runs(xtree *tree, const void *from, size_t from_len, const void *to, size_t to_len,
                    int (*visit)(void *arg, const void *records, size_t count), void *arg)
{
        return on_ordered(scan_runs, from, from_len, to, to_len, visit, arg);
}

int xtree_load(xtree *tree, int (*next)(void *arg, bptree_record *record), void *arg)
{
        return on_ordered(load, next, arg);
}

/* ---- cursors ---- */

int xtree_cursor_open(xtree *tree, xtree_cursor **cursor)
{
        if (xtree_is_hash())
                return ehash_cursor_open((ehash *)tree, (ehash_cursor **)cursor);
        return xtree_is_cob() ? cobtree_cursor_open((cobtree *)tree, (cobtree_cursor **)cursor)
                              : bptree_cursor_open((bptree *)tree, (bptree_cursor **)cursor);
}

void xtree_cursor_close(xtree_cursor *cursor)
{
        on_cursor(close);
}

int xtree_cursor_first(xtree_cursor *cursor)
{
        return on_cursor(first);
}

int xtree_cursor_last(xtree_cursor *cursor)
{
        return on_cursor(last);
}

int xtree_cursor_seek(xtree_cursor *cursor, const void *key, size_t key_len, enum bptree_seek how)
{
        if (xtree_is_hash())
                return how == BPTREE_EQ ? ehash_cursor_seek((ehash_cursor *)cursor, key, key_len) : -ENOTSUP;
        return xtree_is_cob() ? cobtree_cursor_seek((cobtree_cursor *)cursor, key, key_len, how)
                              : bptree_cursor_seek((bptree_cursor *)cursor, key, key_len, how);
}

int xtree_cursor_next(xtree_cursor *cursor)
{
        return on_cursor(next);
}

int xtree_cursor_previous(xtree_cursor *cursor)
{
        return on_cursor(previous);
}

int xtree_cursor_record(xtree_cursor *cursor, bptree_record *record)
{
        return on_cursor_with(record, record);
}

int xtree_cursor_read(xtree_cursor *cursor, uint64_t offset, void *bytes, size_t room, size_t *len)
{
        return on_cursor_with(read, offset, bytes, room, len);
}

int xtree_cursor_delete(xtree_cursor *cursor)
{
        return on_cursor(delete);
}

/* ---- figures ---- */

static int stat_cob(cobtree *tree, xtree_stats *stats)
{
        cobtree_stats cob = { 0 };
        int err = cobtree_stat(tree, &cob);

        *stats = (xtree_stats){ .records = cob.records,
                                .record_pages = cob.used_segments,
                                .bytes_used = cob.segment_bytes_used,
                                .index_pages = cob.index_pages,
                                .overflow_pages = cob.overflow_pages,
                                .height = cob.extents };
        return err;
}

static int stat_hash(ehash *table, xtree_stats *stats)
{
        ehash_stats hash = { 0 };
        int err = ehash_stat(table, &hash);

        *stats = (xtree_stats){ .records = hash.records,
                                .record_pages = hash.buckets,
                                .bytes_used = hash.bucket_bytes_used,
                                .index_pages = hash.directory_pages,
                                .overflow_pages = hash.overflow_pages,
                                .height = hash.depth };
        return err;
}

int xtree_stat(xtree *tree, xtree_stats *stats)
{
        bptree_stats bp = { 0 };

        if (xtree_is_cob())
                return stat_cob((cobtree *)tree, stats);
        if (xtree_is_hash())
                return stat_hash((ehash *)tree, stats);
        int err = bptree_stat((bptree *)tree, &bp);
        *stats = (xtree_stats){ .records = bp.records,
                                .record_pages = bp.leaf_pages,
                                .bytes_used = bp.leaf_bytes_used,
                                .index_pages = bp.inner_pages,
                                .overflow_pages = bp.overflow_pages,
                                .height = bp.depth };
        return err;
}
