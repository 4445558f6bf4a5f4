/* SPDX-License-Identifier: MIT */

/*
 * EH: the hash table of libxactrees (<xac/ehash.h>) in rewired memory, in huge pages where the kernel gives them; and
 * Shortcut-EH, the same with EHASH_SHORTCUT_ALWAYS; Tried-EH, with EHASH_SHORTCUT, has the shortcut only where the
 * library finds it faster. "arranged": ehash_arrange() is called before the lookups.
 */

#include "bench/rewire/hash_table.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include <xac/ehash.h>

#include "bench/rewire/rewire.h"
#include "bench/support/scratch.h"
#include "trees/ehash.h"

enum { PLAIN = 0, SHORTCUT = 1, ARRANGED = 2, TRIED = 4 };

struct table {
        page_arena *arena;
        ehash *hash;
        uint64_t kind;
};

static void *ehash_make(const struct hash_system *system, uint64_t records, uint64_t fill_percent)
{
        const ehash_options options = { .key_bytes = 8, .value_bytes = 8 };
        const int shortcut = system->kind & SHORTCUT ? EHASH_SHORTCUT_ALWAYS
                             : system->kind & TRIED  ? EHASH_SHORTCUT
                                                     : 0;
        struct table *table = calloc(1, sizeof(*table));

        (void)records;
        (void)fill_percent;
        must(table ? 0 : -ENOMEM, "memory");
        table->kind = system->kind;
        must(page_arena_open_rewired(0, SMALL_PAGE, &table->arena), "page_arena_open_rewired");
        must(ehash_open(table->arena, "table", EHASH_CREATE | shortcut, &options, &table->hash), "ehash_open");
        return table;
}

static void insert(void *table, uint64_t key, uint64_t value)
{
        must(ehash_put(((struct table *)table)->hash, &key, sizeof(key), &value, sizeof(value), 0), "ehash_put");
}

static uint64_t find(void *table, uint64_t key)
{
        uint64_t value = 0;

        ehash_get(((struct table *)table)->hash, &key, sizeof(key), &value, sizeof(value), NULL);
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

/* ehash_stat() would walk the whole table. */
static bool is_in_step(void *table_)
{
        const struct table *table = table_;
        return ehash_shortcut_base(table->hash->shortcut) != NULL;
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
                must(ehash_arrange(table->hash), "ehash_arrange");
        if (table->hash->shortcut)
                wait_for(table->hash->shortcut);
}

static void stat_table(void *table_, struct hash_stats *stats)
{
        const struct table *table = table_;
        ehash_stats its;

        must(ehash_stat(table->hash, &its), "ehash_stat");
        stats->bytes = (its.buckets + its.directory_pages + its.overflow_pages) * SMALL_PAGE;
        stats->mappings = its.shortcut_mappings;
}

static void destroy(void *table_)
{
        struct table *table = table_;

        ehash_close(table->hash);
        must(page_arena_close(table->arena), "page_arena_close");
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
