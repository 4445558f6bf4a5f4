/* SPDX-License-Identifier: MIT */
#include "libxac/txn_pages.h"

/*
 * Read set, write set and nesting of one transaction, against a model: an array of words for
 * each open level. Every run ends with an audit of the slots.
 */

#include "tests/unit/engine_stand.h"

#include <xac/xac.h>

#include "tests/support/chance.h"

/* A page loses a private slot: it has another one now, or shows what is visible. */
static void note_lost(void *arg, uint64_t page, uint32_t slot)
{
        struct page_entry *entry = txn_pages_find(&engine->pages[0], page);

        (void)arg;
        assert_true(slot != SLOT_HOME);
        assert_true(entry && entry->slot != slot);
}

static void test_reads_and_writes_are_sets(void **state)
{
        struct txn_pages *pages = &engine->pages[0];
        struct page_entry *one, *again;

        (void)state;
        engine_begin(engine, 0);
        assert_null(txn_pages_find(pages, engine_page(engine, 4)));
        assert_int_equal(txn_pages_read(pages, engine_page(engine, 4), &one), 0);
        assert_int_equal(one->slot, 0);
        assert_int_equal(txn_pages_read(pages, engine_page(engine, 4), &again), 0);
        assert_ptr_equal(one, again);
        assert_int_equal(pages->entries.count, 1);
        assert_int_equal(pages->writes.count, 0);

        assert_int_equal(txn_pages_write(pages, engine_page(engine, 4), 1, &one), 0);
        assert_true(one->slot != 0);
        assert_int_equal(txn_pages_write(pages, engine_page(engine, 4), 1, &again), 0);
        assert_ptr_equal(one, again);
        assert_int_equal(pages->entries.count, 1);
        assert_int_equal(pages->writes.count, 1);
        assert_ptr_equal(txn_pages_write_at(pages, 0), one);
        engine_abort(engine, 0);
        assert_null(txn_pages_find(pages, engine_page(engine, 4)));
        engine_assert_nothing_leaked(engine);
}

static void test_more_pages_than_the_first_table(void **state)
{
        (void)state;
        engine_begin(engine, 0);
        for (uint64_t page_no = 0; page_no < ENGINE_PAGES; page_no++)
                assert_int_equal(engine_load(engine, 0, page_no * 7 % ENGINE_PAGES), 0);
        assert_int_equal(engine->pages[0].entries.count, ENGINE_PAGES);
        for (uint64_t page_no = 0; page_no < ENGINE_PAGES; page_no++) {
                struct page_entry *entry = txn_pages_find(&engine->pages[0], engine_page(engine, page_no));

                assert_true(entry && page_id_no(entry->page) == page_no);
        }
        engine_abort(engine, 0);
}

static void test_a_full_pool_is_told_and_changes_nothing(void **state)
{
        uint64_t page_no = 0;
        int err;

        (void)state;
        engine_begin(engine, 0);
        while ((err = engine_store(engine, 0, page_no, 1, page_no + 1)) == 0)
                page_no++;
        assert_int_equal(err, XAC_FULL);
        assert_int_equal(page_no, 1023); /* slot 0 is home */
        assert_int_equal(engine->pages[0].writes.count, page_no);
        for (uint64_t i = 0; i < page_no; i++)
                assert_int_equal(engine_load(engine, 0, i), i + 1);
        assert_int_equal(engine_load(engine, 0, page_no), 0);
        engine_abort(engine, 0);
        engine_assert_nothing_leaked(engine);
}

static void test_every_allocation_may_fail(void **state)
{
        (void)state;
        for (int nth = 1;; nth++) {
                struct engine *fresh = engine_start(1024);
                uint64_t stored = 0;

                engine_begin(fresh, 0);
                scratch_fail(nth, -ENOMEM, 0);
                for (uint64_t page_no = 0; page_no < 600; page_no++)
                        stored += engine_store(fresh, 0, page_no, page_no < 300 ? 1 : 2, page_no + 1) == 0;
                if (!scratch_failed()) {
                        engine_abort(fresh, 0);
                        engine_stop(fresh);
                        assert_int_equal(stored, 600);
                        assert_true(nth > 4);
                        break;
                }
                assert_int_equal(fresh->pages[0].writes.count, stored);
                engine_abort(fresh, 0);
                engine_assert_nothing_leaked(fresh);
                engine_stop(fresh);
        }
}

/* A pointer taken at the outer level shows, after the inner commit, what the inner level wrote. */
static void test_outer_pointers_live_through_an_inner_commit(void **state)
{
        struct txn_pages *pages = &engine->pages[0];
        struct page_entry *entry;
        uint64_t *outer;
        uint32_t mark;

        (void)state;
        engine_begin(engine, 0);
        assert_int_equal(txn_pages_write(pages, engine_page(engine, 3), 1, &entry), 0);
        outer = (uint64_t *)(void *)entry->bytes;
        *outer = 1;
        mark = txn_pages_mark(pages);
        assert_int_equal(engine_store(engine, 0, 3, 2, 2), 0);
        assert_int_equal(*outer, 1);
        txn_pages_merge(pages, mark, 1, note_lost, NULL);
        assert_int_equal(*outer, 2);
        *outer = 3;
        assert_int_equal(engine_load(engine, 0, 3), 3);
        assert_int_equal(engine_visible(engine, 3, engine_commit(engine, 0)), 3);
        engine_assert_nothing_leaked(engine);
}

/* ---- Nesting against a model ---- */

enum { PAGES = 24, LEVELS = 6, STEPS = 400, RUNS = 60 };

struct model {
        uint64_t word[LEVELS + 1][PAGES]; /* [0] is what is committed */
        uint32_t mark[LEVELS + 1];
        uint32_t level;
        struct chance chance;
};

static uint64_t draw(struct model *model, uint64_t below)
{
        return chance_below(&model->chance, below);
}

static void model_check(struct model *model)
{
        for (uint64_t page_no = 0; page_no < PAGES; page_no++)
                assert_int_equal(engine_load(engine, 0, page_no), model->word[model->level][page_no]);
}

static void model_enter(struct model *model)
{
        memcpy(model->word[model->level + 1], model->word[model->level], sizeof(model->word[0]));
        model->level++;
        model->mark[model->level] = txn_pages_mark(&engine->pages[0]);
}

static void model_leave(struct model *model, bool keep)
{
        struct txn_pages *pages = &engine->pages[0];
        uint32_t outer = model->level - 1;

        if (keep) {
                txn_pages_merge(pages, model->mark[model->level], outer, note_lost, NULL);
                memcpy(model->word[outer], model->word[model->level], sizeof(model->word[0]));
        } else {
                txn_pages_undo(pages, model->mark[model->level], note_lost, NULL);
        }
        model->level = outer;
}

static void model_step(struct model *model)
{
        uint64_t what = draw(model, 10);
        uint64_t page_no = draw(model, PAGES);

        if (what < 6) {
                uint64_t value = chance_next(&model->chance);

                assert_int_equal(engine_store(engine, 0, page_no, model->level, value), 0);
                model->word[model->level][page_no] = value;
        } else if (what < 8) {
                if (model->level < LEVELS)
                        model_enter(model);
        } else if (model->level > 1) {
                model_leave(model, what == 8);
                model_check(model);
        }
}

static void model_run(struct model *model)
{
        engine_begin(engine, 0);
        model->level = 0;
        model_enter(model);
        for (int step = 0; step < STEPS; step++)
                model_step(model);
        while (model->level > 1)
                model_leave(model, draw(model, 2));
        model_check(model);
        if (draw(model, 3)) {
                engine_commit(engine, 0);
                memcpy(model->word[0], model->word[1], sizeof(model->word[0]));
        } else {
                engine_abort(engine, 0);
        }
        engine_begin(engine, 0);
        model->level = 0;
        model_check(model);
        engine_abort(engine, 0);
        engine_assert_nothing_leaked(engine);
}

static void test_nested_levels_against_a_model(void **state)
{
        struct model *model = calloc(1, sizeof(*model));

        (void)state;
        model->chance.state = chance_seed();
        for (int run = 0; run < RUNS; run++)
                model_run(model);
        free(model);
}

#define PAGES_TEST(name) cmocka_unit_test_setup_teardown(name, setup_roomy, teardown)

int main(void)
{
        const struct CMUnitTest tests[] = {
            PAGES_TEST(test_reads_and_writes_are_sets),
            PAGES_TEST(test_more_pages_than_the_first_table),
            PAGES_TEST(test_a_full_pool_is_told_and_changes_nothing),
            PAGES_TEST(test_every_allocation_may_fail),
            PAGES_TEST(test_outer_pointers_live_through_an_inner_commit),
            PAGES_TEST(test_nested_levels_against_a_model),
        };

        return cmocka_run_group_tests_name("libxac/txn_pages", tests, NULL, NULL);
}
