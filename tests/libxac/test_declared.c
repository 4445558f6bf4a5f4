/* SPDX-License-Identifier: MIT */

/*
 * Declared access: what xac_page_read and xac_page_write point to, how long, how it agrees
 * with plain pointers, and what it refuses.
 */

#include <string.h>
#include <sys/mman.h>

#include <xac/xac.h>

#include "tests/support/actor.h"
#include "tests/support/check.h"
#include "tests/support/isolate.h"
#include "tests/support/seat.h"

static void it_points_to_the_very_byte(void)
{
        static const size_t offsets[] = { 0, 1, 7, 4095, 4096, 4097, 8191, SEAT_PAGES * 4096 - 1 };
        const char *bytes, *read;
        char *written;

        seat_take(0);
        bytes = (const char *)seat.words;
        check_ok(xbegin(seat.env, 0));
        for (size_t i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++) {
                read = xac_page_read(seat.env, bytes + offsets[i]);
                check(read != NULL);
                check_equal((uintptr_t)read % 4096, offsets[i] % 4096);
                check_equal(*read, 0);
                written = xac_page_write(seat.env, (char *)seat.words + offsets[i]);
                check(written != NULL);
                check_equal((uintptr_t)written % 4096, offsets[i] % 4096);
                *written = (char)(i + 1);
        }
        check_ok(xend(seat.env));
        check_ok(xbegin(seat.env, XAC_RDONLY));
        for (size_t i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++) {
                check_equal(*(const char *)xac_page_read(seat.env, bytes + offsets[i]), i + 1);
                check_equal(bytes[offsets[i]], i + 1);
        }
        check_ok(xend(seat.env));
        seat_leave(0);
}

/* The whole page is good, not only the byte asked for. */
static void it_is_good_to_the_end_of_the_page(void)
{
        char *page;
        const char *read;

        seat_take(0);
        check_ok(xbegin(seat.env, 0));
        page = xac_page_write(seat.env, seat.words + seat_word(3, 0));
        memset(page, 0x55, 4096);
        check_ok(xend(seat.env));
        check_ok(xbegin(seat.env, XAC_RDONLY));
        read = xac_page_read(seat.env, seat.words + seat_word(3, 0));
        for (int i = 0; i < 4096; i++)
                check_equal(read[i], 0x55);
        check_equal(seat_get(seat_word(2, 511)), 0);
        check_equal(seat_get(seat_word(4, 0)), 0);
        check_ok(xend(seat.env));
        seat_leave(0);
}

static void reads_follow_the_private_copy(void)
{
        uint64_t *written;

        seat_take(0);
        check_ok(xbegin(seat.env, 0));
        check_equal(*(const uint64_t *)xac_page_read(seat.env, seat.words), 0);
        written = xac_page_write(seat.env, seat.words);
        *written = 4;
        check(xac_page_write(seat.env, seat.words) == written);
        check(xac_page_write(seat.env, seat.words + 1) == written + 1);
        check(xac_page_read(seat.env, seat.words) == written);
        *written = 5;
        check_equal(*(const uint64_t *)xac_page_read(seat.env, seat.words), 5);
        check_ok(xend(seat.env));
        seat_leave(0);
}

static long long commit_add_everywhere(uint64_t unused)
{
        (void)unused;
        run_until_committed(seat.env, 0) for (unsigned page = 0; page < SEAT_PAGES; page++)
                seat_add(seat_word(page, 0));
        return 0;
}

/* Valid until the transaction ends, whatever others commit meanwhile. */
static void pointers_last_as_long_as_the_transaction(int way)
{
        struct actor *other = actor_start(way);
        const uint64_t *pointers[SEAT_PAGES];

        seat_take(WAY_DECLARED);
        actor_do(other, seat_take, WAY_DECLARED);
        for (uint64_t round = 0; round < 4; round++) {
                check_ok(xbegin(seat.env, XAC_RDONLY));
                for (unsigned page = 0; page < SEAT_PAGES; page++)
                        pointers[page] = xac_page_read(seat.env, seat.words + seat_word(page, 0));
                for (int i = 0; i < 20; i++)
                        actor_do(other, commit_add_everywhere, 0);
                for (unsigned page = 0; page < SEAT_PAGES; page++)
                        check_equal(*pointers[page], 20 * round);
                check_ok(xend(seat.env));
        }
        actor_do(other, seat_leave, 0);
        actor_stop(other);
        seat_leave(0);
}

/* Every order of plain and declared access to one page, two steps before and two inside. */
enum touching { PLAIN_READ, PLAIN_WRITE, DECLARED_READ, DECLARED_WRITE, TOUCHINGS };

static void touch_word(enum touching how, size_t word, uint64_t *expected)
{
        seat.way = how >= DECLARED_READ ? WAY_DECLARED : 0;
        if (how == PLAIN_WRITE || how == DECLARED_WRITE)
                seat_put(word, ++*expected);
        check_equal(seat_get(word), *expected);
}

static void agree_in_one_order(unsigned order, uint64_t *committed)
{
        uint64_t outer = *committed, inner;
        int steps[4];

        for (int i = 0; i < 4; i++, order /= TOUCHINGS)
                steps[i] = (int)(order % TOUCHINGS);
        check_ok(xbegin(seat.env, 0));
        touch_word((enum touching)steps[0], 8, &outer);
        touch_word((enum touching)steps[1], 8, &outer);
        check_ok(xbegin(seat.env, 0));
        inner = outer;
        touch_word((enum touching)steps[2], 8, &inner);
        touch_word((enum touching)steps[3], 8, &inner);
        if (*committed % 3 == 0) {
                check_ok(xabort(seat.env));
        } else {
                check_ok(xend(seat.env));
                outer = inner;
        }
        touch_word(PLAIN_READ, 8, &outer);
        touch_word(DECLARED_READ, 8, &outer);
        touch_word(PLAIN_WRITE, 8, &outer);
        touch_word(DECLARED_READ, 8, &outer);
        touch_word(DECLARED_WRITE, 8, &outer);
        touch_word(PLAIN_READ, 8, &outer);
        check_ok(xend(seat.env));
        *committed = outer;
        check_equal(seat_commit_get(8), *committed);
}

static void plain_and_declared_access_agree(int way)
{
        uint64_t committed = 0;

        seat_take((uint64_t)way);
        for (unsigned order = 0; order < TOUCHINGS * TOUCHINGS * TOUCHINGS * TOUCHINGS; order++)
                agree_in_one_order(order, &committed);
        seat_leave(0);
}

static long long leak_address(uint64_t unused)
{
        (void)unused;
        return (long long)(uintptr_t)seat.words;
}

static void check_stray(const void *address)
{
        check_ok(xbegin(seat.env, 0));
        check(xac_page_read(seat.env, address) == NULL);
        check_code(xend(seat.env), XAC_NOVIEW);
        check_ok(xbegin(seat.env, 0));
        seat_put(0, 1000);
        check(xac_page_write(seat.env, (void *)(uintptr_t)address) == NULL);
        check_code(xend(seat.env), XAC_NOVIEW);
        check_ok(xbegin(seat.env, XAC_RDONLY));
        check(xac_page_read(seat.env, address) == NULL);
        check_code(xend(seat.env), XAC_NOVIEW);
        check_equal(seat_commit_get(0), 0);
}

static void stray_addresses_are_xac_noview(void)
{
        struct actor *other = actor_start(0);
        uint64_t local;

        seat_take(WAY_DECLARED);
        actor_do(other, seat_take, 0);
        check_stray(&local);
        check_stray(NULL);
        check_stray((const void *)(uintptr_t)-8);
        check_stray((const char *)seat.words - 1);
        check_stray(seat.words + seat_word(SEAT_PAGES, 0));
        check_stray((const void *)(uintptr_t)actor_do(other, leak_address, 0));
        actor_do(other, seat_leave, 0);
        actor_stop(other);
        seat_leave(0);
}

static void an_unmapped_views_addresses_are_stray(void)
{
        uint64_t *gone;

        seat_take(WAY_DECLARED);
        gone = xac_mmap(seat.env, "gone", 4096, 0);
        check(gone != MAP_FAILED);
        check_ok(xac_munmap(seat.env, gone));
        check_stray(gone);
        seat_leave(0);
}

/* After the refusal the doomed transaction goes on harmlessly. */
static void a_doomed_transaction_goes_on_harmlessly(void)
{
        int local;

        seat_take(WAY_DECLARED);
        seat_commit_add(3);
        check_ok(xbegin(seat.env, 0));
        check(xac_page_read(seat.env, &local) == NULL);
        check_equal(seat.words[3], 1);
        seat.words[3] = 7;
        check_equal(seat.words[3], 7);
        check_ok(xbegin(seat.env, 0));
        seat.words[4] = 8;
        check_ok(xabort(seat.env));
        check_equal(seat.words[4], 0);
        check_code(xend(seat.env), XAC_NOVIEW);
        check_equal(seat_commit_get(3), 1);
        seat_leave(0);
}

/* No fault, and nothing is done to the view. */
static void it_takes_no_faults_and_no_mappings(void)
{
        xac_stats before, after;

        seat_take(WAY_DECLARED);
        before = seat_stats();
        for (int i = 0; i < 100; i++) {
                run_until_committed(seat.env, 0) for (unsigned page = 0; page < SEAT_PAGES; page++)
                        seat_add(seat_word(page, 9));
        }
        after = seat_stats();
        check_equal(after.read_faults, before.read_faults);
        check_equal(after.write_faults, before.write_faults);
        check_equal(after.mappings, before.mappings);
        check_equal(seat_commit_get(seat_word(5, 9)), 100);
        seat_leave(0);
}

/* A file whose bytes were never touched through the view. */
static void a_page_read_as_home_can_be_written(int way)
{
        seat_take((uint64_t)way);
        for (int i = 0; i < 3; i++) {
                seat_commit_add(seat_word(7, 7));
                seat_leave(0);
                seat_take((uint64_t)way);
                check_ok(xbegin(seat.env, 0));
                check_equal(seat_get(seat_word(7, 7)), i + 1);
                check_equal(seat_get(seat_word(7, 6)), 0);
                check_ok(xend(seat.env));
        }
        seat_leave(0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_test(it_points_to_the_very_byte),
                isolated_test(it_is_good_to_the_end_of_the_page),
                isolated_test(reads_follow_the_private_copy),
                isolated_way(pointers_last_as_long_as_the_transaction, 0, "threads"),
                isolated_way(pointers_last_as_long_as_the_transaction, WAY_PROCESS, "processes"),
                isolated_by_access(plain_and_declared_access_agree),
                isolated_test(stray_addresses_are_xac_noview),
                isolated_test(an_unmapped_views_addresses_are_stray),
                isolated_test(a_doomed_transaction_goes_on_harmlessly),
                isolated_test(it_takes_no_faults_and_no_mappings),
                isolated_by_access(a_page_read_as_home_can_be_written),
        };
        return cmocka_run_group_tests_name("declared", tests, NULL, NULL);
}
