/* SPDX-License-Identifier: MIT */
#include "trees/bptree_check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trees/bptree_catalog.h"

static const char CATALOG_NAME[] = "(catalog)";

int check_fail(struct check *check, page_no page, const char *tree, const char *what)
{
        bptree_report *report = &check->report;
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
static void set_order(struct check *check, const struct catalog_record *record, struct bptree *tree)
{
        const struct bptree *open = check->arena->trees;
        if (!(record->flags & CATALOG_OWN_ORDER))
                return;
        while (open && open->shape.tree_id != record->tree_id)
                open = open->next;
        if (open && open->shape.compare) {
                tree->shape.compare = open->shape.compare;
                tree->shape.compare_arg = open->shape.compare_arg;
                return;
        }
        tree->shape.compare = in_any_order;
        check->report.unordered_trees++;
}

static int check_entry(void *check_, const bptree_record *entry)
{
        struct check *check = check_;
        struct catalog_record record;
        struct bptree tree;
        char name[BPTREE_NAME_MAX + 1] = "";
        if (entry->key_len > BPTREE_NAME_MAX || memchr(entry->key, '\0', entry->key_len))
                return check_fail(check, PAGE_CATALOG, CATALOG_NAME, "an impossible name");
        memcpy(name, entry->key, entry->key_len);
        if (catalog_parse(entry->value, entry->value_len, &record))
                return check_fail(check, PAGE_CATALOG, name, "an impossible entry in the catalog");
        catalog_tree_of(check->arena, &record, &tree);
        set_order(check, &record, &tree);
        check->report.trees++;
        return check_tree(check, &tree, name);
}

static int check_catalog(struct check *check)
{
        struct bptree catalog;
        bool is_made;
        int result = 0;
        int err = catalog_is_made(check->arena, &is_made);
        if (err)
                return err;
        if (!is_made)
                return check_reach(check, PAGE_CATALOG, CATALOG_NAME);
        catalog_tree(check->arena, &catalog);
        err = check_tree(check, &catalog, CATALOG_NAME);
        check->report.records = 0; /* those were names */
        if (!err)
                err = bptree_scan_all(&catalog, check_entry, check, &result);
        return err ? err : result;
}

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

static int check_body(void *check_)
{
        struct check *check = check_;
        uint32_t groups;
        memset(&check->report, 0, sizeof(check->report));
        int err = page_alloc_groups(check->arena, &groups);
        if (err == XAC_CORRUPT)
                err = check_fail(check, PAGE_HEADER, NULL, "the header of the arena is damaged");
        if (err || !groups)
                return bptree_settle(&check->result, err);
        check->pages = check->report.pages = (uint64_t)groups * GROUP_PAGES;
        check->reached = calloc(check->pages / 64, sizeof(*check->reached));
        if (!check->reached)
                return -ENOMEM;
        err = check_all(check);
        free(check->reached);
        return bptree_settle(&check->result, err);
}

int bptree_check(page_arena *arena, bptree_report *report)
{
        struct check check = { .arena = arena };
        int err = arena_run(arena, XAC_RDONLY, check_body, &check);
        *report = check.report;
        return err ? err : check.result;
}
