/* SPDX-License-Identifier: MIT */
#include "bench/programs/crowd.h"

/*
 * A hash table of uthash. OPERATION says what is done with it (crowd_keys.h). Every insert writes the head of the table
 * and the entry that was inserted before.
 */

#include "bench/programs/crowd_keys.h"

#ifndef OPERATION
#define OPERATION UPDATES
#endif

/* How many tables, chosen by the key; they conflict less. */
#ifndef TABLES
#define TABLES 1
#endif

enum { PAGE_BYTES = 4096, HALF = 16 /* of a hash: uthash chooses a bucket by the last bits */ };
static const unsigned tables = TABLES;
_Static_assert(TABLES * sizeof(void *) <= CROWD_ROOT_BYTES, "the root has room");

static const enum { UPDATES, REPLACEMENTS, LOOKUPS } operation = OPERATION;

#define uthash_malloc(size)       take(size)
#define uthash_free(object, size) crowd_free(object)

static void *take(size_t byte_len);

#include <uthash.h>

struct entry {
        char key[KEYS_BYTES];
        uint64_t value;
        UT_hash_handle hh;
};

/* In the root. */
struct table {
        struct entry *entries;
};

/* A head is as large as a page of its own, where there are several. */
static void *take(size_t byte_len)
{
        return crowd_malloc(tables > 1 && byte_len == sizeof(UT_hash_table) ? PAGE_BYTES : byte_len);
}

static struct table *choose(void *root, const char *key)
{
        unsigned hash;

        if (tables == 1)
                return root;
        HASH_VALUE(key, KEYS_BYTES, hash);
        return (struct table *)root + ((hash >> HALF) * tables >> HALF);
}

static int insert(void *root, const char *key, uint64_t value)
{
        struct table *table = choose(root, key);
        struct entry *entry = crowd_malloc(sizeof(*entry));

        if (!entry)
                return -1;
        memset(entry, 0, sizeof(*entry));
        memcpy(entry->key, key, KEYS_BYTES);
        entry->value = value;
        HASH_ADD(hh, table->entries, key, KEYS_BYTES, entry);
        return 0;
}

static struct entry *find(void *root, const char *key)
{
        const struct table *table = choose(root, key);
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

static int replace(void *root, int worker, uint64_t number)
{
        char key[KEYS_BYTES];
        struct entry *old;

        if (number >= KEYS_WINDOW) {
                keys_of_worker(key, worker, number - KEYS_WINDOW);
                if (!(old = find(root, key)))
                        return -1;
                HASH_DEL(choose(root, key)->entries, old);
                crowd_free(old);
        }
        keys_of_worker(key, worker, number);
        return insert(root, key, number + 1);
}

static int use(void *root, uint64_t record)
{
        char key[KEYS_BYTES];

        keys_of_record(key, record);
        struct entry *entry = find(root, key);
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

        for (unsigned t = 0; t < tables; t++)
                for (struct entry *entry = ((struct table *)root)[t].entries; entry; entry = entry->hh.next) {
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
