/* SPDX-License-Identifier: MIT */
#include "trees/ehash.h"

/*
 * Buckets get pages in the order of the directory, so that a shortcut shows many of them by one mapping of the
 * kernel's:
 *
 *      before   slots | 9 9 | 4 | 31 | 7 7 |     five mappings, as 9 and 7 are seen twice
 *      after          | 65 65 | 66 | 67 | 68 68 |     three
 *
 * A run of pages is shorter than a group, whose first page is its map.
 */

enum { RUN_MAX = GROUP_PAGES - 1 };

struct arranging {
        struct ehash *table;
        uint64_t left;     /* buckets that are to be moved */
        page_no next;      /* of the run that was taken, */
        uint32_t run_left; /* of which so many are left */
};

static int take_run(struct arranging *arranging)
{
        const uint64_t count = arranging->left < RUN_MAX ? arranging->left : RUN_MAX;
        int err = page_alloc_take_run(arranging->table->arena, (size_t)count, &arranging->next);
        if (!err)
                arranging->run_left = (uint32_t)count;
        return err;
}

static int move_bucket(struct arranging *arranging, struct ehash_way *way)
{
        struct ehash *table = arranging->table;
        const page_no from = way->page;
        struct ehash_node *node;
        int err = ehash_write_node(table, way->nodes[way->level], &node);
        if (!err)
                err = arena_move(table->arena, arranging->next, from);
        if (err)
                return err;
        for (unsigned i = way->first; i < way->first + way->count; i++)
                node->slot[i] = arranging->next;
        way->page = arranging->next++;
        arranging->run_left--;
        arranging->left--;
        ehash_learn(table, way);
        return page_alloc_free(table->arena, from);
}

static int count_buckets(struct ehash *table, uint64_t *buckets)
{
        xac_tree_stats stats;
        int err = ehash_stat(&table->handle, &stats);
        *buckets = stats.leaf_pages;
        return err;
}

/* The shortcut, if there is one, learns all at the end. */
static int arrange(struct arranging *arranging)
{
        struct ehash *table = arranging->table;
        struct ehash_way way;
        int err = ehash_find_first(table, &way);
        while (!err) {
                if (!arranging->run_left)
                        err = take_run(arranging);
                if (!err)
                        err = move_bucket(arranging, &way);
                if (!err)
                        err = ehash_find_next(table, &way);
        }
        if (arranging->run_left) {
                int free_err = page_alloc_free_run(table->arena, arranging->next, arranging->run_left);
                err = free_err ? free_err : err;
        }
        return err == -ENOENT ? 0 : err;
}

int ehash_arrange(struct xac_tree *handle)
{
        struct ehash *table = handle->tree;
        struct arranging arranging = { .table = table };
        struct ehash_shortcut *shortcut = table->shortcut;
        if (!table->arena->pool)
                return -EINVAL;
        int err = ehash_enter(table);
        if (!err)
                err = count_buckets(table, &arranging.left);
        if (!err)
                err = tree_cursors_before_change(&table->handle);
        if (err)
                return err;
        table->shortcut = NULL;
        err = arrange(&arranging);
        table->shortcut = shortcut;
        if (shortcut && table->cache.page)
                ehash_shortcut_anew(shortcut, table->cache.bits, table->cache.page);
        return err;
}
