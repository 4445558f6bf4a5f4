/* SPDX-License-Identifier: MIT */
#include "libxac/txn/txn.h"

/*
 * The life of a transaction: its states, doom, levels and their flags. At the end, random lives
 * against a model: every word that is read is the model's, after every step the view is what the
 * kernel says it is (I7), and what was committed read nothing that had changed.
 */

#include "tests/libxac/stage.h"

#include "tests/support/chance.h"

static struct stage *stage;
static struct txn *txn;
static struct view *view;

static int setup_with(int env_flags)
{
        stage = stage_start(1024, env_flags);
        txn = &stage->txn[0];
        view = stage_map(stage, 0);
        return 0;
}

static int setup(void **state)
{
        (void)state;
        return setup_with(0);
}

static int setup_tracking(void **state)
{
        (void)state;
        return setup_with(XAC_TRACK);
}

static int setup_strict(void **state)
{
        (void)state;
        return setup_with(XAC_STRICT);
}

static int teardown(void **state)
{
        (void)state;
        stage_stop(stage);
        return 0;
}

static void begin(int flags)
{
        assert_int_equal(txn_begin(txn, flags), 0);
}

static uint64_t snapshot_of_row(void)
{
        return atomic_load(&txn->self->row->snapshot);
}

/* ---- States ---- */

static void test_states_follow_the_diagram(void **state)
{
        (void)state;
        assert_int_equal(txn->state, TXN_IDLE);
        assert_false(txn_is_open(txn));
        begin(0);
        assert_int_equal(txn->state, TXN_ACTIVE);
        assert_int_equal(txn->depth, 1);
        assert_true(snapshot_of_row() != 0);
        assert_int_equal(txn_end(txn), 0);
        assert_int_equal(txn->state, TXN_IDLE);
        assert_int_equal(snapshot_of_row(), 0);
        begin(0);
        assert_int_equal(txn_abort(txn), 0);
        assert_int_equal(txn->state, TXN_IDLE);
        assert_int_equal(snapshot_of_row(), 0);
}

static void test_there_is_nothing_to_end(void **state)
{
        (void)state;
        assert_int_equal(txn_end(txn), XAC_NOTXN);
        assert_int_equal(txn_abort(txn), XAC_NOTXN);
        txn_abort_all(txn);
        begin(0);
        assert_int_equal(txn_end(txn), 0);
        assert_int_equal(txn_end(txn), XAC_NOTXN);
}

/* P2, R2: it goes on seeing its snapshot, which holds its versions, until the end. */
static void test_a_doomed_transaction_sees_its_snapshot(void **state)
{
        (void)state;
        stage_other_puts(stage, 3, 33);
        begin(0);
        stage_store(txn, view, 40, 1);
        txn_doom(txn, XAC_FULL);
        txn_doom(txn, XAC_CORRUPT); /* the first reason stays */
        assert_int_equal(txn->state, TXN_DOOMED);
        for (uint64_t i = 0; i < 100; i++)
                stage_other_puts(stage, 3, i);
        assert_int_equal(stage_load(txn, view, 3), 33);
        assert_int_equal(stage_load(txn, view, 40), 1);
        stage_store(txn, view, 41, 1);
        stage_audit(stage, txn, view);
        assert_int_equal(txn_end(txn), XAC_FULL);
        assert_int_equal(txn->doom, 0);
        assert_int_equal(atomic_load(&txn->self->row->conflicts), 0); /* this was no lost race */
        assert_int_equal(atomic_load(&txn->self->row->commits), 0);
        begin(0);
        assert_int_equal(stage_load(txn, view, 3), 99);
        assert_int_equal(stage_load(txn, view, 40), 0);
        assert_int_equal(txn_end(txn), 0);
        engine_assert_nothing_leaked(stage->engine);
}

static void test_outermost_ends_are_counted(void **state)
{
        const struct row *row = txn->self->row;

        (void)state;
        begin(0);
        begin(0);
        assert_int_equal(txn_end(txn), 0); /* an inner one is not */
        assert_int_equal(txn_end(txn), 0);
        assert_int_equal(atomic_load(&row->commits), 1);
        begin(0);
        assert_int_equal(txn_abort(txn), 0);
        begin(0);
        stage_store(txn, view, 3, 1);
        stage_other_puts(stage, 3, 2);
        assert_int_equal(txn_end(txn), XAC_CONFLICT);
        assert_int_equal(atomic_load(&row->commits), 1);
        assert_int_equal(atomic_load(&row->conflicts), 1);
}

/* ---- Levels ---- */

static void test_flags_of_levels_only_add_restrictions(void **state)
{
        (void)state;
        begin(XAC_SNAPSHOT_ISOLATION);
        begin(XAC_RDONLY);
        assert_int_equal(txn->flags, XAC_SNAPSHOT_ISOLATION | XAC_RDONLY);
        begin(0);
        assert_int_equal(txn->flags, XAC_SNAPSHOT_ISOLATION | XAC_RDONLY);
        assert_int_equal(txn->depth, 3);
        assert_int_equal(txn_end(txn), 0);
        assert_int_equal(txn_abort(txn), 0);
        assert_int_equal(txn->flags, XAC_SNAPSHOT_ISOLATION);
        stage_store(txn, view, 3, 1); /* may write again */
        assert_int_equal(txn_end(txn), 0);
}

static void test_a_doomed_level_says_so_early(void **state)
{
        (void)state;
        begin(0);
        begin(XAC_RDONLY);
        stage_store(txn, view, 3, 1);
        assert_int_equal(txn_end(txn), XAC_WROTE);
        assert_true(txn_is_open(txn));
        begin(0);
        assert_int_equal(txn_end(txn), XAC_WROTE);
        assert_int_equal(txn_abort(txn), 0);
        assert_false(txn_is_open(txn));
        begin(0);
        assert_int_equal(stage_load(txn, view, 3), 0);
        assert_int_equal(txn_end(txn), 0);
}

static void test_aborting_all_ends_every_level(void **state)
{
        (void)state;
        begin(0);
        stage_store(txn, view, 3, 1);
        for (int level = 0; level < 10; level++) {
                begin(0);
                stage_store(txn, view, 3, 2);
                stage_store(txn, view, 10 + (uint64_t)level, 2);
        }
        txn_abort_all(txn);
        assert_false(txn_is_open(txn));
        assert_int_equal(txn->levels.count, 0);
        stage_audit(stage, txn, view);
        engine_assert_nothing_leaked(stage->engine);
}

/* I7: what the outer level wrote is not writable at the inner one. */
static void test_a_new_level_takes_writability_away(void **state)
{
        (void)state;
        begin(0);
        stage_store(txn, view, 3, 1);
        begin(0);
        assert_int_equal(view_state(view, 3), VIEW_READABLE);
        stage_audit(stage, txn, view);
        stage_store(txn, view, 3, 2);
        stage_audit(stage, txn, view);
        assert_int_equal(txn_abort(txn), 0);
        stage_audit(stage, txn, view);
        assert_int_equal(stage_load(txn, view, 3), 1);
        assert_int_equal(txn_end(txn), 0);
}

static int refuse_memory(enum sys_call call, int fd, uint64_t offset, size_t byte_len)
{
        (void)fd, (void)offset, (void)byte_len;
        return call == SYS_MMAP || call == SYS_MPROTECT || call == SYS_MREMAP ? -ENOMEM : 0;
}

static void test_a_level_that_cannot_begin_is_none(void **state)
{
        (void)state;
        begin(0);
        stage_store(txn, view, 3, 1);
        sys_fail = refuse_memory; /* no memory for its record */
        assert_int_equal(txn_begin(txn, 0), -ENOMEM);
        sys_fail = NULL;
        begin(0);
        assert_int_equal(txn_end(txn), 0);
        stage_store(txn, view, 3, 2);
        sys_fail = refuse_memory; /* the page cannot be protected */
        assert_int_equal(txn_begin(txn, 0), -ENOMEM);
        sys_fail = NULL;
        assert_int_equal(txn->depth, 1);
        assert_int_equal(txn->levels.count, 0);
        stage_audit(stage, txn, view);
        assert_int_equal(txn_end(txn), 0);
}

/* A page that cannot be hidden would show a slot that is somebody else's soon. */
static void test_an_inner_abort_that_cannot_hide_dooms(void **state)
{
        (void)state;
        begin(0);
        begin(0);
        stage_store(txn, view, 3, 1);
        sys_fail = refuse_memory;
        assert_int_equal(txn_abort(txn), 0);
        sys_fail = NULL;
        assert_int_equal(txn->state, TXN_DOOMED);
        assert_int_equal(txn_end(txn), -ENOMEM);
        begin(0);
        stage_audit(stage, txn, view);
        assert_int_equal(stage_load(txn, view, 3), 0);
        assert_int_equal(txn_end(txn), 0);
        engine_assert_nothing_leaked(stage->engine);
}

/* The table of pages is emptied by raising a stamp, which wraps after four thousand million lives. */
static void test_old_entries_do_not_come_back_with_their_stamp(void **state)
{
        (void)state;
        begin(0); /* the first stamp: 1 */
        for (uint64_t page_no = 0; page_no < 200; page_no++)
                touch_page_read(txn, stage_word(view, page_no));
        assert_int_equal(txn_end(txn), 0);
        txn->pages.stamp = UINT32_MAX;
        begin(0);
        touch_page_read(txn, stage_word(view, 300));
        assert_int_equal(txn_end(txn), 0);
        begin(0); /* 1 again */
        for (uint64_t page_no = 0; page_no < 400; page_no++)
                assert_null(txn_pages_find(&txn->pages, page_id(view->file_no, page_no)));
        touch_page_write(txn, stage_word(view, 3));
        assert_int_equal(txn->pages.entries.count, 1);
        assert_int_equal(txn_end(txn), 0);
}

/* ---- Random lives ---- */

enum { PAGES = 48, LEVELS = 4, STEPS = 60, LIVES = 150 };

struct model {
        struct chance chance;
        uint64_t committed[PAGES];
        uint64_t seen[LEVELS + 1][PAGES]; /* at each level */
        bool is_read[PAGES];              /* or written, at any level, in this attempt */
        bool is_changed[PAGES];           /* by somebody else since its snapshot */
        uint32_t level;
        uint32_t wrote[LEVELS + 1]; /* stores whose level still counts */
};

static uint64_t draw(struct model *model, uint64_t below)
{
        return chance_below(&model->chance, below);
}

static void model_read(struct model *model, uint64_t page_no)
{
        uint64_t value;

        if (draw(model, 4) == 0)
                value = *(const uint64_t *)touch_page_read(txn, stage_word(view, page_no));
        else
                value = stage_load(txn, view, page_no);
        assert_int_equal(value, model->seen[model->level][page_no]);
        model->is_read[page_no] = true;
}

static void model_write(struct model *model, uint64_t page_no)
{
        uint64_t value = chance_next(&model->chance);

        if (draw(model, 4) == 0)
                *(uint64_t *)touch_page_write(txn, stage_word(view, page_no)) = value;
        else
                stage_store(txn, view, page_no, value);
        model->seen[model->level][page_no] = value;
        model->is_read[page_no] = true;
        model->wrote[model->level]++;
}

static void model_enter(struct model *model)
{
        begin(0);
        memcpy(model->seen[model->level + 1], model->seen[model->level], sizeof(model->seen[0]));
        model->wrote[++model->level] = 0;
}

static void model_leave(struct model *model)
{
        const uint32_t outer = model->level - 1;

        if (draw(model, 2)) {
                assert_int_equal(txn_end(txn), 0);
                memcpy(model->seen[outer], model->seen[model->level], sizeof(model->seen[0]));
                model->wrote[outer] += model->wrote[model->level];
        } else {
                assert_int_equal(txn_abort(txn), 0);
        }
        model->level = outer;
}

static void model_other(struct model *model, uint64_t page_no)
{
        model->committed[page_no] = chance_next(&model->chance);
        stage_other_puts(stage, page_no, model->committed[page_no]);
        model->is_changed[page_no] = true;
}

static void model_step(struct model *model)
{
        const uint64_t page_no = draw(model, PAGES);
        const uint64_t what = draw(model, 100);

        if (what < 40)
                model_read(model, page_no);
        else if (what < 75)
                model_write(model, page_no);
        else if (what < 85 && model->level < LEVELS)
                model_enter(model);
        else if (what < 95 && model->level > 1)
                model_leave(model);
        else if (what < 97)
                assert_int_equal(view_collapse(view), 0);
        else if (what == 99 && draw(model, 3) == 0)
                model_other(model, page_no);
        stage_audit(stage, txn, view);
}

static bool model_lost(const struct model *model)
{
        for (int i = 0; i < PAGES; i++)
                if (model->is_read[i] && model->is_changed[i])
                        return true;
        return false;
}

/* Strictly: a conflict is reported if there is one, and in an exact attempt only then. */
static void model_end(struct model *model)
{
        const bool was_exact = view->is_exact;
        const int result = txn_end(txn);

        if (result == XAC_CONFLICT) {
                assert_true(model_lost(model) || !was_exact);
                return;
        }
        assert_int_equal(result, 0);
        if (!model->wrote[1])
                return;
        assert_false(model_lost(model));
        for (int i = 0; i < PAGES; i++)
                if (!model->is_changed[i])
                        model->committed[i] = model->seen[1][i];
}

static void model_live(struct model *model)
{
        if (draw(model, 2))
                model_other(model, draw(model, PAGES));
        memcpy(model->seen[0], model->committed, sizeof(model->committed));
        memset(model->is_read, 0, sizeof(model->is_read));
        memset(model->is_changed, 0, sizeof(model->is_changed));
        model->level = 0;
        model_enter(model);
        stage_audit(stage, txn, view);
        for (uint64_t step = draw(model, STEPS); step > 0; step--)
                model_step(model);
        while (model->level > 1)
                model_leave(model);
        if (draw(model, 5))
                model_end(model);
        else
                assert_int_equal(txn_abort(txn), 0);
        stage_audit(stage, txn, view);
}

static void test_random_lives_against_a_model(void **state)
{
        struct model *model = calloc(1, sizeof(*model));

        (void)state;
        model->chance.state = chance_seed();
        for (int life = 0; life < LIVES; life++)
                model_live(model);
        begin(0);
        for (uint64_t page_no = 0; page_no < PAGES; page_no++)
                assert_int_equal(stage_load(txn, view, page_no), model->committed[page_no]);
        assert_int_equal(txn_end(txn), 0);
        assert_true(atomic_load(&txn->self->row->commits) > LIVES / 10);
        free(model);
        engine_assert_nothing_leaked(stage->engine);
}

#define TXN_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
        const struct CMUnitTest tests[] = {
                TXN_TEST(test_states_follow_the_diagram),
                TXN_TEST(test_there_is_nothing_to_end),
                TXN_TEST(test_a_doomed_transaction_sees_its_snapshot),
                TXN_TEST(test_outermost_ends_are_counted),
                TXN_TEST(test_flags_of_levels_only_add_restrictions),
                TXN_TEST(test_a_doomed_level_says_so_early),
                TXN_TEST(test_aborting_all_ends_every_level),
                TXN_TEST(test_a_new_level_takes_writability_away),
                TXN_TEST(test_a_level_that_cannot_begin_is_none),
                TXN_TEST(test_an_inner_abort_that_cannot_hide_dooms),
                TXN_TEST(test_old_entries_do_not_come_back_with_their_stamp),
                TXN_TEST(test_random_lives_against_a_model),
                cmocka_unit_test_setup_teardown(test_random_lives_against_a_model, setup_tracking, teardown),
                cmocka_unit_test_setup_teardown(test_random_lives_against_a_model, setup_strict, teardown),
        };

        return cmocka_run_group_tests_name("libxac/txn", tests, NULL, NULL);
}
