/* SPDX-License-Identifier: MIT */
#include "libxac/store/exclusion.h"

/*
 * Exclusiveness, and how it ends: by its owner, by who has waited long enough, by who takes over. Nobody ends another
 * one than that (R20).
 */

#include "tests/libxac/engine.h"
#include "tests/support/leeway.h"

#include <pthread.h>
#include <time.h>

#include "base/sys.h"

enum { FIRST, SECOND, WAITER };

#define LAPSE_NS UINT64_C(100000000)
#define SOON_MS  5000

static struct engine *engine;
static struct participant *first, *second;

static int setup(void **state)
{
        (void)state;
        engine = engine_start(64);
        first = &engine->participant[FIRST];
        second = &engine->participant[SECOND];
        return 0;
}

static int teardown(void **state)
{
        (void)state;
        engine_stop(engine);
        return 0;
}

static uint32_t word(void)
{
        return atomic_load(&engine->shared.control->exclusive);
}

static void begin(struct participant *self)
{
        assert_int_equal(exclusion_begin(self), 0);
        assert_true(exclusion_holds(self));
        assert_int_equal(control_exclusive_owner(word()), self->owner);
}

/* How long somebody has to wait until he may commit. */
static uint64_t waited_ns(struct participant *self)
{
        uint64_t begun_ns = sys_monotonic_ns();

        assert_int_equal(exclusion_lock(self), 0);
        publish_unlock(&engine->shared);
        return sys_monotonic_ns() - begun_ns;
}

/* ---- A thread that waits ---- */

static _Atomic int has_passed;
static _Atomic uint64_t passed_ns;

static void *pass(void *unused)
{
        (void)unused;
        waited_ns(&engine->participant[WAITER]);
        atomic_store(&passed_ns, sys_monotonic_ns());
        atomic_store(&has_passed, 1);
        return NULL;
}

static pthread_t start_waiter(void)
{
        pthread_t thread;

        atomic_store(&has_passed, 0);
        assert_int_equal(pthread_create(&thread, NULL, pass, NULL), 0);
        sys_sleep_ns(LAPSE_NS / 2);
        return thread;
}

/* ---- Its end ---- */

static void test_it_ends_with_its_owner(void **state)
{
        (void)state;
        exclusion_end(first); /* it has none */
        begin(first);
        waited_ns(first); /* it does not wait for itself */
        assert_true(exclusion_holds(first));
        assert_false(exclusion_holds(second));
        exclusion_end(first);
        assert_int_equal(word(), 0);
        assert_false(exclusion_holds(first));
        waited_ns(second);
}

static void test_whoever_waits_is_woken(void **state)
{
        pthread_t thread;

        (void)state;
        begin(first);
        thread = start_waiter();
        exclusion_end(first);
        pthread_join(thread, NULL);
        assert_true(has_passed);
}

static void test_it_lapses(void **state)
{
        uint64_t ns;

        (void)state;
        begin(first);
        ns = waited_ns(second);
        assert_true(ns >= LAPSE_NS);
        assert_true(ns / 1000000 < leeway_ms(SOON_MS));
        assert_int_equal(word(), 0);
        assert_false(exclusion_holds(first));
}

static void test_whose_has_lapsed_is_like_all_others(void **state)
{
        (void)state;
        begin(first);
        waited_ns(second);
        begin(second);
        assert_true(waited_ns(first) >= LAPSE_NS);
        begin(second);
        exclusion_end(first); /* it is no longer his */
        assert_true(exclusion_holds(second));
        begin(first); /* after a wait */
        assert_false(exclusion_holds(second));
        exclusion_end(second);
        assert_true(exclusion_holds(first));
        exclusion_end(first);
}

/* Who has watched the one before does not let the next one lapse early, though the owner is the same. */
static void test_the_next_one_has_its_own_time(void **state)
{
        uint64_t begun_ns;
        uint32_t before;
        bool has_followed;
        pthread_t thread;

        (void)state;
        begin(first);
        thread = start_waiter();
        before = first->exclusion;
        first->exclusion = control_exclusive(2, first->owner);
        begun_ns = sys_monotonic_ns();
        has_followed = atomic_compare_exchange_strong(&engine->shared.control->exclusive, &before, first->exclusion);
        pthread_join(thread, NULL);
        if (has_followed) /* in time, as this machine is quick enough */
                assert_true(passed_ns - begun_ns >= LAPSE_NS);
}

static void test_each_has_its_own_word(void **state)
{
        struct control *control = engine->shared.control;
        uint32_t before;

        (void)state;
        begin(first);
        before = word();
        begin(first);
        assert_int_not_equal(word(), before);
        exclusion_end(first);
        for (uint32_t turn = UINT32_MAX - 1; turn != 2; turn++) {
                atomic_store(&control->exclusions, turn);
                begin(first);
                exclusion_end(first);
        }
        atomic_store(&control->exclusions, UINT16_MAX);
        begin(second);
        exclusion_end(second);
        assert_int_equal(word(), 0);
}

static void test_of_the_dead_only_theirs_is_ended(void **state)
{
        (void)state;
        exclusion_end_of_dead(&engine->shared, first->owner);
        begin(first);
        exclusion_end_of_dead(&engine->shared, second->owner);
        assert_true(exclusion_holds(first));
        exclusion_end_of_dead(&engine->shared, first->owner);
        assert_int_equal(word(), 0);
}

#define EXCLUSION_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
        const struct CMUnitTest tests[] = {
                EXCLUSION_TEST(test_it_ends_with_its_owner),
                EXCLUSION_TEST(test_whoever_waits_is_woken),
                EXCLUSION_TEST(test_it_lapses),
                EXCLUSION_TEST(test_whose_has_lapsed_is_like_all_others),
                EXCLUSION_TEST(test_the_next_one_has_its_own_time),
                EXCLUSION_TEST(test_each_has_its_own_word),
                EXCLUSION_TEST(test_of_the_dead_only_theirs_is_ended),
        };
        return cmocka_run_group_tests_name("exclusion", tests, NULL, NULL);
}
