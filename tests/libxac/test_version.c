/* SPDX-License-Identifier: MIT */
#include "libxac/version/version.h"

/* Which version a snapshot sees, and how words compare. */

#include "tests/libxac/engine_stand.h"

/* ---- Words ---- */

static void test_words_keep_their_parts(void **state)
{
        const uint32_t slots[] = { 0, 1, 77, (1 << SLOT_BITS) - 1 };
        const uint64_t sequences[] = { 0, 1, 12345, SEQUENCE_MASK, SEQUENCE_MASK + 1, UINT64_MAX - 5 };

        (void)state;
        for (int i = 0; i < 4; i++)
                for (int j = 0; j < 6; j++) {
                        uint64_t word = version_word(sequences[j], slots[i]);

                        assert_int_equal(version_slot(word), slots[i]);
                        assert_true(version_is_of(word, sequences[j]));
                        assert_false(version_is_of(word, sequences[j] + 1));
                }
        assert_int_equal(page_id_file(page_id(63, FILE_PAGES_MAX - 1)), 63);
        assert_int_equal(page_id_no(page_id(63, FILE_PAGES_MAX - 1)), FILE_PAGES_MAX - 1);
}

/* I9: right on both sides of the packed limit while less than half the width apart. */
static void test_words_compare_modulo_their_width(void **state)
{
        const uint64_t apart[] = { 0, 1, 1000, (UINT64_C(1) << (SEQUENCE_BITS - 1)) - 1 };
        const uint64_t around[] = { 5, SEQUENCE_MASK - 1, SEQUENCE_MASK, SEQUENCE_MASK + 1, 3 * SEQUENCE_MASK };

        (void)state;
        for (int i = 0; i < 4; i++)
                for (int j = 0; j < 5; j++) {
                        uint64_t later = around[j] + apart[i];

                        assert_true(version_is_seen_by(version_word(around[j], 9), later));
                        if (apart[i])
                                assert_false(version_is_seen_by(version_word(later, 9), around[j]));
                }
}

/* ---- Chains ---- */

static void test_a_page_nobody_wrote_is_home(void **state)
{
        uint64_t page = engine_page(engine, 5);

        (void)state;
        assert_null(version_head(&engine->shared, page));
        assert_int_equal(version_newest(&engine->shared, page), 0);
        assert_int_equal(version_visible(&engine->shared, page, 1), 0);
        assert_int_equal(version_prepare(&engine->shared, page), 0);
        assert_non_null(version_head(&engine->shared, page));
        assert_int_equal(version_visible(&engine->shared, page, 1), 0);
}

static void test_every_snapshot_sees_its_own_version(void **state)
{
        static const uint64_t begins_after[ENGINE_PARTICIPANTS] = { 0, 0, 3, 7, 7, 12 }; /* 1 writes */

        (void)state;
        for (uint64_t value = 0; value <= 60; value++) {
                if (value)
                        engine_put(engine, 1, 9, value);
                for (int who = 0; who < ENGINE_PARTICIPANTS; who++)
                        if (who != 1 && begins_after[who] == value)
                                engine_begin(engine, who);
                for (int who = 0; who < ENGINE_PARTICIPANTS; who++)
                        if (who != 1 && begins_after[who] <= value)
                                assert_int_equal(engine_visible(engine, 9, engine->pages[who].snapshot),
                                                 begins_after[who]);
        }
        for (int who = 0; who < ENGINE_PARTICIPANTS; who++) {
                if (who != 1)
                        assert_int_equal(engine_load(engine, who, 9), begins_after[who]);
                participant_end(&engine->participant[who]);
        }
        assert_int_equal(engine_visible(engine, 9, engine_begin(engine, 0)), 60);
        engine_abort(engine, 0);
        engine_assert_nothing_leaked(engine);
}

/* Unlinking a version in the middle leaves the older ones reachable. */
static void test_unlink_keeps_the_chain_behind(void **state)
{
        struct shared *shared = &engine->shared;
        uint64_t page = engine_page(engine, 3);
        uint32_t middle;
        uint64_t old, oldest;

        (void)state;
        oldest = engine_put(engine, 1, 3, 10);
        assert_int_equal(engine_begin(engine, 0), oldest);
        old = engine_put(engine, 1, 3, 20);
        middle = version_slot(version_newest(shared, page));
        engine_put(engine, 1, 3, 30);
        engine_put(engine, 1, 3, 40);
        assert_int_equal(engine_visible(engine, 3, old), 20);

        assert_int_equal(publish_lock(shared, engine->participant[2].owner), 0);
        assert_int_equal(version_unlink_locked(shared, middle), 0);
        publish_unlock(shared);
        assert_int_equal(engine_visible(engine, 3, oldest), 10);
        assert_int_equal(engine_visible(engine, 3, old), 10); /* nobody has that snapshot */
        assert_int_equal(engine_visible(engine, 3, old + 1), 30);
        assert_int_equal(engine_visible(engine, 3, old + 2), 40);
        participant_end(&engine->participant[0]);
}

static uint32_t put_version(uint64_t value)
{
        engine_put(engine, 1, 3, value);
        return version_slot(version_newest(&engine->shared, engine_page(engine, 3)));
}

/* Somebody died when the link led past a version and its tag was still there: the one behind it is unlinked from the
 * chain all the same. */
static void test_unlinking_is_finished_for_the_dead(void **state)
{
        struct shared *shared = &engine->shared;
        struct slot *slots = shared->slots;
        uint32_t second, third, fourth;
        uint64_t oldest;

        (void)state;
        oldest = engine_put(engine, 1, 3, 10);
        assert_int_equal(engine_begin(engine, 0), oldest);
        second = put_version(20);
        third = put_version(30);
        fourth = put_version(40);
        atomic_store(&shared->control->unlinking, version_word(atomic_load(&slots[third].tag), third));
        atomic_store(&slots[fourth].older, atomic_load(&slots[third].older));

        assert_int_equal(publish_lock(shared, engine->participant[2].owner), 0);
        assert_int_equal(version_unlink_locked(shared, second), 0);
        publish_unlock(shared);
        assert_int_equal(engine_visible(engine, 3, oldest), 10);
        assert_int_equal(atomic_load(&slots[third].tag), 0);
        assert_int_equal(atomic_load(&shared->control->unlinking), 0);
        participant_end(&engine->participant[0]);
}

/* Unless it is used again by now. */
static void test_what_is_used_again_is_not_unlinked(void **state)
{
        struct shared *shared = &engine->shared;
        uint32_t first, second;

        (void)state;
        first = put_version(10);
        engine_begin(engine, 0);
        second = put_version(20);
        atomic_store(&shared->control->unlinking, version_word(atomic_load(&shared->slots[second].tag) - 1, second));
        assert_int_equal(publish_lock(shared, engine->participant[2].owner), 0);
        assert_int_equal(version_unlink_locked(shared, first), 0);
        publish_unlock(shared);
        assert_int_equal(version_slot(version_newest(shared, engine_page(engine, 3))), second);
        assert_true(atomic_load(&shared->slots[second].tag) != 0);
        assert_int_equal(atomic_load(&shared->control->unlinking), 0);
        participant_end(&engine->participant[0]);
}

static void test_prepare_without_memory_is_an_error(void **state)
{
        uint64_t page = engine_page(engine, 100);

        (void)state;
        scratch_fail(1, -ENOSPC, 1);
        assert_int_equal(version_prepare(&engine->shared, page), -ENOSPC);
        assert_true(scratch_failed());
        assert_null(version_head(&engine->shared, page));
        assert_int_equal(version_prepare(&engine->shared, page), 0);
}

#define VERSION_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_words_keep_their_parts),
                cmocka_unit_test(test_words_compare_modulo_their_width),
                VERSION_TEST(test_a_page_nobody_wrote_is_home),
                VERSION_TEST(test_every_snapshot_sees_its_own_version),
                VERSION_TEST(test_unlink_keeps_the_chain_behind),
                VERSION_TEST(test_unlinking_is_finished_for_the_dead),
                VERSION_TEST(test_what_is_used_again_is_not_unlinked),
                VERSION_TEST(test_prepare_without_memory_is_an_error),
        };

        return cmocka_run_group_tests_name("libxac/version", tests, NULL, NULL);
}
