/* SPDX-License-Identifier: MIT */
#include "bench/serial/declared.h"

/*
 * The table of open_table.h, laid out as there: 128 slots are a page, none lies on two. A page is asked for when the
 * search comes to it.
 */

#include <string.h>

#include "bench/serial/open_table.h"

enum { SLOTS_OF_PAGE = 4096 / sizeof(struct open_slot) };

_Static_assert(SLOTS_OF_PAGE * sizeof(struct open_slot) == 4096, "no slot lies on two pages");

static struct open_table *table_of(const struct seat *seat)
{
        return (struct open_table *)(void *)seat->bytes;
}

/* Where the key is, or the free place where it would go; NULL: the transaction is lost. */
static const struct open_slot *find(const struct seat *seat, uint64_t key, size_t *at)
{
        const struct open_table *table = table_of(seat);

        for (*at = open_table_hash(key);; *at %= OPEN_TABLE_SLOTS) {
                const struct open_slot *slot = declared_look(seat, &table->slot[*at]);
                if (!slot)
                        return NULL;
                do {
                        if (!slot->key || slot->key == key)
                                return slot;
                        slot++;
                } while (++*at % SLOTS_OF_PAGE);
        }
}

static int get(void *memory, uint64_t key, uint64_t *value)
{
        size_t at;
        const struct open_slot *slot = find(memory, key, &at);
        if (!slot)
                return -1;
        if (!slot->key)
                return 0;
        memcpy(value, &slot->value, sizeof(slot->value));
        return 1;
}

static int put(void *memory, uint64_t key, const uint64_t *value)
{
        const struct seat *seat = memory;
        struct open_table *table = table_of(seat);
        size_t at;
        const struct open_slot *found = find(seat, key, &at);
        const bool is_new = found && !found->key;
        struct open_slot *slot = found ? declared_change(seat, &table->slot[at]) : NULL;
        size_t *count = is_new && slot ? declared_change(seat, &table->count) : NULL;

        if (!slot || (is_new && !count))
                return -1;
        if (is_new && *count == OPEN_TABLE_SLOTS - 1)
                return 0;
        slot->key = key;
        memcpy(&slot->value, value, sizeof(slot->value));
        if (is_new)
                ++*count;
        return is_new;
}

/* Fills the gap from behind. Returns whether the transaction goes on. */
static bool close_gap(const struct seat *seat, size_t gap)
{
        struct open_table *table = table_of(seat);
        struct open_slot *empty = declared_change(seat, &table->slot[gap]);
        if (!empty)
                return false;
        for (size_t at = open_table_next(gap);; at = open_table_next(at)) {
                const struct open_slot *slot = declared_look(seat, &table->slot[at]);
                if (!slot || !slot->key) {
                        empty->key = 0;
                        return slot;
                }
                const size_t home = open_table_hash(slot->key);
                if (open_table_distance(home, at) < open_table_distance(gap, at))
                        continue;
                *empty = *slot;
                gap = at;
                empty = declared_change(seat, &table->slot[at]);
                if (!empty)
                        return false;
        }
}

static int erase(void *memory, uint64_t key)
{
        const struct seat *seat = memory;
        size_t gap;
        const struct open_slot *slot = find(seat, key, &gap);
        if (!slot)
                return -1;
        if (!slot->key)
                return 0;
        size_t *count = declared_change(seat, &table_of(seat)->count);
        if (!count || !close_gap(seat, gap))
                return -1;
        --*count;
        return 1;
}

static void make(void *memory)
{
        const struct seat *seat = memory;
        structures_plain[OPEN_TABLE].make(seat->bytes);
}

static const char *check(void *memory, struct content *content)
{
        const struct seat *seat = memory;
        return structures_plain[OPEN_TABLE].check(seat->bytes, content);
}

const struct structure declared_open_table = {
        .name = "open-table",
        .byte_len = sizeof(struct open_table),
        .make = make,
        .get = get,
        .put = put,
        .erase = erase,
        .check = check,
};
