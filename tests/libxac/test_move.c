/* SPDX-License-Identifier: MIT */

/*
 * xac_page_move: pages that change places within a transaction, by plain pointers and by declared access,
 * and after commits, aborts and checkpoints. At random, and after crashes: test_move_model.c.
 */

#include <stdbool.h>
#include <sys/mman.h>

#include <xac/xac.h>

#include "tests/support/actor.h"
#include "tests/support/chance.h"
#include "tests/support/check.h"
#include "tests/support/isolate.h"
#include "tests/support/scratch.h"
#include "tests/support/seat.h"

static uint64_t first_of(unsigned page)
{
        return seat_get(seat_word(page, 0));
}

static uint64_t last_of(unsigned page)
{
        return seat_get(seat_word(page, SEAT_PAGE_WORDS - 1));
}

/* Page p says 100 + p at its beginning, 200 + p at its end. */
static void fill(unsigned pages)
{
        run_until_committed(seat.env, 0) for (unsigned page = 0; page < pages; page++)
        {
                seat_put(seat_word(page, 0), 100 + page);
                seat_put(seat_word(page, SEAT_PAGE_WORDS - 1), 200 + page);
        }
}

static void check_shows(unsigned page, int from)
{
        check_equal(first_of(page), from < 0 ? 0 : 100 + from);
        check_equal(last_of(page), from < 0 ? 0 : 200 + from);
}

static void check_committed(unsigned page, int from)
{
        check_ok(xbegin(seat.env, XAC_RDONLY));
        check_shows(page, from);
        check_ok(xend(seat.env));
}

static void reopen(int way)
{
        seat_leave(0);
        seat_take((uint64_t)way);
}

/* ---- What a move does ---- */

static void a_page_is_where_it_was_moved(int way)
{
        seat_take((uint64_t)way);
        fill(4);
        check_ok(xbegin(seat.env, 0));
        check_ok(seat_move(9, 2, 1));
        check_shows(9, 2);
        check_shows(2, -1);
        check_shows(3, 3);
        check_ok(xend(seat.env));
        check_committed(9, 2);
        check_committed(2, -1);
        reopen(way);
        check_committed(9, 2);
        check_committed(2, -1);
        seat_leave(0);
}

/* Seen, or written, before it is moved; written after it. */
static void writes_before_and_after_go_along(int way)
{
        seat_take((uint64_t)way);
        fill(8);
        check_ok(xbegin(seat.env, 0));
        check_shows(1, 1);
        check_shows(5, 5);
        seat_put(seat_word(1, 0), 1);
        seat_put(seat_word(5, 7), 55);
        check_ok(seat_move(5, 1, 1));
        check_equal(first_of(5), 1);
        check_equal(last_of(5), 201);
        check_equal(seat_get(seat_word(5, 7)), 0);
        check_shows(1, -1);
        seat_put(seat_word(5, 7), 57);
        seat_put(seat_word(1, 8), 18);
        check_ok(xend(seat.env));
        reopen(way);
        check_ok(xbegin(seat.env, XAC_RDONLY));
        check_equal(first_of(5), 1);
        check_equal(seat_get(seat_word(5, 7)), 57);
        check_equal(last_of(5), 201);
        check_shows(1, 8 - 9);
        check_equal(seat_get(seat_word(1, 8)), 18);
        check_ok(xend(seat.env));
        seat_leave(0);
}

static void a_chain_of_moves_is_one_move(int way)
{
        seat_take((uint64_t)way);
        fill(4);
        check_ok(xbegin(seat.env, 0));
        check_ok(seat_move(10, 1, 1));
        check_ok(seat_move(11, 10, 1));
        check_ok(seat_move(1, 2, 1));
        check_ok(seat_move(2, 11, 1)); /* 1 and 2 have changed places */
        check_shows(1, 2);
        check_shows(2, 1);
        check_shows(10, -1);
        check_shows(11, -1);
        check_ok(seat_move(20, 3, 1));
        check_ok(seat_move(3, 20, 1)); /* there and back */
        check_ok(xend(seat.env));
        reopen(way);
        check_committed(1, 2);
        check_committed(2, 1);
        check_committed(3, 3);
        check_committed(20, -1);
        seat_leave(0);
}

/* Where the ranges overlap it is as by memmove. */
static void ranges_may_overlap(int way)
{
        enum { RANGE = 5, PAGES = 16 };

        seat_take((uint64_t)way);
        for (int distance = -RANGE - 1; distance <= RANGE + 1; distance++) {
                int from = PAGES / 2 - 2, to = from + distance;

                fill(PAGES);
                check_ok(xbegin(seat.env, 0));
                check_ok(seat_move((unsigned)to, (unsigned)from, RANGE));
                for (int page = 0; page < PAGES; page++) {
                        bool is_to = page >= to && page < to + RANGE;
                        bool is_from = page >= from && page < from + RANGE;

                        check_shows((unsigned)page, is_to ? page - distance : is_from ? -1 : page);
                }
                check_ok(xend(seat.env));
                check_committed((unsigned)to, from);
                check_committed((unsigned)(to + RANGE - 1), from + RANGE - 1);
        }
        seat_leave(0);
}

/* A pointer is asked for again, and the views show what there is now, whatever they showed before. */
static void plain_and_declared_access_agree(void)
{
        uint64_t *moved;

        seat_take(0);
        fill(8);
        check_ok(xbegin(seat.env, 0));
        seat.words[seat_word(3, 0)] = 33;
        check_equal(seat.words[seat_word(4, 0)], 104);
        check_ok(seat_move(4, 3, 2));
        check_equal(seat.words[seat_word(4, 0)], 33);
        moved = xac_page_write(seat.env, seat.words + seat_word(4, 0));
        check(moved != NULL);
        check_equal(*moved, 33);
        *moved = 34;
        check_equal(seat.words[seat_word(4, 0)], 34);
        seat.words[seat_word(5, 1)] = 51;
        check_equal(*(const uint64_t *)xac_page_read(seat.env, seat.words + seat_word(5, 1)), 51);
        check_equal(seat.words[seat_word(3, 0)], 0);
        seat.words[seat_word(3, 0)] = 35;
        check_equal(*(const uint64_t *)xac_page_read(seat.env, seat.words + seat_word(3, 0)), 35);
        check_ok(xend(seat.env));
        check_equal(seat_commit_get(seat_word(4, 0)), 34);
        check_equal(seat_commit_get(seat_word(5, 0)), 104);
        check_equal(seat_commit_get(seat_word(3, 0)), 35);
        seat_leave(0);
}

/* ---- Levels ---- */

static void an_inner_abort_moves_back(int way)
{
        seat_take((uint64_t)way);
        fill(4);
        check_ok(xbegin(seat.env, 0));
        seat_put(seat_word(1, 5), 15);
        check_ok(seat_move(8, 0, 1));
        check_ok(xbegin(seat.env, 0));
        check_ok(seat_move(9, 8, 1));
        check_ok(seat_move(8, 1, 1));
        seat_put(seat_word(8, 5), 85);
        check_ok(seat_move(1, 2, 2));
        check_shows(9, 0);
        check_shows(2, 3);
        check_ok(xabort(seat.env));
        check_shows(8, 0);
        check_shows(0, -1);
        check_shows(1, 1);
        check_equal(seat_get(seat_word(1, 5)), 15);
        check_equal(seat_get(seat_word(8, 5)), 0);
        check_shows(2, 2);
        check_shows(3, 3);
        check_shows(9, -1);
        check_ok(xend(seat.env));
        reopen(way);
        check_committed(8, 0);
        check_committed(0, -1);
        check_committed(2, 2);
        check_committed(9, -1);
        seat_leave(0);
}

static void an_inner_commit_keeps_them(int way)
{
        seat_take((uint64_t)way);
        fill(4);
        check_ok(xbegin(seat.env, 0));
        check_ok(seat_move(8, 0, 1));
        seat_put(seat_word(1, 5), 15);
        check_ok(xbegin(seat.env, 0));
        check_ok(seat_move(9, 8, 1));
        check_ok(seat_move(8, 1, 1));
        check_ok(xend(seat.env));
        check_shows(9, 0);
        check_shows(8, 1);
        check_equal(seat_get(seat_word(8, 5)), 15);
        check_shows(1, -1);
        seat_put(seat_word(9, 5), 95);
        check_ok(xend(seat.env));
        reopen(way);
        check_committed(9, 0);
        check_committed(8, 1);
        check_committed(0, -1);
        check_committed(1, -1);
        check_equal(seat_commit_get(seat_word(8, 5)), 15);
        check_equal(seat_commit_get(seat_word(9, 5)), 95);
        seat_leave(0);
}

static void an_abort_moves_back(int way)
{
        seat_take((uint64_t)way);
        fill(4);
        check_ok(xbegin(seat.env, 0));
        seat_put(seat_word(2, 0), 22);
        check_ok(seat_move(1, 2, 2));
        check_ok(xabort(seat.env));
        for (int page = 0; page < 4; page++)
                check_committed((unsigned)page, page);
        seat_leave(0);
}

/* ---- Others ---- */

static long long commit_move(uint64_t pages)
{
        run_until_committed(seat.env, 0)
                check_ok(seat_move((unsigned)(pages >> 32), (unsigned)(pages & 0xffffffff), 1));
        return 0;
}

static uint64_t pages_of(unsigned to, unsigned from)
{
        return (uint64_t)to << 32 | from;
}

static void both_pages_are_written(int way)
{
        struct actor *other = actor_start(way);

        seat_take((uint64_t)way);
        actor_do(other, seat_take, (uint64_t)way);
        fill(8);
        for (unsigned page = 1; page <= 2; page++)
                for (int flags = 0; flags <= XAC_SNAPSHOT_ISOLATION; flags += XAC_SNAPSHOT_ISOLATION) {
                        check_ok(xbegin(seat.env, flags));
                        check_ok(seat_move(1, 2, 1));
                        actor_do(other, seat_commit_add, seat_word(page, 9)); /* what was, or what comes there */
                        check_code(xend(seat.env), XAC_CONFLICT);

                        check_ok(xbegin(seat.env, 0));
                        check_equal(seat_get(seat_word(page, 0)), 100 + page);
                        seat_put(seat_word(7, 3), 1);
                        actor_do(other, commit_move, pages_of(1, 2));
                        check_code(xend(seat.env), XAC_CONFLICT);
                        fill(8);
                }
        actor_do(other, seat_leave, 0);
        actor_stop(other);
        seat_leave(0);
}

static void snapshots_see_the_old_places(int way)
{
        struct actor *other = actor_start(way);

        seat_take((uint64_t)way);
        actor_do(other, seat_take, (uint64_t)way);
        fill(8);
        check_ok(xbegin(seat.env, XAC_RDONLY));
        check_shows(5, 5);
        for (unsigned i = 0; i < 7; i++)
                actor_do(other, commit_move, pages_of(i + 1, i));
        for (int page = 0; page < 8; page++)
                check_shows((unsigned)page, page);
        check_ok(xac_checkpoint(seat.env));
        check_shows(0, 0);
        check_shows(7, 7);
        check_ok(xend(seat.env));
        check_committed(7, 0);
        check_committed(6, -1);
        actor_do(other, seat_leave, 0);
        actor_stop(other);
        seat_leave(0);
}

/* ---- What is refused ---- */

static void what_is_refused_changes_nothing(void)
{
        uint64_t *other;
        char local[8];
        size_t half = (size_t)SEAT_PAGES / 2;

        seat_take(WAY_DECLARED);
        fill(4);
        other = xac_mmap(seat.env, "other", SEAT_PAGE_BYTES, 0);
        check(other != MAP_FAILED);
        check_code(xac_page_move(NULL, seat.words, seat.words, 1), -EINVAL);
        check_code(seat_move(0, 1, 1), XAC_NOTXN);
        check_code(seat_move(0, 1, 0), XAC_NOTXN);

        check_ok(xbegin(seat.env, 0));
        check_code(xac_page_move(seat.env, local, seat.words, 1), XAC_NOVIEW);
        check_code(xac_page_move(seat.env, seat.words, local, 1), XAC_NOVIEW);
        check_code(xac_page_move(seat.env, seat.words, NULL, 1), XAC_NOVIEW);
        check_code(xac_page_move(seat.env, seat.words, seat.words + seat_word(SEAT_PAGES, 0), 1), -EINVAL);
        check_code(xac_page_move(seat.env, seat.words - SEAT_PAGE_WORDS, seat.words, 1), XAC_NOVIEW);
        check_code(xac_page_move(seat.env, other, seat.words, 1), -EINVAL);
        check_code(xac_page_move(seat.env, seat.words + 1, seat.words + seat_word(1, 0), 1), -EINVAL);
        check_code(xac_page_move(seat.env, seat.words, seat.words + seat_word(1, 1), 1), -EINVAL);
        check_code(seat_move(0, 1, SEAT_PAGES), -EINVAL);
        check_code(seat_move(1, 0, SEAT_PAGES), -EINVAL);
        check_code(seat_move(0, 1, SIZE_MAX), -EINVAL);
        check_code(seat_move(0, 1, SIZE_MAX / SEAT_PAGE_BYTES + 2), -EINVAL);
        check_ok(seat_move(0, 1, 0));
        check_ok(seat_move(1, 1, 2));
        check_ok(seat_move((unsigned)half, 0, half));
        check_ok(seat_move(0, (unsigned)half, half));
        check_ok(xend(seat.env));
        for (int page = 0; page < 4; page++)
                check_committed((unsigned)page, page);

        check_ok(xbegin(seat.env, XAC_RDONLY));
        check_code(seat_move(0, 1, 1), XAC_WROTE);
        check_shows(0, 0);
        check_ok(xend(seat.env));
        check_ok(xbegin(seat.env, 0));
        check(xac_page_read(seat.env, local) == NULL);
        check_code(seat_move(0, 1, 1), XAC_NOVIEW); /* lost already */
        check_code(xend(seat.env), XAC_NOVIEW);
        check_ok(xac_munmap(seat.env, other));
        seat_leave(0);
}

/* A view in which the file is longer than the reservation, and a file that grows under it. */
static void a_file_ends_where_it_ends(void)
{
        uint64_t *words;

        seat_take(WAY_DECLARED);
        words = xac_mmap(seat.env, "short", (size_t)2 * SEAT_PAGE_BYTES, 0);
        check(words != MAP_FAILED);
        check_ok(xbegin(seat.env, 0));
        check_code(xac_page_move(seat.env, words + seat_word(2, 0), words, 1), -EINVAL);
        check(xac_mmap(seat.env, "short", (size_t)3 * SEAT_PAGE_BYTES, 0) == words);
        check_ok(xac_page_move(seat.env, words + seat_word(2, 0), words, 1));
        check_ok(xend(seat.env));
        check_ok(xac_munmap(seat.env, words));
        check_ok(xac_munmap(seat.env, words));
        seat_leave(0);
}

static void a_full_pool_is_told(int way)
{
        enum { PAGES = 1024, LARGE = PAGES / 2 };
        const xac_options options = { .pool_bytes = 256 * SEAT_PAGE_BYTES };

        check_ok(xac_open(scratch_path("env"), seat_open_flags(way), &options, &seat.env));
        seat.words = xac_mmap(seat.env, "words", PAGES * SEAT_PAGE_BYTES, 0);
        check(seat.words != MAP_FAILED);
        seat.way = way;
        fill(4);
        for (int i = 0; i < 3; i++) {
                check_ok(xbegin(seat.env, 0));
                seat_put(seat_word(1, 5), 15);
                check_code(seat_move(LARGE, 0, LARGE), XAC_FULL);
                check_shows(1, 1);
                check_code(seat_move(8, 0, 1), XAC_FULL); /* lost already */
                check_code(xend(seat.env), XAC_FULL);
                check_committed(1, 1);
                check_equal(seat_commit_get(seat_word(1, 5)), 0);
        }
        for (unsigned i = 0; i < 40; i++) { /* many times the pool, as checkpoints make room */
                check_ok(xbegin(seat.env, 0));
                check_ok(seat_move(i % 2 ? 0 : LARGE, i % 2 ? LARGE : 0, 40));
                check_ok(xend(seat.env));
        }
        check_committed(3, 3);
        seat_leave(0);
}

/* However often pages are moved, they take no more room; what a reader still sees of them stands there once. */
static void what_is_in_the_pool_is_not_copied(int way)
{
        enum { PAGES = SEAT_PAGES / 2 };
        struct actor *reader = actor_start(0);
        uint64_t used;

        seat_take(WAY_DECLARED);
        actor_do(reader, seat_take, WAY_DECLARED);
        fill(PAGES);
        if (way) {
                actor_do(reader, seat_begin, XAC_RDONLY);
                actor_do(reader, seat_read, seat_word(1, 0));
        }
        used = seat_stat(pool_bytes_used);
        check(used >= (uint64_t)PAGES * SEAT_PAGE_BYTES);
        for (unsigned i = 0; i < 5; i++) {
                check_ok(xbegin(seat.env, 0));
                check_ok(seat_move(i % 2 ? 0 : PAGES, i % 2 ? PAGES : 0, PAGES));
                check_equal(seat_stat(pool_bytes_used), used);
                check_ok(xend(seat.env));
                check_equal(seat_stat(pool_bytes_used), used);
        }
        if (way) {
                check_equal(actor_do(reader, seat_read, seat_word(1, 0)), 101);
                actor_do(reader, seat_end, 0);
        }
        for (int page = 0; page < PAGES; page++)
                check_committed((unsigned)page + PAGES, page);
        actor_do(reader, seat_leave, 0);
        actor_stop(reader);
        seat_leave(0);
}

/* ---- The log ---- */

/* Not the pages go into the log but where they came from. */
static void a_move_takes_few_bytes_of_log(void)
{
        enum { MOVED = 16 };
        struct chance chance = { 1 };
        uint64_t before;

        if (!seat_is_durable())
                isolate_skip("the environment is volatile");
        seat_take(WAY_DECLARED);
        run_until_committed(seat.env, 0) for (unsigned word = 0; word < MOVED * SEAT_PAGE_WORDS; word++)
                seat_put(word, chance_next(&chance));
        before = seat_stat(log_record_bytes);
        check_ok(xbegin(seat.env, 0));
        seat_put(seat_word(3, 77), 5);
        check_ok(seat_move(MOVED / 2, 0, MOVED));
        seat_put(seat_word(MOVED / 2 + 5, 77), 6);
        check_ok(xend(seat.env));
        check(seat_stat(log_record_bytes) - before < 1000);
        seat_leave(0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_by_access(a_page_is_where_it_was_moved),
                isolated_by_access(writes_before_and_after_go_along),
                isolated_by_access(a_chain_of_moves_is_one_move),
                isolated_by_access(ranges_may_overlap),
                isolated_test(plain_and_declared_access_agree),
                isolated_by_access(an_inner_abort_moves_back),
                isolated_by_access(an_inner_commit_keeps_them),
                isolated_by_access(an_abort_moves_back),
                isolated_each_way(both_pages_are_written),
                isolated_each_way(snapshots_see_the_old_places),
                isolated_test(what_is_refused_changes_nothing),
                isolated_test(a_file_ends_where_it_ends),
                isolated_by_access(a_full_pool_is_told),
                isolated_way(what_is_in_the_pool_is_not_copied, 0, "alone"),
                isolated_way(what_is_in_the_pool_is_not_copied, 1, "with a reader"),
                isolated_test(a_move_takes_few_bytes_of_log),
        };
        return cmocka_run_group_tests_name("move", tests, NULL, NULL);
}
