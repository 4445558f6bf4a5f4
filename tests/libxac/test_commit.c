/* SPDX-License-Identifier: MIT */
#include "libxac/txn/commit.h"

/*
 * Conflict and commit: what counts as a conflict, which commits take effect, who waits for an
 * exclusive participant, and what a commit does for the pool and for the dead afterwards.
 */

#include "tests/libxac/stage.h"

#include <time.h>

#include "libxac/store/exclusion.h"
#include "libxac/txn/conflict.h"

enum { POOL_SLOTS = 64 };

static struct stage *stage;
static struct txn *txn;
static struct view *view;

static int setup_with(uint32_t pool_slots)
{
        stage = stage_start(pool_slots, 0);
        txn = &stage->txn[0];
        view = stage_map(stage, 0);
        return 0;
}

static int setup(void **state)
{
        (void)state;
        return setup_with(1024);
}

static int setup_small(void **state)
{
        (void)state;
        return setup_with(POOL_SLOTS);
}

static int teardown(void **state)
{
        (void)state;
        stage_stop(stage);
        return 0;
}

static uint64_t sequence_now(void)
{
        return atomic_load(&stage->engine->shared.control->sequence);
}

static uint64_t committed(uint64_t page_no)
{
        return stage_committed(stage, page_no);
}

static uint64_t *word_of(struct txn *of, uint64_t page_no)
{
        return stage_word(of->views->by_file[stage->engine->file_no], page_no);
}

/* Declared access: the exact sets, no mapping. */
static uint64_t get(struct txn *of, uint64_t page_no)
{
        return *(const uint64_t *)touch_page_read(of, word_of(of, page_no));
}

static void put(struct txn *of, uint64_t page_no, uint64_t value)
{
        *(uint64_t *)touch_page_write(of, word_of(of, page_no)) = value;
}

/* ---- conflict_find ---- */

static struct conflict find(bool writes_only)
{
        return conflict_find(txn, writes_only, txn->pages.snapshot, sequence_now());
}

static void test_nobody_committed(void **state)
{
        (void)state;
        assert_int_equal(txn_begin(txn, 0), 0);
        get(txn, 3);
        put(txn, 4, 1);
        stage_load(txn, view, 50);
        assert_false(find(false).is_lost);
        stage_other_puts(stage, 100, 1); /* elsewhere */
        assert_false(find(false).is_lost);
}

static void test_a_page_of_the_exact_set_is_lost_for_certain(void **state)
{
        (void)state;
        assert_int_equal(txn_begin(txn, 0), 0);
        get(txn, 3);
        put(txn, 4, 1);
        stage_load(txn, view, 3);
        stage_other_puts(stage, 3, 1);
        assert_true(find(false).is_lost);
        assert_false(find(false).is_coarse);
        assert_false(find(true).is_lost); /* snapshot isolation does not look at reads */
        stage_other_puts(stage, 4, 1);
        assert_true(find(true).is_lost);
        assert_false(find(true).is_coarse);
}

static void test_a_page_of_m_is_lost_perhaps(void **state)
{
        (void)state;
        assert_int_equal(txn_begin(txn, 0), 0);
        stage_load(txn, view, 3);
        stage_other_puts(stage, 4, 1);
        assert_true(find(false).is_lost);
        assert_true(find(false).is_coarse);
        assert_false(find(true).is_lost);
}

/* Also what the transaction only wrote: it wrote upon the older version. */
static void test_a_blind_write_depends_on_the_page(void **state)
{
        (void)state;
        assert_int_equal(txn_begin(txn, 0), 0);
        put(txn, 4, 1);
        stage_other_puts(stage, 4, 2);
        assert_true(find(false).is_lost);
}

/* ---- commit_written ---- */

static void test_a_commit_that_wrote_nothing_takes_nothing(void **state)
{
        uint64_t before;

        (void)state;
        assert_int_equal(txn_begin(txn, 0), 0);
        get(txn, 3);
        stage_load(txn, view, 50);
        stage_other_puts(stage, 3, 1);
        stage_other_puts(stage, 50, 1);
        before = sequence_now();
        assert_int_equal(publish_lock(&stage->engine->shared, stage->engine->participant[4].owner), 0);
        assert_int_equal(txn_end(txn), 0); /* as of its snapshot, and without the lock */
        publish_unlock(&stage->engine->shared);
        assert_int_equal(sequence_now(), before);
        assert_int_equal(atomic_load(&txn->self->row->commits), 1);
}

static void test_writes_undone_by_an_inner_abort_do_not_count(void **state)
{
        uint64_t before = sequence_now();

        (void)state;
        assert_int_equal(txn_begin(txn, 0), 0);
        assert_int_equal(txn_begin(txn, 0), 0);
        put(txn, 3, 1);
        stage_store(txn, view, 4, 1);
        assert_int_equal(txn_abort(txn), 0);
        assert_int_equal(txn_end(txn), 0);
        assert_int_equal(sequence_now(), before);
        assert_int_equal(txn_begin(txn, 0), 0);
        put(txn, 3, 1);
        assert_int_equal(txn_end(txn), 0);
        assert_int_equal(sequence_now(), before + 1);
}

static void read_one_write_the_other(int flags, int expected)
{
        struct txn *second = &stage->txn[1];

        stage_map(stage, 1);
        assert_int_equal(txn_begin(txn, flags), 0);
        assert_int_equal(txn_begin(second, flags), 0);
        put(txn, 40, 1 + get(txn, 3));
        put(second, 3, 1 + get(second, 40));
        assert_int_equal(txn_end(txn), 0);
        assert_int_equal(txn_end(second), expected);
        assert_int_equal(committed(40), 1);
        assert_int_equal(committed(3), expected ? 0 : 1);
}

static void test_write_skew_is_a_conflict(void **state)
{
        (void)state;
        read_one_write_the_other(0, XAC_CONFLICT);
}

static void test_snapshot_isolation_allows_write_skew(void **state)
{
        (void)state;
        read_one_write_the_other(XAC_SNAPSHOT_ISOLATION, 0);
}

static void test_snapshot_isolation_loses_no_update(void **state)
{
        (void)state;
        assert_int_equal(txn_begin(txn, XAC_SNAPSHOT_ISOLATION), 0);
        put(txn, 3, 1 + get(txn, 3));
        stage_other_puts(stage, 3, 10);
        assert_int_equal(txn_end(txn), XAC_CONFLICT);
        assert_int_equal(committed(3), 10);
        assert_int_equal(atomic_load(&txn->self->row->conflicts), 1);
}

static int refuse_memory(enum sys_call call, int fd, uint64_t offset, size_t byte_len)
{
        (void)fd, (void)offset, (void)byte_len;
        return call == SYS_MMAP || call == SYS_MPROTECT ? -ENOMEM : 0;
}

/* I1: pages that others might see change are not published. */
static void test_pages_that_cannot_be_protected_are_not_published(void **state)
{
        uint64_t before = sequence_now();

        (void)state;
        assert_int_equal(txn_begin(txn, 0), 0);
        stage_store(txn, view, 3, 33);
        stage_store(txn, view, 50, 50);
        sys_fail = refuse_memory;
        assert_int_equal(txn_end(txn), -ENOMEM);
        sys_fail = NULL;
        assert_int_equal(sequence_now(), before);
        assert_int_equal(committed(3), 0);
        assert_int_equal(txn_begin(txn, 0), 0);
        stage_audit(stage, txn, view);
        assert_int_equal(stage_load(txn, view, 3), 0);
        stage_store(txn, view, 3, 34);
        assert_int_equal(txn_end(txn), 0);
        assert_int_equal(committed(3), 34);
        engine_assert_nothing_leaked(stage->engine);
}

/* ---- One at a time ---- */

static _Atomic int commit_result;

static void *commit_in_thread(void *unused)
{
        (void)unused;
        commit_result = txn_end(txn);
        return NULL;
}

static void sleep_ms(long ms)
{
        const struct timespec time = { .tv_nsec = ms * 1000000 };

        nanosleep(&time, NULL);
}

/* Starts the commit, which must still wait after a while. */
static pthread_t start_commit(void)
{
        pthread_t thread;

        commit_result = 1;
        assert_int_equal(pthread_create(&thread, NULL, commit_in_thread, NULL), 0);
        sleep_ms(30);
        assert_int_equal(commit_result, 1);
        return thread;
}

static void test_others_wait_for_the_exclusive_one(void **state)
{
        struct participant *other = &stage->engine->participant[STAGE_OTHER];
        pthread_t thread;

        (void)state;
        assert_int_equal(exclusion_begin(other), 0);
        assert_int_equal(txn_begin(txn, 0), 0);
        put(txn, 3, 1);
        thread = start_commit();
        assert_int_equal(committed(3), 0);
        exclusion_end(other);
        pthread_join(thread, NULL);
        assert_int_equal(commit_result, 0);
        assert_int_equal(committed(3), 1);
}

/* It was found free of conflicts before it waited. */
static void test_what_came_while_it_waited_is_looked_at(void **state)
{
        struct participant *other = &stage->engine->participant[STAGE_OTHER];
        pthread_t thread;

        (void)state;
        assert_int_equal(exclusion_begin(other), 0);
        assert_int_equal(txn_begin(txn, 0), 0);
        put(txn, 3, 1 + get(txn, 40));
        thread = start_commit();
        stage_other_puts(stage, 40, 7);
        exclusion_end(other);
        pthread_join(thread, NULL);
        assert_int_equal(commit_result, XAC_CONFLICT);
        assert_int_equal(committed(3), 0);
}

static void test_the_exclusive_one_commits_itself(void **state)
{
        (void)state;
        assert_int_equal(exclusion_begin(txn->self), 0);
        assert_int_equal(txn_begin(txn, 0), 0);
        put(txn, 3, 1);
        assert_int_equal(txn_end(txn), 0);
        exclusion_end(txn->self);
        assert_int_equal(atomic_load(&stage->engine->shared.control->exclusive), 0);
}

/* A row of a process that does not hold its byte of the lock file. */
static struct row *kill_participant(int who)
{
        enum { DEAD_PROCESS = 9 };
        struct participant *dead = &stage->engine->participant[who];
        struct row *row = dead->row;

        atomic_store(&stage->engine->shared.processes[DEAD_PROCESS].is_used, 1);
        atomic_store(&row->process_no, DEAD_PROCESS);
        dead->row = NULL; /* engine_stop does not leave for it */
        free(dead->seen);
        return row;
}

static void test_nobody_waits_for_a_dead_one(void **state)
{
        (void)state;
        assert_int_equal(exclusion_begin(&stage->engine->participant[4]), 0);
        kill_participant(4);
        assert_int_equal(txn_begin(txn, 0), 0);
        put(txn, 3, 1);
        assert_int_equal(txn_end(txn), 0);
        assert_int_equal(committed(3), 1);
        assert_int_equal(atomic_load(&stage->engine->shared.control->exclusive), 0);
}

static int refuse_mmap(enum sys_call call, int fd, uint64_t offset, size_t byte_len)
{
        (void)fd, (void)offset, (void)byte_len;
        return call == SYS_MMAP ? -ENOMEM : 0;
}

/* Somebody died with the lock and a commit that was decided. Whoever inherits must finish it first,
 * and without address space leaves it to the next one: a code, and nobody's commit is lost. */
static void test_a_commit_that_cannot_finish_a_dead_ones_fails(void **state)
{
        struct shared *shared = &stage->engine->shared;
        const uint32_t file_no = stage->engine->file_no;
        _Atomic uint64_t *heads;
        uint64_t before;

        (void)state;
        engine_begin(stage->engine, 4);
        assert_int_equal(engine_store(stage->engine, 4, 70, 1, 7), 0);
        txn_pages_intend(&stage->engine->pages[4]);
        assert_int_equal(txn_begin(txn, 0), 0);
        put(txn, 3, 3);
        before = sequence_now();
        assert_int_equal(publish_lock(shared, stage->engine->participant[4].owner), 0);
        atomic_store(&shared->control->committer, stage->engine->participant[4].row_no);
        atomic_store(&shared->control->decided, before + 1);
        kill_participant(4);

        heads = shared->heads[file_no];
        shared->heads[file_no] = NULL; /* a process that has not mapped them yet */
        sys_fail = refuse_mmap;
        assert_int_equal(txn_end(txn), -ENOMEM);
        assert_int_equal(exclusion_begin(txn->self), -ENOMEM);
        sys_fail = NULL;
        shared->heads[file_no] = heads;
        assert_int_equal(sequence_now(), before);

        assert_int_equal(txn_begin(txn, 0), 0);
        put(txn, 3, 4);
        assert_int_equal(txn_end(txn), 0);
        assert_int_equal(sequence_now(), before + 2);
        assert_int_equal(committed(70), 7);
        assert_int_equal(committed(3), 4);
}

/* ---- After a commit ---- */

static void test_commits_take_back_what_the_dead_hold(void **state)
{
        struct row *row;

        (void)state;
        engine_begin(stage->engine, 4);
        assert_int_equal(engine_store(stage->engine, 4, 70, 1, 1), 0);
        row = kill_participant(4);
        /* They look now and then, by the clock. */
        for (int i = 0; i < 3000000 && atomic_load(&row->state) == ROW_USED; i++) {
                assert_int_equal(txn_begin(txn, 0), 0);
                put(txn, 3, (uint64_t)i);
                assert_int_equal(txn_end(txn), 0);
        }
        assert_int_equal(atomic_load(&row->state), ROW_FREE);
        assert_int_equal(atomic_load(&row->snapshot), 0);
        engine_assert_nothing_leaked(stage->engine);
}

static void test_pages_go_home_before_the_pool_is_full(void **state)
{
        (void)state;
        for (uint64_t i = 0; i < 10 * POOL_SLOTS; i++) {
                assert_int_equal(txn_begin(txn, 0), 0);
                put(txn, i, i + 1);
                assert_int_equal(txn_end(txn), 0);
                assert_true(engine_pages_in_pool(stage->engine) < POOL_SLOTS);
        }
        assert_int_equal(txn_begin(txn, 0), 0);
        for (uint64_t i = 0; i < 10 * POOL_SLOTS; i++)
                assert_int_equal(get(txn, i), i + 1);
        assert_int_equal(txn_end(txn), 0);
        engine_assert_nothing_leaked(stage->engine);
}

#define COMMIT_TEST(name)       cmocka_unit_test_setup_teardown(name, setup, teardown)
#define COMMIT_TEST_SMALL(name) cmocka_unit_test_setup_teardown(name, setup_small, teardown)

int main(void)
{
        const struct CMUnitTest tests[] = {
                COMMIT_TEST(test_nobody_committed),
                COMMIT_TEST(test_a_page_of_the_exact_set_is_lost_for_certain),
                COMMIT_TEST(test_a_page_of_m_is_lost_perhaps),
                COMMIT_TEST(test_a_blind_write_depends_on_the_page),
                COMMIT_TEST(test_a_commit_that_wrote_nothing_takes_nothing),
                COMMIT_TEST(test_writes_undone_by_an_inner_abort_do_not_count),
                COMMIT_TEST(test_write_skew_is_a_conflict),
                COMMIT_TEST(test_snapshot_isolation_allows_write_skew),
                COMMIT_TEST(test_snapshot_isolation_loses_no_update),
                COMMIT_TEST(test_pages_that_cannot_be_protected_are_not_published),
                COMMIT_TEST(test_others_wait_for_the_exclusive_one),
                COMMIT_TEST(test_what_came_while_it_waited_is_looked_at),
                COMMIT_TEST(test_the_exclusive_one_commits_itself),
                COMMIT_TEST(test_nobody_waits_for_a_dead_one),
                COMMIT_TEST(test_a_commit_that_cannot_finish_a_dead_ones_fails),
                COMMIT_TEST(test_commits_take_back_what_the_dead_hold),
                COMMIT_TEST_SMALL(test_pages_go_home_before_the_pool_is_full),
        };

        return cmocka_run_group_tests_name("libxac/commit", tests, NULL, NULL);
}
