/* SPDX-License-Identifier: MIT */
#include "rewire/rewire_pool.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/sys.h"

enum { SMALL_SHIFT = 12, WORD_BITS = 64, AHEAD_BYTES = 2 << 20 };

/* A page is taken or free, and has memory (is ready) or has none: two bits. A page that is taken is ready. */
struct xac_rewire_pool {
        struct memory memory;
        pthread_mutex_t mutex;
        uint64_t *taken; /* [mutex] like all that follows */
        uint64_t *ready;
        uint64_t max_pages;
        uint64_t ahead;       /* pages that are prepared at once */
        bool collapse;        /* small ones, where 2 MiB are: into one page of the kernel's */
        uint64_t first_free;  /* no page before it is free, */
        uint64_t first_spare; /* or free and ready */
        uint64_t taken_count, ready_count, huge_count, areas;
};

/* ---- bits ---- */

static bool is_set(const uint64_t *bits, uint64_t page)
{
        return bits[page / WORD_BITS] >> page % WORD_BITS & 1;
}

static void set(uint64_t *bits, uint64_t first, uint64_t count, bool value)
{
        for (uint64_t page = first; page < first + count; page++) {
                const uint64_t bit = UINT64_C(1) << page % WORD_BITS;
                bits[page / WORD_BITS] = value ? bits[page / WORD_BITS] | bit : bits[page / WORD_BITS] & ~bit;
        }
}

/* Free pages, those that have memory or all, of the 64 from a multiple of 64 on. */
static uint64_t free_word(const xac_rewire_pool *pool, uint64_t page, bool is_ready)
{
        const uint64_t taken = pool->taken[page / WORD_BITS];
        return is_ready ? pool->ready[page / WORD_BITS] & ~taken : ~taken;
}

/* The first page from `from` on that is free (or is not, if !is_free), or max_pages. */
static uint64_t next_page(const xac_rewire_pool *pool, uint64_t from, bool is_ready, bool is_free)
{
        for (uint64_t page = from; page < pool->max_pages; page = page / WORD_BITS * WORD_BITS + WORD_BITS) {
                const uint64_t word = free_word(pool, page, is_ready);
                const uint64_t left = (is_free ? word : ~word) >> page % WORD_BITS;
                if (left) {
                        const uint64_t found = page + (uint64_t)__builtin_ctzll(left);
                        return found < pool->max_pages ? found : pool->max_pages;
                }
        }
        return pool->max_pages;
}

/* The first run of so many free pages, or max_pages. *hint: no page before it is one. */
static uint64_t find_run(const xac_rewire_pool *pool, uint64_t count, bool is_ready, uint64_t *hint)
{
        *hint = next_page(pool, *hint, is_ready, true);
        for (uint64_t first = *hint; first < pool->max_pages;) {
                const uint64_t end = next_page(pool, first, is_ready, false);
                if (end - first >= count)
                        return first;
                first = next_page(pool, end, is_ready, true);
        }
        return pool->max_pages;
}

/* ---- memory ---- */

/* Each 2 MiB by itself; what is less at either end, of small pages. */
static int prepare_huge(xac_rewire_pool *pool, uint64_t first, uint64_t count)
{
        const uint64_t in_huge = HUGE_BYTES >> pool->memory.page_shift;
        const uint64_t end = first + count;
        int err = 0;
        for (uint64_t page = first, next; page < end && !err; page = next) {
                bool is_huge = false;
                next = (page / in_huge + 1) * in_huge;
                if (page % in_huge || next > end) {
                        next = next < end ? next : end;
                        err = memory_prepare(&pool->memory, page, next - page);
                } else {
                        err = memory_prepare_huge(&pool->memory, page / in_huge, &is_huge);
                        pool->huge_count += !err && is_huge ? in_huge : 0;
                }
        }
        return err;
}

static int prepare(xac_rewire_pool *pool, uint64_t first, uint64_t count)
{
        const bool may_be_huge = pool->memory.page_shift == HUGE_SHIFT || pool->collapse;
        int err = may_be_huge ? prepare_huge(pool, first, count) : memory_prepare(&pool->memory, first, count);
        if (err)
                return err == -ENOSPC ? -ENOMEM : err; /* the machine's, not the pool's */
        memory_touch(&pool->memory, first, count);
        set(pool->ready, first, count, true);
        pool->ready_count += count;
        return 0;
}

/* Those in the range that have none. */
static int prepare_missing(xac_rewire_pool *pool, uint64_t first, uint64_t count)
{
        const uint64_t end = first + count;
        for (uint64_t page = first; page < end;) {
                uint64_t run = page;
                while (run < end && !is_set(pool->ready, run))
                        run++;
                int err = run > page ? prepare(pool, page, run - page) : 0;
                if (err)
                        return err;
                page = run + 1;
        }
        return 0;
}

/* More at once than are asked for, where those behind are free too: that costs less. Without, if there is no memory. */
static int prepare_ahead(xac_rewire_pool *pool, uint64_t first, uint64_t count)
{
        uint64_t end = next_page(pool, first, false, false);
        if (end - first > count && end - first > pool->ahead)
                end = first + (count > pool->ahead ? count : pool->ahead);
        if (end - first > count && !prepare_missing(pool, first, end - first))
                return 0;
        return prepare_missing(pool, first, count);
}

/* ---- calls ---- */

/* What a program sets that was built for a later version. */
static bool is_any_reserved_set(const xac_rewire_pool_options *options)
{
        uint64_t any = 0;
        for (size_t i = 0; i < sizeof(options->reserved) / sizeof(options->reserved[0]); i++)
                any |= options->reserved[i];
        return any != 0;
}

static int choose(const xac_rewire_pool_options *options, xac_rewire_pool *pool, uint32_t *page_shift)
{
        const size_t page_bytes = options && options->page_bytes ? options->page_bytes : (size_t)1 << SMALL_SHIFT;
        uint64_t max_bytes = options && options->max_bytes ? options->max_bytes : sys_memory_bytes();
        uint64_t ahead_bytes = options && options->ahead_bytes ? options->ahead_bytes : AHEAD_BYTES;
        if (options && is_any_reserved_set(options))
                return -EINVAL;
        if (page_bytes != (size_t)1 << SMALL_SHIFT && page_bytes != XAC_REWIRE_HUGE_BYTES)
                return -EINVAL;
        *page_shift = page_bytes == XAC_REWIRE_HUGE_BYTES ? HUGE_SHIFT : SMALL_SHIFT;
        pool->max_pages = max_bytes / page_bytes + !!(max_bytes % page_bytes);
        pool->ahead = ahead_bytes / page_bytes ? ahead_bytes / page_bytes : 1;
        pool->collapse = options && options->collapse;
        return pool->max_pages < UINT32_MAX ? 0 : -EINVAL;
}

static int open_memory(struct memory *memory, uint64_t byte_len, uint32_t page_shift)
{
        if (page_shift == HUGE_SHIFT && !memory_open_hugetlb(memory, "rewire-pool", byte_len))
                return 0;
        return memory_open(memory, "rewire-pool", byte_len, page_shift);
}

int xac_rewire_pool_create(const xac_rewire_pool_options *options, xac_rewire_pool **pool)
{
        uint32_t page_shift;
        xac_rewire_pool *self = calloc(1, sizeof(*self));
        if (!self)
                return -ENOMEM;
        int err = choose(options, self, &page_shift);
        if (err)
                goto fail;
        const size_t words = self->max_pages / WORD_BITS + 1;
        self->taken = calloc(words, sizeof(uint64_t));
        self->ready = calloc(words, sizeof(uint64_t));
        err = self->taken && self->ready ? 0 : -ENOMEM;
        if (!err)
                err = open_memory(&self->memory, self->max_pages << page_shift, page_shift);
        if (err)
                goto fail;
        pthread_mutex_init(&self->mutex, NULL);
        *pool = self;
        return 0;

fail:
        free(self->taken);
        free(self->ready);
        free(self);
        return err;
}

int xac_rewire_pool_destroy(xac_rewire_pool *pool)
{
        if (!pool)
                return 0;
        if (pool->areas)
                return -EBUSY;
        memory_close(&pool->memory);
        pthread_mutex_destroy(&pool->mutex);
        free(pool->taken);
        free(pool->ready);
        free(pool);
        return 0;
}

static int take_locked(xac_rewire_pool *pool, uint64_t count, uint64_t *first)
{
        *first = find_run(pool, count, true, &pool->first_spare);
        if (*first == pool->max_pages) {
                *first = find_run(pool, count, false, &pool->first_free);
                if (*first == pool->max_pages)
                        return -ENOSPC;
                int err = prepare_ahead(pool, *first, count);
                if (err)
                        return err;
        }
        set(pool->taken, *first, count, true);
        pool->taken_count += count;
        return 0;
}

int xac_rewire_pool_take(xac_rewire_pool *pool, uint64_t count, uint64_t *first)
{
        if (!count)
                return -EINVAL;
        pthread_mutex_lock(&pool->mutex);
        int err = take_locked(pool, count, first);
        pthread_mutex_unlock(&pool->mutex);
        return err;
}

static int give_locked(xac_rewire_pool *pool, uint64_t first, uint64_t count)
{
        for (uint64_t page = first; page < first + count; page++)
                if (!is_set(pool->taken, page))
                        return -EINVAL;
        set(pool->taken, first, count, false);
        pool->taken_count -= count;
        pool->first_free = first < pool->first_free ? first : pool->first_free;
        pool->first_spare = first < pool->first_spare ? first : pool->first_spare;
        return 0;
}

int xac_rewire_pool_give(xac_rewire_pool *pool, uint64_t first, uint64_t count)
{
        if (first >= pool->max_pages || count > pool->max_pages - first)
                return -EINVAL;
        pthread_mutex_lock(&pool->mutex);
        int err = give_locked(pool, first, count);
        pthread_mutex_unlock(&pool->mutex);
        return err;
}

/* Free pages without memory get some, from the first on. */
static int grow_locked(xac_rewire_pool *pool, uint64_t count)
{
        for (uint64_t page = pool->first_free; count;) {
                page = next_page(pool, page, false, true);
                while (page < pool->max_pages && is_set(pool->ready, page))
                        page = next_page(pool, page + 1, false, true);
                uint64_t end = page;
                while (end < pool->max_pages && end - page < count && !is_set(pool->ready, end) &&
                       !is_set(pool->taken, end))
                        end++;
                if (end == page)
                        return -ENOSPC;
                int err = prepare(pool, page, end - page);
                if (err)
                        return err;
                pool->first_spare = page < pool->first_spare ? page : pool->first_spare;
                count -= end - page;
                page = end;
        }
        return 0;
}

int xac_rewire_pool_grow(xac_rewire_pool *pool, uint64_t count)
{
        pthread_mutex_lock(&pool->mutex);
        int err = grow_locked(pool, count);
        pthread_mutex_unlock(&pool->mutex);
        return err;
}

static int release(xac_rewire_pool *pool, uint64_t first, uint64_t count)
{
        int err = memory_release(&pool->memory, first, count);
        if (err)
                return err;
        set(pool->ready, first, count, false);
        pool->ready_count -= count;
        /* All or nearly all are huge, or none is: which ones is not kept. */
        pool->huge_count = pool->huge_count < pool->ready_count ? pool->huge_count : pool->ready_count;
        return 0;
}

/* The first ones stay. */
static int shrink_locked(xac_rewire_pool *pool, uint64_t keep)
{
        for (uint64_t page = 0; (page = next_page(pool, page, true, true)) < pool->max_pages;) {
                uint64_t end = next_page(pool, page, true, false);
                const uint64_t kept = end - page < keep ? end - page : keep;
                keep -= kept;
                page += kept;
                int err = end > page ? release(pool, page, end - page) : 0;
                if (err)
                        return err;
                page = end;
        }
        return 0;
}

int xac_rewire_pool_shrink(xac_rewire_pool *pool, uint64_t keep)
{
        pthread_mutex_lock(&pool->mutex);
        int err = shrink_locked(pool, keep);
        pthread_mutex_unlock(&pool->mutex);
        return err;
}

void *xac_rewire_pool_page(const xac_rewire_pool *pool, uint64_t page)
{
        return memory_bytes(&pool->memory, page);
}

void xac_rewire_pool_stat(xac_rewire_pool *pool, xac_rewire_pool_stats *stats)
{
        pthread_mutex_lock(&pool->mutex);
        *stats = (xac_rewire_pool_stats){
                .page_bytes = (uint32_t)1 << pool->memory.page_shift,
                .backing = pool->memory.is_hugetlb ? XAC_REWIRE_HUGETLB
                           : pool->huge_count      ? XAC_REWIRE_HUGE
                                                   : XAC_REWIRE_SMALL,
                .pages = pool->ready_count,
                .taken_pages = pool->taken_count,
                .huge_pages = pool->huge_count,
                .max_pages = pool->max_pages,
                .areas = pool->areas,
        };
        pthread_mutex_unlock(&pool->mutex);
}

/* ---- for areas ---- */

const struct memory *xac_rewire_pool_memory(const xac_rewire_pool *pool)
{
        return &pool->memory;
}

uint64_t xac_rewire_pool_max_pages(const xac_rewire_pool *pool)
{
        return pool->max_pages;
}

void xac_rewire_pool_count_area(xac_rewire_pool *pool, int more)
{
        pthread_mutex_lock(&pool->mutex);
        pool->areas += (uint64_t)(int64_t)more;
        pthread_mutex_unlock(&pool->mutex);
}
