/* SPDX-License-Identifier: MIT */
#include "libxac/participant.h"

/* Rows, and what the active snapshots are. */

#include "tests/unit/engine.h"

#include <pthread.h>

#include <xac/xac.h>

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

static void test_rows_are_taken_once_and_come_back(void **state)
{
        enum { ROWS = 64 };
        static struct participant more[ROWS];
        bool is_taken[ROWS] = {false};
        uint32_t count = 0, freed;

        (void)state;
        for (int i = 0; i < ENGINE_PARTICIPANTS; i++)
                is_taken[engine->participant[i].row_no] = true;
        for (int err; (err = participant_join(&more[count], &engine->shared)) != XAC_BUSY; count++) {
                assert_int_equal(err, 0);
                assert_true(more[count].row_no < ROWS);
                assert_false(is_taken[more[count].row_no]);
                assert_int_equal(more[count].owner, control_owner_of_row(more[count].row_no));
                is_taken[more[count].row_no] = true;
        }
        assert_int_equal(count, ROWS - ENGINE_PARTICIPANTS);

        freed = more[10].row_no;
        participant_begin(&more[10]);
        atomic_store(&more[10].row->commits, 5);
        participant_leave(&more[10]);
        assert_int_equal(atomic_load(&engine->shared.control->past_commits), 5);
        assert_int_equal(participant_join(&more[10], &engine->shared), 0);
        assert_int_equal(more[10].row_no, freed);
        assert_int_equal(atomic_load(&more[10].row->snapshot), 0);
        assert_int_equal(atomic_load(&more[10].row->commits), 0);
        for (uint32_t i = 0; i < count; i++)
                participant_leave(&more[i]);
}

static void test_join_without_memory(void **state)
{
        struct participant more;
        uint32_t rows_used = atomic_load(&engine->shared.control->rows_used);

        (void)state;
        scratch_fail(1, -ENOSPC, 1); /* the ring's memory */
        assert_int_equal(participant_join(&more, &engine->shared), -ENOSPC);
        assert_true(scratch_failed());
        assert_int_equal(shlock_owner(&engine->shared.control->participant_lock), 0);
        assert_int_equal(atomic_load(&engine->shared.control->rows_used), rows_used);
        assert_int_equal(participant_join(&more, &engine->shared), 0);
        participant_leave(&more);
}

static void test_active_snapshots(void **state)
{
        struct participant *self = &engine->participant[5];
        struct snapshots *seen = self->seen;
        uint64_t begin = atomic_load(&engine->shared.control->sequence);

        (void)state;
        snapshots_read(seen, &engine->shared);
        assert_int_equal(seen->count, 0);
        assert_int_equal(seen->oldest, begin);

        assert_int_equal(engine_begin(engine, 0), begin);
        engine_put(engine, 4, 1, 1);
        engine_put(engine, 4, 1, 2);
        assert_int_equal(engine_begin(engine, 1), begin + 2);
        assert_int_equal(engine_begin(engine, 2), begin + 2);
        engine_put(engine, 4, 1, 3);
        snapshots_read(seen, &engine->shared);
        assert_int_equal(seen->count, 3);
        assert_int_equal(seen->ceiling, begin + 3);
        assert_int_equal(seen->oldest, begin);
        assert_int_equal(snapshots_find_in(seen, 0, UINT64_MAX), begin);
        assert_int_equal(snapshots_find_in(seen, begin, begin + 1), begin);
        assert_int_equal(snapshots_find_in(seen, begin + 1, begin + 2), 0);
        assert_int_equal(snapshots_find_in(seen, begin + 1, begin + 3), begin + 2);
        assert_int_equal(snapshots_find_in(seen, begin + 3, UINT64_MAX), 0);

        participant_end(&engine->participant[0]);
        snapshots_read(seen, &engine->shared);
        assert_int_equal(seen->oldest, begin + 2);
        participant_end(&engine->participant[1]);
        participant_end(&engine->participant[2]);
}

/* R14: needed by a snapshot that sees the version and began no later than the flip. */
static void test_who_needs_a_displaced_slot(void **state)
{
        struct snapshots *seen = engine->participant[5].seen;
        struct control *control = engine->shared.control;
        uint64_t epoch = atomic_load(&control->flip_epoch);
        uint64_t snapshot = engine_begin(engine, 0);

        (void)state;
        snapshots_read(seen, &engine->shared);
        assert_true(snapshots_need_displaced(seen, snapshot, epoch));
        assert_true(snapshots_need_displaced(seen, snapshot - 1, epoch + 1));
        assert_false(snapshots_need_displaced(seen, snapshot + 1, epoch));
        assert_false(snapshots_need_displaced(seen, snapshot, epoch - 1));
        atomic_fetch_add(&control->flip_epoch, 1);
        engine_begin(engine, 1);
        participant_end(&engine->participant[0]);
        snapshots_read(seen, &engine->shared);
        assert_false(snapshots_need_displaced(seen, snapshot, epoch));
        assert_true(snapshots_need_displaced(seen, snapshot, epoch + 1));
        participant_end(&engine->participant[1]);
}

/* ---- R1 under load ---- */

static _Atomic bool is_over;
static _Atomic uint64_t phase; /* odd: `in_use` is certainly published */
static _Atomic uint64_t in_use;

static void *begin_and_end(void *arg)
{
        struct participant *self = arg;

        while (!atomic_load(&is_over)) {
                atomic_store(&in_use, participant_begin(self));
                atomic_fetch_add(&phase, 1);
                for (int i = 0; i < 20; i++)
                        atomic_thread_fence(memory_order_seq_cst);
                atomic_fetch_add(&phase, 1);
                participant_end(self);
        }
        return NULL;
}

static void *raise_sequence(void *arg)
{
        struct control *control = arg;

        while (!atomic_load(&is_over))
                atomic_fetch_add(&control->sequence, 1);
        return NULL;
}

/* The snapshot in use in some phase from now on. */
static uint64_t next_in_use(void)
{
        for (;;) {
                uint64_t before = atomic_load(&phase);
                uint64_t snapshot = atomic_load(&in_use);

                if (before % 2 && atomic_load(&phase) == before)
                        return snapshot;
        }
}

/* A look at the rows finds the active snapshot; and if it found none, whoever was about to
 * begin does not come out with an older one than the look's ceiling. */
static void look_once(uint64_t *found, uint64_t *absent)
{
        struct snapshots *seen = engine->participant[5].seen;
        uint64_t before = atomic_load(&phase);
        uint64_t snapshot = atomic_load(&in_use);

        snapshots_read(seen, &engine->shared);
        if (before % 2 && atomic_load(&phase) == before) { /* active all the time */
                ++*found;
                assert_int_equal(snapshots_find_in(seen, snapshot, snapshot + 1), snapshot);
                assert_true(seen->oldest <= snapshot);
        } else if (seen->count == 0) {
                ++*absent;
                assert_true(next_in_use() >= seen->ceiling);
        }
}

static void test_no_snapshot_is_overlooked(void **state)
{
        const uint64_t begin_ns = sys_monotonic_ns();
        const uint64_t patience_ns = 20 * UINT64_C(1000000000); /* for a machine that is busy */
        uint64_t found = 0, absent = 0, spent_ns;
        pthread_t beginner, writer;

        (void)state;
        atomic_store(&is_over, false);
        pthread_create(&beginner, NULL, begin_and_end, &engine->participant[0]);
        pthread_create(&writer, NULL, raise_sequence, engine->shared.control);
        do {
                look_once(&found, &absent);
                spent_ns = sys_monotonic_ns() - begin_ns;
        } while (spent_ns < patience_ns / 40 || ((!found || !absent) && spent_ns < patience_ns));
        atomic_store(&is_over, true);
        pthread_join(beginner, NULL);
        pthread_join(writer, NULL);
        assert_true(found && absent);
}

#define PARTICIPANT_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
        const struct CMUnitTest tests[] = {
            PARTICIPANT_TEST(test_rows_are_taken_once_and_come_back),
            PARTICIPANT_TEST(test_join_without_memory),
            PARTICIPANT_TEST(test_active_snapshots),
            PARTICIPANT_TEST(test_who_needs_a_displaced_slot),
            PARTICIPANT_TEST(test_no_snapshot_is_overlooked),
        };

        return cmocka_run_group_tests_name("libxac/participant", tests, NULL, NULL);
}
