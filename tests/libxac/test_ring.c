/* SPDX-License-Identifier: MIT */
#include "libxac/ground/ring.h"

/* What a view is told of others' commits: all of it, or that it was told not all of it. */

#include "libxac/version/publish.h"
#include "tests/base/step.h"
#include "tests/libxac/engine.h"

static struct engine *engine;

static int setup(void **state)
{
        (void)state;
        engine = engine_start(2048);
        ring_join(&engine->shared, engine->participant[0].row); /* only then rings are written */
        return 0;
}

static int teardown(void **state)
{
        (void)state;
        engine_stop(engine);
        return 0;
}

static uint32_t times_seen[ENGINE_PAGES];
static uint32_t seen_all, stop_after;

static bool note_page(void *arg, uint64_t page)
{
        assert_ptr_equal(arg, engine);
        assert_int_equal(page_id_file(page), engine->file_no);
        times_seen[page_id_no(page)]++;
        return ++seen_all != stop_after;
}

static enum ring_outcome walk(int except, uint64_t after, uint64_t until)
{
        uint32_t row_no = except < 0 ? UINT32_MAX : engine->participant[except].row_no;

        memset(times_seen, 0, sizeof(times_seen));
        seen_all = 0;
        return ring_walk(&engine->shared, row_no, after, until, note_page, engine);
}

static uint64_t sequence_now(void)
{
        return atomic_load(&engine->shared.control->sequence);
}

/* One commit of `count` pages from `first` on. */
static uint64_t put_many(int who, uint64_t first, uint64_t count)
{
        engine_begin(engine, who);
        for (uint64_t page_no = first; page_no < first + count; page_no++)
                assert_int_equal(engine_store(engine, who, page_no, 1, 1), 0);
        return engine_commit(engine, who);
}

static void test_exactly_the_interval_is_shown(void **state)
{
        enum { COMMITS = 100 };
        uint64_t begin = sequence_now();

        (void)state;
        for (uint64_t i = 1; i <= COMMITS; i++) /* commit begin + i changes pages 2i and 2i + 1 */
                put_many((int)(i % 4), 2 * i, 2);
        assert_int_equal(walk(-1, begin + COMMITS, begin + COMMITS), RING_DONE);
        assert_int_equal(seen_all, 0);
        assert_int_equal(walk(-1, begin, begin + COMMITS), RING_DONE);
        assert_int_equal(seen_all, 2 * COMMITS);
        assert_int_equal(walk(-1, begin + 30, begin + 70), RING_DONE);
        for (uint64_t i = 1; i <= COMMITS; i++) {
                uint32_t expected = i > 30 && i <= 70;

                assert_int_equal(times_seen[2 * i], expected);
                assert_int_equal(times_seen[2 * i + 1], expected);
        }
        assert_int_equal(walk(2, begin + 30, begin + 70), RING_DONE); /* but for one's own */
        for (uint64_t i = 31; i <= 70; i++)
                assert_int_equal(times_seen[2 * i], i % 4 != 2);
}

static void test_the_visitor_may_end_it(void **state)
{
        uint64_t begin = sequence_now();

        (void)state;
        put_many(0, 0, 10);
        stop_after = 3;
        assert_int_equal(walk(-1, begin, begin + 1), RING_STOPPED);
        assert_int_equal(seen_all, 3);
        stop_after = 0;
}

static void test_a_lapped_ring_says_so(void **state)
{
        uint64_t begin = sequence_now();

        (void)state;
        for (uint64_t i = 0; i < RING_ENTRIES; i++)
                engine_put(engine, 0, i % 50, i);
        assert_int_equal(walk(-1, begin + 1, sequence_now()), RING_DONE);
        assert_int_equal(seen_all, RING_ENTRIES - 1);
        engine_put(engine, 0, 60, 1);
        engine_put(engine, 0, 61, 1);
        assert_int_equal(walk(-1, begin + 1, sequence_now()), RING_LAPPED);
        assert_int_equal(walk(0, begin, sequence_now()), RING_DONE);
        assert_int_equal(walk(-1, begin + 10, sequence_now()), RING_DONE);
        assert_int_equal(times_seen[60], 1);
}

static void test_a_large_commit_is_a_lap(void **state)
{
        uint64_t begin = sequence_now();
        uint64_t large;

        (void)state;
        put_many(1, 0, RING_ENTRIES / 2); /* just fits */
        assert_int_equal(walk(-1, begin, begin + 1), RING_DONE);
        assert_int_equal(seen_all, RING_ENTRIES / 2);
        large = put_many(1, 0, RING_ENTRIES / 2 + 1);
        put_many(1, 7, 1);
        assert_int_equal(walk(-1, large - 1, large + 1), RING_LAPPED);
        assert_int_equal(walk(-1, large, large + 1), RING_DONE);
        assert_int_equal(seen_all, 1);
}

/* Overwritten while it is being read: each page shown makes another commit. */
static bool overwrite_page(void *arg, uint64_t page)
{
        (void)page;
        engine_put(arg, 0, 5, 1);
        return true;
}

static void test_a_ring_that_is_overtaken_says_so(void **state)
{
        uint64_t begin = sequence_now();

        (void)state;
        for (uint64_t i = 0; i < RING_ENTRIES; i++)
                engine_put(engine, 0, i % 50, i);
        assert_int_equal(ring_walk(&engine->shared, UINT32_MAX, begin, begin + RING_ENTRIES, overwrite_page, engine),
                         RING_LAPPED);
}

static void write_ring(struct row *row, uint32_t first, uint64_t sequence)
{
        assert_int_equal(publish_lock(&engine->shared, engine->participant[2].owner), 0);
        ring_write_locked(&engine->shared, row, first, sequence);
        publish_unlock(&engine->shared);
}

/* A successor may write the entries of a decided commit again. */
static void test_writing_a_commit_twice_loses_nothing(void **state)
{
        struct row *row = engine->participant[2].row;
        uint64_t begin = sequence_now();
        uint32_t first;

        (void)state;
        put_many(2, 20, 5);
        first = atomic_load(&row->intent_first);
        write_ring(row, first, begin + 1);
        assert_int_equal(walk(-1, begin, begin + 1), RING_DONE);
        assert_int_equal(seen_all, 5);
        atomic_store(&row->ring_sequence, begin); /* died between the end and the sequence */
        write_ring(row, first, begin + 1);
        put_many(2, 30, 1);
        assert_int_equal(walk(-1, begin, begin + 2), RING_DONE);
        for (int page_no = 20; page_no < 25; page_no++)
                assert_true(times_seen[page_no] >= 1);
        assert_int_equal(times_seen[30], 1);
}

#define RING_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

/* ---- Who reads ---- */

static struct row *row_of(int who)
{
        return engine->participant[who].row;
}

static void test_the_last_reader_ends_it(void **state)
{
        const struct control *control = engine->shared.control;

        (void)state;
        assert_int_equal(ring_join(&engine->shared, row_of(1)), atomic_load(&control->sequence));
        ring_leave(&engine->shared, row_of(0));
        assert_true(ring_is_read(control));
        ring_leave(&engine->shared, row_of(0)); /* again: as a successor does */
        assert_true(ring_is_read(control));
        ring_leave(&engine->shared, row_of(1));
        assert_false(ring_is_read(control));
        engine_put(engine, 2, 5, 1);
        assert_int_equal(atomic_load(&row_of(2)->ring_end), 0);
        ring_join(&engine->shared, row_of(0));
        engine_put(engine, 2, 5, 2);
        assert_int_equal(atomic_load(&row_of(2)->ring_end), 1);
}

static void leave(void *unused)
{
        (void)unused;
        ring_leave(&engine->shared, row_of(0));
}

static void join(void)
{
        ring_join(&engine->shared, row_of(1));
}

/* Somebody comes while the last one leaves, at each instruction. */
static void test_who_comes_while_the_last_one_leaves_is_heard(void **state)
{
        bool has_come = true;

        (void)state;
        if (!step_is_possible())
                skip();
        for (int nth = 4; has_come; nth++) {
                ring_join(&engine->shared, row_of(0));
                ring_leave(&engine->shared, row_of(1));
                has_come = step_run(nth, join, leave, NULL);
                assert_int_equal(ring_is_read(engine->shared.control), has_come);
        }
        ring_leave(&engine->shared, row_of(1));
        assert_false(ring_is_read(engine->shared.control));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                RING_TEST(test_exactly_the_interval_is_shown),
                RING_TEST(test_the_visitor_may_end_it),
                RING_TEST(test_a_lapped_ring_says_so),
                RING_TEST(test_a_large_commit_is_a_lap),
                RING_TEST(test_a_ring_that_is_overtaken_says_so),
                RING_TEST(test_writing_a_commit_twice_loses_nothing),
                RING_TEST(test_the_last_reader_ends_it),
                RING_TEST(test_who_comes_while_the_last_one_leaves_is_heard),
        };

        return cmocka_run_group_tests_name("libxac/ring", tests, NULL, NULL);
}
