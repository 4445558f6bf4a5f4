/* SPDX-License-Identifier: MIT */
#include "libxac/takeover.h"

/*
 * What a dead process leaves is taken back as a whole. The dead process is played by a row of
 * the process table whose byte of the lock file nobody holds (R16).
 */

#include "tests/unit/engine.h"

enum { PAGES = 10, DEAD = 2, HEIR = 1, DEAD_PROCESS = 40 };

static struct engine *engine;

static int setup(void **state)
{
        (void)state;
        engine = engine_start(512);
        return 0;
}

static int teardown(void **state)
{
        (void)state;
        engine_stop(engine);
        return 0;
}

static struct row *dead_row(void)
{
        return &engine->shared.rows[engine->participant[DEAD].row_no];
}

static void die(void)
{
        atomic_store(&engine->shared.processes[DEAD_PROCESS].is_used, 1);
        atomic_store(&dead_row()->process_no, DEAD_PROCESS);
}

/* Afterwards the dead participant's own half is void. */
static void take_over(void)
{
        takeover_dead(&engine->shared, engine->participant[HEIR].owner);
        assert_int_equal(atomic_load(&engine->shared.processes[DEAD_PROCESS].is_used), 0);
        assert_int_equal(atomic_load(&dead_row()->state), ROW_FREE);
        free(engine->participant[DEAD].seen);
        engine->participant[DEAD].row = NULL;
}

static void assert_locks_are_free(void)
{
        struct control *control = engine->shared.control;

        assert_int_equal(shlock_owner(&control->commit_lock), 0);
        assert_int_equal(shlock_owner(&control->pool_lock), 0);
        assert_int_equal(shlock_owner(&control->participant_lock), 0);
        assert_int_equal(shlock_owner(&control->file_lock), 0);
        assert_int_equal(shlock_owner(&control->checkpoint_lock), 0);
}

static void test_the_living_are_left_alone(void **state)
{
        uint64_t snapshot = engine_begin(engine, DEAD);

        (void)state;
        assert_int_equal(engine_store(engine, DEAD, 3, 1, 5), 0);
        takeover_dead(&engine->shared, engine->participant[HEIR].owner);
        assert_int_equal(atomic_load(&dead_row()->state), ROW_USED);
        assert_int_equal(atomic_load(&dead_row()->snapshot), snapshot);
        assert_int_equal(engine_commit(engine, DEAD), snapshot + 1);
        assert_int_equal(engine_visible(engine, 3, snapshot + 1), 5);
}

static void test_a_transaction_of_the_dead_leaves_nothing(void **state)
{
        uint64_t sequence;

        (void)state;
        for (uint64_t page_no = 0; page_no < PAGES; page_no++)
                engine_put(engine, DEAD, page_no, 1);
        for (uint64_t page_no = 0; page_no < PAGES; page_no++)
                engine_put(engine, DEAD, page_no, 2);
        sequence = engine_begin(engine, DEAD);
        for (uint64_t page_no = 0; page_no < 2 * PAGES; page_no++)
                assert_int_equal(engine_store(engine, DEAD, page_no, 1, 3), 0);
        atomic_store(&dead_row()->commits, 20);
        atomic_store(&dead_row()->view_count, 2);
        atomic_store(&engine->shared.control->view_count, 2);
        atomic_store(&engine->shared.control->exclusive_owner, engine->participant[DEAD].owner);
        die();
        take_over();
        assert_int_equal(atomic_load(&dead_row()->snapshot), 0);
        assert_int_equal(atomic_load(&engine->shared.control->sequence), sequence);
        assert_int_equal(atomic_load(&engine->shared.control->past_commits), 20);
        assert_int_equal(atomic_load(&engine->shared.control->view_count), 0);
        assert_int_equal(atomic_load(&engine->shared.control->exclusive_owner), 0);
        assert_locks_are_free();
        engine_assert_nothing_leaked(engine);
        for (uint64_t page_no = 0; page_no < PAGES; page_no++)
                assert_int_equal(engine_visible(engine, page_no, sequence), 2);
        engine_put(engine, HEIR, 0, 9);
}

static struct shlock *lock_number(int i)
{
        struct control *control = engine->shared.control;
        struct shlock *locks[] = {&control->commit_lock, &control->pool_lock, &control->checkpoint_lock,
                                  &control->participant_lock, &control->file_lock};

        return locks[i];
}

/* Else the next bearer of the number could never take it. */
static void test_every_lock_of_the_dead_comes_free(void **state)
{
        (void)state;
        for (int i = 0; i < 5; i++) {
                bool is_of_process = i >= 3;

                teardown(NULL);
                setup(NULL);
                assert_int_equal(shlock_try(lock_number(i), is_of_process
                                                                ? control_owner_of_process(DEAD_PROCESS)
                                                                : engine->participant[DEAD].owner), 0);
                die();
                take_over();
                assert_locks_are_free();
                engine_put(engine, HEIR, 0, 9);
                engine_assert_nothing_leaked(engine);
        }
}

/* The flip of one page was done, that of the next only announced. */
static void test_flips_of_the_dead_are_settled(void **state)
{
        struct shared *shared = &engine->shared;
        uint64_t epoch = atomic_load(&shared->control->flip_epoch);
        uint32_t slot[2];

        (void)state;
        for (uint64_t page_no = 0; page_no < 2; page_no++) {
                uint64_t word;

                engine_put(engine, 0, page_no, 50 + page_no);
                word = version_newest(shared, engine_page(engine, page_no));
                slot[page_no] = version_slot(word);
                assert_int_equal(sys_write_all(engine->files.file[engine->file_no].fd,
                                               shared_slot_bytes(shared, slot[page_no]), ENGINE_PAGE_BYTES,
                                               page_no * ENGINE_PAGE_BYTES), 0);
                assert_int_equal(publish_lock(shared, engine->participant[DEAD].owner), 0);
                atomic_store(&shared->slots[slot[page_no]].home_epoch, epoch);
                if (page_no == 0)
                        atomic_store(version_head(shared, engine_page(engine, page_no)), word & ~SLOT_MASK);
                if (page_no == 0)
                        publish_unlock(shared);
        }
        die();
        take_over();
        assert_true(atomic_load(&shared->control->flip_epoch) > epoch);
        assert_locks_are_free();
        engine_assert_nothing_leaked(engine);
        assert_int_equal(slot_state(&shared->slots[slot[0]]), SLOT_FREE);
        assert_int_equal(slot_state(&shared->slots[slot[1]]), SLOT_PUBLISHED);
        for (uint64_t page_no = 0; page_no < 2; page_no++)
                assert_int_equal(engine_visible(engine, page_no, atomic_load(&shared->control->sequence)),
                                 50 + page_no);
}

#define TAKEOVER_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
        const struct CMUnitTest tests[] = {
            TAKEOVER_TEST(test_the_living_are_left_alone),
            TAKEOVER_TEST(test_a_transaction_of_the_dead_leaves_nothing),
            TAKEOVER_TEST(test_every_lock_of_the_dead_comes_free),
            TAKEOVER_TEST(test_flips_of_the_dead_are_settled),
        };

        return cmocka_run_group_tests_name("libxac/takeover", tests, NULL, NULL);
}
