/* SPDX-License-Identifier: MIT */
#include "trees/arena_check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trees/overflow.h"

static const char CATALOG_NAME[] = "(catalog)";

int check_fail(struct check *check, page_no page, const char *tree, const char *what)
{
        xac_tree_report *report = &check->report;
        if (report->message[0])
                return XAC_CORRUPT;
        report->page_no = page;
        if (tree)
                snprintf(report->message, sizeof(report->message), "tree %.60s, page %u: %s", tree, page, what);
        else
                snprintf(report->message, sizeof(report->message), "page %u: %s", page, what);
        return XAC_CORRUPT;
}

bool check_is_reached(const struct check *check, uint64_t page)
{
        return check->reached[page / 64] >> page % 64 & 1;
}

int check_reach(struct check *check, page_no page, const char *tree)
{
        if (page >= check->pages)
                return check_fail(check, page, tree, "the arena ends before this page");
        if (check_is_reached(check, page))
                return check_fail(check, page, tree, "reached twice");
        check->reached[page / 64] |= UINT64_C(1) << page % 64;
        return 0;
}

/* ---- leaves ---- */

static int check_link(void *tree_, page_no page)
{
        const struct check_tree *tree = tree_;
        return check_reach(tree->check, page, tree->name);
}

static int check_chain(const struct check_tree *tree, const struct bpnode_shape *shape, page_no leaf,
                       const struct bpnode_record *record)
{
        struct bpnode_overflow chain = overflow_of(record->value);
        if (chain.byte_len > XAC_TREE_VALUE_MAX || !bpnode_may_overflow(shape, record->key.len, chain.byte_len))
                return check_fail(tree->check, leaf, tree->name, "a value has an impossible length");
        int err = overflow_walk(tree->check->arena, shape->tree_id, chain, check_link, (void *)tree);
        if (err == XAC_CORRUPT)
                return check_fail(tree->check, leaf, tree->name, "the overflow pages of a value are damaged");
        return err;
}

int check_leaf(const struct check_tree *tree, const struct bpnode_shape *shape, page_no page, const struct bpnode *leaf)
{
        int err = 0;
        tree->check->report.records += leaf->count;
        for (unsigned i = 0; !err && !shape->is_fixed && i < leaf->count; i++) {
                struct bpnode_record record = bpnode_record_at(shape, leaf, i);
                if (record.is_overflow)
                        err = check_chain(tree, shape, page, &record);
        }
        return err;
}

/* ---- trees ---- */

/* Stands for a comparison that is not known: every order is right. */
static int in_any_order(void *arg, const void *a, size_t a_len, const void *b, size_t b_len)
{
        (void)arg;
        (void)a;
        (void)a_len;
        (void)b;
        (void)b_len;
        return -1;
}

/* An own comparison is known while the tree is open in this arena. */
static void set_order(struct check_tree *tree)
{
        const struct xac_tree *open = tree->check->arena->trees;
        tree->is_ordered = true;
        if (!(tree->record.flags & CATALOG_OWN_ORDER))
                return;
        while (open && open->record.tree_id != tree->record.tree_id)
                open = open->next;
        if (open && open->compare) {
                tree->compare = open->compare;
                tree->compare_arg = open->compare_arg;
                return;
        }
        tree->compare = in_any_order;
        tree->is_ordered = false;
        tree->check->report.unordered_trees++;
}

static int check_entry(void *check_, const xac_tree_record *entry)
{
        struct check *check = check_;
        char name[XAC_TREE_NAME_MAX + 1] = "";
        struct check_tree tree = { .check = check, .name = name };
        if (entry->key_len > XAC_TREE_NAME_MAX || memchr(entry->key, '\0', entry->key_len))
                return check_fail(check, PAGE_CATALOG, CATALOG_NAME, "an impossible name");
        memcpy(name, entry->key, entry->key_len);
        if (catalog_parse(entry->value, entry->value_len, &tree.record))
                return check_fail(check, PAGE_CATALOG, name, "an impossible entry in the catalog");
        if (tree.record.root >= check->pages)
                return check_fail(check, PAGE_CATALOG, name, "its root is no page of the arena");
        set_order(&tree);
        check->report.trees++;
        switch (tree.record.flags & CATALOG_KINDS) {
        case CATALOG_COBTREE:
                return check_cobtree(&tree);
        case CATALOG_EHASH:
                return check_ehash(&tree);
        default:
                return check_bptree(&tree);
        }
}

static int check_catalog(struct check *check)
{
        const struct check_tree tree = { .check = check,
                                         .name = CATALOG_NAME,
                                         .record = { .root = PAGE_CATALOG, .tree_id = CATALOG_TREE_ID },
                                         .is_ordered = true };
        struct bptree catalog;
        bool is_made;
        int result = 0;
        int err = catalog_is_made(check->arena, &is_made);
        if (err)
                return err;
        if (!is_made)
                return check_reach(check, PAGE_CATALOG, CATALOG_NAME);
        err = check_bptree(&tree);
        check->report.records = 0; /* those were names */
        catalog_tree(check->arena, &catalog);
        if (!err)
                err = bptree_scan_all(&catalog, check_entry, check, &result);
        return err ? err : result;
}

/* ---- the arena ---- */

/* Those of each group that are no tree's. */
static int reach_fixed(struct check *check)
{
        int err = 0;
        for (uint64_t page = 0; !err && page < check->pages; page += GROUP_PAGES)
                err = check_reach(check, (page_no)page, NULL);
        return err ? err : check_reach(check, PAGE_HEADER, NULL);
}

/* T4 */
static int check_page(struct check *check, page_no page)
{
        bool is_free;
        int err = page_alloc_is_free(check->arena, page, &is_free);
        if (err)
                return err == XAC_CORRUPT ? check_fail(check, page, NULL, "the map of its group is damaged") : err;
        bool is_reached = check_is_reached(check, page);
        if (is_free == is_reached)
                return check_fail(check, page, NULL, is_free ? "in use, and free as well" : "neither in use nor free");
        check->report.free_pages += is_free;
        return 0;
}

static int check_all(struct check *check)
{
        int err = reach_fixed(check);
        if (!err)
                err = check_catalog(check);
        for (uint64_t page = 0; !err && page < check->pages; page++)
                err = check_page(check, (page_no)page);
        return err;
}

/* An arena without groups: nothing was ever written, and those of its first group that have a fixed place say so. */
static int check_empty(struct check *check)
{
        for (page_no page = 0; page < PAGES_FIXED; page++) {
                const char *bytes = arena_read(check->arena, page);
                if (!bytes)
                        return ARENA_LOST;
                if (bytes[0] || memcmp(bytes, bytes + 1, check->arena->page_bytes - 1))
                        return check_fail(check, PAGE_HEADER, NULL, "the header of the arena is damaged");
        }
        return 0;
}

static int check_body(void *check_)
{
        struct check *check = check_;
        uint32_t groups;
        memset(&check->report, 0, sizeof(check->report));
        int err = page_group_count(check->arena, &groups);
        if (err == XAC_CORRUPT)
                err = check_fail(check, PAGE_HEADER, NULL, "the header of the arena is damaged");
        if (!err && !groups)
                err = check_empty(check);
        if (err || !groups)
                return tree_settle(&check->result, err);
        check->pages = check->report.pages = (uint64_t)groups * GROUP_PAGES;
        check->reached = calloc(check->pages / 64, sizeof(*check->reached));
        if (!check->reached)
                return -ENOMEM;
        err = check_all(check);
        free(check->reached);
        return tree_settle(&check->result, err);
}

int xac_tree_check(xac_arena *arena, xac_tree_report *report)
{
        struct check check = { .arena = arena };
        int err = arena_run(arena, XAC_RDONLY, check_body, &check);
        *report = check.report;
        return err ? err : check.result;
}
