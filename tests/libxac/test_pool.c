/* SPDX-License-Identifier: MIT */
#include "libxac/store/pool.h"

/* Slots move between caches and the shared lists, and every list can be made again (R7). */

#include <setjmp.h>

#include "base/hook.h"
#include "libxac/store/pool_aliases.h"
#include "libxac/store/pool_memory.h"
#include "libxac/store/pool_rebuild.h"
#include "tests/libxac/engine.h"

enum { SLOTS = 600, MANY_SLOTS = 8192, DEAD_PROCESS = 40 };

static struct engine *engine;

static int setup(void **state)
{
        (void)state;
        engine = engine_start(SLOTS);
        return 0;
}

static int setup_large(void **state)
{
        (void)state;
        engine = engine_start(MANY_SLOTS);
        return 0;
}

static int teardown(void **state)
{
        (void)state;
        engine_stop(engine);
        return 0;
}

static struct participant *who(int number)
{
        return &engine->participant[number];
}

static struct pool_census census(void)
{
        struct pool_census now;

        pool_count(&engine->shared, &now);
        assert_int_equal(pool_used(&engine->shared), now.allocated - now.free);
        return now;
}

static void test_every_slot_is_taken_once(void **state)
{
        static bool is_taken[SLOTS];
        uint32_t no, count = 0;

        (void)state;
        memset(is_taken, 0, sizeof(is_taken));
        while ((no = reclaim_take(who(count % 3))) != 0) {
                assert_true(no < SLOTS);
                assert_false(is_taken[no]);
                assert_int_equal(slot_state(&engine->shared.slots[no]), SLOT_PRIVATE);
                assert_int_equal(slot_owner(&engine->shared.slots[no]), who(count % 3)->owner);
                is_taken[no] = true;
                count++;
        }
        /* The others may have kept some in their caches. */
        for (int i = 0; i < 3; i++)
                while (pool_take(who(i)) != 0)
                        count++;
        assert_int_equal(count, SLOTS - 1);
        assert_int_equal(pool_grow(who(0)), -ENOSPC);
        assert_int_equal(census().private, SLOTS - 1);
        for (no = 1; no < SLOTS; no++)
                pool_give_back(who(no % ENGINE_PARTICIPANTS), no);
        engine_assert_nothing_leaked(engine);
}

/* The slot given back last is the next one: it is still in the processor's cache. */
static void test_the_last_given_back_is_taken_first(void **state)
{
        uint32_t one, two;

        (void)state;
        one = reclaim_take(who(0));
        two = reclaim_take(who(0));
        pool_give_back(who(0), two);
        pool_give_back(who(0), one);
        assert_int_equal(pool_take(who(0)), one);
        assert_int_equal(pool_take(who(0)), two);
        assert_int_equal(atomic_load(&engine->shared.slots[two].tag), 0);
        pool_give_back(who(0), one);
        pool_give_back(who(0), two);
}

static void test_a_cache_does_not_hoard(void **state)
{
        uint32_t slot[500];
        int count = 0;

        (void)state;
        while (count < 500 && (slot[count] = reclaim_take(who(0))) != 0)
                count++;
        assert_int_equal(count, 500);
        while (count > 0)
                pool_give_back(who(0), slot[--count]);
        assert_true(who(0)->free.count < 100);
        pool_flush(who(0));
        assert_int_equal(who(0)->free.count, 0);
        assert_int_equal(atomic_load(&engine->shared.control->free_count), census().allocated);
}

static void test_growth_without_memory_is_an_error(void **state)
{
        uint32_t allocated = atomic_load(&engine->shared.control->slots_allocated);

        (void)state;
        assert_true(allowance_take(&engine->shared.allowance, 1)); /* its look at the control group is behind it */
        for (int nth = 2;; nth++) { /* the first call only asks whether it is worth while */
                int err;

                scratch_fail(nth, -ENOSPC, 0);
                err = pool_grow(who(0));
                if (!scratch_failed() || !err) { /* what comes behind the memory is a hint */
                        assert_int_equal(err, 0);
                        assert_true(nth > 3);
                        break;
                }
                assert_int_equal(err, -ENOSPC);
                assert_int_equal(atomic_load(&engine->shared.control->slots_allocated), allocated);
        }
        assert_true(atomic_load(&engine->shared.control->slots_allocated) > allocated);
        engine_assert_nothing_leaked(engine);
}

/* A large pool grows before it must: whoever takes slots asks for that while there are some, and not for ever. */
static void test_a_large_pool_is_made_to_grow_ahead(void **state)
{
        struct shared *shared = &engine->shared;
        struct control *control = shared->control;

        (void)state;
        while (!atomic_load(&control->duty_wanted))
                assert_int_not_equal(reclaim_take(who(0)), 0);
        assert_true(pool_wants_growth(shared));
        assert_true(atomic_load(&control->slots_allocated) < MANY_SLOTS);
        for (uint32_t free = 0; pool_wants_growth(shared); free = atomic_load(&control->free_count)) {
                assert_int_equal(pool_grow(who(1)), 0);
                assert_true(atomic_load(&control->free_count) > free);
        }
        while (reclaim_take(who(0)) != 0)
                ;
        assert_int_equal(atomic_load(&control->slots_allocated), MANY_SLOTS);
        assert_false(pool_wants_growth(shared));
        for (uint32_t no = 1; no < MANY_SLOTS; no++)
                pool_give_back(who(0), no);
        engine_assert_nothing_leaked(engine);
}

/* ---- Deaths ---- */

/* From now on that participant belongs to a process that holds no byte of the lock file. */
static void declare_dead(int number)
{
        atomic_store(&who(number)->row->process_no, DEAD_PROCESS);
}

static void take_back(int dead, int by)
{
        pool_lock(&engine->shared, who(by)->owner);
        pool_take_back_locked(&engine->shared, who(dead)->owner);
        pool_unlock(&engine->shared);
        atomic_store(&who(dead)->row->cached, 0);
        who(dead)->free = (struct slot_list){ 0 };
        who(dead)->retired = (struct slot_list){ 0 };
}

static void test_slots_of_the_dead_are_taken_back(void **state)
{
        (void)state;
        for (uint64_t page_no = 0; page_no < 10; page_no++) {
                engine_put(engine, 2, page_no, 1);
                engine_put(engine, 2, page_no, 2); /* leaves superseded ones with it */
        }
        engine_begin(engine, 2);
        for (uint64_t page_no = 5; page_no < 30; page_no++)
                assert_int_equal(engine_store(engine, 2, page_no, 1, 3), 0);
        declare_dead(2);
        take_back(2, 1);
        participant_end(who(2));
        assert_int_equal(census().private, 0);
        for (uint64_t page_no = 0; page_no < 10; page_no++)
                assert_int_equal(engine_visible(engine, page_no, engine->pages[2].snapshot), 2);
        engine_assert_nothing_leaked(engine);
        assert_int_equal(census().published, 10);
}

/* The lists of an owner that died while it changed them are worth nothing. */
static void test_lists_are_made_again_from_the_descriptors(void **state)
{
        struct control *control = engine->shared.control;

        (void)state;
        engine_begin(engine, 0);
        for (uint64_t page_no = 0; page_no < 40; page_no++) {
                engine_put(engine, 1, page_no, 1);
                engine_begin(engine, 3);
                engine_put(engine, 1, page_no, 2);
                participant_end(who(3));
        }
        reclaim_hand_over(who(1));
        pool_lock(&engine->shared, who(2)->owner);
        declare_dead(2);
        control->free_first = 77; /* half-done work: a circle, and wrong counts */
        atomic_store(&engine->shared.slots[77].next, 77);
        atomic_store(&control->free_count, 3);
        for (int i = 0; i < HELD_LISTS; i++)
                control->held[i] = (struct held_list){ .snapshot = 1, .first = 78, .count = 1 };
        atomic_store(&engine->shared.slots[78].next, 78);
        take_back(2, 1);

        participant_end(who(0));
        engine_assert_nothing_leaked(engine);
        assert_int_equal(census().published, 40);
        for (int i = 0; i < ENGINE_PARTICIPANTS; i++)
                pool_flush(who(i));
        assert_int_equal(atomic_load(&control->free_count), census().free);
        assert_int_equal(atomic_load(&control->held_count), 0);
}

/* ---- Growth, by several at once ---- */

#ifdef XAC_TEST_HOOKS
static enum hook_step wanted_step;
static jmp_buf at_death;

/* Another one lets the pool grow while the first prepares its piece. */
static void grow_meanwhile(enum hook_step step)
{
        if (step != HOOK_POOL_PREPARED)
                return;
        hook_on_step = NULL;
        assert_int_equal(pool_grow(who(1)), 0);
}

static void die_there(enum hook_step step)
{
        if (step != wanted_step)
                return;
        hook_on_step = NULL;
        longjmp(at_death, 1);
}

static void grow_and_die(int number, enum hook_step step)
{
        wanted_step = step;
        hook_on_step = die_there;
        if (setjmp(at_death) == 0) {
                pool_grow(who(number));
                fail_msg("it should have died");
        }
}
#endif

static void test_two_at_once_prepare_different_pieces(void **state)
{
        (void)state;
#ifdef XAC_TEST_HOOKS
        struct control *control = engine->shared.control;

        hook_on_step = grow_meanwhile;
        assert_int_equal(pool_grow(who(0)), 0);
        assert_ptr_equal(hook_on_step, NULL);
        assert_int_equal(atomic_load(&control->slots_allocated), 1 + 2 * 256);
        assert_int_equal(atomic_load(&control->free_count), 2 * 256);
        assert_int_equal(atomic_load(&control->slots_awaited), 0);
        engine_assert_nothing_leaked(engine);
#else
        skip();
#endif
}

/* At the ceiling there is one piece for both: its slots enter the list once. */
static void test_two_at_once_prepare_the_last_piece(void **state)
{
        (void)state;
#ifdef XAC_TEST_HOOKS
        struct control *control = engine->shared.control;

        assert_int_equal(pool_grow(who(0)), 0);
        assert_int_equal(pool_grow(who(0)), 0);
        hook_on_step = grow_meanwhile;
        assert_int_equal(pool_grow(who(0)), 0);
        assert_int_equal(atomic_load(&control->slots_allocated), SLOTS);
        assert_int_equal(atomic_load(&control->free_count), SLOTS - 1);
        assert_int_equal(atomic_load(&control->slots_awaited), 0);
        assert_int_equal(pool_grow(who(0)), -ENOSPC);
        engine_assert_nothing_leaked(engine);
#else
        skip();
#endif
}

/* Without the lock, and with it in hand. */
static void test_a_piece_of_the_dead_is_claimed_again(void **state)
{
        (void)state;
#ifdef XAC_TEST_HOOKS
        struct control *control = engine->shared.control;

        grow_and_die(2, HOOK_POOL_PREPARED);
        grow_and_die(2, HOOK_POOL_CLAIMED);
        declare_dead(2);
        take_back(2, 1);
        assert_int_equal(atomic_load(&control->slots_awaited), 2 * 256);
        assert_int_equal(atomic_load(&control->free_count), 0);
        for (uint32_t free = 0; pool_grow(who(0)) == 0; free = atomic_load(&control->free_count))
                assert_true(atomic_load(&control->free_count) > free);
        assert_int_equal(atomic_load(&control->free_count), SLOTS - 1);
        assert_int_equal(atomic_load(&control->slots_awaited), 0);
        engine_assert_nothing_leaked(engine);
#else
        skip();
#endif
}

/* ---- Memory that is given back (R46) ---- */

static void lower_ceiling(uint32_t slots)
{
        atomic_store(&engine->shared.control->ceiling, slots);
}

/* Each slot that does not await memory has some. */
static void assert_memory_is_where_it_should_be(void)
{
        const struct shared *shared = &engine->shared;
        const uint32_t allocated = atomic_load(&shared->control->slots_allocated);
        uint32_t awaited = 0;

        for (uint32_t no = 1; no < allocated; no++) {
                const off_t offset = (off_t)no << shared->page_shift;

                awaited += pool_is_awaited(shared, no);
                if (!pool_is_awaited(shared, no))
                        assert_int_equal(lseek(shared->pool_fd, offset, SEEK_DATA), offset);
        }
        assert_int_equal(atomic_load(&shared->control->slots_awaited), awaited);
}

static void grow_whole(void)
{
        for (uint32_t free = 0; pool_grow(who(0)) == 0; free = atomic_load(&engine->shared.control->free_count))
                assert_true(atomic_load(&engine->shared.control->free_count) > free);
        assert_int_equal(atomic_load(&engine->shared.control->free_count), SLOTS - 1);
}

static uint64_t pool_bytes(void)
{
        struct stat st;

        assert_int_equal(fstat(engine->shared.pool_fd, &st), 0);
        return (uint64_t)st.st_blocks * 512;
}

static void test_a_pool_that_is_too_large_gives_memory_back(void **state)
{
        struct control *control = engine->shared.control;
        uint64_t before;

        (void)state;
        grow_whole();
        engine_put(engine, 2, 5, 77);
        before = pool_bytes();
        lower_ceiling(200);
        assert_true(pool_is_too_large(&engine->shared));
        pool_shrink(who(0));
        assert_false(pool_is_too_large(&engine->shared));
        assert_int_equal(before - pool_bytes(), (SLOTS - 200) * (uint64_t)ENGINE_PAGE_BYTES);
        assert_memory_is_where_it_should_be();
        assert_int_equal(engine_visible(engine, 5, atomic_load(&control->sequence)), 77);
        engine_assert_nothing_leaked(engine);
        assert_int_equal(pool_grow(who(0)), -ENOSPC);
        lower_ceiling(SLOTS);
        while (pool_grow(who(0)) == 0)
                ;
        assert_int_equal(atomic_load(&control->slots_awaited), 0);
        assert_memory_is_where_it_should_be();
        engine_assert_nothing_leaked(engine);
}

/* An eighth of the ceiling stays free for them. */
static void test_a_pool_that_shrinks_leaves_writers_some(void **state)
{
        uint32_t slot[500];
        int count = 0;

        (void)state;
        while (count < 500 && (slot[count] = reclaim_take(who(0))) != 0)
                count++;
        assert_int_equal(count, 500);
        while (pool_grow(who(0)) == 0)
                ;
        lower_ceiling(80);
        pool_shrink(who(1));
        assert_true(pool_is_too_large(&engine->shared));
        assert_int_equal(atomic_load(&engine->shared.control->free_count), 10);
        while (count > 0)
                pool_give_back(who(0), slot[--count]);
        pool_flush(who(0));
        pool_shrink(who(1));
        assert_false(pool_is_too_large(&engine->shared));
        assert_memory_is_where_it_should_be();
        engine_assert_nothing_leaked(engine);
}

#ifdef XAC_TEST_HOOKS
/* While a piece has its memory, and has not entered, another one enters it, and gives most of it back. */
static void shrink_meanwhile(enum hook_step step)
{
        if (step != HOOK_POOL_PREPARED)
                return;
        hook_on_step = NULL;
        assert_int_equal(pool_grow(who(1)), 0);
        lower_ceiling(100);
        pool_shrink(who(1));
        lower_ceiling(SLOTS);
}
#endif

static void test_a_piece_is_prepared_again_if_the_pool_has_shrunk(void **state)
{
        (void)state;
#ifdef XAC_TEST_HOOKS
        grow_whole();
        lower_ceiling(400);
        pool_shrink(who(0));
        lower_ceiling(SLOTS);
        hook_on_step = shrink_meanwhile;
        assert_int_equal(pool_grow(who(0)), 0);
        assert_ptr_equal(hook_on_step, NULL);
        assert_memory_is_where_it_should_be();
        engine_assert_nothing_leaked(engine);
#else
        skip();
#endif
}

static void test_who_dies_while_the_pool_shrinks_leaves_no_free_slot_without_memory(void **state)
{
        (void)state;
#ifdef XAC_TEST_HOOKS
        grow_whole();
        lower_ceiling(400);
        wanted_step = HOOK_POOL_GIVEN_UP;
        hook_on_step = die_there;
        if (setjmp(at_death) == 0) {
                pool_shrink(who(2));
                fail_msg("it should have died");
        }
        declare_dead(2);
        take_back(2, 1);
        assert_int_equal(atomic_load(&engine->shared.control->slots_awaited), 1);
        assert_memory_is_where_it_should_be();
        engine_assert_nothing_leaked(engine);
        pool_shrink(who(0));
        assert_false(pool_is_too_large(&engine->shared));
        assert_memory_is_where_it_should_be();
        engine_assert_nothing_leaked(engine);
#else
        skip();
#endif
}

#define POOL_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
        const struct CMUnitTest tests[] = {
                POOL_TEST(test_every_slot_is_taken_once),
                POOL_TEST(test_the_last_given_back_is_taken_first),
                POOL_TEST(test_a_cache_does_not_hoard),
                POOL_TEST(test_growth_without_memory_is_an_error),
                cmocka_unit_test_setup_teardown(test_a_large_pool_is_made_to_grow_ahead, setup_large, teardown),
                POOL_TEST(test_slots_of_the_dead_are_taken_back),
                POOL_TEST(test_lists_are_made_again_from_the_descriptors),
                POOL_TEST(test_two_at_once_prepare_different_pieces),
                POOL_TEST(test_two_at_once_prepare_the_last_piece),
                POOL_TEST(test_a_piece_of_the_dead_is_claimed_again),
                POOL_TEST(test_a_pool_that_is_too_large_gives_memory_back),
                POOL_TEST(test_a_pool_that_shrinks_leaves_writers_some),
                POOL_TEST(test_a_piece_is_prepared_again_if_the_pool_has_shrunk),
                POOL_TEST(test_who_dies_while_the_pool_shrinks_leaves_no_free_slot_without_memory),
        };

        return cmocka_run_group_tests_name("libxac/pool", tests, NULL, NULL);
}
