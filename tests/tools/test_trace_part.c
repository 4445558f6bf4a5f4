/* SPDX-License-Identifier: MIT */

/*
 * Which part of a trace a page shows: all of it if that fits, else what has most conflicts, and never too much.
 */

#include <stdlib.h>

#include "tests/support/chance.h"
#include "tests/support/check.h"
#include "tests/support/isolate.h"
#include "tests/tools/trace_make.h"
#include "tools/xac/trace_cursor.h"
#include "tools/xac/trace_part.h"

enum { SECOND = 1000000000 };

static struct trace_make make;
static struct trace_file file;

static void begin(void)
{
        trace_make_begin(&make);
        (void)trace_make_track(&make, 0, "program", 1, 1);
}

static void read_it(void)
{
        trace_make_finish(&make, SECOND);
        check_equal(trace_file_read(&file, make.bytes, make.byte_len), 0);
}

static void end(void)
{
        trace_file_close(&file);
        trace_make_free(&make);
}

static void add(enum trace_kind kind, uint64_t at_ns)
{
        trace_make_event(&make, 0, kind, 0, at_ns, 1, kind == TRACE_CONFLICT ? TRACE_PAGE_UNKNOWN : 1, 0);
}

/* Of those that begin in the part. */
static uint64_t count_in(const struct trace_part *part, enum trace_kind kind)
{
        struct trace_cursor cursor;
        uint64_t count = 0;

        trace_cursor_begin(&cursor, &file, &file.tracks[0]);
        while (trace_cursor_next(&cursor))
                count += (!kind || trace_kind_of(cursor.event) == kind) && cursor.begin_ns >= part->from_ns &&
                         cursor.begin_ns < part->to_ns;
        return count;
}

static void what_fits_is_whole(void)
{
        struct trace_part part;

        begin();
        for (uint64_t i = 0; i < 100; i++)
                add(TRACE_COMMIT, i * 1000000);
        read_it();
        check_equal(trace_part_choose(&file, 0, file.span_ns + 1, 100, &part), 0);
        check_equal(part.all, 100);
        check_equal(part.from_ns, 0);
        check_equal(part.to_ns, file.span_ns + 1);
        check(!part.is_narrowed);
        check_equal(trace_part_choose(&file, 20000000, 40000000, 99, &part), 0);
        check_equal(part.from_ns, 20000000);
        check_equal(part.to_ns, 40000000);
        check(!part.is_narrowed);
        check_equal(part.all, 100);
        end();
}

static void where_most_conflicts_are_is_taken(void)
{
        struct trace_part part;

        begin();
        for (uint64_t i = 0; i < 1000; i++) {
                add(TRACE_COMMIT, i * 1000000);
                if ((i >= 700 && i < 720) || i % 100 == 0)
                        add(TRACE_CONFLICT, i * 1000000 + 500000);
        }
        read_it();
        check_equal(trace_part_choose(&file, 0, file.span_ns + 1, 90, &part), 0);
        check(part.is_narrowed);
        check_equal(part.all, 1000 + 20 + 9);
        check_equal(count_in(&part, TRACE_CONFLICT), 20);
        check(count_in(&part, 0) <= 90);
        check(count_in(&part, 0) > 60); /* and around them what fits */
        end();
}

/* Too much at once, and with few conflicts for all that happens, but more than elsewhere. */
static void a_burst_that_is_too_large_is_divided(void)
{
        struct trace_part part;

        begin();
        add(TRACE_CONFLICT, SECOND / 10);
        for (uint64_t i = 0; i < 1000; i++)
                add(i % 10 ? TRACE_COMMIT : TRACE_CONFLICT, SECOND / 2 + i * 2);
        read_it();
        check_equal(trace_part_choose(&file, 0, file.span_ns + 1, 100, &part), 0);
        check(part.from_ns >= SECOND / 2 && part.to_ns <= SECOND / 2 + 2000);
        check(count_in(&part, TRACE_CONFLICT) >= 9);
        check(count_in(&part, 0) <= 100);
        end();
}

static void what_happens_at_one_moment_cannot_be_divided(void)
{
        struct trace_part part;

        begin();
        for (uint64_t i = 0; i < 500; i++)
                add(i % 2 ? TRACE_COMMIT : TRACE_CONFLICT, 123456789);
        read_it();
        check_equal(trace_part_choose(&file, 0, file.span_ns + 1, 100, &part), 0);
        check_equal(part.from_ns, 123456789);
        check_equal(part.to_ns, 123456790);
        end();
}

/* Bursts of all sizes, at all distances. */
static void add_at_random(struct chance *chance)
{
        uint64_t at_ns = 0;

        for (unsigned i = 0; i < 3000; i++) {
                at_ns += chance_percent(chance, 5) ? chance_below(chance, SECOND / 200) : chance_below(chance, 50);
                add(chance_percent(chance, 20) ? TRACE_CONFLICT : TRACE_COMMIT, at_ns < SECOND ? at_ns : SECOND);
        }
}

static void it_is_never_too_much(void)
{
        struct chance chance = { .state = chance_seed() };

        for (unsigned i = 0; i < 30; i++) {
                uint64_t max = 1 + chance_below(&chance, 2000), from_ns, to_ns;
                struct trace_part part;

                begin();
                add_at_random(&chance);
                read_it();
                from_ns = chance_below(&chance, SECOND / 2);
                to_ns = from_ns + 1 + chance_below(&chance, SECOND / 2);
                check_equal(trace_part_choose(&file, from_ns, to_ns, max, &part), 0);
                check(part.from_ns >= from_ns && part.to_ns <= to_ns && part.from_ns < part.to_ns);
                check(count_in(&part, 0) <= max || part.to_ns - part.from_ns <= 1);
                if (!part.is_narrowed)
                        check(part.from_ns == from_ns && part.to_ns == to_ns);
                end();
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_test(what_fits_is_whole),
                isolated_test(where_most_conflicts_are_is_taken),
                isolated_test(a_burst_that_is_too_large_is_divided),
                isolated_test(what_happens_at_one_moment_cannot_be_divided),
                isolated_test(it_is_never_too_much),
        };
        return cmocka_run_group_tests_name("part of a trace", tests, NULL, NULL);
}
