/* SPDX-License-Identifier: MIT */

/*
 * P4: an inner abort undoes the inner writes only; an inner commit becomes the outer's.
 */

#include <string.h>

#include <xac/xac.h>

#include "tests/support/chance.h"
#include "tests/support/check.h"
#include "tests/support/isolate.h"
#include "tests/support/seat.h"

/* A page that the outer level wrote, one it only read, one that nobody touched before. */
static void inner_abort_undoes_the_inner_writes_only(int way)
{
        seat_take((uint64_t)way);
        seat_commit_add(seat_word(2, 0));
        check_ok(xbegin(seat.env, 0));
        seat_put(seat_word(1, 0), 10);
        check_equal(seat_get(seat_word(2, 0)), 1);

        check_ok(xbegin(seat.env, 0));
        check_equal(seat_get(seat_word(1, 0)), 10);
        seat_put(seat_word(1, 0), 11);
        seat_put(seat_word(1, 1), 11);
        seat_put(seat_word(2, 0), 12);
        seat_put(seat_word(3, 0), 13);
        check_ok(xabort(seat.env));

        check_equal(seat_get(seat_word(1, 0)), 10);
        check_equal(seat_get(seat_word(1, 1)), 0);
        check_equal(seat_get(seat_word(2, 0)), 1);
        check_equal(seat_get(seat_word(3, 0)), 0);
        seat_put(seat_word(3, 1), 14);
        check_ok(xend(seat.env));

        check_equal(seat_commit_get(seat_word(1, 0)), 10);
        check_equal(seat_commit_get(seat_word(1, 1)), 0);
        check_equal(seat_commit_get(seat_word(2, 0)), 1);
        check_equal(seat_commit_get(seat_word(3, 0)), 0);
        check_equal(seat_commit_get(seat_word(3, 1)), 14);
        seat_leave(0);
}

static void inner_commit_becomes_the_outers(int way)
{
        seat_take((uint64_t)way);
        for (int commits = 0; commits < 2; commits++) {
                check_ok(xbegin(seat.env, 0));
                check_ok(xbegin(seat.env, 0));
                seat_add(0);
                check_ok(xbegin(seat.env, 0));
                seat_add(0);
                seat_add(seat_word(5, 0));
                check_ok(xend(seat.env));
                check_ok(xend(seat.env));
                check_equal(seat_get(0), 2);
                check_ok(commits ? xend(seat.env) : xabort(seat.env));
                check_equal(seat_commit_get(0), commits * 2);
                check_equal(seat_commit_get(seat_word(5, 0)), commits);
        }
        seat_leave(0);
}

/* The middle level's abort undoes what its own committed inner level had done. */
static void middle_abort_undoes_committed_inner_levels(int way)
{
        seat_take((uint64_t)way);
        check_ok(xbegin(seat.env, 0));
        seat_put(0, 1);
        check_ok(xbegin(seat.env, 0));
        check_ok(xbegin(seat.env, 0));
        seat_put(0, 2);
        seat_put(seat_word(4, 4), 2);
        check_ok(xend(seat.env));
        check_equal(seat_get(0), 2);
        check_ok(xabort(seat.env));
        check_equal(seat_get(0), 1);
        check_equal(seat_get(seat_word(4, 4)), 0);
        check_ok(xend(seat.env));
        check_equal(seat_commit_get(0), 1);
        seat_leave(0);
}

/* Each level adds to one shared page and to one of its own. */
static void levels_may_be_deep(int way)
{
        enum { DEPTH = 400 };

        seat_take((uint64_t)way);
        check_ok(xbegin(seat.env, 0));
        for (unsigned level = 0; level < DEPTH; level++) {
                check_ok(xbegin(seat.env, 0));
                seat_put(0, level + 1);
                seat_put(seat_word(1 + level % (SEAT_PAGES - 1), 0), level + 1);
        }
        for (unsigned level = DEPTH; level > DEPTH / 2; level--) {
                check_equal(seat_get(0), level);
                check_equal(seat_get(seat_word(1 + (level - 1) % (SEAT_PAGES - 1), 0)), level);
                check_ok(xabort(seat.env));
        }
        for (unsigned level = DEPTH / 2; level > 0; level--)
                check_ok(xend(seat.env));
        check_equal(seat_get(0), DEPTH / 2);
        check_ok(xend(seat.env));
        check_code(xend(seat.env), XAC_NOTXN);
        check_equal(seat_commit_get(0), DEPTH / 2);
        seat_leave(0);
}

static void many_inner_levels_in_a_row_leave_nothing(int way)
{
        uint64_t used;

        seat_take((uint64_t)way);
        check_ok(xbegin(seat.env, 0));
        seat_put(0, 1);
        used = 0;
        for (unsigned i = 0; i < 2000; i++) {
                check_ok(xbegin(seat.env, 0));
                seat_put(0, i + 2);
                seat_put(seat_word(1 + i % 3, 0), i);
                check_ok(i % 4 == 3 ? xend(seat.env) : xabort(seat.env));
                check_equal(seat_get(0), (i + 1) / 4 * 4 + 1);
                if (i == 100)
                        used = seat_stat(pool_bytes_used);
        }
        /* Saved pages of ended levels are given back while the transaction goes on. */
        check(seat_stat(pool_bytes_used) <= used + 64 * SEAT_PAGE_BYTES);
        check_ok(xend(seat.env));
        check_equal(seat_commit_get(0), 2001);
        seat_leave(0);
}

static void inside_rdonly_everything_is_readonly(int way)
{
        int code;

        seat_take((uint64_t)way);
        check_ok(xbegin(seat.env, XAC_RDONLY));
        check_ok(xbegin(seat.env, 0));
        check_equal(seat_get(0), 0);
        if (way & WAY_DECLARED)
                check(xac_page_write(seat.env, seat.words) == NULL);
        else
                seat_put(0, 1);
        code = xend(seat.env);
        check(code == 0 || code == XAC_WROTE);
        check_code(xend(seat.env), XAC_WROTE);
        check_equal(seat_commit_get(0), 0);
        seat_leave(0);
}

static void an_inner_rdonly_level_restricts_only_itself(int way)
{
        seat_take((uint64_t)way);
        check_ok(xbegin(seat.env, 0));
        seat_put(0, 1);
        check_ok(xbegin(seat.env, XAC_RDONLY));
        check_equal(seat_get(0), 1);
        check_equal(seat_get(seat_word(1, 0)), 0);
        check_ok(xend(seat.env));
        seat_put(0, 2);
        seat_put(seat_word(1, 0), 2);
        check_ok(xbegin(seat.env, XAC_RDONLY));
        check_equal(seat_get(0), 2);
        check_ok(xabort(seat.env));
        seat_add(0);
        check_ok(xend(seat.env));
        check_equal(seat_commit_get(0), 3);
        seat_leave(0);
}

/* The page is private and writable already when the read-only level begins. */
static void writing_in_an_inner_rdonly_level_loses_the_transaction(int way)
{
        int code;

        seat_take((uint64_t)way);
        check_ok(xbegin(seat.env, 0));
        seat_put(0, 1);
        check_ok(xbegin(seat.env, XAC_RDONLY));
        if (way & WAY_DECLARED)
                check(xac_page_write(seat.env, seat.words) == NULL);
        else
                seat_put(0, 2);
        code = xend(seat.env);
        check(code == 0 || code == XAC_WROTE);
        check_code(xend(seat.env), XAC_WROTE);
        check_equal(seat_commit_get(0), 0);
        seat_leave(0);
}

/* The fine print on pointers: readable inside, to be asked for again before writing. */
static void pointers_taken_before_a_level_stay_readable_inside(void)
{
        const uint64_t *read_only, *before;
        uint64_t *written, *inside;

        seat_take(WAY_DECLARED);
        check_ok(xbegin(seat.env, 0));
        read_only = xac_page_read(seat.env, seat.words + seat_word(1, 0));
        written = xac_page_write(seat.env, seat.words + seat_word(2, 0));
        *written = 5;
        for (int level = 0; level < 3; level++) {
                check_ok(xbegin(seat.env, 0));
                check_equal(*read_only, 0);
                check_equal(*written, 5);
                before = xac_page_read(seat.env, seat.words + seat_word(2, 0));
                check_equal(*before, 5);
        }
        inside = xac_page_write(seat.env, seat.words + seat_word(2, 0));
        check_equal(*inside, 5);
        *inside = 6;
        check(*written == 5 || *written == 6);
        check_equal(*read_only, 0);
        check_ok(xabort(seat.env));
        check_ok(xend(seat.env));
        check_ok(xabort(seat.env));
        check_equal(seat_get(seat_word(2, 0)), 5);
        seat_put(seat_word(2, 0), 7);
        check_ok(xend(seat.env));
        check_equal(seat_commit_get(seat_word(2, 0)), 7);
        seat_leave(0);
}

static int add_one(void *word)
{
        seat_add((size_t)(uintptr_t)word);
        return 0;
}

static int add_one_and_fail(void *word)
{
        add_one(word);
        return 42;
}

static void xac_run_inside_a_transaction_is_a_level(int way)
{
        seat_take((uint64_t)way);
        check_ok(xbegin(seat.env, 0));
        check_ok(xac_run(seat.env, 0, add_one, (void *)3));
        check_equal(xac_run(seat.env, 0, add_one_and_fail, (void *)3), 42);
        check_equal(seat_get(3), 1);
        check_ok(xac_run(seat.env, 0, add_one, (void *)3));
        check_ok(xend(seat.env));
        check_equal(seat_commit_get(3), 2);
        seat_leave(0);
}

/* Random levels against a model: a stack of copies of all words looked at. */
enum { MODEL_PAGES = 6, MODEL_WORDS = 3, MODEL_DEPTH = 12 };

static size_t model_word(unsigned i)
{
        return seat_word(i % MODEL_PAGES, i / MODEL_PAGES * 200);
}

/* Mixed access: every touch picks its own way. */
static void touch(struct chance *chance, uint64_t *model, int mixed)
{
        unsigned i = (unsigned)chance_below(chance, MODEL_PAGES * MODEL_WORDS);

        if (mixed)
                seat.way = chance_percent(chance, 50) ? WAY_DECLARED : 0;
        if (chance_percent(chance, 50)) {
                check_equal(seat_get(model_word(i)), model[i]);
        } else {
                model[i] = chance_next(chance);
                seat_put(model_word(i), model[i]);
        }
}

static void random_transaction(struct chance *chance, uint64_t *committed, int mixed)
{
        uint64_t model[MODEL_DEPTH + 1][MODEL_PAGES * MODEL_WORDS];
        int depth = 0;

        check_ok(xbegin(seat.env, 0));
        memcpy(model[0], committed, sizeof(model[0]));
        for (int step = 0; step < 60; step++) {
                unsigned kind = (unsigned)chance_below(chance, 10);

                if (kind < 6) {
                        touch(chance, model[depth], mixed);
                } else if (kind < 8 && depth < MODEL_DEPTH) {
                        check_ok(xbegin(seat.env, 0));
                        memcpy(model[depth + 1], model[depth], sizeof(model[0]));
                        depth++;
                } else if (depth > 0 && kind == 8) {
                        check_ok(xend(seat.env));
                        memcpy(model[depth - 1], model[depth], sizeof(model[0]));
                        depth--;
                } else if (depth > 0) {
                        check_ok(xabort(seat.env));
                        depth--;
                }
        }
        for (; depth > 0; depth--) {
                check_ok(xend(seat.env));
                memcpy(model[depth - 1], model[depth], sizeof(model[0]));
        }
        for (unsigned i = 0; i < MODEL_PAGES * MODEL_WORDS; i++)
                check_equal(seat_get(model_word(i)), model[0][i]);
        if (chance_percent(chance, 20)) {
                check_ok(xabort(seat.env));
                return;
        }
        check_ok(xend(seat.env));
        memcpy(committed, model[0], sizeof(model[0]));
}

static void random_levels(int way, int mixed)
{
        uint64_t committed[MODEL_PAGES * MODEL_WORDS] = { 0 };
        struct chance chance = { chance_seed() };

        seat_take((uint64_t)way);
        for (int i = 0; i < 300; i++)
                random_transaction(&chance, committed, mixed);
        for (unsigned i = 0; i < MODEL_PAGES * MODEL_WORDS; i++)
                check_equal(seat_commit_get(model_word(i)), committed[i]);
        seat_leave(0);
}

static void random_levels_equal_a_stack_of_copies(int way)
{
        random_levels(way, 0);
}

static void random_levels_with_mixed_access_equal_a_stack_of_copies(void)
{
        random_levels(0, 1);
}

/* The number is 0 outside, and no two states of a thread have the same. */
static void each_state_has_a_number_of_its_own(void)
{
        uint64_t seen[6];

        seat_take(0);
        check_equal(xac_txn_id(NULL), 0);
        check_equal(xac_txn_id(seat.env), 0);
        check_ok(xbegin(seat.env, 0));
        seen[0] = xac_txn_id(seat.env);
        seat_put(seat_word(1, 0), 10);
        check_equal(xac_txn_id(seat.env), seen[0]);
        check_ok(xbegin(seat.env, 0));
        seen[1] = xac_txn_id(seat.env);
        check_ok(xabort(seat.env));
        seen[2] = xac_txn_id(seat.env);
        check_ok(xbegin(seat.env, 0));
        seen[3] = xac_txn_id(seat.env);
        check_ok(xend(seat.env));
        seen[4] = xac_txn_id(seat.env);
        check_ok(xend(seat.env));
        check_equal(xac_txn_id(seat.env), 0);
        check_ok(xbegin(seat.env, XAC_RDONLY));
        seen[5] = xac_txn_id(seat.env);
        check_ok(xabort(seat.env));
        check_equal(xac_txn_id(seat.env), 0);
        for (int i = 0; i < 6; i++) {
                check(seen[i] != 0);
                for (int j = 0; j < i; j++)
                        check(seen[i] != seen[j]);
        }
        seat_leave(0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_by_access(inner_abort_undoes_the_inner_writes_only),
                isolated_by_access(inner_commit_becomes_the_outers),
                isolated_by_access(middle_abort_undoes_committed_inner_levels),
                isolated_by_access(levels_may_be_deep),
                isolated_by_access(many_inner_levels_in_a_row_leave_nothing),
                isolated_by_access(inside_rdonly_everything_is_readonly),
                isolated_by_access(an_inner_rdonly_level_restricts_only_itself),
                isolated_by_access(writing_in_an_inner_rdonly_level_loses_the_transaction),
                isolated_test(pointers_taken_before_a_level_stay_readable_inside),
                isolated_by_access(xac_run_inside_a_transaction_is_a_level),
                isolated_test(each_state_has_a_number_of_its_own),
                isolated_by_access(random_levels_equal_a_stack_of_copies),
                isolated_test(random_levels_with_mixed_access_equal_a_stack_of_copies),
        };
        return cmocka_run_group_tests_name("nesting", tests, NULL, NULL);
}
