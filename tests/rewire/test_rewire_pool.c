/* SPDX-License-Identifier: MIT */
#include <xac/rewire.h>

/* Pools of pages: which are taken, what they hold, what memory they have. Random calls are compared with a model. */

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>

#include "base/sys.h"
#include "tests/support/chance.h"
#include "tests/support/check.h"
#include "tests/support/isolate.h"

enum { PAGE = 4096, MIB = 1 << 20 };

static xac_rewire_pool *make_pool(size_t page_bytes, uint64_t max_pages)
{
        const xac_rewire_pool_options options = { .page_bytes = page_bytes,
                                                  .max_bytes = max_pages * page_bytes,
                                                  .ahead_bytes = 16 * page_bytes };
        xac_rewire_pool *pool;

        check_ok(xac_rewire_pool_create(&options, &pool));
        return pool;
}

static xac_rewire_pool_stats stats_of(xac_rewire_pool *pool)
{
        xac_rewire_pool_stats stats;

        xac_rewire_pool_stat(pool, &stats);
        return stats;
}

static void defaults_and_refusals(void)
{
        xac_rewire_pool *pool;
        uint64_t page;

        check_ok(xac_rewire_pool_create(NULL, &pool));
        check_equal(stats_of(pool).page_bytes, PAGE);
        check_equal(stats_of(pool).pages, 0);
        check_equal(stats_of(pool).backing, XAC_REWIRE_SMALL);
        check_equal(stats_of(pool).max_pages, sys_memory_bytes() / PAGE);
        check_equal(xac_rewire_pool_take(pool, 0, &page), -EINVAL);
        check_equal(xac_rewire_pool_give(pool, 0, 1), -EINVAL);
        check_equal(xac_rewire_pool_give(pool, UINT64_MAX, 2), -EINVAL);
        check_ok(xac_rewire_pool_take(pool, 3, &page));
        check_equal(xac_rewire_pool_give(pool, page, 4), -EINVAL);
        check_equal(stats_of(pool).taken_pages, 3);
        check_ok(xac_rewire_pool_give(pool, page + 1, 1));
        check_ok(xac_rewire_pool_give(pool, page, 1));
        check_ok(xac_rewire_pool_give(pool, page + 2, 1));
        check_ok(xac_rewire_pool_destroy(pool));
        check_ok(xac_rewire_pool_destroy(NULL));
        check_equal(xac_rewire_pool_create(&(xac_rewire_pool_options){ .page_bytes = 8192 }, &pool), -EINVAL);
        check_equal(xac_rewire_pool_create(&(xac_rewire_pool_options){ .reserved = { [3] = 1 } }, &pool), -EINVAL);
}

static void a_full_pool_says_so(void)
{
        xac_rewire_pool *pool = make_pool(PAGE, 100);
        uint64_t first, page;

        check_equal(xac_rewire_pool_take(pool, 101, &page), -ENOSPC);
        check_ok(xac_rewire_pool_take(pool, 60, &first));
        check_equal(xac_rewire_pool_take(pool, 41, &page), -ENOSPC);
        check_ok(xac_rewire_pool_take(pool, 40, &page));
        check_equal(xac_rewire_pool_take(pool, 1, &page), -ENOSPC);
        check_equal(xac_rewire_pool_grow(pool, 1), -ENOSPC);
        check_ok(xac_rewire_pool_give(pool, first + 10, 10));
        check_ok(xac_rewire_pool_give(pool, first + 30, 10));
        check_equal(xac_rewire_pool_take(pool, 11, &page), -ENOSPC); /* no such run */
        check_ok(xac_rewire_pool_take(pool, 10, &page));
        check_ok(xac_rewire_pool_destroy(pool));
}

/* ---- random calls ---- */

enum { PAGES = 700, STEPS = 20000 };

struct model {
        xac_rewire_pool *pool;
        struct chance chance;
        uint64_t content[PAGES]; /* of each page that was ever taken, and not released since */
        bool is_taken[PAGES];
        uint64_t taken;
};

static void take_some(struct model *model)
{
        const uint64_t count = 1 + chance_below(&model->chance, chance_percent(&model->chance, 20) ? 90 : 4);
        uint64_t first;
        int err = xac_rewire_pool_take(model->pool, count, &first);

        if (err) {
                check_equal(err, -ENOSPC);
                uint64_t run = 0;
                for (uint64_t page = 0; page < PAGES; page++) {
                        run = model->is_taken[page] ? 0 : run + 1;
                        check(run < count);
                }
                return;
        }
        for (uint64_t page = first; page < first + count; page++) {
                uint64_t *word = xac_rewire_pool_page(model->pool, page);
                check(page < PAGES && !model->is_taken[page]);
                check(*word == model->content[page] || *word == 0);
                model->is_taken[page] = true;
                *word = model->content[page] = chance_next(&model->chance);
        }
        model->taken += count;
}

static void give_some(struct model *model)
{
        const uint64_t first = chance_below(&model->chance, PAGES);
        const uint64_t count = 1 + chance_below(&model->chance, PAGES - first < 40 ? PAGES - first : 40);
        bool are_taken = true;

        for (uint64_t page = first; page < first + count; page++)
                are_taken = are_taken && model->is_taken[page];
        check_equal(xac_rewire_pool_give(model->pool, first, count), are_taken ? 0 : -EINVAL);
        for (uint64_t page = first; are_taken && page < first + count; page++)
                model->is_taken[page] = false;
        model->taken -= are_taken ? count : 0;
}

static void grow_or_shrink(struct model *model)
{
        const xac_rewire_pool_stats before = stats_of(model->pool);
        const uint64_t count = chance_below(&model->chance, 60), spare = before.pages - before.taken_pages;

        if (chance_percent(&model->chance, 50)) {
                const uint64_t room = PAGES - before.pages;
                check_equal(xac_rewire_pool_grow(model->pool, count), count <= room ? 0 : -ENOSPC);
                check_equal(stats_of(model->pool).pages, before.pages + (count < room ? count : room));
        } else {
                check_ok(xac_rewire_pool_shrink(model->pool, count));
                check_equal(stats_of(model->pool).pages, before.taken_pages + (count < spare ? count : spare));
        }
}

static void check_model(struct model *model)
{
        const xac_rewire_pool_stats stats = stats_of(model->pool);

        check_equal(stats.taken_pages, model->taken);
        check(stats.pages >= model->taken && stats.pages <= PAGES);
        for (uint64_t page = 0; page < PAGES; page++)
                if (model->is_taken[page])
                        check_equal(*(uint64_t *)xac_rewire_pool_page(model->pool, page), model->content[page]);
}

static void random_calls_against_a_model(void)
{
        static struct model model;

        model.chance.state = chance_seed();
        model.pool = make_pool(PAGE, PAGES);
        for (int step = 0; step < STEPS; step++) {
                const uint64_t what = chance_below(&model.chance, 100);
                if (what < 45)
                        take_some(&model);
                else if (what < 95)
                        give_some(&model);
                else
                        grow_or_shrink(&model);
                if (step % 16 == 0)
                        check_model(&model);
        }
        check_ok(xac_rewire_pool_destroy(model.pool));
}

/* ---- memory ---- */

static void what_is_given_back_is_zeros(void)
{
        xac_rewire_pool *pool = make_pool(PAGE, 1000);
        uint64_t first, again;

        check_ok(xac_rewire_pool_grow(pool, 500));
        check_equal(stats_of(pool).pages, 500);
        check_ok(xac_rewire_pool_take(pool, 500, &first));
        for (uint64_t page = first; page < first + 500; page++)
                memset(xac_rewire_pool_page(pool, page), 7, PAGE);
        check_ok(xac_rewire_pool_give(pool, first, 500));
        check_ok(xac_rewire_pool_shrink(pool, 100));
        check_equal(stats_of(pool).pages, 100);
        check_ok(xac_rewire_pool_take(pool, 500, &again));
        for (uint64_t page = again; page < again + 500; page++)
                check_equal(*(char *)xac_rewire_pool_page(pool, page), page < first + 100 && page >= first ? 7 : 0);
        check_ok(xac_rewire_pool_destroy(pool));
}

static bool has_huge_pages(void)
{
        xac_rewire_pool *pool = make_pool(XAC_REWIRE_HUGE_BYTES, 1);
        uint64_t page;

        check_ok(xac_rewire_pool_take(pool, 1, &page));
        const bool has = stats_of(pool).huge_pages == 1;
        check_ok(xac_rewire_pool_destroy(pool));
        return has;
}

static void huge_pages_are_huge(void)
{
        xac_rewire_pool *pool = make_pool(XAC_REWIRE_HUGE_BYTES, 20);
        uint64_t first;

        check_equal(stats_of(pool).page_bytes, XAC_REWIRE_HUGE_BYTES);
        check_ok(xac_rewire_pool_take(pool, 5, &first));
        check_equal((uintptr_t)xac_rewire_pool_page(pool, first) % XAC_REWIRE_HUGE_BYTES, 0);
        for (uint64_t at = 0; at < 5 * XAC_REWIRE_HUGE_BYTES; at += PAGE)
                *((char *)xac_rewire_pool_page(pool, first) + at) = (char)(at / PAGE);
        for (uint64_t at = 0; at < 5 * XAC_REWIRE_HUGE_BYTES; at += PAGE)
                check_equal(*((char *)xac_rewire_pool_page(pool, first) + at), (char)(at / PAGE));
        const xac_rewire_pool_stats stats = stats_of(pool);
        check_ok(xac_rewire_pool_give(pool, first, 5));
        check_ok(xac_rewire_pool_shrink(pool, 0));
        check_equal(stats_of(pool).pages, 0);
        check_equal(stats_of(pool).huge_pages, 0);
        check_ok(xac_rewire_pool_destroy(pool));
        if (!has_huge_pages())
                isolate_skip("this kernel makes no huge pages of shared memory");
        check(stats.huge_pages == stats.pages && stats.backing != XAC_REWIRE_SMALL);
}

static int refuse_collapse(enum sys_call call, int fd, uint64_t offset, size_t byte_len)
{
        (void)fd;
        (void)offset;
        return call == SYS_MADVISE && byte_len == XAC_REWIRE_HUGE_BYTES ? -EINVAL : 0;
}

/* Small ones lie in them where 2 MiB get memory at once; nothing else is different. */
static void small_pages_come_to_lie_in_huge_ones(void)
{
        const xac_rewire_pool_options options = { .max_bytes = 16 * MIB, .ahead_bytes = PAGE, .collapse = 1 };
        xac_rewire_pool *pool;
        xac_rewire_area *area;
        uint64_t first, second;

        check_ok(xac_rewire_pool_create(&options, &pool));
        check_ok(xac_rewire_pool_take(pool, 100, &first));
        check_equal(stats_of(pool).huge_pages, 0);
        check_ok(
                xac_rewire_pool_take(pool, 2000, &second)); /* the rest of the first 2 MiB, three whole ones and more */
        check_equal(second, first + 100);
        check_equal(stats_of(pool).huge_pages, has_huge_pages() ? 1536 : 0);
        check_equal(stats_of(pool).backing, has_huge_pages() ? XAC_REWIRE_HUGE : XAC_REWIRE_SMALL);
        for (uint64_t page = first; page < first + 2100; page++) {
                check_equal(*(uint64_t *)xac_rewire_pool_page(pool, page), 0);
                *(uint64_t *)xac_rewire_pool_page(pool, page) = page;
        }
        check_ok(xac_rewire_area_create(pool, 700, 0, &area));
        for (uint64_t at = 0; at < 700; at++)
                check_ok(xac_rewire_area_map(area, at, first + 3 * at, 1));
        for (uint64_t at = 0; at < 700; at++)
                check_equal(*(uint64_t *)((char *)xac_rewire_area_address(area) + at * PAGE), first + 3 * at);
        xac_rewire_area_destroy(area);
        check_ok(xac_rewire_pool_destroy(pool));
}

static void without_huge_pages_small_ones_do(void)
{
        uint64_t page;

        sys_fail = refuse_collapse;
        xac_rewire_pool *pool = make_pool(XAC_REWIRE_HUGE_BYTES, 4);
        check_ok(xac_rewire_pool_take(pool, 2, &page));
        memset(xac_rewire_pool_page(pool, page), 1, 2 * XAC_REWIRE_HUGE_BYTES);
        if (stats_of(pool).backing != XAC_REWIRE_HUGETLB)
                check_equal(stats_of(pool).backing, XAC_REWIRE_SMALL);
        sys_fail = NULL;
        check_ok(xac_rewire_pool_destroy(pool));
}

static int fail_with;
static enum sys_call fail_call;

static int fail_calls(enum sys_call call, int fd, uint64_t offset, size_t byte_len)
{
        (void)fd;
        (void)offset;
        (void)byte_len;
        return call == fail_call ? fail_with : 0;
}

static void without_memory_nothing_is_taken(void)
{
        xac_rewire_pool *pool = make_pool(PAGE, 1000);
        uint64_t page;

        fail_call = SYS_ALLOCATE;
        fail_with = -ENOSPC;
        sys_fail = fail_calls;
        check_equal(xac_rewire_pool_take(pool, 5, &page), -ENOMEM);
        check_equal(xac_rewire_pool_grow(pool, 5), -ENOMEM);
        sys_fail = NULL;
        check_equal(stats_of(pool).pages, 0);
        check_equal(stats_of(pool).taken_pages, 0);
        check_ok(xac_rewire_pool_take(pool, 5, &page));
        check_ok(xac_rewire_pool_destroy(pool));
        fail_call = SYS_MMAP;
        fail_with = -ENOMEM;
        sys_fail = fail_calls;
        check_equal(xac_rewire_pool_create(NULL, &pool), -ENOMEM);
        sys_fail = NULL;
}

/* ---- threads ---- */

enum { THREADS = 4, ROUNDS = 3000 };

static void *take_and_give(void *pool)
{
        uint64_t held[8] = { 0 };

        for (int round = 0; round < ROUNDS; round++) {
                const int i = round % 8;
                if (round >= 8) {
                        uint64_t *word = xac_rewire_pool_page(pool, held[i]);
                        check_equal(*word, (uintptr_t)held);
                        check_ok(xac_rewire_pool_give(pool, held[i], 1));
                }
                check_ok(xac_rewire_pool_take(pool, 1, &held[i]));
                *(uint64_t *)xac_rewire_pool_page(pool, held[i]) = (uintptr_t)held;
        }
        return NULL;
}

static void threads_take_pages_of_their_own(void)
{
        xac_rewire_pool *pool = make_pool(PAGE, 64);
        pthread_t thread[THREADS];

        for (int i = 0; i < THREADS; i++)
                check_equal(pthread_create(&thread[i], NULL, take_and_give, pool), 0);
        for (int i = 0; i < THREADS; i++)
                check_equal(pthread_join(thread[i], NULL), 0);
        check_equal(stats_of(pool).taken_pages, THREADS * 8);
        check_ok(xac_rewire_pool_destroy(pool));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_test(defaults_and_refusals),
                isolated_test(a_full_pool_says_so),
                isolated_test(random_calls_against_a_model),
                isolated_test(what_is_given_back_is_zeros),
                isolated_test(huge_pages_are_huge),
                isolated_test(small_pages_come_to_lie_in_huge_ones),
                isolated_test(without_huge_pages_small_ones_do),
                isolated_test(without_memory_nothing_is_taken),
                isolated_test(threads_take_pages_of_their_own),
        };

        return cmocka_run_group_tests_name("rewire/pool", tests, NULL, NULL);
}
