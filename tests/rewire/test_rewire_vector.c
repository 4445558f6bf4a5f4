/* SPDX-License-Identifier: MIT */
#include <xac/rewire_vector.h>

/* The vector keeps its items wherever they are shown, and gives back every page. */

#include <errno.h>
#include <stdbool.h>

#include "base/sys.h"
#include "tests/support/chance.h"
#include "tests/support/check.h"
#include "tests/support/isolate.h"

enum { PAGE = 4096 };

static xac_rewire_pool *make_pool(size_t page_bytes, uint64_t pages)
{
        const xac_rewire_pool_options options = { .page_bytes = page_bytes, .max_bytes = pages * page_bytes };
        xac_rewire_pool *pool;

        check_ok(xac_rewire_pool_create(&options, &pool));
        return pool;
}

static uint64_t taken_pages(xac_rewire_pool *pool)
{
        xac_rewire_pool_stats stats;

        xac_rewire_pool_stat(pool, &stats);
        return stats.taken_pages;
}

static uint64_t item_at(const xac_rewire_vector *vector, size_t i)
{
        return ((const uint64_t *)vector->items)[i];
}

static void push(xac_rewire_vector *vector, uint64_t count)
{
        for (uint64_t i = 0; i < count; i++) {
                const uint64_t item = vector->count * 7;
                check_ok(xac_rewire_vector_push(vector, &item));
        }
}

static void check_items(const xac_rewire_vector *vector)
{
        for (uint64_t i = 0; i < vector->count; i++)
                check_equal(item_at(vector, i), i * 7);
}

static void items_stay_while_it_grows_and_shrinks(size_t page_bytes, uint64_t items)
{
        xac_rewire_pool *pool = make_pool(page_bytes, 4 * (items * 8 / page_bytes + 2));
        xac_rewire_vector *vector, *other;

        check_ok(xac_rewire_vector_create(pool, sizeof(uint64_t), &vector));
        check_ok(xac_rewire_vector_create(pool, sizeof(uint64_t), &other));
        check(!vector->capacity && !vector->items);
        for (uint64_t some = 1; vector->count < items; some *= 2) {
                push(vector, some);
                push(other, some / 3); /* so that runs in the pool are torn */
        }
        check_items(vector);
        check_items(other);
        vector->count /= 5;
        xac_rewire_vector_shrink(vector);
        check(vector->capacity - vector->count < page_bytes / 8 + 1);
        check_items(vector);
        push(vector, items / 2);
        check_items(vector);
        vector->count = 0;
        xac_rewire_vector_shrink(vector);
        check_equal(vector->capacity, 0);
        push(vector, 10);
        check_items(vector);
        xac_rewire_vector_destroy(vector);
        xac_rewire_vector_destroy(other);
        xac_rewire_vector_destroy(NULL);
        check_equal(taken_pages(pool), 0);
        check_ok(xac_rewire_pool_destroy(pool));
}

static void items_stay_in_small_pages(void)
{
        items_stay_while_it_grows_and_shrinks(PAGE, 300000);
}

static void items_stay_in_huge_pages(void)
{
        items_stay_while_it_grows_and_shrinks(XAC_REWIRE_HUGE_BYTES, 3000000);
}

static void items_of_any_length(void)
{
        xac_rewire_pool *pool = make_pool(PAGE, 1000);

        for (size_t item_len = 1; item_len <= PAGE; item_len = 2 * item_len + item_len % 3) {
                static unsigned char item[PAGE];
                xac_rewire_vector *vector;

                check_ok(xac_rewire_vector_create(pool, item_len, &vector));
                for (int i = 0; i < 60; i++) {
                        memset(item, i, item_len);
                        check_ok(xac_rewire_vector_push(vector, item));
                }
                for (int i = 0; i < 60; i++)
                        for (size_t k = 0; k < item_len; k++)
                                check_equal(((unsigned char *)vector->items)[i * item_len + k], i);
                xac_rewire_vector_destroy(vector);
        }
        xac_rewire_vector *none;
        check_equal(xac_rewire_vector_create(pool, 0, &none), -EINVAL);
        check_equal(xac_rewire_vector_create(pool, PAGE + 1, &none), -EINVAL);
        check_equal(taken_pages(pool), 0);
        check_ok(xac_rewire_pool_destroy(pool));
}

static void a_full_pool_leaves_it_as_it_was(void)
{
        xac_rewire_pool *pool = make_pool(PAGE, 20);
        const uint64_t item = 1;
        xac_rewire_vector *vector;
        int err = 0;

        check_ok(xac_rewire_vector_create(pool, sizeof(item), &vector));
        push(vector, 5000);
        while (!err) {
                const uint64_t next = vector->count * 7;
                err = xac_rewire_vector_push(vector, &next);
        }
        check_equal(err, -ENOSPC);
        check(vector->count == vector->capacity && vector->count >= 19 * PAGE / 8);
        check_items(vector);
        check_equal(taken_pages(pool), vector->capacity / (PAGE / 8));
        check_equal(xac_rewire_vector_reserve(vector, SIZE_MAX / 2), -ENOSPC);
        xac_rewire_vector_destroy(vector);
        check_equal(taken_pages(pool), 0);
        check_ok(xac_rewire_pool_destroy(pool));
}

static struct chance chance;

static int fail_some(enum sys_call call, int fd, uint64_t offset, size_t byte_len)
{
        (void)fd;
        (void)offset;
        (void)byte_len;
        return (call == SYS_MMAP || call == SYS_MREMAP || call == SYS_ALLOCATE) && chance_percent(&chance, 25) ? -ENOMEM
                                                                                                               : 0;
}

/* Whatever fails, items and pages are all there. */
static void failures_lose_nothing(void)
{
        xac_rewire_pool *pool = make_pool(PAGE, 4000);
        uint64_t failures = 0;

        chance.state = chance_seed();
        for (int round = 0; round < 200; round++) {
                xac_rewire_vector *vector, *other;
                check_ok(xac_rewire_vector_create(pool, sizeof(uint64_t), &vector));
                check_ok(xac_rewire_vector_create(pool, sizeof(uint64_t), &other));
                while (vector->count < 100000) {
                        push(other, chance_below(&chance, 600));
                        sys_fail = fail_some;
                        int err = xac_rewire_vector_reserve(vector, vector->count + 1 + chance_below(&chance, 20000));
                        sys_fail = NULL;
                        check(!err || err == -ENOMEM);
                        failures += err != 0;
                        while (vector->count < vector->capacity)
                                push(vector, 1);
                        if (err)
                                check(!vector->count || item_at(vector, vector->count / 2) == vector->count / 2 * 7);
                        check_equal(taken_pages(pool), (vector->capacity + other->capacity) / (PAGE / 8));
                }
                check_items(vector);
                check_items(other);
                xac_rewire_vector_destroy(vector);
                xac_rewire_vector_destroy(other);
                check_equal(taken_pages(pool), 0);
        }
        check(failures > 100);
        check_ok(xac_rewire_pool_destroy(pool));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_test(items_stay_in_small_pages), isolated_test(items_stay_in_huge_pages),
                isolated_test(items_of_any_length),       isolated_test(a_full_pool_leaves_it_as_it_was),
                isolated_test(failures_lose_nothing),
        };

        return cmocka_run_group_tests_name("rewire/vector", tests, NULL, NULL);
}
