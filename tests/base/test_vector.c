/* SPDX-License-Identifier: MIT */
#include "base/vector.h"

/* The array that grows without malloc. */

#include "tests/base/scratch.h"
#include "tests/support/leeway.h"

struct item {
        uint64_t number;
        char filling[12];
};

static void test_items_stay_while_it_grows(void **state)
{
        enum { ITEMS = 100000 };
        struct vector vector = { 0 };

        (void)state;
        for (uint32_t i = 0; i < ITEMS; i++) {
                assert_int_equal(vector_reserve(&vector, i + 1, sizeof(struct item)), 0);
                assert_true(vector.capacity >= i + 1);
                ((struct item *)vector.items)[i] = (struct item){ .number = i * UINT64_C(7) };
                vector.count++;
        }
        for (uint32_t i = 0; i < ITEMS; i++)
                assert_int_equal(((struct item *)vector.items)[i].number, i * UINT64_C(7));
        vector_free(&vector, sizeof(struct item));
        assert_null(vector.items);
        assert_int_equal(vector.count, 0);
        assert_int_equal(vector.capacity, 0);
        vector_free(&vector, sizeof(struct item));
}

static void test_items_of_any_length(void **state)
{
        (void)state;
        for (size_t item_len = 1; item_len <= 65536; item_len = 2 * item_len + item_len % 3) {
                struct vector vector = { 0 };

                for (uint32_t i = 0; i < 40; i++) {
                        assert_int_equal(vector_reserve(&vector, i + 1, item_len), 0);
                        assert_true(vector.capacity >= i + 1);
                        memset((unsigned char *)vector.items + i * item_len, (int)i, item_len);
                        vector.count++;
                }
                for (uint32_t i = 0; i < 40; i++) {
                        const unsigned char *item = (unsigned char *)vector.items + i * item_len;
                        assert_int_equal(item[0], i);
                        assert_memory_equal(item, item + 1, item_len - 1);
                }
                vector_free(&vector, item_len);
        }
}

static void test_a_failure_loses_nothing(void **state)
{
        struct vector vector = { 0 };
        uint32_t capacity;

        (void)state;
        scratch_fail(1, -ENOMEM, 0);
        assert_int_equal(vector_reserve(&vector, 10, sizeof(uint32_t)), -ENOMEM);
        assert_true(scratch_failed());
        assert_null(vector.items);
        assert_int_equal(vector_reserve(&vector, 10, sizeof(uint32_t)), 0);
        capacity = vector.capacity;
        for (uint32_t i = 0; i < capacity; i++)
                ((uint32_t *)vector.items)[i] = i;

        scratch_fail(1, -ENOMEM, 0);
        assert_int_equal(vector_reserve(&vector, capacity + 1, sizeof(uint32_t)), -ENOMEM);
        assert_true(scratch_failed());
        assert_int_equal(vector.capacity, capacity);
        assert_int_equal(((uint32_t *)vector.items)[capacity - 1], capacity - 1);
        assert_int_equal(vector_reserve(&vector, UINT32_MAX, sizeof(uint32_t)), -ENOMEM);
        assert_int_equal(vector_reserve(&vector, capacity + 1, sizeof(uint32_t)), 0);
        for (uint32_t i = 0; i < capacity; i++)
                assert_int_equal(((uint32_t *)vector.items)[i], i);
        vector_free(&vector, sizeof(uint32_t));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_items_stay_while_it_grows),
                cmocka_unit_test(test_items_of_any_length),
                cmocka_unit_test(test_a_failure_loses_nothing),
        };

        leeway_alarm(60);
        return cmocka_run_group_tests_name("base/vector", tests, NULL, NULL);
}
