/* SPDX-License-Identifier: MIT */
#include "tests/trees/account.h"

#include <string.h>

#include "tests/support/check.h"
#include "tests/trees/ways.h"

_Thread_local struct account account;

void account_hold(page_no page)
{
        check(page >= PAGES_FIXED && page % GROUP_PAGES != 0 && account.count < ACCOUNT_PAGES);
        account.pages[account.count++] = page;
}

uint32_t account_groups(void)
{
        uint32_t groups;

        check_ok(page_group_count(ways.arena, &groups));
        return groups;
}

bool account_is_free(page_no page)
{
        bool is_free;

        check_ok(page_alloc_is_free(ways.arena, page, &is_free));
        return is_free;
}

int account_take(unsigned count)
{
        page_no *pages = account.pages + account.count;
        int err;

        check(account.count + count <= ACCOUNT_PAGES);
        err = page_alloc_take_many(ways.arena, pages, count);
        if (err)
                return err;
        for (unsigned i = 0; i < count; i++) {
                unsigned char *kind = arena_write(ways.arena, pages[i]);

                check(kind != NULL);
                *kind = PAGE_IS_LEAF;
                account_hold(pages[i]);
        }
        return 0;
}

void account_take_committed(unsigned count)
{
        const unsigned before = account.count;
        int outcome;

        do {
                account.count = before;
                ways_begin();
                check_ok(account_take(count));
                outcome = ways_end();
        } while (outcome == XAC_CONFLICT);
        check_ok(outcome);
}

void account_free(unsigned i)
{
        check_ok(page_alloc_free(ways.arena, account.pages[i]));
        account.pages[i] = account.pages[--account.count];
}

static bool is_fixed(page_no page)
{
        return page < PAGES_FIXED || page % GROUP_PAGES == 0;
}

void account_check(void)
{
        static unsigned char is_held[ACCOUNT_PAGES];
        unsigned counted = 0;

        ways_begin();
        uint32_t groups = account_groups();
        check(groups * GROUP_PAGES <= ACCOUNT_PAGES);
        memset(is_held, 0, sizeof(is_held));
        for (unsigned i = 0; i < account.count; i++)
                check_equal(is_held[account.pages[i]]++, 0);
        for (page_no page = 0; page < groups * GROUP_PAGES; page++) {
                check_equal(account_is_free(page), !is_fixed(page) && !is_held[page]);
                counted += is_held[page];
        }
        check_equal(counted, account.count);
        check_ok(ways_end());
}
