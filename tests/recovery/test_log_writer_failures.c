/* SPDX-License-Identifier: MIT */
#include "recovery/log_writer.h"

/* Group commit when calls fail: what poisons and what does not, and that everybody who waits hears of it. */

#include "tests/recovery/commit_stand.h"

#include <sys/resource.h>
#include <unistd.h>

#include "tests/base/patient_futex.h"

static enum sys_call fail_kind;
static int fail_after, fail_error, fail_count;

static int fail_one_kind(enum sys_call call, int fd, uint64_t offset, size_t byte_len)
{
        (void)fd, (void)offset, (void)byte_len;
        if (call != fail_kind || fail_after-- > 0)
                return 0;
        if (fail_count == 0)
                return 0;
        fail_count--;
        return fail_error;
}

static void fail_calls_of(enum sys_call kind, int after, int error, int count)
{
        fail_kind = kind;
        fail_after = after;
        fail_error = error;
        fail_count = count;
        sys_fail = fail_one_kind;
}

static void expect_poisoned(void)
{
        struct commit commit;

        assert_int_equal(log_poison(&our_log), XAC_POISONED);
        assert_int_equal(log_push(&our_log, ME), XAC_POISONED);
        assert_int_equal(log_wait(&our_log, ME, log_durable(&our_log) + 8), XAC_POISONED);
        assert_int_equal(log_wait(&our_log, ME, log_durable(&our_log)), 0);
        assert_int_equal(log_leader(&arena->shared), 0);
        while (!commit_stage(&our_log, ME, 10000, &commit))
                assert_int_equal(log_wait(&our_log, ME, commit.end), XAC_POISONED);
        assert_int_equal(log_make_room(&our_log, ME, 30000), XAC_POISONED);
}

static void test_a_failed_write_poisons(void **state)
{
        (void)state;
        struct commit before = commit_and_wait(100);
        struct commit commit = stage(100);

        fail_calls_of(SYS_PWRITE, 0, -EIO, 1);
        assert_int_equal(log_wait(&our_log, ME, commit.end), XAC_POISONED);
        assert_int_equal(atomic_load(&arena->shared.poison), -EIO);
        assert_int_equal(log_wait(&our_log, ME, before.end), 0);
        assert_int_equal(atomic_load(&arena->marked), 1);
        expect_poisoned();
}

static void test_a_failed_sync_poisons_whatever_it_says(void **state)
{
        static const int errors[] = { -EIO, -ENOSPC, -EDQUOT, -ENOMEM, -EINVAL };

        (void)state;
        for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
                (void)stage(100);
                assert_int_equal(log_push(&our_log, ME), 0);
                struct commit commit = stage(100);
                fail_calls_of(SYS_SYNC, 0, errors[i], 1); /* "succeeds" the second time */
                assert_int_equal(log_wait(&our_log, ME, commit.end), XAC_POISONED);
                expect_poisoned();
                log_close(&our_log);
                sys_fail = NULL;
                scratch_empty(directory);
                assert_int_equal(stand_load(STAND_SEGMENT, STAND_SEGMENT), 0);
                stand_open(&our_log);
        }
}

static void test_a_failed_push_poisons(void **state)
{
        (void)state;
        (void)stage(100);
        fail_calls_of(SYS_PWRITE, 0, -EIO, 1);
        assert_int_equal(log_push(&our_log, ME), XAC_POISONED);
        expect_poisoned();
}

/* Failures that leave everything as it was: tried again, and told only when nobody else can either. */
static void test_local_failures_do_not_poison(void **state)
{
        static const struct {
                enum sys_call call;
                int error;
        } failures[] = { { SYS_OPEN, -EMFILE },   { SYS_OPEN, -ENFILE },   { SYS_OPEN, -ENOMEM },
                         { SYS_PWRITE, -ENOSPC }, { SYS_PWRITE, -ENOMEM }, { SYS_PWRITE, -EDQUOT } };

        (void)state;
        for (size_t i = 0; i < sizeof(failures) / sizeof(failures[0]); i++) {
                log_close(&our_log); /* so that it must open */
                struct commit commit = stage(100);
                fail_calls_of(failures[i].call, 0, failures[i].error, 2);
                assert_int_equal(log_wait(&our_log, ME, commit.end), 0);
                assert_true(commit_is_written(&commit));
                assert_int_equal(fail_count, 0);

                log_close(&our_log);
                commit = stage(100);
                fail_calls_of(failures[i].call, 0, failures[i].error, 1000);
                assert_int_equal(log_wait(&our_log, ME, commit.end), failures[i].error);
                assert_int_equal(log_poison(&our_log), 0);
                sys_fail = NULL;
                assert_int_equal(log_wait(&our_log, ME, commit.end), 0);
                assert_true(commit_is_written(&commit));
        }
        walk();
}

/* ---- No descriptor left ---- */

enum { NUMBERS = 64 };

static int numbers[NUMBERS], number_count;

static void take_all_numbers(void)
{
        struct rlimit limit;
        int fd = dup(STDERR_FILENO);

        assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
        limit.rlim_cur = (rlim_t)fd + NUMBERS / 2;
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
        for (; fd >= 0; fd = dup(STDERR_FILENO)) {
                assert_true(number_count < NUMBERS);
                numbers[number_count++] = fd;
        }
}

static void give_numbers_back(void)
{
        struct rlimit limit;

        while (number_count)
                close(numbers[--number_count]);
        assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
        limit.rlim_cur = limit.rlim_max;
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

/* DE1: the plain descriptor that was opened before does what the direct one would have done (DE5). */
static void test_who_is_ready_writes_without_any_other_descriptor(void **state)
{
        (void)state;
        assert_false(log_is_ready_locked(&our_log, 100));
        take_all_numbers();
        assert_int_equal(log_get_ready(&our_log, 100), -EMFILE);
        assert_false(log_is_ready_locked(&our_log, 100));
        close(numbers[--number_count]);
        assert_int_equal(log_get_ready(&our_log, 100), 0);
        assert_true(log_is_ready_locked(&our_log, 100));
        struct commit commit = stage(100);
        assert_int_equal(log_wait(&our_log, ME, commit.end), 0);
        give_numbers_back();
        assert_true(commit_is_written(&commit));
}

/* Another process has staged so much that the log goes on in the next segments: with the one number that is there
 * (DE4). What was open is not said to be open any more (DE3). */
static void test_one_number_is_enough_for_all_segments(void **state)
{
        (void)state;
        assert_int_equal(log_segments_extend(&our_log.segments, ME, 8 * (uint64_t)STAND_SEGMENT), 0);
        assert_int_equal(log_get_ready(&our_log, 100), 0);
        take_all_numbers();
        assert_true(log_is_ready_locked(&our_log, 100));
        for (int i = 0; i < 8; i++) {
                struct commit commit = { 0 };

                for (int k = 0; k < 2; k++)
                        assert_int_equal(commit_stage(&our_log, OTHER, PAYLOAD_MAX, &commit), 0);
                assert_int_equal(i % 2 ? log_push(&our_log, ME) : log_wait(&our_log, ME, commit.end), 0);
        }
        assert_int_equal(log_wait(&our_log, ME, log_end(&our_log)), 0);
        assert_false(log_is_ready_locked(&our_log, STAND_SEGMENT / 2));
        give_numbers_back();
        assert_int_equal(walk(), 16);
}

/* DE7: the limit has become lower than what is open, so that nothing that is closed comes back. */
static void test_who_is_refused_takes_nothing_from_others(void **state)
{
        struct rlimit limit;

        (void)state;
        assert_int_equal(log_segments_extend(&our_log.segments, ME, 4 * (uint64_t)STAND_SEGMENT), 0);
        struct commit commit = stage(100);
        assert_int_equal(log_get_ready(&our_log, 100), 0);
        assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
        limit.rlim_cur = 0;
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
        assert_int_equal(log_get_ready(&our_log, STAND_SEGMENT), -EMFILE);
        assert_int_equal(log_get_ready(&our_log, 100), 0);
        assert_int_equal(log_wait(&our_log, ME, commit.end), 0);
        give_numbers_back();
        assert_true(commit_is_written(&commit));
}

/* DE6: while a leader writes, nobody else of its process opens or closes any; after some time it is not waited for. */
static void test_a_leader_keeps_the_descriptors_to_itself(void **state)
{
        (void)state;
        atomic_store(&our_log.is_writing, true);
        assert_int_equal(log_get_ready(&our_log, 100), -EBUSY);
        assert_false(log_is_ready_locked(&our_log, 100));
        atomic_store(&our_log.is_writing, false);
        assert_int_equal(log_get_ready(&our_log, 100), 0);
}

/* Who may not open the log any more leaves it to others. */
static void test_no_permission_does_not_poison(void **state)
{
        (void)state;
        struct commit commit = stage(100);

        fail_calls_of(SYS_OPEN, 0, -EACCES, 1000);
        assert_int_equal(log_get_ready(&our_log, 100), -EACCES);
        assert_int_equal(log_wait(&our_log, ME, commit.end), -EACCES);
        assert_int_equal(log_poison(&our_log), 0);
        sys_fail = NULL;
        assert_int_equal(log_wait(&our_log, OTHER, commit.end), 0);
}

static void test_a_host_that_cannot_lock_is_a_local_failure(void **state)
{
        (void)state;
        struct commit commit = stage(100);

        atomic_store(&arena->lock_failure, -ENOMEM);
        assert_int_equal(log_wait(&our_log, ME, commit.end), 0);
        assert_int_equal(atomic_load(&arena->lock_failure), 0);
        assert_true(commit_is_written(&commit));
        commit = stage(100);
        atomic_store(&arena->lock_failure, -ENOMEM);
        assert_int_equal(log_push(&our_log, ME), -ENOMEM);
        assert_int_equal(log_poison(&our_log), 0);
        assert_int_equal(log_wait(&our_log, ME, commit.end), 0);
}

static void test_a_segment_that_cannot_be_made_does_not_poison(void **state)
{
        struct commit commit;

        (void)state;
        while (log_has_room_locked(&our_log, log_record_len(3000)))
                (void)commit_and_wait(3000);
        for (int error = 0; error < 2; error++) {
                fail_calls_of(error ? SYS_SYNC : SYS_PWRITE, 0, error ? -EIO : -ENOSPC, 1);
                int err = commit_stage(&our_log, ME, 3000, &commit);
                assert_int_equal(err, error ? -EIO : -ENOSPC);
                assert_int_equal(log_poison(&our_log), 0);
        }
        sys_fail = NULL;
        (void)commit_and_wait(3000);
        walk();
}

static void test_poison_from_elsewhere(void **state)
{
        (void)state;
        struct commit commit = commit_and_wait(100);

        log_set_poison(&our_log, -EIO);
        log_set_poison(&our_log, -ENOSPC); /* the first one counts */
        assert_int_equal(atomic_load(&arena->shared.poison), -EIO);
        assert_int_equal(log_wait(&our_log, ME, commit.end), 0);
        expect_poisoned();
}

/* A leader that is held in its write, and what becomes of those who wait meanwhile. */
static _Atomic int gate; /* 1: closed; 2: somebody stands before it */
static _Atomic int gate_error;

static int wait_at_gate(enum sys_call call, int fd, uint64_t offset, size_t byte_len)
{
        int closed = 1;

        (void)fd, (void)offset, (void)byte_len;
        if (call != SYS_PWRITE || !atomic_compare_exchange_strong(&gate, &closed, 2))
                return 0;
        while (atomic_load(&gate) == 2)
                usleep(200);
        return atomic_load(&gate_error);
}

static void await_sleepers(uint32_t count)
{
        while (atomic_load(&arena->shared.sleepers[0]) + atomic_load(&arena->shared.sleepers[1]) < count)
                usleep(200);
}

/* A leader before the gate, two that its group covers, two of the next group, all asleep. */
static void start_waiters(struct waiter waiter[5])
{
        (void)commit_and_wait(10);
        assert_int_equal(log_segments_extend(&our_log.segments, ME, log_end(&our_log) + STAND_SEGMENT), 0);
        atomic_store(&gate, 1);
        sys_fail = wait_at_gate;
        for (uint32_t i = 1; i < 3; i++)
                assert_int_equal(commit_stage(&our_log, ME, 50, &waiter[i].commit), 0);
        waiter_start(&waiter[0], 4);
        while (atomic_load(&gate) != 2)
                usleep(200);
        for (uint32_t i = 1; i < 3; i++) {
                waiter[i].owner = 4 + i;
                assert_int_equal(pthread_create(&waiter[i].thread, NULL, wait_in_thread, &waiter[i]), 0);
        }
        for (uint32_t i = 3; i < 5; i++)
                waiter_start(&waiter[i], 4 + i);
        await_sleepers(4);
}

static void join_waiters(struct waiter waiter[5])
{
        for (int i = 0; i < 5; i++)
                pthread_join(waiter[i].thread, NULL);
        sys_fail = NULL;
}

static void test_two_groups_serve_five_waiters(void **state)
{
        struct waiter waiter[5];

        (void)state;
        start_waiters(waiter);
        atomic_store(&gate_error, 0);
        atomic_store(&gate, 0);
        join_waiters(waiter);
        for (int i = 0; i < 5; i++) {
                assert_int_equal(waiter[i].result, 0);
                assert_true(commit_is_written(&waiter[i].commit));
        }
        assert_int_equal(atomic_load(&arena->shared.groups), 3);
        expect_all(6);
}

static void test_everybody_hears_of_poison(void **state)
{
        struct waiter waiter[5];

        (void)state;
        start_waiters(waiter);
        atomic_store(&gate_error, -EIO);
        atomic_store(&gate, 0);
        join_waiters(waiter);
        for (int i = 0; i < 5; i++)
                assert_int_equal(waiter[i].result, XAC_POISONED);
        expect_poisoned();
}

static void test_a_failing_leader_hands_on(void **state)
{
        struct waiter waiter[5];

        (void)state;
        start_waiters(waiter);
        atomic_store(&gate_error, -ENOMEM);
        atomic_store(&gate, 0);
        join_waiters(waiter);
        for (int i = 0; i < 5; i++)
                assert_int_equal(waiter[i].result, 0);
        expect_all(6);
}

/* Wake-ups do the work, not the time limits of sleeps; but for the naps of a leader that failed and stands back. */
static void test_nobody_is_left_to_time_out(void **state)
{
        enum { ROUNDS = 100, LONGER_THAN_A_NAP_NS = 20000000 };
        struct waiter waiter[5];

        (void)state;
        atomic_store(&patient_from_ns, LONGER_THAN_A_NAP_NS);
        for (int round = 0; round < ROUNDS; round++) {
                start_waiters(waiter);
                atomic_store(&gate_error, round % 2 ? -ENOMEM : 0);
                uint64_t start_ns = sys_monotonic_ns();
                atomic_store(&gate, 0);
                join_waiters(waiter);
                assert_true(sys_monotonic_ns() - start_ns < PATIENT_WAKE_NS);
        }
        atomic_store(&patient_from_ns, 0);
        expect_all(6 * ROUNDS);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_a_failed_write_poisons, setup, teardown),
                cmocka_unit_test_setup_teardown(test_a_failed_sync_poisons_whatever_it_says, setup, teardown),
                cmocka_unit_test_setup_teardown(test_a_failed_push_poisons, setup, teardown),
                cmocka_unit_test_setup_teardown(test_local_failures_do_not_poison, setup, teardown),
                cmocka_unit_test_setup_teardown(test_who_is_ready_writes_without_any_other_descriptor, setup, teardown),
                cmocka_unit_test_setup_teardown(test_one_number_is_enough_for_all_segments, setup, teardown),
                cmocka_unit_test_setup_teardown(test_who_is_refused_takes_nothing_from_others, setup, teardown),
                cmocka_unit_test_setup_teardown(test_a_leader_keeps_the_descriptors_to_itself, setup, teardown),
                cmocka_unit_test_setup_teardown(test_no_permission_does_not_poison, setup, teardown),
                cmocka_unit_test_setup_teardown(test_a_host_that_cannot_lock_is_a_local_failure, setup, teardown),
                cmocka_unit_test_setup_teardown(test_a_segment_that_cannot_be_made_does_not_poison, setup, teardown),
                cmocka_unit_test_setup_teardown(test_poison_from_elsewhere, setup, teardown),
                cmocka_unit_test_setup_teardown(test_two_groups_serve_five_waiters, setup, teardown),
                cmocka_unit_test_setup_teardown(test_everybody_hears_of_poison, setup, teardown),
                cmocka_unit_test_setup_teardown(test_a_failing_leader_hands_on, setup, teardown),
                cmocka_unit_test_setup_teardown(test_nobody_is_left_to_time_out, setup_in_memory, teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
