/* SPDX-License-Identifier: MIT */

/*
 * How reads are detected: under XAC_TRACK every first read of a page faults, in every
 * transaction; otherwise a page that is mapped stays mapped, and reads cost nothing.
 */

#include <xac/xac.h>

#include "tests/support/actor.h"
#include "tests/support/check.h"
#include "tests/support/isolate.h"
#include "tests/support/seat.h"

static void read_pages(unsigned pages, int flags)
{
        check_ok(xbegin(seat.env, flags));
        for (int again = 0; again < 3; again++)
                for (unsigned page = 0; page < pages; page++)
                        seat_get(seat_word(page * 3, 5));
        check_ok(xend(seat.env));
}

static void tracked_reads_fault_once_a_page_and_transaction(void)
{
        uint64_t faults;

        seat_take(WAY_TRACK);
        for (unsigned pages = 0; pages <= 20; pages += 5) {
                faults = seat_stat(read_faults);
                read_pages(pages, 0);
                check_equal(seat_stat(read_faults), faults + pages);
        }
        check_equal(seat_stat(write_faults), 0);
        seat_leave(0);
}

static void untracked_reads_of_a_warm_view_do_not_fault(void)
{
        uint64_t faults;

        seat_take(0);
        read_pages(20, XAC_RDONLY);
        faults = seat_stat(read_faults);
        check(faults <= 20);
        for (int i = 0; i < 5; i++) {
                read_pages(20, XAC_RDONLY);
                read_pages(20, 0);
        }
        check_equal(seat_stat(read_faults), faults);
        check_equal(seat_stat(write_faults), 0);
        seat_leave(0);
}

static void writes_fault_at_most_twice_a_page(int way)
{
        xac_stats before, after;

        seat_take((uint64_t)way);
        before = seat_stats();
        check_ok(xbegin(seat.env, 0));
        for (int again = 0; again < 3; again++)
                for (unsigned page = 0; page < 20; page++)
                        seat_put(seat_word(page * 3, 5), 1);
        check_ok(xend(seat.env));
        after = seat_stats();
        check(after.write_faults - before.write_faults >= 20);
        check(after.write_faults + after.read_faults - before.write_faults - before.read_faults <= 40);
        seat_leave(0);
}

/* Only what others changed must be looked at again. */
static void others_commits_cost_faults_only_where_they_wrote(void)
{
        struct actor *other = actor_start(WAY_PROCESS);
        uint64_t faults;

        seat_take(0);
        actor_do(other, seat_take, WAY_DECLARED);
        read_pages(20, XAC_RDONLY);
        faults = seat_stat(read_faults);
        for (int i = 0; i < 4; i++) {
                actor_do(other, seat_commit_add, seat_word(0, 5));
                actor_do(other, seat_commit_add, seat_word(3, 5));
                actor_do(other, seat_commit_add, seat_word(62, 5));
                read_pages(20, XAC_RDONLY);
        }
        check(seat_stat(read_faults) <= faults + 4 * 2);
        check_equal(seat_commit_get(seat_word(3, 5)), 4);
        actor_do(other, seat_leave, 0);
        actor_stop(other);
        seat_leave(0);
}

static void mixing_openers_is_allowed(void)
{
        struct actor *other = actor_start(WAY_PROCESS);

        seat_take(WAY_TRACK);
        actor_do(other, seat_take, 0);
        for (int i = 0; i < 20; i++) {
                check_equal(seat_commit_add(0), 2 * i + 1);
                check_equal(actor_do(other, seat_commit_add, 0), 2 * i + 2);
        }
        actor_do(other, seat_leave, 0);
        actor_stop(other);
        seat_leave(0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_test(tracked_reads_fault_once_a_page_and_transaction),
                isolated_test(untracked_reads_of_a_warm_view_do_not_fault),
                isolated_way(writes_fault_at_most_twice_a_page, 0, "view"),
                isolated_way(writes_fault_at_most_twice_a_page, WAY_TRACK, "tracked view"),
                isolated_test(others_commits_cost_faults_only_where_they_wrote),
                isolated_test(mixing_openers_is_allowed),
        };
        return cmocka_run_group_tests_name("track", tests, NULL, NULL);
}
