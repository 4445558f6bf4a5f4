/* SPDX-License-Identifier: MIT */

/*
 * Pages are handed out once, and come back once: one arena, until there is no more room.
 */

#include "pages/page_alloc.h"

#include <errno.h>
#include <string.h>

#include "pages/page_map.h"
#include "tests/support/chance.h"
#include "tests/support/check.h"
#include "tests/support/scratch.h"
#include "tests/trees/account.h"
#include "tests/trees/ways.h"

enum { GROUP_FREE = GROUP_PAGES - 1, FIRST_FREE = GROUP_PAGES - PAGES_FIXED };

/* ---- one arena ---- */

static void every_page_is_handed_out_once(int way)
{
        ways_open(way);
        account_take_committed(1);
        check_equal(account.pages[0], PAGES_FIXED); /* the lowest first */
        account_take_committed(FIRST_FREE - 1);
        ways_begin();
        check_equal(account_groups(), 1);
        check_ok(ways_end());
        account_take_committed(GROUP_FREE + 5);
        for (int i = 0; i < 100; i++)
                account_take_committed(1 + (unsigned)i % 7);
        account_check();
        ways_close();
}

static void freed_pages_are_handed_out_again(int way)
{
        ways_open(way);
        account_take_committed(FIRST_FREE + 3 * GROUP_FREE);
        for (int round = 0; round < 3; round++) {
                unsigned count = account.count / 2;

                ways_begin();
                for (unsigned i = 0; i < count; i++)
                        account_free((i * 7919) % account.count);
                check_ok(ways_end());
                account_check();
                account_take_committed(count - 3 * 16); /* what is left over may be in groups that are not worth it */
                account_check();
                ways_begin();
                check_equal(account_groups(), 4);
                while (account.count < FIRST_FREE + 3 * GROUP_FREE)
                        check_ok(account_take(1));
                check_ok(ways_end());
                account_check();
        }
        ways_close();
}

static void a_freed_page_is_not_freed_again(int way)
{
        ways_open(way);
        account_take_committed(10);
        ways_begin();
        for (unsigned i = 0; i < 10; i++) {
                check_ok(page_alloc_free(ways.arena, account.pages[i]));
                check(account_is_free(account.pages[i]));
                check_code(page_alloc_free(ways.arena, account.pages[i]), XAC_CORRUPT);
        }
        check_ok(ways_end());
        account.count = 0;
        account_check();
        ways_close();
}

static void what_is_no_page_cannot_be_freed(int way)
{
        static const page_no wrong[] = { 0,
                                         PAGE_HEADER,
                                         PAGE_CATALOG,
                                         GROUP_PAGES,
                                         PAGES_FIXED + 20, /* free */
                                         2 * GROUP_PAGES,  /* no group, but in the file */
                                         2 * GROUP_PAGES + 1,
                                         100 * GROUP_PAGES + 9, /* beyond it */
                                         UINT32_MAX };
        bool is_free;

        ways_open(way);
        ways_begin();
        check_code(page_alloc_free(ways.arena, 100), XAC_CORRUPT); /* in an empty arena */
        check_ok(page_alloc_take_many(ways.arena, account.pages, FIRST_FREE + 1));
        account.count = FIRST_FREE + 1;
        check_ok(page_alloc_free(ways.arena, PAGES_FIXED + 20));
        account.pages[20] = account.pages[--account.count];
        for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
                check_code(page_alloc_free(ways.arena, wrong[i]), XAC_CORRUPT);
                if (wrong[i] >= 2 * GROUP_PAGES)
                        check_code(page_alloc_is_free(ways.arena, wrong[i], &is_free), XAC_CORRUPT);
        }
        check_ok(ways_end());
        account_check();
        ways_close();
}

static void a_reserve_gives_back_what_was_not_used(int way)
{
        struct page_reserve reserve = { 0 };

        ways_open(way);
        account_take_committed(FIRST_FREE - 2); /* so that a reserve comes from two groups */
        for (unsigned used = 0; used <= 5; used++) {
                ways_begin();
                check_ok(page_alloc_reserve(ways.arena, &reserve, 3));
                check_ok(page_alloc_reserve(ways.arena, &reserve, 2));
                check_equal(reserve.count, 3);
                check_ok(page_alloc_reserve(ways.arena, &reserve, 5));
                for (unsigned i = 0; i < used; i++)
                        account_hold(page_alloc_take(&reserve));
                check_equal(reserve.count, 5 - used);
                check_ok(page_alloc_release(ways.arena, &reserve));
                check_equal(reserve.count, 0);
                check_ok(ways_end());
                account_check();
        }
        ways_close();
}

static void tree_numbers_are_never_given_twice(int way)
{
        uint32_t id, last = 1;

        ways_open(way);
        for (int i = 0; i < 50; i++) {
                ways_begin();
                check_ok(page_alloc_tree_id(ways.arena, &id));
                if (i % 5 == 3 && ways.env) {
                        ways_abort(); /* that one was not given */
                        continue;
                }
                check_ok(ways_end());
                check_equal(id, ++last);
                if (i % 10 == 0 && (way & WAYS_KIND) != IN_MEMORY) {
                        ways_close();
                        ways_open(way);
                }
        }
        ways_begin();
        ((struct arena_header *)arena_write(ways.arena, PAGE_HEADER))->next_tree_id = UINT32_MAX;
        check_code(page_alloc_tree_id(ways.arena, &id), -ENOSPC);
        check_ok(ways_end());
        ways_close();
}

static void the_account_outlives_closing(int way)
{
        ways_open(way);
        for (int i = 0; i < 5; i++) {
                account_take_committed(150);
                ways_close();
                ways_open(way);
                account_check();
        }
        ways_begin();
        check_equal(account_groups(), 2); /* the group that was left is found again */
        check_ok(ways_end());
        ways_close();
}

/* ---- no more room ---- */

static void when_the_arena_is_full_every_page_is_in_use(int way)
{
        const uint32_t page_bytes = ways_page_bytes(way);
        const uint64_t max_bytes = UINT64_C(3) * GROUP_PAGES * page_bytes;
        const xac_options options = { .page_bytes = page_bytes, .reserve_bytes = max_bytes };
        struct page_reserve reserve = { 0 };
        int full = -ENOSPC;

        if ((way & WAYS_KIND) == IN_MEMORY)
                check_ok(ways_open_memory(way, max_bytes, &ways.arena));
        else if ((way & WAYS_KIND) == IN_FILE)
                check_ok(xac_arena_open_file(scratch_path("pages"), max_bytes, page_bytes, &ways.arena));
        else {
                ways_open_with(way, &options);
                full = -ENOMEM; /* address space */
        }
        account_take_committed(FIRST_FREE + 2 * GROUP_FREE - 3);
        ways_begin();
        check_ok(page_alloc_reserve(ways.arena, &reserve, 1));
        check_code(page_alloc_reserve(ways.arena, &reserve, 4), full);
        check_equal(reserve.count, 1);
        check_ok(page_alloc_release(ways.arena, &reserve));
        check_code(account_take(4), full);
        check_ok(ways_end());
        account_check(); /* the three are free as they were */
        account_take_committed(3);
        ways_begin();
        check_code(account_take(1), full);
        for (unsigned i = 1; i <= 3; i++) /* a single free page in any group is found */
                account_free(i * 500);
        check_ok(account_take(3));
        check_code(account_take(1), full);
        check_ok(ways_end());
        account_check();
        ways_close();
}

/* ---- damage ---- */

static struct group_map *map(uint32_t group)
{
        return arena_write(ways.arena, map_of(group));
}

/* The catalog's page is as it was in the file: only the map says that it is not to be had. */
static void a_map_that_frees_what_is_fixed_is_noticed(int way)
{
        static const page_no fixed[] = { 0, PAGE_HEADER, PAGE_CATALOG, GROUP_PAGES };
        page_no page;

        ways_open(way);
        account_take_committed(FIRST_FREE + 1);
        for (size_t i = 0; i < 4; i++) {
                ways_begin();
                const uint64_t before = map(fixed[i] / GROUP_PAGES)->free[0];
                map_set_free(map(fixed[i] / GROUP_PAGES), fixed[i]);
                ways.arena->own_group = fixed[i] / GROUP_PAGES;
                check_code(page_alloc_take_many(ways.arena, &page, 1), XAC_CORRUPT);
                check_code(page_alloc_free(ways.arena, fixed[i] + PAGES_FIXED), XAC_CORRUPT);
                map(fixed[i] / GROUP_PAGES)->free[0] = before;
                check_ok(ways_end());
        }
        account_check();
        ways_close();
}

static void a_header_that_is_none_is_noticed(int way)
{
        struct arena_header *header;
        uint32_t groups, id;
        const uint64_t before = ways_open(way)->byte_len;

        account_take_committed(FIRST_FREE);
        for (int i = 0; i < 6; i++) {
                ways_begin();
                header = arena_write(ways.arena, PAGE_HEADER);
                const struct arena_header good = *header;
                switch (i) {
                case 0:
                        header->groups = 4711; /* more than there are, and the file stays as it is */
                        break;
                case 1:
                        header->groups = 0;
                        header->not_groups = UINT32_MAX;
                        break;
                case 2:
                        header->kind = PAGE_IS_LEAF;
                        break;
                case 3:
                        header->page_bytes *= 2;
                        break;
                case 4:
                        header->magic++;
                        break;
                default:
                        header->next_tree_id = 1;
                }
                check_code(page_group_count(ways.arena, &groups), XAC_CORRUPT);
                check_code(page_alloc_tree_id(ways.arena, &id), XAC_CORRUPT);
                check_code(account_take(1), XAC_CORRUPT);
                check_code(page_alloc_reach(ways.arena, 4000 * GROUP_PAGES), XAC_CORRUPT);
                check_code(page_alloc_probe(ways.arena), XAC_FORMAT);
                *(struct arena_header *)arena_write(ways.arena, PAGE_HEADER) = good;
                check_ok(ways_end());
        }
        check_equal(ways.arena->byte_len, before);
        account_take_committed(1);
        account_check();
        ways_close();
}

static void a_page_where_no_map_was_is_not_overwritten(int way)
{
        ways_open(way);
        account_take_committed(FIRST_FREE);
        ways_begin();
        memset(map(1), PAGE_IS_LEAF, 1);
        check_code(account_take(1), XAC_CORRUPT);
        check_equal(account_groups(), 1);
        check_equal(map(1)->kind, PAGE_IS_LEAF);
        check_ok(ways_end());
        ways_close();
}

/* Any outcome is right but a crash, an endless loop, and a page that cannot be. */
static void work_on_damage(struct chance *chance)
{
        page_no pages[40];
        uint32_t groups, id;
        bool is_free;

        check(page_group_count(ways.arena, &groups) <= 0);
        check(page_alloc_tree_id(ways.arena, &id) <= 0);
        for (int i = 0; i < 20; i++) {
                size_t count = 1 + chance_below(chance, 40);
                page_no page = (page_no)chance_below(chance, chance_percent(chance, 80) ? 4 * GROUP_PAGES : UINT32_MAX);

                if (page_alloc_take_many(ways.arena, pages, count) == 0)
                        for (size_t k = 0; k < count; k++)
                                check_ok(page_alloc_reach(ways.arena, pages[k]));
                check(page_alloc_free(ways.arena, page) <= 0);
                check(page_alloc_is_free(ways.arena, page, &is_free) <= 0);
        }
        check(page_group_leave(ways.arena) <= 0);
}

static void damage_a_byte(struct chance *chance)
{
        static const page_no pages[] = { 0, PAGE_HEADER, GROUP_PAGES, 2 * GROUP_PAGES };
        unsigned char *bytes = arena_write(ways.arena, pages[chance_below(chance, 4)]);
        size_t i = chance_below(chance, sizeof(struct group_map));

        check(bytes != NULL);
        bytes[i] = chance_percent(chance, 50) ? (unsigned char)chance_next(chance)
                                              : (unsigned char)(bytes[i] ^ 1 << chance_below(chance, 8));
}

static void damage_is_never_followed(int way)
{
        struct chance chance = { chance_seed() };

        ways_open(way);
        account_take_committed(FIRST_FREE + GROUP_FREE + 100);
        for (int round = 0; round < 300; round++) {
                ways_begin();
                for (uint64_t count = 1 + chance_below(&chance, 3); count > 0; count--)
                        damage_a_byte(&chance);
                work_on_damage(&chance);
                if (ways.env == NULL) { /* it cannot be undone */
                        ways_close();
                        ways_open(way);
                        account.count = 0;
                        account_take_committed(FIRST_FREE + GROUP_FREE + 100);
                }
                ways_abort();
        }
        account_check();
        ways_close();
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                ways_all(every_page_is_handed_out_once),
                ways_all(freed_pages_are_handed_out_again),
                ways_all(a_freed_page_is_not_freed_again),
                ways_all(what_is_no_page_cannot_be_freed),
                ways_all(a_reserve_gives_back_what_was_not_used),
                ways_all(tree_numbers_are_never_given_twice),
                isolated_way(the_account_outlives_closing, IN_FILE, "file"),
                ways_env(the_account_outlives_closing),
                ways_all(when_the_arena_is_full_every_page_is_in_use),
                ways_all(a_map_that_frees_what_is_fixed_is_noticed),
                ways_all(a_header_that_is_none_is_noticed),
                ways_all(a_page_where_no_map_was_is_not_overwritten),
                isolated_way(damage_is_never_followed, IN_MEMORY, "memory"),
                ways_env(damage_is_never_followed),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
