/* SPDX-License-Identifier: MIT */

/*
 * A tiny version pool: XAC_FULL is a code, not a crash, and work goes on afterwards (P7).
 */

#include <sys/mman.h>

#include <xac/xac.h>

#include "tests/support/actor.h"
#include "tests/support/check.h"
#include "tests/support/isolate.h"
#include "tests/support/scratch.h"
#include "tests/support/seat.h"

enum {
        POOL_BYTES = 1 << 20,
        FILE_PAGES = 4096 /* 16 MiB */
};

static long long small_take(uint64_t way)
{
        const xac_options options = { .pool_bytes = POOL_BYTES };

        seat.way = (int)way;
        check_ok(xac_open(scratch_path("env"), seat_open_flags(seat.way), &options, &seat.env));
        seat.words = xac_mmap(seat.env, "words", FILE_PAGES * (size_t)4096, 0);
        check(seat.words != MAP_FAILED);
        return 0;
}

/* Writes pages until the end or, declared, until one is refused. In a view the doomed
 * transaction goes on on private copies. */
static unsigned write_pages(unsigned pages, uint64_t value)
{
        for (unsigned page = 0; page < pages; page++) {
                if ((seat.way & WAY_DECLARED) && xac_page_write(seat.env, seat.words + seat_word(page, 1)) == NULL)
                        return page;
                seat_put(seat_word(page, 1), value);
        }
        return pages;
}

static void a_transaction_larger_than_the_pool_is_xac_full(int way)
{
        unsigned granted;

        small_take((uint64_t)way);
        granted = (unsigned)(seat_stat(pool_bytes) / 4096);
        check(granted >= POOL_BYTES / 4096);
        check(granted < FILE_PAGES / 2);
        for (unsigned i = 0; i < 3; i++) {
                check_ok(xbegin(seat.env, 0));
                seat_put(0, 77);
                write_pages(FILE_PAGES, 1);
                check_equal(seat_get(0), 77);
                check_code(xend(seat.env), XAC_FULL);
                check_equal(seat_commit_get(0), i);
                check_equal(seat_commit_get(seat_word(1, 1)), i == 0 ? 0 : 9);
                check_equal(seat_commit_get(seat_word(FILE_PAGES - 1, 1)), 0);

                /* Half the pool is always enough for one. */
                run_until_committed(seat.env, 0)
                {
                        check_equal(write_pages(granted / 2, 9), granted / 2);
                        seat_put(0, i + 1);
                }
        }
        check_equal(seat_commit_get(seat_word(granted / 2 - 1, 1)), 9);
        seat_leave(0);
}

static void inside_a_level_it_is_told_at_the_end(int way)
{
        int code;

        small_take((uint64_t)way);
        check_ok(xbegin(seat.env, 0));
        seat_put(0, 1);
        check_ok(xbegin(seat.env, 0));
        write_pages(FILE_PAGES, 1);
        code = xend(seat.env);
        check(code == 0 || code == XAC_FULL);
        check_code(xend(seat.env), XAC_FULL);
        check_equal(seat_commit_get(0), 0);
        check_equal(seat_commit_add(0), 1);
        seat_leave(0);
}

/* Doomed, it goes on harmlessly: it still reads what it wrote. In a view only; declared access
 * has been refused by then. */
static void a_doomed_view_reads_what_it_wrote(int way)
{
        const unsigned pages = FILE_PAGES / 2;

        small_take((uint64_t)way);
        seat_commit_add(seat_word(pages + 5, 1));
        check_ok(xbegin(seat.env, 0));
        for (unsigned page = 0; page < 20; page++)
                seat_put(seat_word(page, 0), 100 + page);
        check_ok(xbegin(seat.env, 0));
        write_pages(pages, 1); /* doomed on the way */
        for (unsigned page = 0; page < pages; page++) {
                check_equal(seat_get(seat_word(page, 1)), 1);
                check_equal(seat_get(seat_word(page, 0)), page < 20 ? 100 + page : 0);
        }
        write_pages(pages, 2);
        for (unsigned page = 0; page < pages; page++)
                check_equal(seat_get(seat_word(page, 1)), 2);
        check_equal(seat_get(seat_word(pages + 5, 1)), 1);
        seat_end(0);
        check_equal(seat_get(seat_word(pages - 1, 1)), 2);
        check_code(xend(seat.env), XAC_FULL);
        check_equal(seat_commit_get(0), 0);
        seat_leave(0);
}

/* Many times the pool's size goes through it: home takes what is needed no more. */
static void more_pages_than_slots_are_written_in_turn(int way)
{
        small_take((uint64_t)way);
        for (unsigned page = 0; page < FILE_PAGES; page++)
                check_equal(seat_commit_add(seat_word(page, 1)), 1);
        for (unsigned page = 0; page < FILE_PAGES; page++)
                check_equal(seat_commit_get(seat_word(page, 1)), 1);
        check(seat_stat(pool_bytes_used) <= seat_stat(pool_bytes));
        seat_leave(0);
        small_take((uint64_t)way);
        for (unsigned page = 0; page < FILE_PAGES; page += 17)
                check_equal(seat_commit_get(seat_word(page, 1)), 1);
        seat_leave(0);
}

/* Rewriting a few pages for ever needs a bounded pool, also while a reader holds on to the
 * version it reads (precise reclaim). */
static void a_long_reader_does_not_fill_the_pool(int way)
{
        struct actor *reader = actor_start(way);

        small_take(WAY_DECLARED);
        actor_do(reader, small_take, (uint64_t)way);
        for (unsigned page = 0; page < 64; page++)
                seat_commit_add(seat_word(page, 1));
        actor_do(reader, seat_begin, XAC_RDONLY);
        for (unsigned page = 0; page < 64; page += 2)
                check_equal(actor_do(reader, seat_read, seat_word(page, 1)), 1);
        for (unsigned i = 0; i < 6400; i++)
                check_equal(seat_commit_add(seat_word(i % 64, 1)), i / 64 + 2);
        for (unsigned page = 0; page < 64; page++)
                check_equal(actor_do(reader, seat_read, seat_word(page, 1)), 1);
        check_ok((int)actor_do(reader, seat_end, 0));
        check_equal(actor_do(reader, seat_commit_get, seat_word(63, 1)), 101);
        actor_do(reader, seat_leave, 0);
        actor_stop(reader);
        seat_leave(0);
}

/* It holds a version of every page: then the pool is really full, until it ends. */
static void a_reader_may_fill_the_pool_and_leave(void)
{
        struct actor *reader = actor_start(WAY_PROCESS);
        int code = 0;
        unsigned page;

        small_take(WAY_DECLARED);
        actor_do(reader, small_take, WAY_DECLARED);
        actor_do(reader, seat_begin, XAC_RDONLY);
        actor_do(reader, seat_read, 0);
        for (page = 0; page < FILE_PAGES && code == 0; page++) {
                check_ok(xbegin(seat.env, 0));
                if (xac_page_write(seat.env, seat.words + seat_word(page, 1)) != NULL)
                        seat_add(seat_word(page, 1));
                code = xend(seat.env);
        }
        /* Held back by the reader, nothing can go home: after a poolful there is no room. */
        check_code(code, XAC_FULL);
        check(page > POOL_BYTES / 4096 / 2);
        check_equal(actor_do(reader, seat_read, seat_word(1, 1)), 0);
        check_ok((int)actor_do(reader, seat_end, 0));
        for (page = 0; page < FILE_PAGES; page++)
                seat_commit_add(seat_word(page, 2));
        check_equal(actor_do(reader, seat_commit_get, seat_word(5, 1)), 1);
        actor_do(reader, seat_leave, 0);
        actor_stop(reader);
        seat_leave(0);
}

/* Reading takes no slots: a reader of everything gets through with none free. */
static void reading_needs_no_room(int way)
{
        small_take((uint64_t)way);
        check_ok(xbegin(seat.env, XAC_RDONLY));
        for (unsigned page = 0; page < FILE_PAGES; page++)
                check_equal(seat_get(seat_word(page, 1)), 0);
        check_ok(xend(seat.env));
        seat_leave(0);
}

static long long rewrite_pages(uint64_t value)
{
        run_until_committed(seat.env, 0) for (unsigned page = 0; page < SEAT_PAGES; page++)
                seat_put(seat_word(page, 1), value);
        return 0;
}

/* Also when the transaction itself brings home what it looks at, and the room is used again. */
static void pointers_outlive_a_checkpoint_of_ones_own(int flags)
{
        struct actor *other = actor_start(0);
        const uint64_t *pointers[SEAT_PAGES];

        small_take(WAY_DECLARED);
        actor_do(other, small_take, WAY_DECLARED);
        actor_do(other, rewrite_pages, 1);
        check_ok(xbegin(seat.env, flags));
        for (unsigned page = 0; page < SEAT_PAGES; page++)
                pointers[page] = xac_page_read(seat.env, seat.words + seat_word(page, 1));
        check_ok(xac_checkpoint(seat.env));
        for (uint64_t i = 0; i < 20; i++)
                actor_do(other, rewrite_pages, 2 + i);
        for (unsigned page = 0; page < SEAT_PAGES; page++)
                check_equal(*pointers[page], 1);
        check_ok(xend(seat.env));
        actor_do(other, seat_leave, 0);
        actor_stop(other);
        seat_leave(0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_way(pointers_outlive_a_checkpoint_of_ones_own, 0, "may write"),
                isolated_way(pointers_outlive_a_checkpoint_of_ones_own, XAC_RDONLY, "read-only"),
                isolated_by_access(a_transaction_larger_than_the_pool_is_xac_full),
                isolated_by_access(inside_a_level_it_is_told_at_the_end),
                isolated_way(a_doomed_view_reads_what_it_wrote, 0, "view"),
                isolated_way(a_doomed_view_reads_what_it_wrote, WAY_TRACK, "tracked view"),
                isolated_by_access(more_pages_than_slots_are_written_in_turn),
                isolated_each_way(a_long_reader_does_not_fill_the_pool),
                isolated_test(a_reader_may_fill_the_pool_and_leave),
                isolated_by_access(reading_needs_no_room),
        };
        return cmocka_run_group_tests_name("full", tests, NULL, NULL);
}
