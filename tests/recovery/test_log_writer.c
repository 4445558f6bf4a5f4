/* SPDX-License-Identifier: MIT */
#include "recovery/log_writer.h"

/*
 * Group commit while all goes well: what log_wait has promised is in the files, whoever led, however many at once,
 * across the edges of ring and segments.
 */

#include "tests/recovery/commit_stand.h"
#include "tests/support/leeway.h"

/* ---- Alone ---- */

static void test_a_record_is_on_disk_when_wait_returns(void **state)
{
        (void)state;
        struct commit commit = commit_and_wait(32);

        assert_int_equal(commit.position, STAND_SEGMENT);
        assert_int_equal(commit.end, STAND_SEGMENT + LOG_RECORD_HEADER + 32);
        assert_int_equal(log_durable(&our_log), STAND_SEGMENT + LOG_BLOCK);
        assert_int_equal(log_end(&our_log), STAND_SEGMENT + LOG_BLOCK);
        assert_int_equal(atomic_load(&arena->marked), 1);
        assert_int_equal(log_leader(&arena->shared), 0);
        assert_int_equal(atomic_load(&arena->shared.groups), 1);
        assert_int_equal(walk(), 1);
}

static void test_one_write_covers_all_that_is_staged(void **state)
{
        (void)state;
        struct commit first = stage(0);
        struct commit middle = stage(1000);
        struct commit last = stage(13);

        assert_int_equal(log_wait(&our_log, ME, middle.position), 0);
        assert_int_equal(atomic_load(&arena->shared.groups), 1);
        assert_true(commit_is_written(&first) && commit_is_written(&middle) && commit_is_written(&last));
        assert_true(log_durable(&our_log) >= last.end);
        assert_int_equal(walk(), 3);
}

static int calls;

static int count_calls(enum sys_call call, int fd, uint64_t offset, size_t byte_len)
{
        (void)call, (void)fd, (void)offset, (void)byte_len;
        calls++;
        return 0;
}

static void test_nothing_to_write_costs_no_call(void **state)
{
        (void)state;
        struct commit commit = commit_and_wait(10);

        calls = 0;
        sys_fail = count_calls;
        assert_int_equal(log_wait(&our_log, ME, commit.end), 0);
        assert_int_equal(log_wait(&our_log, ME, log_end(&our_log)), 0);
        assert_int_equal(log_push(&our_log, ME), 0);
        assert_int_equal(log_make_room(&our_log, ME, 100), 0);
        assert_int_equal(calls, 0);
        assert_int_equal(atomic_load(&arena->shared.groups), 1);
}

static void test_a_commit_alone_is_one_call(void **state)
{
        (void)state;
        commit_and_wait(10); /* opens the file */
        struct commit commit = stage(10);
        calls = 0;
        sys_fail = count_calls;
        assert_int_equal(log_wait(&our_log, ME, commit.end), 0);
        assert_in_range(calls, 1, 2); /* two where direct writes are refused */
}

/* Sizes that put ends everywhere in blocks, at the ring's edge and at those of segments. */
static void test_ring_and_segments_wrap_anywhere(void **state)
{
        enum { COMMITS = 1500 };
        uint64_t from = log_end(&our_log);
        uint32_t payload_len = 3;

        (void)state;
        for (int i = 1; i <= COMMITS; i++) {
                struct commit commit = stage(payload_len);

                payload_len = (payload_len * 29 + 5) % (i % 50 ? 1800 : PAYLOAD_MAX);
                if (i % 7 == 0)
                        assert_int_equal(log_wait(&our_log, ME, commit.end), 0);
                if (i % 31 == 0)
                        assert_int_equal(log_push(&our_log, ME), 0);
        }
        assert_int_equal(log_wait(&our_log, ME, log_end(&our_log)), 0);
        assert_true(log_end(&our_log) - from > 8 * STAND_RING);
        assert_int_equal(walk(), COMMITS);
        assert_int_equal(atomic_load(&arena->marked), COMMITS);
}

/* ---- The ring's memory ---- */

enum { LONG_RING = 1 << 20 };

static int given;
static int giving_fails; /* once: -errno */

/* What has no memory ends the program that touches it. */
static int give(void *ring, uint64_t from, uint64_t to)
{
        int err = giving_fails;

        giving_fails = 0;
        if (err)
                return err;
        given++;
        assert_true(from < to && to <= LONG_RING);
        return mprotect((char *)ring + from, to - from, PROT_READ | PROT_WRITE);
}

/* R43. */
static void test_the_ring_gets_memory_as_it_is_used(void **state)
{
        void *ring = mmap(NULL, LONG_RING, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        uint64_t from = log_end(&our_log);

        (void)state;
        assert_true(ring != MAP_FAILED);
        assert_int_equal(mprotect(ring, log_ring_first(LONG_RING), PROT_READ | PROT_WRITE), 0);
        log_shared_init(&arena->shared, LONG_RING, STAND_INCARNATION, from);
        our_log.ring = ring;
        our_log.host.arg = ring;
        our_log.host.give_memory = give;
        given = 0;
        while (log_end(&our_log) + PAYLOAD_MAX + LOG_PAD_MAX + LOG_RECORD_HEADER <= from + LOG_RING_FIRST)
                (void)stage(PAYLOAD_MAX);
        assert_int_equal(given, 0);

        uint64_t end = log_end(&our_log);
        giving_fails = -ENOSPC;
        while (log_make_room(&our_log, ME, log_record_len(PAYLOAD_MAX)) == 0)
                (void)stage(100);
        assert_int_equal(giving_fails, 0);
        assert_true(log_end(&our_log) >= end && log_end(&our_log) <= from + LOG_RING_FIRST);
        while (log_end(&our_log) < from + 3 * LONG_RING)
                (void)stage(PAYLOAD_MAX);
        assert_int_equal(given, 6); /* 32 KiB, 64 KiB, ... */
        assert_int_equal(log_wait(&our_log, ME, log_end(&our_log)), 0);
        (void)walk();
        munmap(ring, LONG_RING);
}

static int write_slowly(enum sys_call call, int fd, uint64_t offset, size_t byte_len)
{
        (void)fd, (void)offset, (void)byte_len;
        if (call == SYS_PWRITE)
                sys_sleep_ns(2000000);
        return 0;
}

/* How long a leader waits for company: one slow write says little, and the slowest disk has its bound. */
static void test_the_time_of_a_write_is_followed(void **state)
{
        (void)state;
        commit_and_wait(10);
        uint64_t before = arena->shared.write_ns;
        sys_fail = write_slowly;
        commit_and_wait(10);
        assert_in_range(arena->shared.write_ns, before + 1, before + before / 8);
        for (int i = 0; i < 80; i++)
                commit_and_wait(10);
        assert_in_range(arena->shared.write_ns, 1000000, 1100000);
}

/* A record that ends where a block does, or so near that the pad's header crosses into the next. */
static void test_a_pad_always_has_room(void **state)
{
        (void)state;
        for (uint32_t left = 0; left <= 2 * LOG_RECORD_HEADER; left += 8) {
                struct commit commit = commit_and_wait(LOG_BLOCK - LOG_RECORD_HEADER - left);

                assert_int_equal(commit.end % LOG_BLOCK, left ? LOG_BLOCK - left : 0);
                assert_int_equal(log_end(&our_log), log_group_end(commit.end));
        }
        walk();
}

static void test_room_is_counted_exactly(void **state)
{
        const uint32_t most = STAND_RING - LOG_PAD_MAX;

        (void)state;
        assert_int_equal(log_segments_extend(&our_log.segments, ME, 9 * STAND_SEGMENT), 0);
        assert_true(log_has_room_locked(&our_log, most));
        assert_false(log_has_room_locked(&our_log, most + 8));
        assert_int_equal(log_make_room(&our_log, ME, most), 0);
        assert_int_equal(log_make_room(&our_log, ME, most + 8), -EMSGSIZE);
        struct commit commit = stage(1000);
        assert_false(log_has_room_locked(&our_log, most - log_record_len(1000) + 8));
        assert_true(log_has_room_locked(&our_log, most - log_record_len(1000)));
        assert_int_equal(log_make_room(&our_log, ME, most), 0); /* pushes */
        assert_true(log_has_room_locked(&our_log, most));
        assert_true(commit_is_written(&commit));
        assert_true(log_durable(&our_log) < commit.end);
}

static void test_room_is_made_by_adding_segments(void **state)
{
        (void)state;
        while (log_has_room_locked(&our_log, log_record_len(3000)))
                (void)commit_and_wait(3000);
        assert_int_equal(log_segments_limit(stand_table()), 2 * STAND_SEGMENT);
        assert_true(log_wants_segment(&our_log));
        assert_int_equal(log_make_room(&our_log, ME, log_record_len(3000)), 0);
        assert_int_equal(log_segments_limit(stand_table()), 3 * STAND_SEGMENT);
        assert_false(log_wants_segment(&our_log));
        (void)commit_and_wait(3000);
        walk();
}

static void test_pushed_bytes_are_synced_by_the_next_wait(void **state)
{
        (void)state;
        syncs = 0;
        sys_fail = count_syncs;
        struct commit pushed = stage(100);
        assert_int_equal(log_push(&our_log, ME), 0);
        assert_int_equal(log_push(&our_log, ME), 0); /* nothing to do any more */
        assert_true(commit_is_written(&pushed));
        assert_int_equal(syncs, 0);
        assert_int_equal(atomic_load(&arena->marked), 0);
        assert_int_equal(log_durable(&our_log), STAND_SEGMENT);
        assert_int_equal(log_wait(&our_log, ME, pushed.end), 0); /* nothing to write: only a sync */
        assert_int_equal(syncs, 1);
        assert_int_equal(log_end(&our_log), STAND_SEGMENT + LOG_BLOCK);
        assert_int_equal(atomic_load(&arena->marked), 1);

        pushed = stage(100);
        assert_int_equal(log_push(&our_log, ME), 0);
        struct commit waited = stage(100);
        assert_int_equal(log_wait(&our_log, ME, waited.end), 0);
        assert_int_equal(syncs, 2);
        assert_int_equal(walk(), 3);
}

/* R6: what a dead committer left behind `end` never reaches the disk. */
static void test_undecided_bytes_are_not_written(void **state)
{
        unsigned char payload[500], block[LOG_BLOCK];
        const size_t some = 16; /* a single byte may be one of a time or a checksum */
        struct log_record undecided = { .kind = LOG_COMMIT, .payload_len = sizeof(payload), .sequence = 99 };

        (void)state;
        memset(payload, 0xee, sizeof(payload));
        struct commit commit = stage(40);
        (void)log_stage_locked(&our_log, &undecided, payload); /* and no more */
        assert_int_equal(log_wait(&our_log, ME, commit.end), 0);
        assert_true(stand_read(STAND_SEGMENT, block, sizeof(block)));
        assert_null(memmem(block, sizeof(block), payload, some));
        assert_int_equal(walk(), 1);
}

/* R11: a record states how much was durable when it was staged, a pad when its group was closed. */
static void test_records_state_what_is_durable(void **state)
{
        unsigned char payload[64];
        struct log_record record = { 0 };

        (void)state;
        struct commit first = commit_and_wait(32);
        struct commit second = commit_and_wait(32);
        assert_true(stand_read_record(first.position, &record, payload, sizeof(payload)));
        assert_int_equal(record.durable, STAND_SEGMENT);
        assert_true(stand_read_record(second.position, &record, payload, sizeof(payload)));
        assert_int_equal(record.durable, second.position);
        assert_true(stand_read_record(second.end, &record, payload, sizeof(payload)));
        assert_int_equal(record.kind, LOG_PAD);
        assert_int_equal(record.durable, second.position);
}

static void test_the_log_goes_on_after_it_was_loaded(void **state)
{
        (void)state;
        for (int i = 0; i < 30; i++)
                (void)commit_and_wait(5000);
        uint64_t end = log_end(&our_log);
        log_close(&our_log);
        assert_int_equal(stand_load(STAND_SEGMENT, end), 0); /* as after a crash */
        stand_open(&our_log);
        for (int i = 0; i < 30; i++)
                (void)commit_and_wait(5000);
        assert_int_equal(walk(), 60);
}

/* ---- Many ---- */

enum { CROWD = 8, EACH = 120 };

static const char *wrong; /* of a child: why it exits with 1 */

/* Commits, waits, and looks into the files; now and then it does not wait. */
static bool commit_often(struct log *log, uint32_t owner, int commits)
{
        struct commit commit;

        for (int i = 0; i < commits; i++) {
                uint32_t payload_len = (uint32_t)((i * 37 + (int)owner * 211) % (i % 16 ? 300 : 9000));

                if (commit_stage(log, owner, payload_len, &commit))
                        return wrong = "stage", false;
                if (i % 5 == 4 && log_push(log, owner))
                        return wrong = "push", false;
                if (i % 5 == 4)
                        continue;
                if (log_wait(log, owner, commit.end))
                        return wrong = "wait", false;
                if (log_durable(log) < commit.end)
                        return wrong = "durable", false;
                if (!commit_is_written(&commit))
                        return wrong = "written", false;
        }
        return true;
}

static void *crowd_thread(void *owner)
{
        return commit_often(&our_log, (uint32_t)(uintptr_t)owner, EACH) ? NULL : &wrong;
}

static int crowd_process(void *owner)
{
        struct log log;

        stand_open(&log);
        leeway_alarm(50);
        return commit_often(&log, (uint32_t)(uintptr_t)owner, EACH) ? 0 : 1;
}

static void test_threads_and_processes_at_once(void **state)
{
        pthread_t thread[CROWD / 2];
        pid_t child[CROWD / 2];

        (void)state;
        for (uintptr_t i = 0; i < CROWD / 2; i++)
                child[i] = scratch_fork(crowd_process, (void *)(i + 1));
        for (uintptr_t i = 0; i < CROWD / 2; i++)
                assert_int_equal(pthread_create(&thread[i], NULL, crowd_thread, (void *)(i + 1 + CROWD / 2)), 0);
        for (int i = 0; i < CROWD / 2; i++) {
                void *failed;

                pthread_join(thread[i], &failed);
                assert_null(failed);
                scratch_expect_exit(child[i], 0);
        }
        expect_all(CROWD * EACH);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_a_record_is_on_disk_when_wait_returns, setup, teardown),
                cmocka_unit_test_setup_teardown(test_one_write_covers_all_that_is_staged, setup, teardown),
                cmocka_unit_test_setup_teardown(test_nothing_to_write_costs_no_call, setup, teardown),
                cmocka_unit_test_setup_teardown(test_a_commit_alone_is_one_call, setup, teardown),
                cmocka_unit_test_setup_teardown(test_the_time_of_a_write_is_followed, setup, teardown),
                cmocka_unit_test_setup_teardown(test_ring_and_segments_wrap_anywhere, setup_in_memory, teardown),
                cmocka_unit_test_setup_teardown(test_the_ring_gets_memory_as_it_is_used, setup_in_memory, teardown),
                cmocka_unit_test_setup_teardown(test_a_pad_always_has_room, setup, teardown),
                cmocka_unit_test_setup_teardown(test_room_is_counted_exactly, setup, teardown),
                cmocka_unit_test_setup_teardown(test_room_is_made_by_adding_segments, setup, teardown),
                cmocka_unit_test_setup_teardown(test_pushed_bytes_are_synced_by_the_next_wait, setup, teardown),
                cmocka_unit_test_setup_teardown(test_undecided_bytes_are_not_written, setup, teardown),
                cmocka_unit_test_setup_teardown(test_records_state_what_is_durable, setup, teardown),
                cmocka_unit_test_setup_teardown(test_the_log_goes_on_after_it_was_loaded, setup, teardown),
                cmocka_unit_test_setup_teardown(test_threads_and_processes_at_once, setup, teardown),
                cmocka_unit_test_setup_teardown(test_threads_and_processes_at_once, setup_in_memory, teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
