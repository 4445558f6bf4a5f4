/* SPDX-License-Identifier: MIT */
#include "bench/programs/crowd.h"

/*
 * A hash table of uthash. OPERATION says what is done with it (crowd_keys.h). Every insert writes the head of the table
 * and the entry that was inserted before.
 */

#include "bench/programs/crowd_keys.h"

#define uthash_malloc(size)       crowd_malloc(size)
#define uthash_free(object, size) crowd_free(object)
#include <uthash.h>

#ifndef OPERATION
#define OPERATION UPDATES
#endif

static const enum { UPDATES, REPLACEMENTS, LOOKUPS } operation = OPERATION;

struct entry {
        char key[KEYS_BYTES];
        uint64_t value;
        UT_hash_handle hh;
};

struct table {
        struct entry *entries;
};

static int insert(struct table *table, const char *key, uint64_t value)
{
        struct entry *entry = crowd_malloc(sizeof(*entry));

        if (!entry)
                return -1;
        memset(entry, 0, sizeof(*entry));
        memcpy(entry->key, key, KEYS_BYTES);
        entry->value = value;
        HASH_ADD(hh, table->entries, key, KEYS_BYTES, entry);
        return 0;
}

static struct entry *find(const struct table *table, const char *key)
{
        struct entry *entry;

        HASH_FIND(hh, table->entries, key, KEYS_BYTES, entry);
        return entry;
}

static int make(void *root, uint64_t records)
{
        (void)root, (void)records;
        return 0;
}

static int add(void *root, uint64_t record)
{
        char key[KEYS_BYTES];

        keys_of_record(key, record);
        return insert(root, key, 0);
}

static int replace(struct table *table, int worker, uint64_t number)
{
        char key[KEYS_BYTES];
        struct entry *old;

        if (number >= KEYS_WINDOW) {
                keys_of_worker(key, worker, number - KEYS_WINDOW);
                if (!(old = find(table, key)))
                        return -1;
                HASH_DEL(table->entries, old);
                crowd_free(old);
        }
        keys_of_worker(key, worker, number);
        return insert(table, key, number + 1);
}

static int use(const struct table *table, uint64_t record)
{
        char key[KEYS_BYTES];

        keys_of_record(key, record);
        struct entry *entry = find(table, key);
        if (!entry)
                return -1;
        if (operation == UPDATES)
                entry->value++;
        return entry->value <= UINT32_MAX ? 0 : -1;
}

static int operate(void *root, int worker, uint64_t number, uint64_t records)
{
        if (operation == REPLACEMENTS)
                return replace(root, worker, number);
        return use(root, keys_chosen(worker, number, records));
}

static int count(void *root, uint64_t *operations)
{
        struct keys_count of_workers = { 0 };
        uint64_t sum = 0;

        for (struct entry *entry = ((struct table *)root)->entries; entry; entry = entry->hh.next) {
                char key[KEYS_BYTES];
                memcpy(key, entry->key, KEYS_BYTES);
                if (find(root, key) != entry)
                        return -1;
                keys_see(&of_workers, key, entry->value);
                sum += entry->value;
        }
        *operations = sum;
        return operation == REPLACEMENTS ? keys_sum(&of_workers, operations) : 0;
}

const struct crowd_program crowd_program = { NULL, make, add, operate, count, OPERATION == LOOKUPS };
