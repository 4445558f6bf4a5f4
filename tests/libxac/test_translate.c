/* SPDX-License-Identifier: MIT */

/*
 * Translation (<xac/translate.h>): what is kept is right, whatever happens between two accesses. That transactions are
 * what they promise by this way, too, is shown by the tests that run "compiled".
 */

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <xac/translate.h>
#include <xac/xac.h>

#include "tests/support/check.h"
#include "tests/support/crew.h"
#include "tests/support/isolate.h"
#include "tests/support/scratch.h"
#include "tests/support/seat.h"

/* As compiled code does, in the seat's view, be it shared or not. */
static uint64_t get(size_t word)
{
        return *(const volatile uint64_t *)xac_for_read(seat.words + word);
}

static void put(size_t word, uint64_t value)
{
        *(volatile uint64_t *)xac_for_write(seat.words + word) = value;
}

static int is_kept(size_t word)
{
        return xac_entry_of(xac_kept->of_reads, seat.words + word)->unit ==
               (uintptr_t)(seat.words + word) >> XAC_TRANSLATE_SHIFT;
}

static int is_translated(void)
{
        return xac_in_window(seat.words);
}

static void other_addresses_are_left_as_they_are(void)
{
        uint64_t local = 1;

        check(xac_for_read(&local) == &local);
        check(xac_for_write(&local) == &local);
        check(xac_for_read(NULL) == NULL);
        check(xac_translate_read(&local) == &local);
        seat_take(0);
        check(xac_for_write(seat.words) == seat.words); /* no transaction is open */
        check_ok(xbegin(seat.env, 0));
        check(xac_for_read(&local) == &local);
        check(xac_for_read(seat.words + SEAT_PAGES * SEAT_PAGE_WORDS) == seat.words + SEAT_PAGES * SEAT_PAGE_WORDS);
        check_ok(xend(seat.env));
        seat_leave(0);
}

static void it_is_kept_until_the_end(void)
{
        seat_take(0);
        if (!is_translated())
                return;
        check_ok(xbegin(seat.env, 0));
        check(!is_kept(seat_word(3, 0)));
        check_equal(get(seat_word(3, 5)), 0);
        check(is_kept(seat_word(3, 0)));
        put(seat_word(3, 5), 7);
        check_equal(get(seat_word(3, 5)), 7);
        check_ok(xend(seat.env));
        check(!is_kept(seat_word(3, 0)));
        check_equal(seat_stats().read_faults + seat_stats().write_faults, 0);
        check_equal(seat_commit_get(seat_word(3, 5)), 7);
        seat_leave(0);
}

/* A page that was read is written by a plain pointer, a declared one, an announced one: it has another slot then. */
static void a_first_write_by_any_way_is_seen(void)
{
        seat_take(0);
        for (int way = 0; way < 3; way++) {
                const size_t word = seat_word(5 + (unsigned)way, 9);
                check_ok(xbegin(seat.env, 0));
                check_equal(get(word), 0);
                if (way == 1)
                        *(uint64_t *)xac_page_write(seat.env, seat.words + word) = 41;
                else if (way == 2)
                        check_ok(xac_advise(seat.env, seat.words + word, 8, XAC_WRITE));
                if (way != 1)
                        ((volatile uint64_t *)seat.words)[word] = 41;
                check_equal(get(word), 41);
                put(word, 42);
                check_equal(((volatile uint64_t *)seat.words)[word], 42);
                check_equal(*(const uint64_t *)xac_page_read(seat.env, seat.words + word), 42);
                check_ok(xend(seat.env));
        }
        seat_leave(0);
}

/* An inner level writes into slots of its own, which its abort throws away. */
static void levels_have_slots_of_their_own(int way)
{
        const size_t word = seat_word(8, 1);

        seat_take((uint64_t)way);
        check_ok(xbegin(seat.env, 0));
        put(word, 1);
        check_ok(xbegin(seat.env, 0));
        check_equal(get(word), 1);
        put(word, 2);
        check_equal(get(word), 2);
        check_ok(xabort(seat.env));
        check_equal(get(word), 1);
        put(word + 1, 10);
        check_ok(xbegin(seat.env, 0));
        put(word, 3);
        check_ok(xend(seat.env));
        check_equal(get(word), 3);
        put(word, get(word) + 1);
        check_ok(xend(seat.env));
        check_equal(seat_commit_get(word), 4);
        check_equal(seat_commit_get(word + 1), 10);
        seat_leave(0);
}

static void pages_that_move_are_found(int way)
{
        seat_take((uint64_t)way);
        check_ok(xbegin(seat.env, 0));
        put(seat_word(2, 0), 20);
        put(seat_word(3, 0), 30);
        check_ok(seat_move(3, 2, 1));
        check_equal(get(seat_word(3, 0)), 20);
        check_equal(get(seat_word(2, 0)), 0);
        put(seat_word(3, 0), 21);
        check_ok(xend(seat.env));
        check_equal(seat_commit_get(seat_word(3, 0)), 21);
        check_equal(seat_commit_get(seat_word(2, 0)), 0);
        seat_leave(0);
}

/* Pages that share an entry drive each other out. */
static void entries_are_shared(void)
{
        const size_t bytes = (size_t)4 * XAC_TRANSLATE_ENTRIES * 4096;
        uint64_t *words;

        seat_take(0);
        words = xac_mmap(seat.env, "large", bytes, 0);
        check(words != MAP_FAILED);
        check_ok(xbegin(seat.env, 0));
        for (int round = 0; round < 3; round++)
                for (size_t i = 0; i < bytes / 4096; i++) {
                        check_equal(*(const uint64_t *)xac_for_read(words + i * 512), round);
                        *(uint64_t *)xac_for_write(words + i * 512) = (uint64_t)round + 1;
                }
        check_ok(xend(seat.env));
        seat_leave(0);
}

static uint64_t read_at(const uint64_t *word)
{
        return *(const volatile uint64_t *)xac_for_read(word);
}

static void begin_written(uint64_t *word, uint64_t value)
{
        check_ok(xbegin(seat.env, 0));
        *(volatile uint64_t *)xac_for_write(word) = value;
}

/* Of two pages that share an entry the one has it that was asked for last. The other is still known, until it has
 * another slot. */
static void what_gives_way_is_known(void)
{
        const size_t between = (size_t)XAC_TRANSLATE_ENTRIES * 4096;
        seat_take(0);
        uint64_t *first = xac_mmap(seat.env, "apart", 2 * between, 0);
        check(first != MAP_FAILED);
        uint64_t *second = first + between / sizeof(*first);
        check_ok(xbegin(seat.env, 0));
        check(read_at(first) == 0 && read_at(second) == 0 && read_at(first) == 0);
        check(xac_entry_of(xac_kept->of_reads, first)->unit == (uintptr_t)first >> XAC_TRANSLATE_SHIFT);
        *(uint64_t *)xac_page_write(seat.env, first) = 1;
        check_equal(read_at(first), 1);
        begin_written(first, 2);
        begin_written(second, 3);
        check(read_at(first) == 2 && read_at(second) == 3);
        check_equal(xabort(seat.env), 0);
        check(read_at(first) == 2 && read_at(second) == 0);
        begin_written(first, 4);
        check_equal(read_at(second), 0);
        check_equal(xabort(seat.env), 0);
        check_equal(read_at(first), 2);
        check_equal(xabort(seat.env), 0);
        check_equal(read_at(first), 1);
        check_ok(xend(seat.env));
        check_ok(xbegin(seat.env, 0));
        check(read_at(first) == 1 && read_at(second) == 0);
        check_ok(xend(seat.env));
        seat_leave(0);
}

static int stands_in(const xac_translation *entries, const uint64_t *word)
{
        return xac_entry_of(entries, word)->unit == (uintptr_t)word >> XAC_TRANSLATE_SHIFT;
}

/* The page that is accessed again and again is found at once after some time, and the other one is still known. */
static void what_is_needed_comes_back(void)
{
        const size_t between = (size_t)XAC_TRANSLATE_ENTRIES * 4096;
        enum { OFTEN = 1000 };
        int reads = 0, writes = 0;
        seat_take(0);
        uint64_t *first = xac_mmap(seat.env, "apart", 2 * between, 0);
        check(first != MAP_FAILED);
        uint64_t *second = first + between / sizeof(*first);
        begin_written(first, 1);
        *(volatile uint64_t *)xac_for_write(second) = 2;
        check(read_at(second) == 2 && stands_in(xac_kept->of_reads, second) && stands_in(xac_kept->of_writes, second));
        for (; !stands_in(xac_kept->of_reads, first); reads++)
                check(read_at(first) == 1 && reads < OFTEN);
        *(volatile uint64_t *)xac_for_write(second) = 3;
        for (; !stands_in(xac_kept->of_writes, first); writes++) {
                check(writes < OFTEN);
                *(volatile uint64_t *)xac_for_write(first) = 4;
        }
        check(read_at(first) == 4 && read_at(second) == 3);
        begin_written(first, 5);
        check(read_at(first) == 5 && read_at(second) == 3);
        check_equal(xabort(seat.env), 0);
        check(read_at(first) == 4 && read_at(second) == 3);
        check_ok(xend(seat.env));
        seat_leave(0);
}

/* What cannot commit goes on: what it writes it reads, and nothing of it stays. */
static void a_write_that_is_not_allowed_is_harmless(int way)
{
        const size_t word = seat_word(9, 3);

        seat_take((uint64_t)way);
        check_ok(xbegin(seat.env, XAC_RDONLY));
        check_equal(get(word), 0);
        put(word, 5);
        check_equal(get(word), 5);
        put(word + 1, get(word) + 1);
        check_equal(get(word + 1), 6);
        check_code(xend(seat.env), XAC_WROTE);
        check_equal(seat_commit_get(word), 0);
        check_ok(xbegin(seat.env, 0));
        check_equal(get(word), 0);
        check_ok(xend(seat.env));
        seat_leave(0);
}

/* The pool is full: the same. */
static void a_full_pool_is_harmless(int way)
{
        const xac_options small = { .pool_bytes = 1 << 20 };
        const size_t pages = 2000;
        xac_env *env;
        char *bytes;

        check_ok(xac_open(scratch_path("small"), XAC_CREATE | XAC_VOLATILE, &small, &env));
        bytes = xac_mmap(env, "bytes", pages * 4096, way == WAY_COMPILED ? XAC_SHARED : 0);
        check(bytes != MAP_FAILED);
        check_ok(xbegin(env, 0));
        for (size_t i = 0; i < pages; i++)
                *(char *)xac_for_write(bytes + i * 4096) = (char)(i % 100 + 1);
        for (size_t i = 0; i < pages; i++)
                check_equal(*(const char *)xac_for_read(bytes + i * 4096), i % 100 + 1);
        check_code(xend(env), XAC_FULL);
        check_ok(xbegin(env, XAC_RDONLY));
        for (size_t i = 0; i < pages; i++)
                check_equal(*(const char *)xac_for_read(bytes + i * 4096), 0);
        check_ok(xend(env));
        check_ok(xac_close(env));
}

/* Two environments are open, each with a transaction: an address says which. */
static void an_address_names_its_environment(void)
{
        xac_env *other;
        uint64_t *words;

        seat_take(0);
        check_ok(xac_open(scratch_path("other"), XAC_CREATE | XAC_VOLATILE, NULL, &other));
        words = xac_mmap(other, "words", 4096, 0);
        check(words != MAP_FAILED);
        check_ok(xbegin(seat.env, 0));
        check_ok(xbegin(other, 0));
        put(seat_word(1, 1), 3);
        *(uint64_t *)xac_for_write(words) = 4;
        check_equal(get(seat_word(1, 1)), 3);
        check_ok(xabort(other));
        check_equal(get(seat_word(1, 1)), 3);
        check_ok(xend(seat.env));
        check_ok(xbegin(other, XAC_RDONLY));
        check_equal(*(const uint64_t *)xac_for_read(words), 0);
        check_ok(xend(other));
        check_ok(xac_close(other));
        seat_leave(0);
}

/* What lies on the next page of an environment of 16 KiB pages is in the same slot. */
static void larger_pages_are_several_units(void)
{
        const xac_options options = { .page_bytes = 16384 };
        xac_env *env;
        char *bytes;

        check_ok(xac_open(scratch_path("large"), XAC_CREATE | XAC_VOLATILE, &options, &env));
        bytes = xac_mmap(env, "bytes", 65536, 0);
        check(bytes != MAP_FAILED);
        check_ok(xbegin(env, 0));
        for (size_t i = 0; i < 65536; i += 4096)
                check_equal(*(const char *)xac_for_read(bytes + i), 0);
        bytes[5000] = 1; /* by a fault: all four units of the page are forgotten */
        for (size_t i = 0; i < 16384; i += 4096)
                *(char *)xac_for_write(bytes + i) = 2;
        check_equal(*(const char *)xac_for_read(bytes + 5000), 1);
        check_equal(bytes[12288], 2);
        check_ok(xend(env));
        check_ok(xac_close(env));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_test(other_addresses_are_left_as_they_are),
                isolated_test(it_is_kept_until_the_end),
                isolated_test(a_first_write_by_any_way_is_seen),
                isolated_way(levels_have_slots_of_their_own, 0, "own view"),
                isolated_way(levels_have_slots_of_their_own, WAY_COMPILED, "shared view"),
                isolated_way(pages_that_move_are_found, 0, "own view"),
                isolated_way(pages_that_move_are_found, WAY_COMPILED, "shared view"),
                isolated_test(entries_are_shared),
                isolated_test(what_gives_way_is_known),
                isolated_test(what_is_needed_comes_back),
                isolated_way(a_write_that_is_not_allowed_is_harmless, 0, "own view"),
                isolated_way(a_write_that_is_not_allowed_is_harmless, WAY_COMPILED, "shared view"),
                isolated_way(a_full_pool_is_harmless, 0, "own view"),
                isolated_way(a_full_pool_is_harmless, WAY_COMPILED, "shared view"),
                isolated_test(an_address_names_its_environment),
                isolated_test(larger_pages_are_several_units),
        };
        return cmocka_run_group_tests_name("translate", tests, NULL, NULL);
}
