/* SPDX-License-Identifier: MIT */

/*
 * xac_stat: every counter means what the header says.
 */

#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include <xac/xac.h>

#include "tests/support/actor.h"
#include "tests/support/check.h"
#include "tests/support/isolate.h"
#include "tests/support/leeway.h"
#include "tests/support/scratch.h"
#include "tests/support/seat.h"

static void a_fresh_environment_has_done_nothing(void)
{
        xac_stats stats;

        seat_take(0);
        memset(&stats, 0xff, sizeof(stats));
        check_ok(xac_stat(seat.env, &stats));
        check_equal(stats.sequence, seat_stats().sequence);
        check_equal(stats.commits, 0);
        check_equal(stats.conflicts, 0);
        check_equal(stats.read_faults, 0);
        check_equal(stats.write_faults, 0);
        check_equal(stats.log_bytes_used, 0);
        check_equal(stats.participants, 1);
        check(stats.mappings >= 1);
        check(stats.pool_bytes > 0);
        check(stats.pool_bytes_used <= stats.pool_bytes_now);
        check(stats.pool_bytes_now <= stats.pool_bytes);
        for (size_t i = 0; i < sizeof(stats.reserved) / sizeof(stats.reserved[0]); i++)
                check_equal(stats.reserved[i], 0);
        seat_leave(0);
}

static void bad_arguments_are_einval(void)
{
        xac_stats stats;

        seat_take(0);
        check_code(xac_stat(NULL, &stats), -EINVAL);
        check_code(xac_stat(seat.env, NULL), -EINVAL);
        seat_leave(0);
}

static void commits_and_conflicts_are_everybodys(int way)
{
        struct actor *other = actor_start(way);
        uint64_t sequence;

        seat_take((uint64_t)way);
        actor_do(other, seat_take, (uint64_t)way);
        sequence = seat_stat(sequence);
        for (int i = 0; i < 10; i++) {
                actor_do(other, seat_commit_add, 0);
                seat_commit_add(0);
        }
        check_equal(seat_stat(commits), 20);
        check_equal(seat_stat(sequence), sequence + 20);
        check_ok(xbegin(seat.env, 0));
        seat_add(0);
        actor_do(other, seat_commit_add, 0);
        check_code(xend(seat.env), XAC_CONFLICT);
        check_equal(seat_stat(conflicts), 1);
        check_equal(seat_stat(commits), 21);
        check_equal(seat_stat(participants), 2);

        /* Those of a participant that left stay counted. */
        actor_do(other, seat_leave, 0);
        actor_stop(other);
        check_equal(seat_stat(commits), 21);
        check_equal(seat_stat(participants), 1);
        seat_leave(0);
}

static void inner_levels_are_not_counted(int way)
{
        uint64_t commits;

        seat_take((uint64_t)way);
        commits = seat_stat(commits);
        check_ok(xbegin(seat.env, 0));
        check_ok(xbegin(seat.env, 0));
        seat_add(0);
        check_ok(xend(seat.env));
        check_ok(xbegin(seat.env, 0));
        check_ok(xabort(seat.env));
        check_equal(seat_stat(commits), commits);
        check_ok(xend(seat.env));
        check_equal(seat_stat(commits), commits + 1);
        check_equal(seat_stat(conflicts), 0);
        seat_leave(0);
}

static void the_pool_is_used_by_private_pages(int way)
{
        uint64_t used;

        seat_take((uint64_t)way);
        seat_commit_add(0);
        used = seat_stat(pool_bytes_used);
        check_ok(xbegin(seat.env, 0));
        for (unsigned page = 0; page < SEAT_PAGES; page++)
                seat_add(seat_word(page, 0));
        check(seat_stat(pool_bytes_used) >= used + (SEAT_PAGES - 1) * 4096);
        check_ok(xabort(seat.env));
        check(seat_stat(pool_bytes_used) <= used + 16 * 4096);
        seat_leave(0);
}

static uint64_t now_ns(void)
{
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* The shortest of several calls, so that what else the machine does is left out. */
static uint64_t shortest_ns(void)
{
        uint64_t shortest = UINT64_MAX;

        for (int i = 0; i < 500; i++) {
                xac_stats stats;
                uint64_t start = now_ns();

                check_ok(xac_stat(seat.env, &stats));
                uint64_t ns = now_ns() - start;
                shortest = ns < shortest ? ns : shortest;
        }
        return shortest;
}

/* 50 us for a pool of so many slots, when each was looked at. */
static void it_takes_no_longer_for_a_large_pool(void)
{
        enum { PAGES = 8192 };
        uint64_t before;

        seat_take(0);
        before = shortest_ns();
        char *pages = xac_mmap(seat.env, "pages", (size_t)PAGES * SEAT_PAGE_BYTES, 0);
        check(pages != MAP_FAILED);
        check_ok(xbegin(seat.env, XAC_NOSYNC));
        for (size_t page = 0; page < PAGES; page++)
                check(xac_page_write(seat.env, pages + page * SEAT_PAGE_BYTES) != NULL);
        check(seat_stat(pool_bytes_used) >= (uint64_t)PAGES * SEAT_PAGE_BYTES);
        uint64_t after = shortest_ns();
        for (struct leeway left = leeway_of(1000); after > 4 * before + 2000 && leeway_pause(&left);)
                after = shortest_ns();
        check(after <= 4 * before + 2000);
        check_ok(xabort(seat.env));
        check_ok(xac_munmap(seat.env, pages));
        seat_leave(0);
}

static void it_works_inside_a_transaction_and_changes_nothing(int way)
{
        seat_take((uint64_t)way);
        check_ok(xbegin(seat.env, XAC_RDONLY));
        seat_get(0);
        seat_stats();
        check_ok(xend(seat.env));
        check_ok(xbegin(seat.env, 0));
        seat_add(0);
        seat_stats();
        check_ok(xend(seat.env));
        check_equal(seat_commit_get(0), 1);
        seat_leave(0);
}

static void the_asked_for_pool_is_granted(void)
{
        const xac_options options = { .pool_bytes = 3 << 20 };
        xac_env *env;
        xac_stats stats;

        check_ok(xac_open(scratch_path("env"), XAC_CREATE | XAC_VOLATILE, &options, &env));
        check_ok(xac_stat(env, &stats));
        check(stats.pool_bytes >= 3 << 20);
        check(stats.pool_bytes < 64 << 20);
        check_ok(xac_close(env));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_test(a_fresh_environment_has_done_nothing),
                isolated_test(bad_arguments_are_einval),
                isolated_each_way(commits_and_conflicts_are_everybodys),
                isolated_by_access(inner_levels_are_not_counted),
                isolated_by_access(the_pool_is_used_by_private_pages),
                isolated_by_access(it_works_inside_a_transaction_and_changes_nothing),
                isolated_test(it_takes_no_longer_for_a_large_pool),
                isolated_test(the_asked_for_pool_is_granted),
        };
        return cmocka_run_group_tests_name("stat", tests, NULL, NULL);
}
