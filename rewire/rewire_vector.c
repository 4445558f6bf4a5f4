/* SPDX-License-Identifier: MIT */
#include <xac/rewire_vector.h>

#include <errno.h>
#include <stdlib.h>

#include "rewire/rewire_pool.h"

/* Pages come in runs of the pool; the area knows which lies where. */
struct vector_of_pages {
        xac_rewire_vector vector; /* first: what callers have */
        xac_rewire_pool *pool;
        xac_rewire_area *area; /* NULL: there is no page yet */
        uint64_t pages;
        uint32_t page_shift;
};

int xac_rewire_vector_create(xac_rewire_pool *pool, size_t item_len, xac_rewire_vector **vector)
{
        const uint32_t page_shift = xac_rewire_pool_memory(pool)->page_shift;
        if (!item_len || item_len > (size_t)1 << page_shift)
                return -EINVAL;
        struct vector_of_pages *self = calloc(1, sizeof(*self));
        if (!self)
                return -ENOMEM;
        *self = (struct vector_of_pages){ .vector = { .item_len = item_len }, .pool = pool, .page_shift = page_shift };
        *vector = &self->vector;
        return 0;
}

/* The pages shown at [from, to) of an area, run by run. */
static void give_pages(struct vector_of_pages *self, uint64_t from, uint64_t to)
{
        for (uint64_t at = from; at < to;) {
                const uint64_t first = xac_rewire_area_page(self->area, at);
                uint64_t run = 1;
                while (at + run < to && xac_rewire_area_page(self->area, at + run) == first + run)
                        run++;
                (void)xac_rewire_pool_give(self->pool, first, run);
                at += run;
        }
}

void xac_rewire_vector_destroy(xac_rewire_vector *vector)
{
        struct vector_of_pages *self = (struct vector_of_pages *)vector;
        if (!self)
                return;
        if (self->area)
                give_pages(self, 0, self->pages);
        xac_rewire_area_destroy(self->area);
        free(self);
}

static void set_pages(struct vector_of_pages *self, uint64_t pages)
{
        self->pages = pages;
        self->vector.items = self->area ? xac_rewire_area_address(self->area) : NULL;
        self->vector.capacity = (pages << self->page_shift) / self->vector.item_len;
}

/* Fresh pages behind the old ones, from any runs: in halves, as long as none is long enough. What was got before an
 * error lies behind `pages`, and is given back. */
static int append(struct vector_of_pages *self, xac_rewire_area *area, uint64_t end)
{
        uint64_t at = self->pages, most = end - at, first;
        while (at < end) {
                const uint64_t count = end - at < most ? end - at : most;
                int err = xac_rewire_pool_take(self->pool, count, &first);
                if (err == -ENOSPC && count > 1) {
                        most = count / 2;
                        continue;
                }
                if (!err) {
                        err = xac_rewire_area_map_touched(area, at, first, count);
                        if (err)
                                (void)xac_rewire_pool_give(self->pool, first, count);
                }
                if (err)
                        return err;
                at += count;
        }
        return 0;
}

static uint64_t pages_shown(const xac_rewire_area *area, uint64_t from, uint64_t end)
{
        while (from < end && xac_rewire_area_page(area, from) != XAC_REWIRE_NONE)
                from++;
        return from;
}

/* Until all is done the old area shows what it showed. */
static int grow(struct vector_of_pages *self, uint64_t pages)
{
        xac_rewire_area *area, *old = self->area;
        int err = xac_rewire_area_create(self->pool, pages, 0, &area);
        if (err)
                return err;
        err = append(self, area, pages);
        if (!err && self->pages)
                err = xac_rewire_area_move(old, 0, area, 0, self->pages);
        if (err) {
                self->area = area;
                give_pages(self, self->pages, pages_shown(area, self->pages, pages));
                self->area = old;
                xac_rewire_area_destroy(area);
                return err;
        }
        xac_rewire_area_destroy(old);
        self->area = area;
        set_pages(self, pages);
        return 0;
}

static uint64_t pages_for(const struct vector_of_pages *self, size_t count)
{
        return (count * self->vector.item_len + ((uint64_t)1 << self->page_shift) - 1) >> self->page_shift;
}

int xac_rewire_vector_reserve(xac_rewire_vector *vector, size_t count)
{
        struct vector_of_pages *self = (struct vector_of_pages *)vector;
        const uint64_t max_pages = xac_rewire_pool_max_pages(self->pool);
        if (count <= vector->capacity)
                return 0;
        if (count > (max_pages << self->page_shift) / vector->item_len)
                return -ENOSPC;
        const uint64_t needed = pages_for(self, count);
        const uint64_t twice = 2 * self->pages;
        int err = grow(self, needed > twice ? needed : twice);
        return err && twice > needed ? grow(self, needed) : err;
}

/* The pages first: should the kernel not unmap them, they lie beyond the vector's end. */
void xac_rewire_vector_shrink(xac_rewire_vector *vector)
{
        struct vector_of_pages *self = (struct vector_of_pages *)vector;
        const uint64_t needed = pages_for(self, vector->count);
        if (needed == self->pages)
                return;
        give_pages(self, needed, self->pages);
        (void)xac_rewire_area_unmap(self->area, needed, self->pages - needed);
        set_pages(self, needed);
}
