/* SPDX-License-Identifier: MIT */
#include "examples/demo/table.h"

#include <string.h>

_Static_assert(sizeof(struct table_page) == 4096, "a table page is a page");

/* FNV-1a. */
static uint64_t hash_word(const char *word)
{
        uint64_t hash = 14695981039346656037u;
        for (; *word; word++)
                hash = (hash ^ (unsigned char)*word) * 1099511628211u;
        return hash ^ hash >> 32;
}

/* The entry of this word, or the unused one where it belongs, or NULL if the page is full. */
static struct table_entry *page_find(struct table_page *page, const char *word, size_t first)
{
        for (size_t i = 0; i < TABLE_ENTRIES; i++) {
                struct table_entry *entry = &page->entry[(first + i) % TABLE_ENTRIES];
                if (entry->count == 0 || memcmp(entry->word, word, TABLE_WORD_BYTES) == 0)
                        return entry;
        }
        return NULL;
}

int table_add(struct table *table, const char word[TABLE_WORD_BYTES])
{
        uint64_t hash = hash_word(word);

        for (size_t i = 0; i < TABLE_PAGES; i++) {
                struct table_page *page = &table->page[(hash + i) % TABLE_PAGES];
                struct table_entry *entry = page_find(page, word, hash / TABLE_PAGES % TABLE_ENTRIES);
                if (!entry)
                        continue;
                if (entry->count == 0) {
                        memcpy(entry->word, word, TABLE_WORD_BYTES);
                        page->used++;
                }
                entry->count++;
                page->total++;
                return 0;
        }
        return -1;
}

static int page_is_consistent(const struct table_page *page)
{
        uint64_t total = 0, used = 0;
        for (size_t i = 0; i < TABLE_ENTRIES; i++) {
                total += page->entry[i].count;
                used += page->entry[i].count > 0;
        }
        return total == page->total && used == page->used;
}

int table_audit(const struct table *table, uint64_t *total)
{
        int wrong_pages = 0;
        *total = 0;
        for (size_t i = 0; i < TABLE_PAGES; i++) {
                *total += table->page[i].total;
                wrong_pages += !page_is_consistent(&table->page[i]);
        }
        return wrong_pages;
}

size_t table_list(const struct table *table, struct table_entry *entries, size_t limit)
{
        size_t count = 0;
        for (size_t i = 0; i < (size_t)TABLE_PAGES * TABLE_ENTRIES; i++) {
                const struct table_entry *entry = &table->page[i / TABLE_ENTRIES].entry[i % TABLE_ENTRIES];
                if (entry->count > 0 && count < limit)
                        entries[count] = *entry;
                count += entry->count > 0;
        }
        return count;
}
