/* SPDX-License-Identifier: MIT */
#include "trees/bptree_catalog.h"

#include <stdlib.h>

#include "trees/cobtree.h"
#include "trees/ehash.h"
#include "trees/overflow.h"

/* What concerns trees of all kinds by their names: xac_tree_drop, xac_tree_names. */

/* ---- dropping ---- */

struct drop {
        struct xac_arena *arena;
        const char *name;
        uint32_t tree_id;
        bool is_fixed;
        page_no *pages; /* those to be freed one by one: collected before the first is freed (T3) */
        size_t count, room;
        int result;
};

static int collect(void *drop_, page_no page)
{
        struct drop *drop = drop_;
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

/* The overflow pages of a leaf's values. */
static int collect_chains(void *drop_, page_no page, const struct bpnode *leaf)
{
        struct drop *drop = drop_;
        const struct bpnode_shape shape = { .is_fixed = drop->is_fixed };
        int err = 0;
        (void)page;
        for (unsigned i = 0; !err && !drop->is_fixed && i < leaf->count; i++) {
                struct bpnode_record record = bpnode_record_at(&shape, leaf, i);
                if (record.is_overflow)
                        err = overflow_walk(drop->arena, drop->tree_id, overflow_of(record.value), collect, drop);
        }
        return err;
}

static int collect_node(void *drop, page_no page, const struct bpnode *node)
{
        int err = collect(drop, page);
        return err || node->level ? err : collect_chains(drop, page, node);
}

/* Nothing can fail any more. */
static int forget(struct drop *drop)
{
        for (struct xac_tree *open = drop->arena->trees; open; open = open->next)
                if (open->record.tree_id == drop->tree_id)
                        tree_cursors_forget(open);
        return catalog_remove(drop->arena, drop->name);
}

static int free_pages(struct drop *drop, size_t first)
{
        int err = 0;
        for (size_t i = first; !err && i < drop->count; i++)
                err = page_alloc_free(drop->arena, drop->pages[i]);
        return err;
}

static int drop_bptree(struct drop *drop, const struct catalog_record *record)
{
        struct bptree tree;
        bptree_init(drop->arena, record, NULL, NULL, &tree);
        int err = bptree_walk(&tree, collect_node, drop);
        if (!err)
                err = forget(drop);
        if (!err)
                err = bptree_free_node(&tree, drop->pages[0]); /* the root: the only page that is written */
        return err ? err : free_pages(drop, 1);
}

static int pass_by(void *arg, page_no page)
{
        (void)arg;
        (void)page;
        return 0;
}

/* The index knows its own pages, and those of the segments with them. */
static int drop_cobtree(struct drop *drop, const struct catalog_record *record)
{
        struct cobtree tree;
        const char *fault;
        page_no page;
        cobtree_init(drop->arena, record, NULL, NULL, &tree);
        int err = cobindex_walk(&tree.index, pass_by, NULL, &fault, &page);
        if (!err)
                err = cobtree_walk(&tree, collect_chains, drop);
        if (!err)
                err = forget(drop);
        if (!err)
                err = free_pages(drop, 0);
        return err ? err : cobindex_drop(&tree.index);
}

static int collect_directory(void *drop, page_no page, const struct ehash_node *node)
{
        (void)node;
        return collect(drop, page);
}

static int collect_bucket(void *drop, page_no page, const struct bpnode *leaf, unsigned depth)
{
        (void)depth;
        return collect_node(drop, page, leaf);
}

static int drop_ehash(struct drop *drop, const struct catalog_record *record)
{
        const struct ehash_visitor visitor = { collect_directory, collect_bucket, drop };
        struct ehash table;
        ehash_init(drop->arena, record, &table);
        int err = ehash_walk(&table, &visitor);
        if (!err)
                err = forget(drop);
        if (!err)
                err = ehash_free_page(&table, drop->pages[0]); /* the root: the only page that is written */
        return err ? err : free_pages(drop, 1);
}

static int drop_tree(struct drop *drop, const struct catalog_record *record)
{
        switch (record->flags & CATALOG_KINDS) {
        case CATALOG_COBTREE:
                return drop_cobtree(drop, record);
        case CATALOG_EHASH:
                return drop_ehash(drop, record);
        default:
                return drop_bptree(drop, record);
        }
}

static int drop_body(void *arg)
{
        struct drop *drop = arg;
        struct catalog_record record;
        drop->count = 0;
        drop->result = 0;
        int err = catalog_find(drop->arena, drop->name, &record);
        if (err)
                return tree_settle(&drop->result, err);
        drop->tree_id = record.tree_id;
        drop->is_fixed = record.key_bytes != 0;
        err = drop_tree(drop, &record);
        return err == -ESTALE ? XAC_CORRUPT : err;
}

int xac_tree_drop(xac_arena *arena, const char *name)
{
        struct drop drop = { .arena = arena, .name = name };
        if (!catalog_takes_name(name))
                return -EINVAL;
        int err = arena_run(arena, 0, drop_body, &drop);
        free(drop.pages);
        return err ? err : drop.result;
}

/* ---- names ---- */

struct listing {
        struct xac_arena *arena;
        int (*visit)(void *arg, const char *name);
        void *arg;
        int result;
};

static int list_one(void *arg, const xac_tree_record *record)
{
        const struct listing *listing = arg;
        char name[XAC_TREE_NAME_MAX + 1];
        size_t len = record->key_len < XAC_TREE_NAME_MAX ? record->key_len : XAC_TREE_NAME_MAX;
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

int xac_tree_names(xac_arena *arena, int (*visit)(void *arg, const char *name), void *arg)
{
        struct listing listing = { arena, visit, arg, 0 };
        int err = arena_run(arena, XAC_RDONLY, list_body, &listing);
        return err ? err : listing.result;
}
