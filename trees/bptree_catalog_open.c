/* SPDX-License-Identifier: MIT */
#include "trees/bptree_catalog.h"

#include <stdlib.h>
#include <string.h>

#include "trees/overflow.h"

/* What concerns trees by their names: bptree_open, bptree_close, bptree_drop, bptree_names. */

static bool is_name(const char *name)
{
        return name && *name && strlen(name) <= BPTREE_NAME_MAX;
}

static bool is_possible(const bptree_options *options)
{
        if (!options->key_bytes)
                return !options->value_bytes;
        return options->key_bytes == 8 && options->value_bytes <= BPTREE_FIXED_VALUE_MAX && !options->compare;
}

/* ---- whether a tree is still there ---- */

static bool is_tree_of(const struct bptree *tree, const struct catalog_record *record)
{
        const struct bpnode_shape *shape = &tree->shape;
        return record->root == tree->root && record->tree_id == shape->tree_id &&
               (record->key_bytes != 0) == shape->is_fixed && record->value_bytes == shape->value_bytes &&
               ((record->flags & CATALOG_OWN_ORDER) != 0) == (shape->compare != NULL);
}

struct question {
        const struct bptree *tree;
        int result;
};

static int ask_body(void *arg)
{
        struct question *question = arg;
        const struct bptree *tree = question->tree;
        struct catalog_record found;
        int err = catalog_find(tree->arena, tree->name, &found);
        if (err == -ENOENT || (!err && !is_tree_of(tree, &found)))
                err = -ESTALE;
        return bptree_settle(&question->result, err);
}

/*
 * A tree that was found inside a transaction may be one that this transaction made: when that is undone, its pages
 * and its id are given to others, and the handle would take theirs for its own (T1). So the catalog is asked, once
 * in each transaction, until the tree is found in one of our own: that sees only what was committed.
 */
static int confirm(struct bptree *tree)
{
        struct question question = { .tree = tree };
        uint64_t txn = arena_txn(tree->arena);
        if (txn && txn == tree->confirmed_in)
                return 0;
        int err = arena_run(tree->arena, XAC_RDONLY, ask_body, &question);
        if (!err)
                err = question.result;
        if (err)
                return err;
        tree->confirmed_in = txn;
        if (!txn)
                tree->confirm = NULL;
        return 0;
}

/* ---- opening ---- */

struct opening {
        struct page_arena *arena;
        const char *name;
        int flags;
        const bptree_options *options;
        struct catalog_record record;
        int result;
};

static int make_root(struct page_arena *arena, const struct catalog_record *record)
{
        struct bptree tree;
        struct bpnode *root = arena_write(arena, record->root);
        if (!root)
                return ARENA_LOST;
        catalog_tree_of(arena, record, &tree);
        bpnode_init(&tree.shape, root, 0);
        return 0;
}

static int create(struct opening *opening)
{
        struct page_reserve reserve = { 0 };
        struct catalog_record *record = &opening->record;
        const bptree_options *options = opening->options;
        *record = (struct catalog_record){ .key_bytes = options->key_bytes,
                                           .value_bytes = options->value_bytes,
                                           .flags = options->compare ? CATALOG_OWN_ORDER : 0 };
        int err = page_alloc_reserve(opening->arena, &reserve, 1);
        if (err)
                return err;
        record->root = page_alloc_take(&reserve);
        err = page_alloc_tree_id(opening->arena, &record->tree_id);
        if (!err)
                err = catalog_add(opening->arena, opening->name, record);
        if (!err)
                return make_root(opening->arena, record);
        if (err == ARENA_LOST)
                return err;
        int free_err = page_alloc_free(opening->arena, record->root);
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
        return bptree_settle(&opening->result, err);
}

static bool is_as_asked(const struct catalog_record *record, const bptree_options *options)
{
        return record->key_bytes == options->key_bytes && record->value_bytes == options->value_bytes;
}

/* NULL options: whatever the tree was made with; a comparison has to be given all the same. */
static int check_options(const struct opening *opening, const bptree_options *given)
{
        bool has_own_order = opening->record.flags & CATALOG_OWN_ORDER;
        if (given && !is_as_asked(&opening->record, given))
                return -EINVAL;
        return has_own_order == (opening->options->compare != NULL) ? 0 : -EINVAL;
}

static struct bptree *find_open(const struct opening *opening)
{
        struct bptree *tree = opening->arena->trees;
        while (tree && !(is_tree_of(tree, &opening->record) && !strcmp(tree->name, opening->name)))
                tree = tree->next;
        return tree;
}

/* A thread has one handle for each tree, so that its cursors know of all its changes. */
static int share(struct bptree *tree, const bptree_options *options, bptree **shared)
{
        if (tree->shape.compare != options->compare || tree->shape.compare_arg != options->compare_arg)
                return -EINVAL;
        tree->opens++;
        *shared = tree;
        return 0;
}

static void enlist(struct bptree *tree, const struct opening *opening)
{
        struct page_arena *arena = opening->arena;
        catalog_tree_of(arena, &opening->record, tree);
        tree->shape.compare = opening->options->compare;
        tree->shape.compare_arg = opening->options->compare_arg;
        strcpy(tree->name, opening->name);
        tree->opens = 1;
        tree->confirmed_in = arena_txn(arena);
        tree->confirm = arena->env && tree->confirmed_in ? confirm : NULL;
        tree->next = arena->trees;
        arena->trees = tree;
}

int bptree_open(page_arena *arena, const char *name, int flags, const bptree_options *options, bptree **tree)
{
        static const bptree_options defaults;
        struct opening opening = { arena, name, flags, options ? options : &defaults, { 0 }, 0 };
        *tree = NULL;
        if (!is_name(name) || flags & ~(BPTREE_CREATE | BPTREE_EXCL) || flags == BPTREE_EXCL ||
            !is_possible(opening.options))
                return -EINVAL;
        struct bptree *made = malloc(sizeof(*made)); /* first: it can fail (T3) */
        if (!made)
                return -ENOMEM;
        int err = arena_run(arena, flags & BPTREE_CREATE ? 0 : XAC_RDONLY, open_body, &opening);
        if (!err)
                err = opening.result;
        if (!err)
                err = check_options(&opening, options);
        if (err)
                goto fail_free;
        struct bptree *open = find_open(&opening);
        if (open) {
                err = share(open, opening.options, tree);
                goto fail_free;
        }
        enlist(made, &opening);
        *tree = made;
        return 0;
fail_free:
        free(made);
        return err;
}

void bptree_close(bptree *tree)
{
        if (!tree || --tree->opens)
                return;
        struct bptree **link = &tree->arena->trees;
        while (*link != tree)
                link = &(*link)->next;
        *link = tree->next;
        bptree_orphan_cursors(tree);
        free(tree);
}

/* ---- dropping ---- */

struct drop {
        struct page_arena *arena;
        const char *name;
        struct bptree tree; /* as the catalog has it */
        page_no *pages;     /* all of them: collected before the first is freed (T3) */
        size_t count, room;
        int result;
};

static int collect(struct drop *drop, page_no page)
{
        if (drop->count == drop->room) {
                size_t room = drop->room ? 2 * drop->room : 64;
                page_no *pages = realloc(drop->pages, room * sizeof(*pages));
                if (!pages)
                        return -ENOMEM;
                drop->pages = pages;
                drop->room = room;
        }
        drop->pages[drop->count++] = page;
        return 0;
}

static int collect_chain(void *arg, page_no page)
{
        return collect(arg, page);
}

static int collect_node(void *arg, page_no page, const struct bpnode *node)
{
        struct drop *drop = arg;
        const struct bptree *tree = &drop->tree;
        int err = collect(drop, page);
        if (node->level || tree->shape.is_fixed)
                return err;
        for (unsigned i = 0; !err && i < node->count; i++) {
                struct bpnode_record record = bpnode_record_at(&tree->shape, node, i);
                if (record.is_overflow)
                        err = overflow_walk(tree->arena, tree->shape.tree_id, overflow_of(record.value),
                                            collect_chain, drop);
        }
        return err;
}

static int free_all(struct drop *drop)
{
        struct bptree *open = drop->arena->trees;
        for (; open; open = open->next)
                if (open->shape.tree_id == drop->tree.shape.tree_id)
                        bptree_forget_cursors(open);
        int err = catalog_remove(drop->arena, drop->name);
        if (!err)
                err = bptree_free_node(&drop->tree, drop->pages[0]); /* the root: the only page that is written */
        for (size_t i = 1; !err && i < drop->count; i++)
                err = page_alloc_free(drop->arena, drop->pages[i]);
        return err;
}

static int drop_body(void *arg)
{
        struct drop *drop = arg;
        struct catalog_record record;
        drop->count = 0;
        drop->result = 0;
        int err = catalog_find(drop->arena, drop->name, &record);
        if (err)
                return bptree_settle(&drop->result, err);
        catalog_tree_of(drop->arena, &record, &drop->tree);
        err = bptree_walk(&drop->tree, collect_node, drop);
        if (err == -ESTALE)
                err = XAC_CORRUPT;
        return err ? err : free_all(drop);
}

int bptree_drop(page_arena *arena, const char *name)
{
        struct drop drop = { .arena = arena, .name = name };
        if (!is_name(name))
                return -EINVAL;
        int err = arena_run(arena, 0, drop_body, &drop);
        free(drop.pages);
        return err ? err : drop.result;
}

/* ---- names ---- */

struct listing {
        struct page_arena *arena;
        int (*visit)(void *arg, const char *name);
        void *arg;
        int result;
};

static int list_one(void *arg, const bptree_record *record)
{
        const struct listing *listing = arg;
        char name[BPTREE_NAME_MAX + 1];
        size_t len = record->key_len < BPTREE_NAME_MAX ? record->key_len : BPTREE_NAME_MAX;
        memcpy(name, record->key, len);
        name[len] = '\0';
        return listing->visit(listing->arg, name);
}

static int list_body(void *arg)
{
        struct listing *listing = arg;
        struct bptree catalog;
        bool is_made;
        listing->result = 0;
        int err = catalog_is_made(listing->arena, &is_made);
        if (err || !is_made)
                return err;
        catalog_tree(listing->arena, &catalog);
        err = bptree_scan_all(&catalog, list_one, listing, &listing->result);
        return err == -ESTALE ? XAC_CORRUPT : err;
}

int bptree_names(page_arena *arena, int (*visit)(void *arg, const char *name), void *arg)
{
        struct listing listing = { arena, visit, arg, 0 };
        int err = arena_run(arena, XAC_RDONLY, list_body, &listing);
        return err ? err : listing.result;
}
