/* SPDX-License-Identifier: MIT */
#include "libxac/txn/txn_pages.h"

/*
 * Read set, write set and nesting of one transaction, against a model: an array of words for
 * each open level. Every run ends with an audit of the slots.
 */

#include "tests/libxac/engine_stand.h"

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

        assert_int_equal(txn_pages_write(pages, engine_page(engine, 4), 1, 0, &one), 0);
        assert_true(one->slot != 0);
        assert_int_equal(txn_pages_write(pages, engine_page(engine, 4), 1, 0, &again), 0);
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
        assert_int_equal(txn_pages_write(pages, engine_page(engine, 3), 1, 0, &entry), 0);
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

/* ---- Moves ---- */

static int move(uint64_t to, uint64_t from, uint64_t count, uint32_t level)
{
        return txn_pages_move(&engine->pages[0], engine_page(engine, to), engine_page(engine, from), count, level);
}

static struct page_entry *entry_of(uint64_t page_no)
{
        struct page_entry *entry = txn_pages_find(&engine->pages[0], engine_page(engine, page_no));

        assert_non_null(entry);
        return entry;
}

/* A page that this level has written changes its number and nothing else. */
static void test_a_written_slot_is_relabelled(void **state)
{
        struct page_entry *entry;
        char *bytes;

        (void)state;
        engine_put(engine, 1, 3, 33);
        engine_begin(engine, 0);
        assert_int_equal(txn_pages_write(&engine->pages[0], engine_page(engine, 3), 1, 0, &entry), 0);
        bytes = entry->bytes;
        assert_int_equal(move(5, 3, 1, 1), 0);
        assert_ptr_equal(entry_of(5)->bytes, bytes);
        assert_ptr_equal(txn_pages_entry(&engine->pages[0], entry_of(5)->base), entry_of(3));
        assert_int_equal(entry_of(3)->base, BASE_ZEROS);
        assert_int_equal(engine_load(engine, 0, 5), 33);
        assert_int_equal(engine_load(engine, 0, 3), 0);
        assert_int_equal(move(3, 5, 1, 1), 0); /* and back: its base is its own version again */
        assert_ptr_equal(entry_of(3)->bytes, bytes);
        assert_ptr_equal(txn_pages_entry(&engine->pages[0], entry_of(3)->base), entry_of(3));
        uint64_t sequence = engine_commit(engine, 0);
        assert_int_equal(engine_visible(engine, 3, sequence), 33);
        assert_int_equal(engine_visible(engine, 5, sequence), 0);
        engine_assert_nothing_leaked(engine);
}

/* Where there is no room for all of it nothing is moved. */
static void test_a_move_needs_room_for_all(void **state)
{
        uint64_t page_no;

        (void)state;
        engine_put(engine, 1, 0, 100);
        engine_begin(engine, 0);
        assert_int_equal(engine_store(engine, 0, 1, 1, 7), 0);
        for (page_no = 8; engine_store(engine, 0, page_no, 1, 1) == 0; page_no++)
                ;
        engine_abort(engine, 0);
        engine_begin(engine, 0);
        assert_int_equal(engine_store(engine, 0, 1, 1, 7), 0);
        for (uint64_t i = 8; i < page_no - 2; i++)
                assert_int_equal(engine_store(engine, 0, i, 1, 1), 0);
        assert_int_equal(move(4, 0, 5, 1), XAC_FULL); /* three of them are at home */
        assert_int_equal(engine_load(engine, 0, 0), 100);
        assert_int_equal(engine_load(engine, 0, 1), 7);
        assert_int_equal(engine_load(engine, 0, 4), 0);
        assert_int_equal(move(4, 0, 4, 1), 0); /* for two there is room */
        assert_int_equal(engine_load(engine, 0, 4), 100);
        assert_int_equal(engine_load(engine, 0, 5), 7);
        engine_abort(engine, 0);
        engine_assert_nothing_leaked(engine);
}

static uint32_t shares_of(uint32_t slot)
{
        return atomic_load(&engine->shared.slots[slot].shares);
}

static uint32_t newest_slot(uint64_t page_no)
{
        return version_slot(version_newest(&engine->shared, engine_page(engine, page_no)));
}

/* Pages that stand in the pool are not copied, however often they are moved. */
static void test_a_version_in_the_pool_is_shared(void **state)
{
        uint64_t before, between, after;
        uint32_t slot, alias;

        (void)state;
        before = engine_put(engine, 1, 3, 33);
        slot = newest_slot(3);
        engine_begin(engine, 2); /* reads as of now */
        engine_begin(engine, 0);
        assert_int_equal(move(5, 3, 1, 1), 0);
        assert_ptr_equal(entry_of(5)->bytes, shared_slot_bytes(&engine->shared, slot));
        between = engine_commit(engine, 0);
        alias = newest_slot(5);
        assert_true(shared_is_alias(&engine->shared, alias) && shares_of(slot) == 1);
        assert_int_equal(shared_content(&engine->shared, newest_slot(3)), 0);
        engine_begin(engine, 0);
        assert_int_equal(move(6, 5, 1, 1), 0);
        after = engine_commit(engine, 0);
        assert_int_equal(shared_content(&engine->shared, newest_slot(6)), slot);
        assert_int_equal(engine_visible(engine, 3, before), 33);
        assert_int_equal(engine_visible(engine, 5, between), 33);
        assert_int_equal(engine_visible(engine, 6, after), 33);
        assert_int_equal(engine_visible(engine, 5, after), 0);
        participant_end(&engine->participant[2]);
        txn_pages_clear(&engine->pages[2]);
        engine_assert_nothing_leaked(engine);
        assert_int_equal(shares_of(slot), SHARES_KEPT | 1); /* its own version is gone */
        engine_put(engine, 1, 6, 66);                       /* and now the last that shows it */
        engine_assert_nothing_leaked(engine);
        assert_int_equal(shares_of(slot), 0);
}

/* Writing gives it a slot of its own, and leaves the version alone; an abort leaves everything as it was. */
static void test_what_is_shared_is_copied_when_it_is_written(void **state)
{
        struct page_entry *entry;
        uint64_t before, sequence;
        uint32_t slot;

        (void)state;
        before = engine_put(engine, 1, 3, 33);
        slot = newest_slot(3);
        for (int is_kept = 0; is_kept < 2; is_kept++) {
                engine_begin(engine, 0);
                assert_int_equal(move(5, 3, 1, 1), 0);
                assert_int_equal(shares_of(slot), 1);
                assert_int_equal(txn_pages_write(&engine->pages[0], engine_page(engine, 5), 2, 0, &entry), 0);
                *(uint64_t *)(void *)entry->bytes = 55;
                assert_int_equal(engine_visible(engine, 3, before), 33);
                if (!is_kept) {
                        txn_pages_undo(&engine->pages[0], 0, engine_ignore_lost, NULL);
                        assert_int_equal(engine_load(engine, 0, 5), 33);
                        engine_abort(engine, 0);
                        assert_int_equal(shares_of(slot), 0);
                        continue;
                }
                txn_pages_merge(&engine->pages[0], 0, 1, engine_ignore_lost, NULL);
                assert_int_equal(shares_of(slot), 0);
                assert_ptr_equal(txn_pages_entry(&engine->pages[0], entry_of(5)->base), entry_of(3));
                assert_int_equal(engine_store(engine, 0, 3, 1, 34), 0); /* zeros are not written to either */
                sequence = engine_commit(engine, 0);
                assert_int_equal(engine_visible(engine, 5, sequence), 55);
                assert_int_equal(engine_visible(engine, 3, sequence), 34);
        }
        engine_assert_nothing_leaked(engine);
        assert_int_equal(*(uint64_t *)(void *)engine->shared.pool, 0);
}

static int refused;

static int refuse_memory(enum sys_call call, int fd, uint64_t offset, size_t byte_len)
{
        (void)fd, (void)offset, (void)byte_len;
        refused += call == SYS_ALLOCATE;
        return call == SYS_ALLOCATE ? -ENOSPC : 0;
}

/* Aliases run out, or have no memory: then everything is copied. */
static void test_without_aliases_pages_are_copied(void **state)
{
        (void)state;
        for (uint64_t page_no = 0; page_no < 4; page_no++)
                engine_put(engine, 1, page_no, 100 + page_no);
        engine_begin(engine, 0);
        refused = 0;
        sys_fail = refuse_memory;
        assert_int_equal(move(6, 0, 4, 1), 0);
        sys_fail = NULL;
        assert_true(refused > 0);
        for (uint64_t page_no = 0; page_no < 4; page_no++) {
                assert_int_equal(engine_load(engine, 0, page_no), 0);
                assert_int_equal(engine_load(engine, 0, 6 + page_no), 100 + page_no);
        }
        engine_commit(engine, 0);
        engine_assert_nothing_leaked(engine);
}

static void test_a_move_may_lack_memory(void **state)
{
        enum { PAGES = 300 };

        (void)state;
        for (int nth = 1;; nth++) {
                struct engine *fresh = engine_start(1024);
                struct txn_pages *pages = &fresh->pages[0];

                engine_begin(fresh, 0);
                scratch_fail(nth, -ENOMEM, 0);
                int err = txn_pages_move(pages, engine_page(fresh, PAGES), engine_page(fresh, 0), PAGES, 2);
                bool has_failed = scratch_failed();
                assert_true((err == 0) == (pages->writes.count == 2 * PAGES));
                assert_true(err == 0 || pages->writes.count == 0);
                engine_abort(fresh, 0);
                engine_assert_nothing_leaked(fresh);
                engine_stop(fresh);
                if (!has_failed) {
                        assert_int_equal(err, 0);
                        assert_true(nth > 4);
                        break;
                }
        }
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

static void model_move(struct model *model)
{
        uint64_t count = 1 + draw(model, 6);
        uint64_t to = draw(model, PAGES - count + 1), from = draw(model, PAGES - count + 1);
        uint64_t *now = model->word[model->level], moved[6];

        assert_int_equal(move(to, from, count, model->level), 0);
        memcpy(moved, now + from, count * sizeof(now[0]));
        memset(now + from, 0, count * sizeof(now[0]));
        memcpy(now + to, moved, count * sizeof(now[0]));
}

/* The content of each written page began as what its base says: the second word of page p is p until it moves. */
static void model_check_bases(void)
{
        struct txn_pages *pages = &engine->pages[0];

        for (uint32_t i = 0; i < pages->writes.count; i++) {
                const struct page_entry *entry = txn_pages_write_at(pages, i);
                uint64_t mark = ((const uint64_t *)(const void *)entry->bytes)[1];
                const char *base;

                if (entry->base == BASE_ZEROS) {
                        assert_int_equal(mark, 0);
                        continue;
                }
                const struct page_entry *source = txn_pages_entry(pages, entry->base);
                base = files_version_bytes(&engine->files, source->page, source->visible_slot);
                assert_int_equal(mark, ((const uint64_t *)(const void *)base)[1]);
        }
}

static void model_mark_pages(void)
{
        engine_begin(engine, 0);
        for (uint64_t page_no = 0; page_no < PAGES; page_no++) {
                struct page_entry *entry;

                assert_int_equal(txn_pages_write(&engine->pages[0], engine_page(engine, page_no), 1, 0, &entry), 0);
                ((uint64_t *)(void *)entry->bytes)[1] = 1000 + page_no;
        }
        engine_commit(engine, 0);
}

static void model_step(struct model *model)
{
        uint64_t what = draw(model, 12);
        uint64_t page_no = draw(model, PAGES);

        if (what >= 10) {
                model_move(model);
                model_check_bases();
        } else if (what < 6) {
                uint64_t value = chance_next(&model->chance);

                assert_int_equal(engine_store(engine, 0, page_no, model->level, value), 0);
                model->word[model->level][page_no] = value;
        } else if (what < 8) {
                if (model->level < LEVELS)
                        model_enter(model);
        } else if (model->level > 1) {
                model_leave(model, what == 8);
                model_check(model);
                model_check_bases();
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
        for (int run = 0; run < RUNS; run++) {
                model_mark_pages();
                model_run(model);
        }
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
                PAGES_TEST(test_a_written_slot_is_relabelled),
                PAGES_TEST(test_a_move_needs_room_for_all),
                PAGES_TEST(test_a_version_in_the_pool_is_shared),
                PAGES_TEST(test_what_is_shared_is_copied_when_it_is_written),
                PAGES_TEST(test_without_aliases_pages_are_copied),
                PAGES_TEST(test_a_move_may_lack_memory),
                PAGES_TEST(test_nested_levels_against_a_model),
        };

        return cmocka_run_group_tests_name("libxac/txn_pages", tests, NULL, NULL);
}
