/* SPDX-License-Identifier: MIT */
#ifndef TESTS_TREES_ACCOUNT_H
#define TESTS_TREES_ACCOUNT_H

/*
 * What this thread holds of the pages of ways.arena, kept outside of it: in the end every page is fixed, free or held.
 */

#include "pages/page_alloc.h"

enum { ACCOUNT_PAGES = 64 * GROUP_PAGES };

struct account {
        page_no pages[ACCOUNT_PAGES];
        unsigned count;
};
extern _Thread_local struct account account;

/* In a transaction: takes pages, which must be unused, and writes to them. page_alloc_take_many's result. */
int account_take(unsigned count);
/* The same in one of its own, until it is committed. */
void account_take_committed(unsigned count);
/* In a transaction: frees the i-th; the last takes its place. */
void account_free(unsigned i);
/* Counts a page as held. */
void account_hold(page_no page);

/* In a transaction. */
uint32_t account_groups(void);
bool account_is_free(page_no page);

/* Every page of the arena is fixed, free, or held, and nothing is held twice. */
void account_check(void);

#endif
