/* SPDX-License-Identifier: MIT */
#include "bench/serial/declared.h"

/*
 * The map of lru_map.h, laid out for declared access: no entry lies on two pages, and links are bytes from the start of
 * the file.
 *
 *      | head | buckets: 8 pages | entries: 28 on a page, and 64 bytes left |
 */

#include <string.h>

enum { ENTRIES = 20000, BUCKETS = 4096, WORDS = 14, PAGE = 4096 };

struct entry {
        uint64_t key;
        uint64_t chain, newer, older; /* 0: none */
        uint64_t value[WORDS];
};

enum { ENTRIES_OF_PAGE = PAGE / sizeof(struct entry), ENTRY_PAGES = (ENTRIES + ENTRIES_OF_PAGE - 1) / ENTRIES_OF_PAGE };

struct head {
        uint64_t newest, oldest, count;
};

enum { BUCKETS_AT = PAGE, ENTRIES_AT = BUCKETS_AT + BUCKETS * (int)sizeof(uint64_t) };

#define LOST UINT64_MAX /* instead of where an entry is: the transaction is */

static size_t bucket_of(uint64_t key)
{
        return BUCKETS_AT + (size_t)(key * 0x9e3779b97f4a7c15u >> 32) % BUCKETS * sizeof(uint64_t);
}

static uint64_t entry_at(uint64_t number)
{
        return ENTRIES_AT + number / ENTRIES_OF_PAGE * PAGE + number % ENTRIES_OF_PAGE * sizeof(struct entry);
}

static const void *look(const struct seat *seat, uint64_t at)
{
        return declared_look(seat, seat->bytes + at);
}

static void *change(const struct seat *seat, uint64_t at)
{
        return declared_change(seat, seat->bytes + at);
}

/* The key's entry, or NULL: it is not there (at = 0), or the transaction is lost (LOST). */
static const struct entry *find(const struct seat *seat, uint64_t key, uint64_t *at)
{
        const uint64_t *first = look(seat, bucket_of(key));

        *at = first ? *first : LOST;
        while (*at && *at != LOST) {
                const struct entry *entry = look(seat, *at);
                if (entry && entry->key == key)
                        return entry;
                *at = entry ? entry->chain : LOST;
        }
        return NULL;
}

/* What is written to take an entry out of the list. */
static bool unlink_entry(const struct seat *seat, struct head *head, const struct entry *entry)
{
        struct entry *newer = entry->newer ? change(seat, entry->newer) : NULL;
        struct entry *older = entry->older ? change(seat, entry->older) : NULL;

        if ((entry->newer && !newer) || (entry->older && !older))
                return false;
        *(newer ? &newer->older : &head->newest) = entry->older;
        *(older ? &older->newer : &head->oldest) = entry->newer;
        return true;
}

static bool link_entry(const struct seat *seat, struct head *head, struct entry *entry, uint64_t at)
{
        struct entry *newest = head->newest ? change(seat, head->newest) : NULL;

        if (head->newest && !newest)
                return false;
        *(newest ? &newest->newer : &head->oldest) = at;
        entry->newer = 0;
        entry->older = head->newest;
        head->newest = at;
        return true;
}

static bool move_to_front(const struct seat *seat, struct entry *entry, uint64_t at)
{
        struct head *head = change(seat, 0);
        return head && unlink_entry(seat, head, entry) && link_entry(seat, head, entry, at);
}

static bool unchain(const struct seat *seat, const struct entry *entry, uint64_t at)
{
        uint64_t link = bucket_of(entry->key);
        const uint64_t *next = look(seat, link);

        while (next && *next != at) {
                link = *next + offsetof(struct entry, chain);
                next = look(seat, link);
        }
        uint64_t *last = next ? change(seat, link) : NULL;
        if (!last)
                return false;
        *last = entry->chain;
        return true;
}

/* One that is in no list and no chain; NULL: the transaction is lost. */
static struct entry *take_entry(const struct seat *seat, struct head *head, uint64_t *at)
{
        const bool is_full = head->count == ENTRIES;

        *at = is_full ? head->oldest : entry_at(head->count++);
        struct entry *entry = change(seat, *at);
        if (!entry || (is_full && !(unchain(seat, entry, *at) && unlink_entry(seat, head, entry))))
                return NULL;
        return entry;
}

static bool is_newest(const struct entry *entry)
{
        return !entry->newer;
}

static int get(void *memory, uint64_t key, uint64_t *value)
{
        const struct seat *seat = memory;
        uint64_t at;
        const struct entry *entry = find(seat, key, &at);

        if (!entry)
                return at == LOST ? -1 : 0;
        memcpy(value, entry->value, sizeof(entry->value));
        if (is_newest(entry))
                return 1;
        struct entry *changed = change(seat, at);
        return changed && move_to_front(seat, changed, at) ? 1 : -1;
}

static int replace(const struct seat *seat, uint64_t at, const uint64_t *value)
{
        struct entry *entry = change(seat, at);
        if (!entry)
                return -1;
        memcpy(entry->value, value, sizeof(entry->value));
        return is_newest(entry) || move_to_front(seat, entry, at) ? 0 : -1;
}

static int add(const struct seat *seat, uint64_t key, const uint64_t *value)
{
        struct head *head = change(seat, 0);
        uint64_t at, *bucket;
        if (!head)
                return -1;

        const uint64_t count = head->count;
        struct entry *entry = take_entry(seat, head, &at);
        if (!entry || !(bucket = change(seat, bucket_of(key))))
                return -1;
        entry->key = key;
        memcpy(entry->value, value, sizeof(entry->value));
        entry->chain = *bucket;
        *bucket = at;
        return link_entry(seat, head, entry, at) ? head->count > count : -1;
}

static int put(void *memory, uint64_t key, const uint64_t *value)
{
        uint64_t at;
        if (find(memory, key, &at))
                return replace(memory, at, value);
        return at == LOST ? -1 : add(memory, key, value);
}

/* The file is zeros: no entries, and empty buckets. */
static void make(void *memory)
{
        (void)memory;
}

static const struct entry *plain_entry(const struct seat *seat, uint64_t at)
{
        return at ? (const struct entry *)(const void *)(seat->bytes + at) : NULL;
}

static const char *check_chains(const struct seat *seat, uint64_t count)
{
        uint64_t chained = 0;

        for (size_t b = 0; b < BUCKETS; b++) {
                const uint64_t bucket = BUCKETS_AT + b * sizeof(uint64_t);
                const struct entry *entry = plain_entry(seat, *(const uint64_t *)(const void *)(seat->bytes + bucket));
                for (; entry; entry = plain_entry(seat, entry->chain))
                        if (bucket_of(entry->key) != bucket || ++chained > count)
                                return "an entry is in the wrong chain";
        }
        return chained == count ? NULL : "an entry is in no chain";
}

static const char *check(void *memory, struct content *content)
{
        const struct seat *seat = memory;
        const struct head *head = (const void *)seat->bytes;
        uint64_t newer = 0, found;

        for (uint64_t at = head->newest; at; newer = at, at = plain_entry(seat, at)->older) {
                const struct entry *entry = plain_entry(seat, at);
                if (entry->newer != newer || content->count == head->count)
                        return "the list of entries is not one";
                if (!find(seat, entry->key, &found) || found != at)
                        return "an entry is not found by its key";
                if (!content_add(content, entry->key, entry->value, WORDS))
                        return "a value is not its key's";
        }
        if (head->oldest != newer || content->count != head->count)
                return "the list of entries is not whole";
        return check_chains(seat, head->count);
}

const struct structure declared_lru_map = {
        .name = "lru-map",
        .byte_len = ENTRIES_AT + (size_t)ENTRY_PAGES * PAGE,
        .make = make,
        .get = get,
        .put = put,
        .check = check,
};
