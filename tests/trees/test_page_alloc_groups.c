/* SPDX-License-Identifier: MIT */
#include "pages/page_alloc.h"

/*
 * Whole groups, taken beside single pages.
 */

#include "pages/page_map.h"
#include "tests/support/chance.h"
#include "tests/support/check.h"
#include "tests/support/scratch.h"
#include "tests/trees/account.h"
#include "tests/trees/ways.h"

enum { HELD_MAX = 32 };

static uint32_t held[HELD_MAX];
static unsigned held_count;

/* In the account there are its pages then. */
static void hold_group(uint32_t group)
{
        check(group > 0 && held_count < HELD_MAX);
        for (unsigned i = 1; i < GROUP_PAGES; i++) {
                check(!account_is_free(group * GROUP_PAGES + i));
                account_hold(group * GROUP_PAGES + i);
        }
        held[held_count++] = group;
}

static void take_group(void)
{
        uint32_t group;
        ways_begin();
        check_ok(page_group_take(ways.arena, &group));
        const struct group_map *map = arena_read(ways.arena, map_of(group));
        check(map_is_sound(map, group) && !map->owner);
        hold_group(group);
        check_ok(ways_end());
}

static void free_group(unsigned n)
{
        const uint32_t group = held[n];
        unsigned kept = 0;
        ways_begin();
        check_ok(page_group_free(ways.arena, group));
        check_code(page_group_free(ways.arena, group), XAC_CORRUPT);
        check_ok(ways_end());
        for (unsigned i = 0; i < account.count; i++)
                if (group_of(account.pages[i]) != group)
                        account.pages[kept++] = account.pages[i];
        account.count = kept;
        held[n] = held[--held_count];
}

static void groups_and_pages_are_taken_side_by_side(int way)
{
        struct chance chance = { chance_seed() };
        ways_open(way);
        for (int round = 0; round < 120; round++) {
                switch (chance_below(&chance, 3)) {
                case 0:
                        if (held_count < 8)
                                take_group();
                        break;
                case 1:
                        if (held_count)
                                free_group((unsigned)chance_below(&chance, held_count));
                        break;
                default:
                        if (account.count < 20 * GROUP_PAGES)
                                account_take_committed(1 + (unsigned)chance_below(&chance, 100));
                }
                if (round % 20 == 0)
                        account_check();
        }
        account_check();
        ways_close();
}

static void a_group_that_was_freed_is_taken_again(int way)
{
        uint32_t groups;
        ways_open(way);
        for (int i = 0; i < 3; i++)
                take_group();
        ways_begin();
        groups = account_groups();
        check_ok(ways_end());
        check_equal(groups, 4); /* the first is never whole */
        for (int i = 0; i < 10; i++) {
                free_group((unsigned)i % 3);
                take_group();
        }
        ways_begin();
        check_equal(account_groups(), groups);
        check_ok(ways_end());
        account_check();
        ways_close();
}

/* The pages that this arena takes one by one are not in it. */
static void a_group_in_use_is_left_alone(int way)
{
        ways_open(way);
        account_take_committed(GROUP_PAGES); /* a page of group 1 */
        const uint32_t own = ways.arena->own_group;
        check_equal(own, 1);
        take_group();
        check(held[0] != own);
        account_take_committed(1);
        check_equal(group_of(account.pages[account.count - 1]), own);
        account_check();
        ways_close();
}

static void what_is_no_whole_group_is_not_freed(int way)
{
        ways_open(way);
        take_group();
        account_take_committed(10);
        ways_begin();
        check_code(page_group_free(ways.arena, 0), XAC_CORRUPT);
        check_code(page_group_free(ways.arena, 4711), XAC_CORRUPT);
        check_code(page_group_free(ways.arena, UINT32_MAX), XAC_CORRUPT);
        check_ok(page_alloc_free(ways.arena, held[0] * GROUP_PAGES + 7));
        check_code(page_group_free(ways.arena, held[0]), XAC_CORRUPT);
        check_ok(ways_end());
        ways_close();
}

static void what_is_aborted_was_never_taken(int way)
{
        uint32_t group;
        ways_open(way);
        take_group();
        ways_begin();
        check_ok(page_group_take(ways.arena, &group));
        ways_abort();
        take_group();
        check_equal(held[1], group);
        account_check();
        ways_close();
}

static void a_full_arena_has_no_group_but_those_that_were_freed(int way)
{
        const uint32_t page_bytes = ways_page_bytes(way);
        uint32_t group;
        check_ok(xac_arena_open_memory(UINT64_C(4) * GROUP_PAGES * page_bytes, page_bytes, &ways.arena));
        for (int i = 0; i < 3; i++)
                take_group();
        check_code(page_group_take(ways.arena, &group), -ENOSPC);
        free_group(1);
        take_group();
        check_code(page_group_take(ways.arena, &group), -ENOSPC);
        account_check();
        ways_close();
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                ways_all(groups_and_pages_are_taken_side_by_side),
                isolated_way(a_group_that_was_freed_is_taken_again, IN_MEMORY, "memory"),
                ways_env(a_group_that_was_freed_is_taken_again),
                isolated_way(a_group_in_use_is_left_alone, IN_MEMORY, "memory"),
                ways_env(a_group_in_use_is_left_alone),
                isolated_way(what_is_no_whole_group_is_not_freed, IN_MEMORY, "memory"),
                ways_env(what_is_no_whole_group_is_not_freed),
                ways_env(what_is_aborted_was_never_taken),
                isolated_way(a_full_arena_has_no_group_but_those_that_were_freed, IN_MEMORY, "memory"),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
