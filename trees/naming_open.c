/* SPDX-License-Identifier: MIT */
#include "trees/bptree_catalog.h"

#include <stdlib.h>
#include <string.h>

#include "trees/cobtree.h"
#include "trees/ehash.h"

/* What concerns trees of all kinds by their names: opening and closing. */

static bool is_possible(const bptree_options *options)
{
        if (!options->key_bytes)
                return !options->value_bytes;
        return options->key_bytes == 8 && options->value_bytes <= BPTREE_FIXED_VALUE_MAX && !options->compare;
}

/* ---- whether a tree is still there ---- */

static bool is_same(const struct catalog_record *a, const struct catalog_record *b)
{
        return a->root == b->root && a->tree_id == b->tree_id && a->key_bytes == b->key_bytes &&
               a->value_bytes == b->value_bytes && a->flags == b->flags;
}

struct question {
        const struct handle *handle;
        int result;
};

static int ask_body(void *arg)
{
        struct question *question = arg;
        const struct handle *handle = question->handle;
        struct catalog_record found;
        int err = catalog_find(handle->arena, handle->name, &found);
        if (err == -ENOENT || (!err && !is_same(&handle->record, &found)))
                err = -ESTALE;
        return handle_settle(&question->result, err);
}

/*
 * A tree that was found inside a transaction may be one that this transaction made: when that is undone, its pages
 * and its id are given to others, and the handle would take theirs for its own (T1). So the catalog is asked, once
 * in each transaction, until the tree is found in one of our own: that sees only what was committed.
 */
static int confirm(struct handle *handle)
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
        struct page_arena *arena;
        const char *name;
        int flags;
        uint32_t kind; /* 0, or one of CATALOG_KINDS */
        const bptree_options *options;
        struct catalog_record record;
        int result;
};

static int make_bptree(struct page_arena *arena, const struct catalog_record *record)
{
        struct bptree tree;
        struct bpnode *root = arena_write(arena, record->root);
        if (!root)
                return ARENA_LOST;
        bptree_init(arena, record, NULL, NULL, &tree);
        bpnode_init(&tree.shape, root, 0);
        return 0;
}

static int make_cobtree(struct page_arena *arena, const struct catalog_record *record)
{
        struct cobtree tree;
        cobtree_init(arena, record, NULL, NULL, &tree);
        return cobindex_create(&tree.index);
}

static int make_ehash(struct page_arena *arena, const struct catalog_record *record)
{
        struct ehash table;
        ehash_init(arena, record, &table);
        return ehash_create(&table);
}

static int make_tree(struct page_arena *arena, const struct catalog_record *record)
{
        switch (record->flags & CATALOG_KINDS) {
        case CATALOG_COBTREE:
                return make_cobtree(arena, record);
        case CATALOG_EHASH:
                return make_ehash(arena, record);
        default:
                return make_bptree(arena, record);
        }
}

/* The root page was taken. What fails takes its steps back, unless the transaction is lost. */
static int make(struct opening *opening)
{
        struct page_arena *arena = opening->arena;
        struct catalog_record *record = &opening->record;
        int err = page_alloc_tree_id(arena, &record->tree_id);
        if (!err)
                err = catalog_add(arena, opening->name, record);
        if (err)
                return err;
        err = make_tree(arena, record);
        if (!err || err == ARENA_LOST)
                return err;
        int remove_err = catalog_remove(arena, opening->name);
        return remove_err ? remove_err : err;
}

static int create(struct opening *opening)
{
        struct page_reserve reserve = { 0 };
        const bptree_options *options = opening->options;
        opening->record =
                (struct catalog_record){ .key_bytes = options->key_bytes,
                                         .value_bytes = options->value_bytes,
                                         .flags = opening->kind | (options->compare ? CATALOG_OWN_ORDER : 0u) };
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
        if (!err && opening->flags & BPTREE_EXCL)
                err = -EEXIST;
        if (err == -ENOENT && opening->flags & BPTREE_CREATE) {
                opening->result = 0;
                return create(opening);
        }
        return handle_settle(&opening->result, err);
}

/* ---- opening ---- */

static int check_call(const struct opening *opening)
{
        bool is_valid = catalog_takes_name(opening->name) && !(opening->flags & ~(BPTREE_CREATE | BPTREE_EXCL)) &&
                        opening->flags != BPTREE_EXCL && is_possible(opening->options);
        return is_valid ? 0 : -EINVAL;
}

static bool is_as_asked(const struct catalog_record *record, const bptree_options *options)
{
        return record->key_bytes == options->key_bytes && record->value_bytes == options->value_bytes;
}

/* NULL options: whatever the tree was made with; a comparison has to be given all the same. */
static int check_options(const struct opening *opening, const bptree_options *given)
{
        const uint32_t flags = opening->record.flags;
        if ((flags & CATALOG_KINDS) != opening->kind || (given && !is_as_asked(&opening->record, given)))
                return -EINVAL;
        return ((flags & CATALOG_OWN_ORDER) != 0) == (opening->options->compare != NULL) ? 0 : -EINVAL;
}

/* A thread has one handle for each tree, so that its cursors know of all its changes. NULL: not yet. */
static int share(const struct opening *opening, struct handle **open)
{
        struct handle *handle = opening->arena->trees;
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
static int find(struct opening *opening, const bptree_options *given, struct handle **open)
{
        int err = arena_run(opening->arena, opening->flags & BPTREE_CREATE ? 0 : XAC_RDONLY, open_body, opening);
        if (!err)
                err = opening->result;
        if (!err)
                err = check_options(opening, given);
        return err ? err : share(opening, open);
}

static struct handle *begin_bptree(const struct opening *opening, struct bptree *tree)
{
        const bptree_options *options = opening->options;
        bptree_init(opening->arena, &opening->record, options->compare, options->compare_arg, tree);
        return &tree->handle;
}

static struct handle *begin_cobtree(const struct opening *opening, struct cobtree *tree)
{
        const bptree_options *options = opening->options;
        cobtree_init(opening->arena, &opening->record, options->compare, options->compare_arg, tree);
        return &tree->handle;
}

static struct handle *begin_ehash(const struct opening *opening, struct ehash *table)
{
        ehash_init(opening->arena, &opening->record, table);
        return &table->handle;
}

static struct handle *begin_tree(const struct opening *opening, void *tree)
{
        switch (opening->kind) {
        case CATALOG_COBTREE:
                return begin_cobtree(opening, tree);
        case CATALOG_EHASH:
                return begin_ehash(opening, tree);
        default:
                return begin_bptree(opening, tree);
        }
}

static size_t tree_bytes(uint32_t kind)
{
        return kind == CATALOG_COBTREE ? sizeof(struct cobtree)
               : kind == CATALOG_EHASH ? sizeof(struct ehash)
                                       : sizeof(struct bptree);
}

/* `tree` is memory for one, and becomes one. */
static struct handle *begin(const struct opening *opening, void *tree)
{
        struct page_arena *arena = opening->arena;
        struct handle *handle = begin_tree(opening, tree);
        handle->arena = arena;
        handle->tree = tree;
        handle->record = opening->record;
        handle->compare = opening->options->compare;
        handle->compare_arg = opening->options->compare_arg;
        strcpy(handle->name, opening->name);
        handle->opens = 1;
        handle->confirmed_in = arena_txn(arena);
        handle->confirm = arena->env && handle->confirmed_in ? confirm : NULL;
        handle->next = arena->trees;
        arena->trees = handle;
        return handle;
}

static int open_handle(struct opening *opening, const bptree_options *given, struct handle **open)
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

static const bptree_options defaults;

int bptree_open(page_arena *arena, const char *name, int flags, const bptree_options *options, bptree **tree)
{
        struct opening opening = { arena, name, flags, 0, options ? options : &defaults, { 0 }, 0 };
        struct handle *open = NULL;
        int err = open_handle(&opening, options, &open);
        *tree = err ? NULL : open->tree;
        return err;
}

int cobtree_open(page_arena *arena, const char *name, int flags, const cobtree_options *options, cobtree **tree)
{
        struct opening opening = { arena, name, flags, CATALOG_COBTREE, options ? options : &defaults, { 0 }, 0 };
        struct handle *open = NULL;
        int err = open_handle(&opening, options, &open);
        *tree = err ? NULL : open->tree;
        return err;
}

enum { SHORTCUTS = EHASH_SHORTCUT | EHASH_SHORTCUT_ALWAYS };

int ehash_open(page_arena *arena, const char *name, int flags, const ehash_options *options, ehash **table)
{
        const bptree_options asked = { .key_bytes = options ? options->key_bytes : 0,
                                       .value_bytes = options ? options->value_bytes : 0 };
        struct opening opening = { arena, name, flags & ~SHORTCUTS, CATALOG_EHASH, &asked, { 0 }, 0 };
        struct handle *open = NULL;
        int err = open_handle(&opening, options ? &asked : NULL, &open);
        *table = err ? NULL : open->tree;
        if (err || !(flags & SHORTCUTS))
                return err;
        err = ehash_take_shortcut(*table, !(flags & EHASH_SHORTCUT_ALWAYS));
        if (err) {
                ehash_close(*table);
                *table = NULL;
        }
        return err;
}

/* ---- closing ---- */

static void close_handle(struct handle *handle)
{
        if (--handle->opens)
                return;
        struct handle **link = &handle->arena->trees;
        while (*link != handle)
                link = &(*link)->next;
        *link = handle->next;
        leaf_cursors_orphan(handle);
        if (handle->record.flags & CATALOG_EHASH)
                ehash_end(handle->tree);
        free(handle->tree);
}

void bptree_close(bptree *tree)
{
        if (tree)
                close_handle(&tree->handle);
}

void cobtree_close(cobtree *tree)
{
        if (tree)
                close_handle(&tree->handle);
}

void ehash_close(ehash *table)
{
        if (table)
                close_handle(&table->handle);
}
