/* SPDX-License-Identifier: MIT */

/* In which order pages go home: every batch of random moves, against the rules as they are written (CP1, CP2, CP8). */

#include "tests/base/scratch.h"

#include <stdbool.h>

#include "recovery/batches.h"
#include "tests/support/chance.h"

enum { PAGES_MAX = 40, MOVES_MAX = 60, ROUNDS = 4000, LIMIT_MAX = 12 };

struct stand {
        uint64_t pages[PAGES_MAX];
        uint32_t count;
        struct batches_move moves[MOVES_MAX];
        uint32_t move_count;
        uint64_t first[PAGES_MAX];
        uint32_t first_count;
        bool needs[PAGES_MAX][PAGES_MAX]; /* the second may not go later than the first */
        uint32_t batch_of[PAGES_MAX];
        uint32_t batches;
};

static uint32_t index_of(const struct stand *stand, uint64_t page)
{
        for (uint32_t i = 0; i < stand->count; i++)
                if (stand->pages[i] == page)
                        return i;
        return UINT32_MAX;
}

/* Pages of a few numbers, some of which are not there at all. */
static void draw(struct stand *stand, struct chance *chance)
{
        uint64_t next = chance_below(chance, 3);

        stand->count = (uint32_t)chance_below(chance, PAGES_MAX + 1);
        for (uint32_t i = 0; i < stand->count; i++, next += 1 + chance_below(chance, 3))
                stand->pages[i] = next;
        stand->move_count = (uint32_t)chance_below(chance, MOVES_MAX);
        for (uint32_t i = 0; i < stand->move_count; i++)
                stand->moves[i] =
                        (struct batches_move){ chance_below(chance, next + 1), chance_below(chance, next + 1) };
        stand->first_count = 0;
        for (uint64_t page = 0; page < next && chance_percent(chance, 70); page += 1 + chance_below(chance, 20))
                stand->first[stand->first_count++] = page;
}

static void close_needs(struct stand *stand)
{
        memset(stand->needs, 0, sizeof(stand->needs));
        for (uint32_t i = 0; i < stand->move_count; i++) {
                uint32_t source = index_of(stand, stand->moves[i].source);
                uint32_t target = index_of(stand, stand->moves[i].target);

                if (source != UINT32_MAX && target != UINT32_MAX)
                        stand->needs[source][target] = true;
        }
        for (uint32_t k = 0; k < stand->count; k++)
                for (uint32_t i = 0; i < stand->count; i++)
                        for (uint32_t j = 0; j < stand->count; j++)
                                stand->needs[i][j] |= stand->needs[i][k] && stand->needs[k][j];
}

/* Must the two be in one batch, wherever it ends? */
static bool are_together(const struct stand *stand, uint32_t a, uint32_t b)
{
        return a == b || (stand->needs[a][b] && stand->needs[b][a]);
}

static bool is_needed_first(const struct stand *stand, uint32_t page)
{
        for (uint32_t i = 0; i < stand->first_count; i++) {
                uint32_t first = index_of(stand, stand->first[i]);

                if (first != UINT32_MAX && (first == page || stand->needs[first][page]))
                        return true;
        }
        return false;
}

static void run(struct stand *stand, uint32_t limit)
{
        const struct batches_wanted wanted = { .pages = stand->pages,
                                               .count = stand->count,
                                               .moves = stand->moves,
                                               .move_count = stand->move_count,
                                               .first = stand->first,
                                               .first_count = stand->first_count };
        const uint32_t *indices;
        struct batches batches;
        uint32_t seen = 0;

        memset(stand->batch_of, 0, sizeof(stand->batch_of));
        stand->batches = 0;
        assert_int_equal(batches_plan(&batches, &wanted), 0);
        while (!batches_are_done(&batches)) {
                uint32_t count = batches_next(&batches, limit, &indices);

                assert_true(count > 0);
                stand->batches++;
                for (uint32_t i = 0; i < count; i++) {
                        assert_true(i == 0 || indices[i] > indices[i - 1]);
                        assert_int_equal(stand->batch_of[indices[i]], 0);
                        stand->batch_of[indices[i]] = stand->batches;
                        /* Larger than it may be only if it cannot be divided. */
                        if (count > limit)
                                assert_true(are_together(stand, indices[0], indices[i]) ||
                                            (stand->batches == 1 && is_needed_first(stand, indices[i])));
                }
                seen += count;
        }
        assert_int_equal(seen, stand->count);
        assert_int_equal(batches_next(&batches, limit, &indices), 0);
        batches_free(&batches);
}

static void judge(const struct stand *stand)
{
        for (uint32_t a = 0; a < stand->count; a++) {
                if (is_needed_first(stand, a))
                        assert_int_equal(stand->batch_of[a], 1);
                for (uint32_t b = 0; b < stand->count; b++)
                        if (stand->needs[a][b])
                                assert_true(stand->batch_of[b] <= stand->batch_of[a]);
        }
}

static void test_the_rules_hold_for_random_moves(void **state)
{
        static struct stand stand;
        struct chance chance = { .state = chance_seed() };

        (void)state;
        for (int round = 0; round < ROUNDS; round++) {
                draw(&stand, &chance);
                close_needs(&stand);
                run(&stand, 1 + (uint32_t)chance_below(&chance, LIMIT_MAX));
                judge(&stand);
        }
}

/* A chain that is as long as can be: no recursion. */
static void test_a_long_chain(void **state)
{
        enum { LONG = 300000 };
        uint64_t *pages = calloc(LONG, sizeof(*pages));
        struct batches_move *moves = calloc(LONG, sizeof(*moves));
        struct batches_wanted wanted = { .pages = pages, .count = LONG, .moves = moves, .move_count = LONG - 1 };
        const uint32_t *indices;
        struct batches batches;

        (void)state;
        for (uint32_t i = 0; i < LONG; i++) {
                pages[i] = i;
                moves[i] = (struct batches_move){ .target = i + 1, .source = i };
        }
        assert_int_equal(batches_plan(&batches, &wanted), 0);
        for (uint32_t end = LONG; end; end -= 1000) { /* the last target first */
                assert_int_equal(batches_next(&batches, 1000, &indices), 1000);
                assert_int_equal(indices[0], end - 1000);
                assert_int_equal(indices[999], end - 1);
        }
        assert_true(batches_are_done(&batches));
        batches_free(&batches);

        moves[LONG - 1] = (struct batches_move){ .target = 0, .source = LONG - 1 };
        wanted.move_count = LONG;
        assert_int_equal(batches_plan(&batches, &wanted), 0);
        assert_int_equal(batches_next(&batches, 1000, &indices), LONG);
        assert_true(batches_are_done(&batches));
        batches_free(&batches);
        free(pages);
        free(moves);
}

static void test_lists_have_each_page_once(void **state)
{
        static const uint64_t some[] = { 3, 5, 9 }, more[] = { 1, 5, 6, 8, 9, 12 }, all[] = { 1, 3, 5, 6, 9, 12 };
        static const uint32_t indices[] = { 0, 1, 2, 5 }; /* of `more`: not 8 and 9 */
        struct vector list = { 0 };

        (void)state;
        assert_int_equal(batches_list_add(&list, NULL, NULL, 0), 0);
        assert_int_equal(list.count, 0);
        assert_int_equal(batches_list_add(&list, some, NULL, 3), 0);
        assert_int_equal(batches_list_add(&list, more, indices, 4), 0);
        assert_int_equal(list.count, 6);
        assert_memory_equal(list.items, all, sizeof(all));
        assert_true(batches_have(list.items, list.count, 12));
        assert_false(batches_have(list.items, list.count, 4));
        assert_false(batches_have(list.items, list.count, 13));
        vector_free(&list, sizeof(uint64_t));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_the_rules_hold_for_random_moves),
                cmocka_unit_test(test_a_long_chain),
                cmocka_unit_test(test_lists_have_each_page_once),
        };

        return cmocka_run_group_tests_name("recovery/batches", tests, NULL, NULL);
}
