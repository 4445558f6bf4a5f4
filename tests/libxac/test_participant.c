/* SPDX-License-Identifier: MIT */
#include "libxac/ground/participant.h"

/* Rows, and what the active snapshots are. */

#include "tests/libxac/engine_stand.h"

#include <xac/xac.h>

#include "tests/base/step.h"

static void test_rows_are_taken_once_and_come_back(void **state)
{
        enum { ROWS = 64 };
        static struct participant more[ROWS];
        bool is_taken[ROWS] = { false };
        uint32_t count = 0, freed;

        (void)state;
        for (int i = 0; i < ENGINE_PARTICIPANTS; i++)
                is_taken[engine->participant[i].row_no] = true;
        for (int err; (err = participant_join(&more[count], &engine->shared)) != XAC_LIMIT; count++) {
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

/* ---- R1 at every instruction ---- */

static uint64_t floor_of_snapshots;

/* Another one commits and then looks at the rows: whoever it did not see must not come out with
 * a snapshot below the look's ceiling. */
static void commit_and_look(void)
{
        struct snapshots *seen = engine->participant[5].seen;

        atomic_fetch_add(&engine->shared.control->sequence, 1);
        snapshots_read(seen, &engine->shared);
        floor_of_snapshots = seen->count ? 0 : seen->ceiling;
}

static uint64_t begun;

static void begin_transaction(void *self)
{
        begun = participant_begin(self);
}

static void test_no_snapshot_is_overlooked(void **state)
{
        int looks = 0, unseen = 0;

        (void)state;
        if (!step_is_possible())
                skip();
        for (int nth = 1;; nth++) {
                floor_of_snapshots = 0;
                if (!step_run(nth, commit_and_look, begin_transaction, &engine->participant[0]))
                        break;
                looks++;
                unseen += floor_of_snapshots != 0;
                assert_true(begun >= floor_of_snapshots);
                snapshots_read(engine->participant[5].seen, &engine->shared);
                assert_int_equal(snapshots_find_in(engine->participant[5].seen, begun, begun + 1), begun);
                participant_end(&engine->participant[0]);
        }
        participant_end(&engine->participant[0]);
        assert_true(unseen > 0 && unseen < looks);
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
