/* SPDX-License-Identifier: MIT */
#ifndef BENCH_PAPERS_ANKER_SNAPSHOTS_COLUMNS_H
#define BENCH_PAPERS_ANKER_SNAPSHOTS_COLUMNS_H

/*
 * Columns of a table: data files of a volatile environment, and a process that changes them, by declared transactions
 * of one page each. The other processes read.
 *
 * A page begins with its number; a word of it counts how often it was changed. So the sum of a column is known.
 */

#include <sys/types.h>

#include "bench/papers/anker/snapshots/bench.h"
#include "bench/support/scratch.h"

enum { COLUMNS_MAX = 50, COUNTER = 5 /* the word of a page that counts */ };

struct columns {
        struct scratch scratch; /* its own file is the one that none of the columns is */
        int count;
        uint64_t pages; /* of each */
        uint64_t sum;   /* of each, now */
        uint64_t seed;
        char *view[COLUMNS_MAX];
        xac_options options;
        pid_t changer;
        int to, from;
};

/* The first sum of a column that columns_fill_page has filled. */
static inline uint64_t columns_first_sum(uint64_t pages)
{
        return pages * (pages - 1) / 2 + pages;
}

static inline void columns_fill_page(char *page, uint64_t page_no)
{
        ((uint64_t *)page)[0] = page_no;
        ((uint64_t *)page)[COUNTER] = 1;
}

static inline size_t columns_byte_len(const struct columns *columns)
{
        return columns->pages * PAGE;
}

/* All columns filled, and at home in their files: the changer has the environment open, this process has not yet. */
void columns_start(struct columns *columns, int count, uint64_t pages, uint64_t seed);
void columns_stop(struct columns *columns);

/* This process opens the environment; maps the columns. */
void columns_open(struct columns *columns);
void columns_map(struct columns *columns);
void columns_close(struct columns *columns);

const char *columns_name(int no, char name[32]);

/* Tells the changer to change so many pages of each column, and one of the other file; microseconds that a change
 * took. */
double columns_change(struct columns *columns, uint64_t pages);

/* Ends the program if the sum of a column is another, or, said by columns_check, a page stands at another place. */
void columns_check_sum(const struct columns *columns, uint64_t sum);
void columns_check(const struct columns *columns, const char *column, uint64_t sum);

#endif
