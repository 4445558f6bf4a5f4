/* SPDX-License-Identifier: MIT */
#include "base/search.h"

/* Each place that a number may have among others, by a look at all of them. */

#include "tests/base/scratch.h"
#include "tests/support/chance.h"

enum { ITEMS = 40, ROUNDS = 200 };

struct item {
        uint32_t other;
        uint64_t key;
        char more[3];
};

static uint32_t look(const struct item *items, uint32_t count, uint64_t least)
{
        uint32_t i = 0;

        while (i < count && items[i].key < least)
                i++;
        return i;
}

static void test_each_place(void **state)
{
        struct chance chance = { chance_seed() };
        struct item items[ITEMS] = { 0 };

        (void)state;
        for (int round = 0; round < ROUNDS; round++) {
                const uint32_t count = (uint32_t)chance_below(&chance, ITEMS + 1);

                for (uint32_t i = 0; i < count; i++)
                        items[i].key = (i ? items[i - 1].key : 0) + chance_below(&chance, 4); /* some are the same */
                for (uint64_t least = 0; least < 4 * ITEMS + 2; least++)
                        assert_int_equal(search_first(&items[0].key, count, sizeof(items[0]), least),
                                         look(items, count, least));
        }
}

static void test_the_largest(void **state)
{
        const uint64_t keys[] = { 0, 1, UINT64_MAX };

        (void)state;
        assert_int_equal(search_first(keys, 3, sizeof(keys[0]), UINT64_MAX), 2);
        assert_int_equal(search_first(keys, 2, sizeof(keys[0]), UINT64_MAX), 2);
        assert_int_equal(search_first(NULL, 0, sizeof(keys[0]), 0), 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_each_place),
                cmocka_unit_test(test_the_largest),
        };

        return cmocka_run_group_tests_name("base/search", tests, NULL, NULL);
}
