/* SPDX-License-Identifier: MIT */
#ifndef TESTS_OPERATOR_OPERATOR_HISTORY_H
#define TESTS_OPERATOR_OPERATOR_HISTORY_H

/*
 * One history of commits, and what two files hold after each of them.
 *
 * Commit k writes some slots of 512 bytes; what it writes there follows from the seed, the place and k. So what the
 * files hold after commit n is known for every n, also for commits that a crash took and that were made again. Slot 0
 * of the first page has k itself. Some pages are never written, and so are the last ones of a file, until it has grown
 * further.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
        HISTORY_FILES = 2,
        HISTORY_PAGES = 28, /* of a file, at most */
        HISTORY_PAGE = 4096,
        HISTORY_SLOT = 512,
        HISTORY_SLOTS = HISTORY_PAGE / HISTORY_SLOT,
        HISTORY_COMMITS = 360
};

extern const char *const history_file[HISTORY_FILES];

struct history {
        uint64_t seed;
        /* The last commit that wrote the slot, after each commit; 0: none. */
        uint16_t writer[HISTORY_COMMITS + 1][HISTORY_FILES][HISTORY_PAGES][HISTORY_SLOTS];
};

void history_make(struct history *history, uint64_t seed);
/* How long a file is made before commit k, in pages. */
uint32_t history_pages(unsigned file, uint32_t k);
void history_fill(const struct history *history, uint32_t k, unsigned file, uint32_t page, uint32_t slot,
                  unsigned char *bytes);

/* Files as they were read; what lies behind the end is zeros. */
struct history_content {
        unsigned char *bytes[HISTORY_FILES];
        size_t byte_len[HISTORY_FILES]; /* HISTORY_PAGES pages at most, more is cut off and known by is_longer */
        bool is_missing[HISTORY_FILES];
        bool is_longer; /* than any moment, and not by zeros */
};

/* Reads the data files in a directory. To be given back by history_forget(). */
void history_read(const char *directory, struct history_content *content);
void history_forget(struct history_content *content);
/* The number of the commit whose content it is; -1: of none, and the first place that differs in `where`. */
int history_find(const struct history *history, const struct history_content *content, char *where, size_t where_len);

#endif
