/* SPDX-License-Identifier: MIT */
#include "trees/bptree_catalog.h"

#include <stdlib.h>
#include <string.h>

#include "trees/cobtree.h"
#include "trees/ehash.h"

/* What concerns trees of all kinds by their names: opening and closing. */

static bool is_possible(const struct tree_kind *kind, const xac_tree_options *options)
{
        if (kind == &ehash_kind && options->compare)
                return false;
        for (size_t i = 0; i < sizeof(options->reserved) / sizeof(options->reserved[0]); i++)
                if (options->reserved[i])
                        return false;
        if (!options->key_bytes)
                return !options->value_bytes;
        return options->key_bytes == 8 && options->value_bytes <= XAC_TREE_FIXED_VALUE_MAX && !options->compare;
}

/* ---- whether a tree is still there ---- */

static bool is_same(const struct catalog_record *a, const struct catalog_record *b)
{
        return a->root == b->root && a->tree_id == b->tree_id && a->key_bytes == b->key_bytes &&
               a->value_bytes == b->value_bytes && a->flags == b->flags;
}

struct question {
        const struct xac_tree *handle;
        int result;
};

static int ask_body(void *arg)
{
        struct question *question = arg;
        const struct xac_tree *handle = question->handle;
        struct catalog_record found;
        int err = catalog_find(handle->arena, handle->name, &found);
        if (err == -ENOENT || (!err && !is_same(&handle->record, &found)))
                err = -ESTALE;
        return tree_settle(&question->result, err);
}

/*
 * A tree that was found inside a transaction may be one that this transaction made: when that is undone, its pages
 * and its id are given to others, and the handle would take theirs for its own (T1). So the catalog is asked, once
 * in each transaction, until the tree is found in one of our own: that sees only what was committed.
 */
static int confirm(struct xac_tree *handle)
{
        struct question question = { .handle = handle };
        uint64_t txn = arena_txn(handle->arena);
        if (txn && txn == handle->confirmed_in)
                return 0;
        int err = arena_run(handle->arena, XAC_RDONLY, ask_body, &question);
        if (!err)
                err = question.result;
        if (err)
                return err;
        handle->confirmed_in = txn;
        if (!txn)
                handle->confirm = NULL;
        return 0;
}

/* ---- finding and making ---- */

struct opening {
        struct xac_arena *arena;
        const char *name;
        int flags;
        const struct tree_kind *kind; /* NULL: any that is there */
        const xac_tree_options *options;
        struct catalog_record record;
        int result;
};

/* The root page was taken. What fails takes its steps back, unless the transaction is lost. */
static int make(struct opening *opening)
{
        struct xac_arena *arena = opening->arena;
        struct catalog_record *record = &opening->record;
        int err = page_alloc_tree_id(arena, &record->tree_id);
        if (!err)
                err = catalog_add(arena, opening->name, record);
        if (err)
                return err;
        err = tree_kind_of(record)->make(arena, record);
        if (!err || err == ARENA_LOST)
                return err;
        int remove_err = catalog_remove(arena, opening->name);
        return remove_err ? remove_err : err;
}

static int create(struct opening *opening)
{
        struct page_reserve reserve = { 0 };
        const xac_tree_options *options = opening->options;
        const struct tree_kind *kind = opening->kind ? opening->kind : &bptree_kind;
        opening->record = (struct catalog_record){ .key_bytes = options->key_bytes,
                                                   .value_bytes = options->value_bytes,
                                                   .flags = kind->flag | (options->compare ? CATALOG_OWN_ORDER : 0u) };
        int err = page_alloc_reserve(opening->arena, &reserve, 1);
        if (err)
                return err;
        opening->record.root = page_alloc_take(&reserve);
        err = make(opening);
        if (!err || err == ARENA_LOST)
                return err;
        int free_err = page_alloc_free(opening->arena, opening->record.root);
        return free_err ? free_err : err;
}

static int open_body(void *arg)
{
        struct opening *opening = arg;
        int err = catalog_find(opening->arena, opening->name, &opening->record);
        if (!err && opening->flags & XAC_TREE_EXCL)
                err = -EEXIST;
        if (err == -ENOENT && opening->flags & XAC_TREE_CREATE) {
                opening->result = 0;
                return create(opening);
        }
        return tree_settle(&opening->result, err);
}

/* ---- opening ---- */

enum { SHORTCUTS = XAC_TREE_SHORTCUT | XAC_TREE_SHORTCUT_ALWAYS };

static int check_call(const struct opening *opening)
{
        const int flags = opening->flags & ~SHORTCUTS;
        bool is_valid = catalog_takes_name(opening->name) && !(flags & ~(XAC_TREE_CREATE | XAC_TREE_EXCL)) &&
                        flags != XAC_TREE_EXCL && is_possible(opening->kind, opening->options);
        if (!is_valid)
                return -EINVAL;
        return opening->flags & SHORTCUTS && opening->kind != &ehash_kind ? -EOPNOTSUPP : 0;
}

static bool is_as_asked(const struct catalog_record *record, const xac_tree_options *options)
{
        return record->key_bytes == options->key_bytes && record->value_bytes == options->value_bytes;
}

/* NULL options: whatever the tree was made with; a comparison has to be given all the same. */
static int check_options(const struct opening *opening, const xac_tree_options *given)
{
        const uint32_t flags = opening->record.flags;
        if ((opening->kind && opening->kind != tree_kind_of(&opening->record)) ||
            (given && !is_as_asked(&opening->record, given)))
                return -EINVAL;
        return ((flags & CATALOG_OWN_ORDER) != 0) == (opening->options->compare != NULL) ? 0 : -EINVAL;
}

/* A thread has one handle for each tree, so that its cursors know of all its changes. NULL: not yet. */
static int share(const struct opening *opening, struct xac_tree **open)
{
        struct xac_tree *handle = opening->arena->trees;
        while (handle && !(is_same(&handle->record, &opening->record) && !strcmp(handle->name, opening->name)))
                handle = handle->next;
        *open = handle;
        if (!handle)
                return 0;
        if (handle->compare != opening->options->compare || handle->compare_arg != opening->options->compare_arg)
                return -EINVAL;
        handle->opens++;
        return 0;
}

/* Finds or makes the tree; *open is its handle if there is one. */
static int find(struct opening *opening, const xac_tree_options *given, struct xac_tree **open)
{
        int err = arena_run(opening->arena, opening->flags & XAC_TREE_CREATE ? 0 : XAC_RDONLY, open_body, opening);
        if (!err)
                err = opening->result;
        if (!err)
                err = check_options(opening, given);
        return err ? err : share(opening, open);
}

/* `tree` is memory for one, and becomes one. */
static struct xac_tree *begin(const struct opening *opening, void *tree)
{
        struct xac_arena *arena = opening->arena;
        const xac_tree_options *options = opening->options;
        const struct tree_kind *kind = tree_kind_of(&opening->record);
        struct xac_tree *handle = kind->begin(arena, &opening->record, options->compare, options->compare_arg, tree);
        handle->kind = kind;
        handle->arena = arena;
        handle->tree = tree;
        handle->record = opening->record;
        handle->compare = options->compare;
        handle->compare_arg = options->compare_arg;
        strcpy(handle->name, opening->name);
        handle->opens = 1;
        handle->confirmed_in = arena_txn(arena);
        handle->confirm = arena->env && handle->confirmed_in ? confirm : NULL;
        handle->next = arena->trees;
        arena->trees = handle;
        return handle;
}

/* Of the kind that is asked for, or of any. */
static size_t tree_bytes(const struct tree_kind *kind)
{
        const struct tree_kind *const kinds[] = { &bptree_kind, &cobtree_kind, &ehash_kind };
        size_t most = sizeof(struct xac_tree);
        for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
                if ((!kind || kind == kinds[i]) && kinds[i]->tree_bytes > most)
                        most = kinds[i]->tree_bytes;
        return most;
}

static int open_handle(struct opening *opening, const xac_tree_options *given, struct xac_tree **open)
{
        int err = check_call(opening);
        if (err)
                return err;
        void *tree = malloc(tree_bytes(opening->kind)); /* first: it can fail (T3) */
        if (!tree)
                return -ENOMEM;
        err = find(opening, given, open);
        if (err || *open)
                free(tree);
        else
                *open = begin(opening, tree);
        return err;
}

static const xac_tree_options defaults;

/* *kind: NULL for any. -EINVAL. */
static int kind_asked_for(const xac_tree_options *options, int flags, const struct tree_kind **kind)
{
        static const struct tree_kind *const kinds[] = { &bptree_kind, &bptree_kind, &cobtree_kind, &ehash_kind };
        *kind = flags & SHORTCUTS ? &ehash_kind : NULL;
        if (!options)
                return 0;
        if (options->kind >= sizeof(kinds) / sizeof(kinds[0]))
                return -EINVAL;
        *kind = kinds[options->kind];
        return 0;
}

int xac_tree_open(xac_arena *arena, const char *name, int flags, const xac_tree_options *options, xac_tree **tree)
{
        struct opening opening = { arena, name, flags, NULL, options ? options : &defaults, { 0 }, 0 };
        struct xac_tree *open = NULL;
        *tree = NULL;
        int err = kind_asked_for(options, flags, &opening.kind);
        if (!err)
                err = open_handle(&opening, options, &open);
        if (!err && flags & SHORTCUTS) {
                err = ehash_take_shortcut(open->tree, !(flags & XAC_TREE_SHORTCUT_ALWAYS));
                if (err)
                        xac_tree_close(open);
        }
        if (!err)
                *tree = open;
        return err;
}

/* ---- closing ---- */

void xac_tree_close(xac_tree *tree)
{
        if (!tree || --tree->opens)
                return;
        struct xac_tree **link = &tree->arena->trees;
        while (*link != tree)
                link = &(*link)->next;
        *link = tree->next;
        tree_cursors_orphan(tree);
        if (tree->kind->end)
                tree->kind->end(tree->tree);
        free(tree->tree);
}
