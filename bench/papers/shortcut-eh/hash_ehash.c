/* SPDX-License-Identifier: MIT */

/*
 * EH: the hash table of libxactrees (<xac/tree.h>) in rewired memory, in huge pages where the kernel gives them; and
 * Shortcut-EH, the same with XAC_TREE_SHORTCUT_ALWAYS; Tried-EH, with XAC_TREE_SHORTCUT, has the shortcut only where
 * the library finds it faster. "arranged": xac_tree_arrange() is called before the lookups.
 */

#include "bench/papers/shortcut-eh/hash_table.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include <xac/tree.h>

#include "bench/support/memory.h"
#include "bench/support/scratch.h"
#include "trees/ehash.h"

enum { PLAIN = 0, SHORTCUT = 1, ARRANGED = 2, TRIED = 4 };

struct table {
        xac_arena *arena;
        xac_tree *hash;
        uint64_t kind;
};

static void *ehash_make(const struct hash_system *system, uint64_t records, uint64_t fill_percent)
{
        const xac_tree_options options = { .kind = XAC_TREE_HASH, .key_bytes = 8, .value_bytes = 8 };
        const int shortcut = system->kind & SHORTCUT ? XAC_TREE_SHORTCUT_ALWAYS
                             : system->kind & TRIED  ? XAC_TREE_SHORTCUT
                                                     : 0;
        struct table *table = calloc(1, sizeof(*table));

        (void)records;
        (void)fill_percent;
        must(table ? 0 : -ENOMEM, "memory");
        table->kind = system->kind;
        must(xac_arena_open_rewired(0, SMALL_PAGE, &table->arena), "xac_arena_open_rewired");
        must(xac_tree_open(table->arena, "table", XAC_TREE_CREATE | shortcut, &options, &table->hash), "xac_tree_open");
        return table;
}

static void insert(void *table, uint64_t key, uint64_t value)
{
        must(xac_tree_put(((struct table *)table)->hash, &key, sizeof(key), &value, sizeof(value), 0), "xac_tree_put");
}

static uint64_t find(void *table, uint64_t key)
{
        uint64_t value = 0;

        xac_tree_get(((struct table *)table)->hash, &key, sizeof(key), &value, sizeof(value), NULL);
        return value;
}

static void insert_each(void *table, const struct hash_data *data, uint64_t first, uint64_t count)
{
        hash_insert_each(table, data, first, count, insert);
}

static uint64_t look_up_each(void *table, const struct hash_reads *reads)
{
        return hash_look_up_each(table, reads, find);
}

static struct ehash_shortcut *shortcut_of(const struct table *table)
{
        return ((const struct ehash *)table->hash->tree)->shortcut;
}

/* xac_tree_stat() would walk the whole table. */
static bool is_in_step(void *table_)
{
        const struct table *table = table_;
        return ehash_shortcut_base(shortcut_of(table)) != NULL;
}

/* Until all that was asked of the shortcut is done; it may be refused then. */
static void wait_for(const struct ehash_shortcut *shortcut)
{
        const struct timespec pause = { .tv_nsec = 100000 };

        while (atomic_load(&shortcut->shown) != shortcut->requests && !shortcut->is_lost)
                nanosleep(&pause, NULL);
}

static void settle(void *table_)
{
        const struct table *table = table_;

        if (table->kind & ARRANGED)
                must(xac_tree_arrange(table->hash), "xac_tree_arrange");
        if (shortcut_of(table))
                wait_for(shortcut_of(table));
}

static void stat_table(void *table_, struct hash_stats *stats)
{
        const struct table *table = table_;
        xac_tree_stats its;

        must(xac_tree_stat(table->hash, &its), "xac_tree_stat");
        stats->bytes = (its.leaf_pages + its.inner_pages + its.overflow_pages) * SMALL_PAGE;
        stats->mappings = its.shortcut_mappings;
}

static void destroy(void *table_)
{
        struct table *table = table_;

        xac_tree_close(table->hash);
        must(xac_arena_close(table->arena), "xac_arena_close");
        free(table);
}

#define EH(its_name, its_kind, its_step)                                                                    \
        {                                                                                                   \
                .name = (its_name), .page_bytes = HUGE_PAGE, .kind = (its_kind), .create = ehash_make,      \
                .insert = insert_each, .look_up = look_up_each, .settle = settle, .is_in_step = (its_step), \
                .stat = stat_table, .destroy = destroy                                                      \
        }

const struct hash_system hash_ehash[] = {
        EH("EH", PLAIN, NULL),
        EH("Shortcut-EH", SHORTCUT, is_in_step),
        EH("Tried-EH", TRIED, is_in_step),
        EH("EH-arranged", ARRANGED, NULL),
        EH("Shortcut-EH-arranged", SHORTCUT | ARRANGED, is_in_step),
        EH("Tried-EH-arranged", TRIED | ARRANGED, is_in_step),
        { .name = NULL },
};
