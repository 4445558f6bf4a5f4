/* SPDX-License-Identifier: MIT */

/*
 * What is aborted never happened, whatever the arena remembers; and what several arenas of a file take from each
 * other, at once, and after deaths.
 */

#include "pages/page_alloc.h"

#include <errno.h>

#include "pages/page_map.h"
#include "tests/support/actor.h"
#include "tests/support/chance.h"
#include "tests/support/check.h"
#include "tests/support/crew.h"
#include "tests/trees/account.h"
#include "tests/trees/ways.h"

enum { GROUP_FREE = GROUP_PAGES - 1, FIRST_FREE = GROUP_PAGES - PAGES_FIXED };

/* ---- aborts ---- */

static long long take_pages(uint64_t count)
{
        account_take_committed((unsigned)count);
        return account.pages[account.count - 1];
}

static long long page_held(uint64_t i)
{
        return i < account.count ? account.pages[i] : PAGE_NONE;
}

/* What another arena took counts as held here, too. */
static void account_add_others(struct actor *other)
{
        long long page;

        for (uint64_t i = 0; (page = actor_do(other, page_held, i)) != PAGE_NONE; i++)
                account_hold((page_no)page);
}

/* All that is taken inside is undone, whatever the arena remembers. */
static void take_and_abort(unsigned count)
{
        unsigned before = account.count;

        ways_begin();
        check_ok(account_take(count));
        account.count = before;
        ways_abort();
}

static void a_format_that_is_aborted_is_repeated(int way)
{
        ways_open(way);
        for (int i = 0; i < 3; i++) {
                take_and_abort(FIRST_FREE + 20);
                ways_begin();
                check_equal(account_groups(), 0);
                check_ok(ways_end());
        }
        account_take_committed(7);
        account_check();
        ways_close();
}

static void an_added_group_that_is_aborted_is_added_again(int way)
{
        ways_open(way);
        account_take_committed(FIRST_FREE);
        for (unsigned i = 0; i < 3; i++) {
                take_and_abort(1 + i * GROUP_FREE); /* the own group is 1, or the end of it is reached */
                ways_begin();
                check_equal(account_groups(), 1);
                check_ok(ways_end());
                account_check();
        }
        account_take_committed(GROUP_FREE + 4);
        account_check();
        ways_close();
}

/* The arena remembers group 1; meanwhile that is another's. */
static void an_added_group_that_is_aborted_may_be_anothers_then(int way)
{
        struct actor *other = actor_start(way & WAYS_PROCESSES ? WAY_PROCESS : 0);

        ways_open(way & WAYS_KIND);
        account_take_committed(FIRST_FREE);
        take_and_abort(5);
        check_equal(ways.arena->own_group, 1);
        actor_do(other, ways_enter, (uint64_t)way & WAYS_KIND);
        check_equal(actor_do(other, take_pages, 1), GROUP_PAGES + 1);
        account_take_committed(1);
        check_equal(account.pages[account.count - 1], 2 * GROUP_PAGES + 1); /* left alone */
        check_equal(actor_do(other, take_pages, 1), GROUP_PAGES + 2);
        account_add_others(other);
        account_check();
        actor_do(other, ways_leave, 0);
        actor_stop(other);
        ways_close();
}

/* With its last page the own group was let go: it is not, after all. */
static void the_last_page_of_a_group_may_be_aborted(int way)
{
        ways_open(way);
        account_take_committed(FIRST_FREE - 1);
        for (int i = 0; i < 3; i++) {
                take_and_abort(1);
                check_equal(ways.arena->own_group, NO_GROUP);
                account_check();
        }
        account_take_committed(2);
        account_check();
        ways_begin();
        check_equal(account_groups(), 2);
        check_ok(ways_end());
        ways_close();
}

static void nested_levels_are_undone_alone(int way)
{
        unsigned before;

        ways_open(way);
        ways_begin();
        check_ok(account_take(FIRST_FREE - 3));
        for (unsigned i = 0; i < 4; i++) {
                before = account.count;
                ways_begin();
                check_ok(account_take(1 + i * 200));
                if (i % 2 == 0) {
                        account.count = before;
                        ways_abort();
                } else {
                        check_ok(ways_end());
                }
                account_check();
                check_ok(account_take(1));
        }
        check_ok(ways_end());
        account_check();
        ways_close();
}

static void freeing_can_be_aborted(int way)
{
        ways_open(way);
        account_take_committed(600);
        ways_begin();
        for (unsigned i = 0; i < 600; i++)
                check_ok(page_alloc_free(ways.arena, account.pages[i]));
        ways_abort();
        account_check();
        ways_begin();
        for (unsigned i = 0; i < 600; i++)
                check_equal(*(const unsigned char *)arena_read(ways.arena, account.pages[i]), PAGE_IS_LEAF);
        check_ok(ways_end());
        ways_close();
}

/* ---- several arenas ---- */

static long long begin(uint64_t unused)
{
        (void)unused;
        ways_begin();
        return 0;
}

static long long take_inside(uint64_t count)
{
        check_ok(account_take((unsigned)count));
        return 0;
}

static long long end(uint64_t unused)
{
        (void)unused;
        return ways_end();
}

/* Splits of one thread are no concern of the other's. */
static void arenas_take_pages_without_conflict(int way)
{
        struct actor *other = actor_start(way & WAYS_PROCESSES ? WAY_PROCESS : 0);

        ways_open(way & WAYS_KIND);
        account_take_committed(1);
        actor_do(other, ways_enter, (uint64_t)way & WAYS_KIND);
        actor_do(other, take_pages, 1);
        for (int i = 0; i < 50; i++) {
                ways_begin();
                actor_do(other, begin, 0);
                actor_do(other, take_inside, 3);
                check_ok(account_take(3));
                check_ok((int)actor_do(other, end, 0));
                check_ok(ways_end());
        }
        account_add_others(other);
        account_check();
        actor_do(other, ways_leave, 0);
        actor_stop(other);
        ways_close();
}

static void a_group_that_is_left_is_used_by_others(int way)
{
        struct actor *other = actor_start(way & WAYS_PROCESSES ? WAY_PROCESS : 0);

        ways_open(way & WAYS_KIND);
        actor_do(other, ways_enter, (uint64_t)way & WAYS_KIND);
        check_equal(actor_do(other, take_pages, 1), PAGES_FIXED);
        account_take_committed(1);
        check_equal(account.pages[0], GROUP_PAGES + 1);
        account_add_others(other);
        actor_do(other, ways_leave, 0);
        account_take_committed(GROUP_FREE - 1);
        account_take_committed(1); /* the own group was full */
        check_equal(account.pages[account.count - 1], PAGES_FIXED + 1);
        account_check();
        actor_stop(other);
        ways_close();
}

static long long free_pages(uint64_t count)
{
        int outcome;

        ways_begin();
        while (count-- > 0)
                account_free(0);
        outcome = ways_end();
        check_ok(outcome);
        return 0;
}

/* Who took its last page let it go with that. */
static void a_group_that_was_full_is_nobodys(int way)
{
        struct actor *other = actor_start(way & WAYS_PROCESSES ? WAY_PROCESS : 0);

        ways_open(way & WAYS_KIND);
        actor_do(other, ways_enter, (uint64_t)way & WAYS_KIND);
        actor_do(other, take_pages, FIRST_FREE);
        actor_do(other, free_pages, 100);
        account_take_committed(100);
        ways_begin();
        check_equal(account_groups(), 1);
        check_ok(ways_end());
        account_add_others(other);
        account_check();
        actor_do(other, ways_leave, 0);
        actor_stop(other);
        ways_close();
}

/* Its owner is dead, or idle. If it lives, it goes elsewhere. */
static void a_deserted_group_is_taken_over(int way)
{
        struct actor *other = actor_start(way & WAYS_PROCESSES ? WAY_PROCESS : 0);

        ways_open(way & WAYS_KIND);
        actor_do(other, ways_enter, (uint64_t)way & WAYS_KIND);
        actor_do(other, take_pages, 1);
        ways_begin();
        ((struct group_map *)arena_write(ways.arena, 0))->used_at -= 60;
        check_ok(ways_end());
        account_take_committed(1);
        check_equal(account.pages[0], PAGES_FIXED + 1);
        check_equal(actor_do(other, take_pages, 1), GROUP_PAGES + 1);
        account_take_committed(1);
        check_equal(account.pages[1], PAGES_FIXED + 2);
        account_add_others(other);
        account_check();
        actor_do(other, ways_leave, 0);
        actor_stop(other);
        ways_close();
}

/* At once: the kernel knows that it is dead. */
static void a_group_of_the_dead_is_taken_over(int way)
{
        struct actor *victim = actor_start(WAY_PROCESS);

        ways_open(way);
        actor_do(victim, ways_enter, (uint64_t)way);
        check_equal(actor_do(victim, take_pages, 1), PAGES_FIXED);
        account_add_others(victim);
        actor_kill(victim);
        account_take_committed(1);
        check_equal(account.pages[account.count - 1], PAGES_FIXED + 1);
        account_check();
        ways_close();
}

/* Another aborts what would have emptied the group, or dies in the middle of it. */
static void what_a_dead_process_had_not_committed_is_free(int way)
{
        struct actor *victim = actor_start(WAY_PROCESS);

        ways_open(way);
        actor_do(victim, ways_enter, (uint64_t)way);
        actor_do(victim, take_pages, 20);
        account_add_others(victim);
        actor_do(victim, begin, 0);
        actor_do(victim, take_inside, FIRST_FREE + 30);
        actor_kill(victim);
        account_take_committed(40);
        account_check();
        ways_close();
}

/* ---- a crowd ---- */

enum { CROWD = 4, CROWD_ROUNDS = 1500, CROWD_HOLDS_MAX = 2000 };

struct crowd {
        int way;
        uint64_t seed;
        struct crowd_member {
                unsigned count;
                page_no pages[CROWD_HOLDS_MAX];
        } member[CROWD];
};

/* What a page says while it is held, so that two who hold one page notice. */
struct stamp {
        uint8_t kind;
        int32_t member;
        uint64_t round;
};

static void stamp_write(page_no page, int member, uint64_t round)
{
        struct stamp *stamp = arena_write(ways.arena, page);

        check(stamp != NULL);
        *stamp = (struct stamp){ PAGE_IS_LEAF, member, round };
}

/* In declared access a snapshot shows what it must, lost or not. */
static void stamp_check(page_no page, int member)
{
        const struct stamp *stamp = arena_read(ways.arena, page);

        check(stamp != NULL);
        check_equal(stamp->kind, PAGE_IS_LEAF);
        check_equal(stamp->member, member);
}

static void round_take(struct chance *chance, int member, uint64_t round)
{
        struct page_reserve reserve = { 0 };

        check_ok(page_alloc_reserve(ways.arena, &reserve, (uint32_t)chance_below(chance, 20)));
        for (uint64_t used = chance_below(chance, reserve.count + 1); used > 0; used--) {
                page_no page = page_alloc_take(&reserve);

                stamp_write(page, member, round);
                account_hold(page);
        }
        check_ok(page_alloc_release(ways.arena, &reserve));
}

static void round_free(struct chance *chance, int member)
{
        for (uint64_t count = chance_below(chance, 20); count > 0 && account.count > 0; count--) {
                unsigned i = (unsigned)chance_below(chance, account.count);

                stamp_check(account.pages[i], member);
                account_free(i);
        }
}

/* One transaction, which may be given up; the account follows what became of it. */
static void crowd_round(struct chance *chance, int member, uint64_t round)
{
        static _Thread_local struct account before;

        before = account;
        ways_begin();
        if (account.count < CROWD_HOLDS_MAX - 20 && chance_percent(chance, 60))
                round_take(chance, member, round);
        if (account.count > 1000 || chance_percent(chance, 50))
                round_free(chance, member);
        if (chance_percent(chance, 5)) {
                account = before;
                ways_abort();
                return;
        }
        int outcome = ways_end();
        if (outcome != XAC_CONFLICT)
                check_ok(outcome);
        else
                account = before;
}

static void crowd_main(int index, void *crowd_)
{
        struct crowd *crowd = crowd_;
        struct crowd_member *me = &crowd->member[index];
        struct chance chance = { crowd->seed + (uint64_t)index };

        ways_open(index == 0 ? IN_DECLARED : crowd->way & WAYS_KIND); /* ways meet */
        for (uint64_t round = 0; round < CROWD_ROUNDS; round++) {
                crowd_round(&chance, index, round);
                if (chance_below(&chance, 400) == 0) {
                        ways_close();
                        ways_open(crowd->way & WAYS_KIND);
                }
        }
        me->count = account.count;
        for (unsigned i = 0; i < account.count; i++)
                me->pages[i] = account.pages[i];
        ways_close();
}

static void a_crowd_holds_each_page_once(int way)
{
        struct crowd *crowd = crew_shared(sizeof(*crowd));

        crowd->way = way;
        crowd->seed = chance_seed();
        ways_open(way & WAYS_KIND); /* and stays, so that the environment does not come and go */
        if (way & WAYS_PROCESSES)
                crew_processes(CROWD, crowd_main, crowd);
        else
                crew_threads(CROWD, crowd_main, crowd);
        for (int member = 0; member < CROWD; member++)
                for (unsigned i = 0; i < crowd->member[member].count; i++)
                        account_hold(crowd->member[member].pages[i]);
        account_check();
        ways_begin();
        check(account_groups() <= account.count / GROUP_PAGES + 20); /* left groups were found again */
        check_ok(ways_end());
        ways_close();
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                ways_env(a_format_that_is_aborted_is_repeated),
                ways_env(an_added_group_that_is_aborted_is_added_again),
                ways_crowd(an_added_group_that_is_aborted_may_be_anothers_then),
                ways_env(the_last_page_of_a_group_may_be_aborted),
                ways_env(nested_levels_are_undone_alone),
                ways_env(freeing_can_be_aborted),
                ways_crowd(arenas_take_pages_without_conflict),
                ways_crowd(a_group_that_is_left_is_used_by_others),
                ways_crowd(a_group_that_was_full_is_nobodys),
                ways_crowd(a_deserted_group_is_taken_over),
                ways_env(what_a_dead_process_had_not_committed_is_free),
                ways_env(a_group_of_the_dead_is_taken_over),
                ways_crowd(a_crowd_holds_each_page_once),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
