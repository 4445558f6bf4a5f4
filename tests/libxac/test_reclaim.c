/* SPDX-License-Identifier: MIT */
#include "libxac/store/reclaim.h"

/*
 * Slots come back, precisely and not too early: random commits, snapshots held for random
 * times and pages going home, all compared with a model that remembers every version; and the
 * promise that one old reader pins only what it sees.
 */

#include "tests/libxac/engine_stand.h"

#include "libxac/care/checkpoint.h"
#include "tests/support/chance.h"

static uint64_t slots_in_use(void)
{
        struct pool_census census;

        pool_count(&engine->shared, &census);
        return census.published + census.retired + census.private;
}

static void test_without_readers_a_page_needs_few_slots(void **state)
{
        (void)state;
        for (uint64_t value = 1; value <= 5000; value++) {
                engine_put(engine, (int)(value % 3), 1, value);
                assert_true(slots_in_use() < 120);
        }
        engine_assert_nothing_leaked(engine);
        assert_int_equal(slots_in_use(), 1);
}

/* Freeing only below the oldest snapshot would fill the pool here. */
static void test_an_old_reader_pins_only_what_it_sees(void **state)
{
        enum { PAGES = 20, ROUNDS = 200 };
        uint64_t snapshot;

        (void)state;
        for (uint64_t page_no = 0; page_no < PAGES; page_no++)
                engine_put(engine, 1, page_no, 7);
        snapshot = engine_begin(engine, 0);
        for (uint64_t round = 1; round <= ROUNDS; round++)
                for (uint64_t page_no = 0; page_no < PAGES; page_no++)
                        engine_put(engine, 1 + (int)(round % 3), page_no, 1000 + round);
        for (int who = 1; who < ENGINE_PARTICIPANTS; who++)
                reclaim_everything(&engine->participant[who]);
        assert_int_equal(slots_in_use(), 2 * PAGES);
        for (uint64_t page_no = 0; page_no < PAGES; page_no++)
                assert_int_equal(engine_visible(engine, page_no, snapshot), 7);
        participant_end(&engine->participant[0]);
        engine_assert_nothing_leaked(engine);
        assert_int_equal(slots_in_use(), PAGES);
}

static void test_what_waits_is_found_by_others(void **state)
{
        uint64_t taken = 0;

        (void)state;
        engine_begin(engine, 0);
        for (uint64_t page_no = 0; page_no < 200; page_no++) {
                engine_put(engine, 1, page_no, 1);
                engine_begin(engine, 2);
                engine_put(engine, 1, page_no, 2);
                participant_end(&engine->participant[2]);
        }
        reclaim_hand_over(&engine->participant[1]);
        pool_flush(&engine->participant[1]);
        participant_end(&engine->participant[0]);
        while (reclaim_take(&engine->participant[3]))
                taken++;
        assert_int_equal(taken, 511 - 200);
        for (uint32_t no = 1; no < 512; no++)
                if (slot_state(&engine->shared.slots[no]) == SLOT_PRIVATE)
                        pool_give_back(&engine->participant[3], no);
        engine_assert_nothing_leaked(engine);
}

/* ---- What waited for a snapshot that has ended ---- */

/* Versions of so many pages, in the shared lists, for participant 0. */
static void hold_versions(uint64_t pages)
{
        for (uint64_t page_no = 0; page_no < pages; page_no++)
                engine_put(engine, 1, page_no, 1);
        engine_begin(engine, 0);
        for (uint64_t page_no = 0; page_no < pages; page_no++)
                engine_put(engine, 1, page_no, 2);
        reclaim_hand_over(&engine->participant[1]);
        pool_flush(&engine->participant[1]);
}

static uint32_t held_count(void)
{
        return atomic_load(&engine->shared.control->held_count);
}

/* Who needs a slot takes a batch of them, whatever the hints say, and leaves the list of free ones alone. */
static void test_slots_of_an_ended_snapshot_are_taken_by_the_batch(void **state)
{
        const uint32_t batch = pool_batch(&engine->shared);
        struct participant *taker = &engine->participant[3];

        (void)state;
        hold_versions(100);
        participant_end(&engine->participant[0]);
        const uint32_t held = held_count(), free_count = atomic_load(&engine->shared.control->free_count);
        assert_true(held > 2 * batch && batch > 1);
        for (uint32_t no = 1; no < 512; no++)
                engine->shared.slots[no].ahead = (uint32_t)chance_mix(no);
        for (uint32_t taken = 1; taken <= 2 * batch; taken++) {
                uint32_t no = reclaim_take(taker);
                assert_int_equal(slot_state(&engine->shared.slots[no]), SLOT_PRIVATE);
                assert_int_equal(held_count(), held - (taken + batch - 1) / batch * batch);
        }
        assert_int_equal(atomic_load(&engine->shared.control->free_count), free_count);
        for (uint32_t no = 1; no < 512; no++)
                if (slot_state(&engine->shared.slots[no]) == SLOT_PRIVATE)
                        pool_give_back(taker, no);
        engine_assert_nothing_leaked(engine);
}

/* The background thread lets who needs slots take them, and gives back what nobody takes. */
static void test_what_nobody_asks_for_is_given_back(void **state)
{
        const uint64_t second_ns = 1000000000;
        struct control *control = engine->shared.control;

        (void)state;
        assert_false(reclaim_has_unasked(&engine->shared));
        hold_versions(100);
        atomic_store(&control->held_asked_ns, sys_monotonic_ns() - second_ns);
        assert_true(reclaim_has_unasked(&engine->shared));
        reclaim_ended(&engine->participant[3]); /* nothing: the snapshot has not ended */
        assert_int_equal(held_count(), 100);
        assert_false(reclaim_has_unasked(&engine->shared));
        participant_end(&engine->participant[0]);
        atomic_store(&control->held_asked_ns, sys_monotonic_ns() - second_ns);
        assert_true(reclaim_has_unasked(&engine->shared));
        reclaim_ended(&engine->participant[3]);
        assert_int_equal(held_count(), 0);
        assert_false(reclaim_has_unasked(&engine->shared));
        engine_assert_nothing_leaked(engine);
}

/* ---- The model ---- */

enum { PAGES = 12, READERS = 3, STEPS = 6000, HISTORY = STEPS + 2 };

struct model {
        struct chance chance;
        uint64_t (*value)[PAGES]; /* [sequence]: what each page holds as of that commit */
        uint64_t sequence;
        uint64_t snapshot[READERS]; /* of participants 0 .. READERS - 1; 0: none */
};

static void check_reader(struct model *model, int who)
{
        for (uint64_t page_no = 0; page_no < PAGES; page_no++)
                if (engine_visible(engine, page_no, model->snapshot[who]) !=
                    model->value[model->snapshot[who]][page_no])
                        fail_msg("page %d as of %d, now %d", (int)page_no, (int)model->snapshot[who],
                                 (int)model->sequence);
}

static void commit_some(struct model *model)
{
        int who = READERS + (int)chance_below(&model->chance, ENGINE_PARTICIPANTS - READERS);
        uint64_t count = 1 + chance_below(&model->chance, 4);

        assert_int_equal(engine_begin(engine, who), model->sequence);
        memcpy(model->value[model->sequence + 1], model->value[model->sequence], sizeof(model->value[0]));
        while (count--) {
                uint64_t page_no = chance_below(&model->chance, PAGES);
                uint64_t value = chance_next(&model->chance);

                assert_int_equal(engine_load(engine, who, page_no), model->value[model->sequence + 1][page_no]);
                assert_int_equal(engine_store(engine, who, page_no, 1, value), 0);
                model->value[model->sequence + 1][page_no] = value;
        }
        assert_int_equal(engine_commit(engine, who), ++model->sequence);
}

static void begin_or_end_reader(struct model *model)
{
        int who = (int)chance_below(&model->chance, READERS);

        if (model->snapshot[who]) {
                check_reader(model, who);
                participant_end(&engine->participant[who]);
                model->snapshot[who] = 0;
        } else {
                model->snapshot[who] = engine_begin(engine, who);
                assert_int_equal(model->snapshot[who], model->sequence);
        }
}

static void go_home(struct model *model)
{
        struct home_writer writer = {
                .self = &engine->participant[READERS + chance_below(&model->chance, 2)],
                .files = &engine->files,
                .may_wait = true,
        };

        assert_int_equal(checkpoint_run(&writer), 0);
}

static void model_step(struct model *model)
{
        uint64_t what = chance_below(&model->chance, 1000);

        if (what < 850)
                commit_some(model);
        else if (what < 950)
                begin_or_end_reader(model);
        else if (what < 990)
                reclaim_everything(&engine->participant[READERS]);
        else
                go_home(model);
        for (int who = 0; who < READERS; who++)
                if (model->snapshot[who])
                        check_reader(model, who);
}

static void test_random_histories_against_a_model(void **state)
{
        struct model model = { .chance.state = chance_seed() };

        (void)state;
        model.value = calloc(HISTORY, sizeof(model.value[0]));
        model.sequence = atomic_load(&engine->shared.control->sequence);
        for (int step = 0; step < STEPS; step++)
                model_step(&model);
        for (int who = 0; who < READERS; who++)
                participant_end(&engine->participant[who]);
        engine_assert_nothing_leaked(engine);
        go_home(&model);
        engine_assert_nothing_leaked(engine);
        assert_int_equal(slots_in_use(), 0);
        free(model.value);
}

#define RECLAIM_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
        const struct CMUnitTest tests[] = {
                RECLAIM_TEST(test_without_readers_a_page_needs_few_slots),
                RECLAIM_TEST(test_an_old_reader_pins_only_what_it_sees),
                RECLAIM_TEST(test_what_waits_is_found_by_others),
                RECLAIM_TEST(test_slots_of_an_ended_snapshot_are_taken_by_the_batch),
                RECLAIM_TEST(test_what_nobody_asks_for_is_given_back),
                RECLAIM_TEST(test_random_histories_against_a_model),
        };

        return cmocka_run_group_tests_name("libxac/reclaim", tests, NULL, NULL);
}
