/* SPDX-License-Identifier: MIT */
#include "base/shlock.h"

/*
 * The shared lock among threads, among processes, and with owners that die, stop or are slow.
 * Liveness is played by a flag per owner in shared memory, so that a test decides when an
 * owner counts as dead.
 */

#include "tests/base/patient_futex.h"
#include "tests/base/scratch.h"
#include "tests/support/leeway.h"

#include <pthread.h>

enum { OWNERS = 16 };

/* What threads and forked children share. */
struct arena {
        struct shlock lock;
        uint64_t counter; /* plain: the lock is what protects it */
        _Atomic uint32_t is_dead[OWNERS];
        _Atomic uint32_t asked;
        _Atomic uint32_t inherited;
        _Atomic uint32_t step;
};

static struct arena *arena;

static bool is_alive(void *arg, uint32_t owner)
{
        struct arena *asked = arg;

        assert_true(owner > 0 && owner < OWNERS);
        atomic_fetch_add(&asked->asked, 1);
        return !atomic_load(&asked->is_dead[owner]);
}

static struct shlock_liveness liveness = { .is_alive = is_alive };

static int setup(void **state)
{
        arena = *state = liveness.arg = scratch_shared(sizeof(*arena));
        return 0;
}

static int teardown(void **state)
{
        return munmap(*state, sizeof(*arena));
}

static void await_step(uint32_t step)
{
        while (atomic_load(&arena->step) < step)
                usleep(200);
}

/* ---- Alone ---- */

static void test_lock_try_and_unlock(void **state)
{
        (void)state;
        assert_int_equal(shlock_owner(&arena->lock), 0);
        assert_int_equal(shlock_lock(&arena->lock, 3, &liveness), SHLOCK_TAKEN);
        assert_int_equal(shlock_owner(&arena->lock), 3);
        assert_int_equal(shlock_try(&arena->lock, 4), -EBUSY);
        assert_int_equal(shlock_owner(&arena->lock), 3);
        shlock_unlock(&arena->lock);
        assert_int_equal(shlock_owner(&arena->lock), 0);
        assert_int_equal(shlock_try(&arena->lock, 4), 0);
        assert_int_equal(shlock_owner(&arena->lock), 4);
        shlock_unlock(&arena->lock);
        assert_int_equal(atomic_load(&arena->lock.word), 0);
        assert_int_equal(atomic_load(&arena->asked), 0);
}

static void test_try_never_inherits(void **state)
{
        (void)state;
        assert_int_equal(shlock_lock(&arena->lock, 3, &liveness), SHLOCK_TAKEN);
        atomic_store(&arena->is_dead[3], 1);
        assert_int_equal(shlock_try(&arena->lock, 4), -EBUSY);
        assert_int_equal(shlock_owner(&arena->lock), 3);
}

/* ---- Many at once ---- */

enum { ROUNDS = 30000 };

/* Not atomic, and slow enough now and then that others come to sleep. */
static void count_up(uint32_t me)
{
        for (int round = 0; round < ROUNDS; round++) {
                if (shlock_lock(&arena->lock, me, &liveness) == SHLOCK_INHERITED)
                        atomic_fetch_add(&arena->inherited, 1);
                arena->counter++;
                if (shlock_owner(&arena->lock) != me)
                        atomic_fetch_add(&arena->inherited, 1000);
                if (round % 1000 == 0)
                        usleep(100);
                shlock_unlock(&arena->lock);
        }
}

static void *count_in_thread(void *me)
{
        count_up((uint32_t)(uintptr_t)me);
        return NULL;
}

static int count_in_process(void *me)
{
        count_up((uint32_t)(uintptr_t)me);
        return 0;
}

static void test_threads_and_processes_exclude_each_other(void **state)
{
        enum { EACH = 3 };
        pthread_t thread[EACH];
        pid_t child[EACH];

        (void)state;
        for (uintptr_t i = 0; i < EACH; i++)
                child[i] = scratch_fork(count_in_process, (void *)(i + 1));
        for (uintptr_t i = 0; i < EACH; i++)
                assert_int_equal(pthread_create(&thread[i], NULL, count_in_thread, (void *)(i + 1 + EACH)), 0);
        for (int i = 0; i < EACH; i++) {
                pthread_join(thread[i], NULL);
                scratch_expect_exit(child[i], 0);
        }
        assert_int_equal(arena->counter, 2 * EACH * ROUNDS);
        assert_int_equal(atomic_load(&arena->inherited), 0);
        assert_int_equal(atomic_load(&arena->lock.word), 0);
}

/* ---- Sleepers ---- */

static void *wait_in_thread(void *me)
{
        int got = shlock_lock(&arena->lock, (uint32_t)(uintptr_t)me, &liveness);

        arena->counter++;
        if (got == SHLOCK_INHERITED)
                atomic_fetch_add(&arena->inherited, 1);
        shlock_unlock(&arena->lock);
        return NULL;
}

static void await_sleeper(void)
{
        while (!(atomic_load(&arena->lock.word) & SHLOCK_WAITERS))
                usleep(200);
}

/* One unlock must set off the whole chain. Were wake-ups lost, the timed sleeps would still end: here they last. */
static void test_unlock_wakes_every_sleeper_in_turn(void **state)
{
        enum { SLEEPERS = 4, RUNS = 20 };
        pthread_t thread[SLEEPERS];

        (void)state;
        atomic_store(&patient_from_ns, 1);
        for (int run = 0; run < RUNS; run++) {
                uint64_t begin_ns;

                assert_int_equal(shlock_lock(&arena->lock, 1, &liveness), SHLOCK_TAKEN);
                for (uintptr_t i = 0; i < SLEEPERS; i++)
                        pthread_create(&thread[i], NULL, wait_in_thread, (void *)(i + 2));
                await_sleeper();
                usleep(2000); /* until all of them sleep, most times */
                begin_ns = sys_monotonic_ns();
                shlock_unlock(&arena->lock);
                for (int i = 0; i < SLEEPERS; i++)
                        pthread_join(thread[i], NULL);
                assert_true(sys_monotonic_ns() - begin_ns < PATIENT_WAKE_NS);
        }
        atomic_store(&patient_from_ns, 0);
        assert_int_equal(arena->counter, RUNS * SLEEPERS);
        assert_int_equal(atomic_load(&arena->inherited), 0);
}

/* ---- Deaths ---- */

static int take_and_hold(void *me)
{
        if (shlock_lock(&arena->lock, (uint32_t)(uintptr_t)me, &liveness) != SHLOCK_TAKEN)
                return 1;
        arena->counter = 41; /* half-done work */
        atomic_store(&arena->step, 1);
        for (;;)
                pause();
}

static void test_the_lock_of_a_killed_process_is_inherited(void **state)
{
        pid_t child = scratch_fork(take_and_hold, (void *)(uintptr_t)2);

        (void)state;
        await_step(1);
        scratch_kill(child);
        assert_int_equal(shlock_owner(&arena->lock), 2);
        atomic_store(&arena->is_dead[2], 1);
        assert_int_equal(shlock_lock(&arena->lock, 1, &liveness), SHLOCK_INHERITED);
        assert_int_equal(arena->counter, 41);
        assert_int_equal(shlock_owner(&arena->lock), 1);
        shlock_unlock(&arena->lock);
        assert_int_equal(shlock_lock(&arena->lock, 1, &liveness), SHLOCK_TAKEN);
        shlock_unlock(&arena->lock);
}

static void test_exactly_one_of_many_sleepers_inherits(void **state)
{
        enum { SLEEPERS = 5 };
        pthread_t thread[SLEEPERS];
        pid_t child = scratch_fork(take_and_hold, (void *)(uintptr_t)2);

        (void)state;
        await_step(1);
        arena->counter = 0;
        for (uintptr_t i = 0; i < SLEEPERS; i++)
                pthread_create(&thread[i], NULL, wait_in_thread, (void *)(i + 3));
        await_sleeper();
        scratch_kill(child);
        atomic_store(&arena->is_dead[2], 1);
        for (int i = 0; i < SLEEPERS; i++)
                pthread_join(thread[i], NULL);
        assert_int_equal(arena->counter, SLEEPERS);
        assert_int_equal(atomic_load(&arena->inherited), 1);
        assert_int_equal(atomic_load(&arena->lock.word), 0);
}

/* A chain: each child inherits from the one before, and dies in its turn with the lock held. */
static int inherit_and_hold(void *arg)
{
        uint32_t me = (uint32_t)(uintptr_t)arg;

        if (shlock_lock(&arena->lock, me, &liveness) != SHLOCK_INHERITED)
                return 1;
        atomic_store(&arena->step, me);
        for (;;)
                pause();
}

static void test_an_heir_may_die_too(void **state)
{
        enum { LAST = 6 };
        pid_t child = scratch_fork(take_and_hold, (void *)(uintptr_t)1);

        (void)state;
        await_step(1);
        for (uint32_t me = 2; me <= LAST; me++) {
                scratch_kill(child);
                atomic_store(&arena->is_dead[me - 1], 1);
                child = scratch_fork(inherit_and_hold, (void *)(uintptr_t)me);
                await_step(me);
                assert_int_equal(shlock_owner(&arena->lock), me);
        }
        scratch_kill(child);
        atomic_store(&arena->is_dead[LAST], 1);
        assert_int_equal(shlock_lock(&arena->lock, LAST + 1, &liveness), SHLOCK_INHERITED);
}

/* Between the verdict "dead" and the take-over, another one inherits; it is alive. */
static bool is_alive_but_overtaken(void *arg, uint32_t owner)
{
        enum { LATE = 2, HEIR = 5 };

        if (owner == LATE)
                atomic_store(&((struct arena *)arg)->lock.word, HEIR);
        return owner != LATE;
}

static void *unlock_for_the_heir(void *arg)
{
        (void)arg;
        while (shlock_owner(&arena->lock) != 5)
                usleep(1000);
        usleep(30000);
        arena->counter = 1;
        shlock_unlock(&arena->lock);
        return NULL;
}

static void test_an_heir_is_not_robbed_on_an_old_verdict(void **state)
{
        struct shlock_liveness overtaken = { .is_alive = is_alive_but_overtaken, .arg = arena };
        pthread_t thread;

        (void)state;
        assert_int_equal(shlock_lock(&arena->lock, 2, &overtaken), SHLOCK_TAKEN);
        assert_int_equal(pthread_create(&thread, NULL, unlock_for_the_heir, NULL), 0);
        assert_int_equal(shlock_lock(&arena->lock, 1, &overtaken), SHLOCK_TAKEN);
        assert_int_equal(arena->counter, 1);
        pthread_join(thread, NULL);
}

/* The number of the dead has a living bearer by the time the lock is taken from it. */
static bool is_alive_when_asked_again(void *arg, uint32_t owner)
{
        (void)owner;
        return atomic_fetch_add(&((struct arena *)arg)->asked, 1) > 0;
}

static void *unlock_when_asked_twice(void *arg)
{
        (void)arg;
        while (atomic_load(&arena->asked) < 3)
                usleep(1000);
        assert_int_equal(shlock_owner(&arena->lock), 2);
        arena->counter = 1;
        shlock_unlock(&arena->lock);
        return NULL;
}

static void test_the_next_bearer_of_a_number_is_not_robbed(void **state)
{
        struct shlock_liveness reborn = { .is_alive = is_alive_when_asked_again, .arg = arena };
        pthread_t thread;

        (void)state;
        assert_int_equal(shlock_lock(&arena->lock, 2, &reborn), SHLOCK_TAKEN);
        assert_int_equal(pthread_create(&thread, NULL, unlock_when_asked_twice, NULL), 0);
        assert_int_equal(shlock_lock(&arena->lock, 1, &reborn), SHLOCK_TAKEN);
        assert_int_equal(arena->counter, 1);
        pthread_join(thread, NULL);
}

static void test_a_lock_left_to_the_dead_is_inherited_again(void **state)
{
        pthread_t thread;

        (void)state;
        assert_int_equal(shlock_lock(&arena->lock, 2, &liveness), SHLOCK_TAKEN);
        atomic_store(&arena->is_dead[2], 1);
        assert_int_equal(shlock_lock(&arena->lock, 1, &liveness), SHLOCK_INHERITED);
        assert_int_equal(pthread_create(&thread, NULL, wait_in_thread, (void *)(uintptr_t)3), 0);
        usleep(20000);
        assert_int_equal(arena->counter, 0);
        shlock_leave_to(&arena->lock, 2);
        pthread_join(thread, NULL);
        assert_int_equal(atomic_load(&arena->inherited), 1);
        assert_int_equal(shlock_owner(&arena->lock), 0);
}

static int wait_in_process(void *me)
{
        return shlock_lock(&arena->lock, (uint32_t)(uintptr_t)me, &liveness);
}

/* Whoever is woken may die before it takes the lock: the next sleeper must not need the wake. */
static void test_a_sleeper_that_is_killed_takes_no_wake_up_with_it(void **state)
{
        pid_t doomed, other;

        (void)state;
        assert_int_equal(shlock_lock(&arena->lock, 1, &liveness), SHLOCK_TAKEN);
        doomed = scratch_fork(wait_in_process, (void *)(uintptr_t)2);
        await_sleeper();
        other = scratch_fork(wait_in_process, (void *)(uintptr_t)3);
        usleep(5000);
        assert_int_equal(kill(doomed, SIGSTOP), 0); /* the wake may go to it, and be lost */
        shlock_unlock(&arena->lock);
        scratch_kill(doomed);
        if (shlock_owner(&arena->lock) == 2) { /* it had been quick enough to take it */
                atomic_store(&arena->is_dead[2], 1);
                scratch_expect_exit(other, SHLOCK_INHERITED);
        } else {
                scratch_expect_exit(other, SHLOCK_TAKEN);
        }
        assert_int_equal(shlock_owner(&arena->lock), 3);
}

static void test_a_stopped_owner_is_not_robbed(void **state)
{
        pid_t child = scratch_fork(take_and_hold, (void *)(uintptr_t)2);
        pthread_t thread;

        (void)state;
        await_step(1);
        assert_int_equal(kill(child, SIGSTOP), 0);
        assert_int_equal(pthread_create(&thread, NULL, wait_in_thread, (void *)(uintptr_t)3), 0);
        while (atomic_load(&arena->asked) < 3)
                usleep(1000);
        assert_int_equal(shlock_owner(&arena->lock), 2);
        assert_int_equal(arena->counter, 41);
        scratch_kill(child);
        atomic_store(&arena->is_dead[2], 1);
        pthread_join(thread, NULL);
        assert_int_equal(atomic_load(&arena->inherited), 1);
}

/* ---- The order of locks ---- */

#ifdef XAC_TEST_HOOKS

static struct shlock low, high;

static void take_both(struct shlock *first, struct shlock *second)
{
        shlock_set_rank(&low, 1);
        shlock_set_rank(&high, 2);
        shlock_lock(first, 1, NULL);
        shlock_lock(second, 1, NULL);
        shlock_unlock(first);
        shlock_unlock(second);
}

static int take_in_order(void *unused)
{
        (void)unused;
        take_both(&low, &high);
        shlock_lock(&high, 1, NULL);
        return shlock_try(&low, 1); /* who does not wait may */
}

static int take_out_of_order(void *unused)
{
        (void)unused;
        take_both(&high, &low);
        return 0;
}

static int status_of(int (*body)(void *arg))
{
        int status = -1;
        pid_t child = scratch_fork(body, NULL);

        assert_int_equal(waitpid(child, &status, 0), child);
        return status;
}

static void test_waiting_out_of_order_ends_the_program(void **state)
{
        (void)state;
        assert_int_equal(status_of(take_in_order), 0);
        int status = status_of(take_out_of_order);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

#endif

#define SHLOCK_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
        const struct CMUnitTest tests[] = {
                SHLOCK_TEST(test_lock_try_and_unlock),
                SHLOCK_TEST(test_try_never_inherits),
                SHLOCK_TEST(test_threads_and_processes_exclude_each_other),
                SHLOCK_TEST(test_unlock_wakes_every_sleeper_in_turn),
                SHLOCK_TEST(test_the_lock_of_a_killed_process_is_inherited),
                SHLOCK_TEST(test_exactly_one_of_many_sleepers_inherits),
                SHLOCK_TEST(test_an_heir_may_die_too),
                SHLOCK_TEST(test_an_heir_is_not_robbed_on_an_old_verdict),
                SHLOCK_TEST(test_the_next_bearer_of_a_number_is_not_robbed),
                SHLOCK_TEST(test_a_lock_left_to_the_dead_is_inherited_again),
                SHLOCK_TEST(test_a_sleeper_that_is_killed_takes_no_wake_up_with_it),
                SHLOCK_TEST(test_a_stopped_owner_is_not_robbed),
#ifdef XAC_TEST_HOOKS
                SHLOCK_TEST(test_waiting_out_of_order_ends_the_program),
#endif
        };

        leeway_alarm(100); /* a lock that nobody gets must not hang the whole check */
        return cmocka_run_group_tests_name("base/shlock", tests, NULL, NULL);
}
