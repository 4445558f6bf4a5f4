/* SPDX-License-Identifier: MIT */
#include "libxac/store/lending.h"

/*
 * R28: what the kernel has been lent stays as it is for it, whatever the slot is used for. The kernel is a pipe, into
 * which vmsplice(2) puts pages without copying them.
 */

#include <sys/uio.h>

#include "tests/libxac/engine.h"

enum { SLOTS = 64 };

static struct engine *engine;
static int ends[2]; /* of the pipe */
static bool is_memory_short;

static int setup(void **state)
{
        (void)state;
        engine = engine_start(SLOTS);
        assert_int_equal(pipe(ends), 0);
        return 0;
}

static int fail_allocations(enum sys_call call, int fd, uint64_t offset, size_t byte_len)
{
        (void)offset;
        (void)byte_len;
        return is_memory_short && call == SYS_ALLOCATE && fd == engine->shared.pool_fd ? -ENOSPC : 0;
}

static int teardown(void **state)
{
        (void)state;
        sys_fail = NULL;
        close(ends[0]);
        close(ends[1]);
        engine_stop(engine);
        return 0;
}

static struct participant *who(void)
{
        return &engine->participant[0];
}

static char *bytes_of(uint32_t slot)
{
        return shared_slot_bytes(&engine->shared, slot);
}

static uint32_t take_filled(char with)
{
        uint32_t slot = reclaim_take(who());

        assert_int_not_equal(slot, 0);
        memset(bytes_of(slot), with, ENGINE_PAGE_BYTES);
        return slot;
}

static void send_to_kernel(uint32_t slot)
{
        const struct iovec part = { bytes_of(slot), ENGINE_PAGE_BYTES };

        assert_int_equal(vmsplice(ends[1], &part, 1, 0), ENGINE_PAGE_BYTES);
}

static void check_kernel_has(char with)
{
        char bytes[ENGINE_PAGE_BYTES];

        assert_int_equal(read(ends[0], bytes, sizeof(bytes)), sizeof(bytes));
        for (size_t i = 0; i < sizeof(bytes); i++)
                assert_int_equal(bytes[i], with);
}

/* Given back, and taken again: it was the last, so it is the next. */
static void use_again(uint32_t slot, char with)
{
        pool_give_back(who(), slot);
        assert_int_equal(take_filled(with), slot);
}

static void test_only_pages_of_the_pool_are_lent(void **state)
{
        const char *pool = engine->shared.pool;
        static char elsewhere[ENGINE_PAGE_BYTES];

        (void)state;
        assert_int_equal(lending_lend(&engine->shared, elsewhere), -EINVAL);
        assert_int_equal(lending_lend(&engine->shared, pool - 1), -EINVAL);
        assert_int_equal(lending_lend(&engine->shared, pool + (size_t)SLOTS * ENGINE_PAGE_BYTES), -EINVAL);
        assert_int_equal(lending_lend(&engine->shared, shared_zeros(&engine->shared)), 0);
        lending_take_back(&engine->shared, shared_zeros(&engine->shared));
        lending_take_back(&engine->shared, elsewhere);
}

/* That is why slots are lent at all. */
static void test_what_is_not_lent_changes_under_the_kernel(void **state)
{
        uint32_t slot = take_filled('a');

        (void)state;
        send_to_kernel(slot);
        use_again(slot, 'b');
        check_kernel_has('b');
}

static void test_what_is_lent_stays_as_it_is(void **state)
{
        uint32_t slot = take_filled('a');

        (void)state;
        assert_int_equal(lending_lend(&engine->shared, bytes_of(slot) + 100), 0);
        send_to_kernel(slot);
        use_again(slot, 'b');
        check_kernel_has('a');
        assert_int_equal(bytes_of(slot)[0], 'b');
        send_to_kernel(slot); /* it is not lent any more */
        use_again(slot, 'c');
        check_kernel_has('c');
}

/* By one of two, and in the end by both: then it keeps its memory. */
static void test_it_counts_who_has_it(void **state)
{
        uint32_t slot = take_filled('a');

        (void)state;
        assert_int_equal(lending_lend(&engine->shared, bytes_of(slot)), 0);
        assert_int_equal(lending_lend(&engine->shared, bytes_of(slot)), 0);
        lending_take_back(&engine->shared, bytes_of(slot));
        assert_true(lending_is_lent(&engine->shared, slot));
        send_to_kernel(slot);
        use_again(slot, 'b');
        check_kernel_has('a');
        assert_int_equal(lending_lend(&engine->shared, bytes_of(slot)), 0);
        lending_take_back(&engine->shared, bytes_of(slot));
        pool_give_back(who(), slot);
        assert_int_equal(reclaim_take(who()), slot);
        assert_int_equal(bytes_of(slot)[0], 'b');
}

/* The slot waits for memory, others are taken meanwhile, and it comes back when there is some. */
static void test_without_memory_the_slot_waits(void **state)
{
        uint32_t slot = take_filled('a'), taken = 1;
        struct pool_census now;

        (void)state;
        assert_int_equal(lending_lend(&engine->shared, bytes_of(slot)), 0);
        send_to_kernel(slot);
        pool_give_back(who(), slot);
        sys_fail = fail_allocations;
        is_memory_short = true;
        assert_int_not_equal(reclaim_take(who()), slot);
        is_memory_short = false;
        pool_count(&engine->shared, &now);
        assert_int_equal(pool_used(&engine->shared), now.allocated - now.free);
        for (uint32_t no; (no = reclaim_take(who())) != 0; taken++)
                memset(bytes_of(no), 'b', ENGINE_PAGE_BYTES);
        assert_int_equal(taken, SLOTS - 1);
        check_kernel_has('a');
}

#define LENDING_TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
        const struct CMUnitTest tests[] = {
                LENDING_TEST(test_only_pages_of_the_pool_are_lent),
                LENDING_TEST(test_what_is_not_lent_changes_under_the_kernel),
                LENDING_TEST(test_what_is_lent_stays_as_it_is),
                LENDING_TEST(test_it_counts_who_has_it),
                LENDING_TEST(test_without_memory_the_slot_waits),
        };

        return cmocka_run_group_tests_name("libxac/lending", tests, NULL, NULL);
}
