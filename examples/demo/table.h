/* SPDX-License-Identifier: MIT */
#ifndef EXAMPLES_DEMO_TABLE_H
#define EXAMPLES_DEMO_TABLE_H

/*
 * A hash table of words and how often each was seen, as plain serial code over memory.
 *
 * It knows nothing of libxac, files, processes or transactions: it works on ordinary memory
 * just as well. Two properties make it pleasant to share, though: memory full of zeros is an
 * empty table, and nothing in it is a pointer, so it may be mapped anywhere.
 *
 *   page    | total used | entry entry entry ...            |  4096 bytes
 *   entry   | count | w o r d 0 0 0 ... |                      32 bytes
 *
 * A word hashes to a page and to a place in that page; a full page overflows into the next.
 * Each page carries the sum of its own counts (`total`), so that the table can be audited
 * without a word that every insertion would have to write.
 */

#include <stddef.h>
#include <stdint.h>

enum {
        TABLE_PAGES = 1024,
        TABLE_ENTRIES = 127,
        TABLE_WORD_BYTES = 24, /* with at least one zero at the end */
        TABLE_WORD_LETTERS = TABLE_WORD_BYTES - 1
};

struct table_entry {
        uint64_t count; /* 0: unused */
        char word[TABLE_WORD_BYTES];
};

struct table_page {
        uint64_t total;
        uint64_t used;
        uint64_t spare[2];
        struct table_entry entry[TABLE_ENTRIES];
};

struct table {
        struct table_page page[TABLE_PAGES];
};

/* Counts one more occurrence. `word` is filled up with zeros. Returns 0, or -1: table full. */
int table_add(struct table *table, const char word[TABLE_WORD_BYTES]);

/* Adds up the totals of all pages; returns how many pages contradict their own entries. */
int table_audit(const struct table *table, uint64_t *total);

/* Copies out the used entries, at most `limit`; returns how many there are. */
size_t table_list(const struct table *table, struct table_entry *entries, size_t limit);

#endif
