/* SPDX-License-Identifier: MIT */
#include "bench/papers/ruma-2016/partition.h"

/*
 * Rewired: partitions grow by pages of a pool, which are written where the pool itself shows them, so that this takes
 * no fault. In the end an area shows all pages, partition by partition. What it shows is put into the page tables then,
 * within the time that is measured, so that whoever reads the result finds it as ready as that of other ways.
 *
 *      aligned to pages    | lead 0 0 | 0 0 0    |   lead 1 | 1 1      |      nothing is copied, order is kept
 *      without gaps        | 0'0' 0 0 | 0 1'1'1' | 1'1'1' 1 | 2'2' ... |      ' moved there from the partition's end
 *
 * Without gaps: a partition's last keys are moved before its first ones, so that they fill its lead and what is left of
 * the page before it, where the former partition ends. That is less than two pages of each partition; if it has no
 * more, all of it moves. The idea is the paper's (section 5.2.4), which has no leads. The order of the input is lost,
 * as there.
 *
 * A unit is a page, or several small pages taken together, so that there are fewer mappings; what is left of it at the
 * end goes back page by page. Small pages may lie in huge ones: the kernel puts them together where the pool shows
 * them, so that writing needs few translations, and still they can be rewired in small parts.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "bench/papers/ruma-2016/partition_growth.h"
#include "bench/support/scratch.h"

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25 /* Linux 6.1 */
#endif
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22 /* Linux 5.14 */
#endif
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14 */
#endif

enum { LEAD_MAX = 65536, SMALL_PAGE = 4096 };

/* The pages of the result, one behind the other: "positions" are bytes in it. */
struct layout {
        xac_rewire_pool *pool;
        char *pool_bytes;
        uint64_t page_bytes;
        uint64_t *pages;
        uint64_t count;
        uint64_t end; /* position */
};

static char *take(void *arg)
{
        struct partition_run *run = arg;
        const uint64_t page_bytes = run->way->is_huge ? XAC_REWIRE_HUGE_BYTES : SMALL_PAGE;
        uint64_t page;
        if (xac_rewire_pool_take(run->pool, run->way->unit_bytes / page_bytes, &page))
                return NULL;
        return xac_rewire_pool_page(run->pool, page);
}

static int open_pool(struct partition_run *run)
{
        const uint64_t page_bytes = run->way->is_huge ? XAC_REWIRE_HUGE_BYTES : SMALL_PAGE;
        const uint64_t units = growth_units_max(run->task, run->way->unit_bytes);
        const xac_rewire_pool_options options = { .page_bytes = page_bytes,
                                                  .max_bytes =
                                                          (units * run->way->unit_bytes + XAC_REWIRE_HUGE_BYTES - 1) /
                                                          XAC_REWIRE_HUGE_BYTES * XAC_REWIRE_HUGE_BYTES,
                                                  .ahead_bytes = run->way->unit_bytes };
        return xac_rewire_pool_create(&options, &run->pool);
}

/* Should the kernel refuse, they stay as they are. */
static void collapse(const struct partition_run *run)
{
        xac_rewire_pool_stats stats;

        xac_rewire_pool_stat(run->pool, &stats);
        madvise(xac_rewire_pool_page(run->pool, 0), stats.pages * stats.page_bytes, MADV_COLLAPSE);
        madvise(xac_rewire_pool_page(run->pool, 0), stats.pages * stats.page_bytes, MADV_POPULATE_WRITE);
}

/* All of it, touched. */
static int fill_pool(struct partition_run *run)
{
        xac_rewire_pool_stats stats;

        xac_rewire_pool_stat(run->pool, &stats);
        int err = xac_rewire_pool_grow(run->pool, stats.max_pages);
        if (!err && run->way->is_collapsed)
                collapse(run);
        return err;
}

/* Huge pages, and what lies in them, are neighbours in physical memory; so they need more than small ones. */
static uint64_t lead_max(const struct partition_way *way)
{
        const uint64_t most = way->is_huge || way->is_collapsed ? LEAD_MAX : SMALL_PAGE;
        return most < way->unit_bytes ? most : way->unit_bytes;
}

/* A partition that fills no page on average is not what large pages are for: they would be copied all, and take several
 * times the memory. */
int rewired_prepare(struct partition_run *run)
{
        const struct partition_task *task = run->task;
        const uint64_t unit_bytes = run->way->unit_bytes;
        const uint64_t units = growth_units_max(task, unit_bytes);
        int err = 0;

        if (task->partitions * unit_bytes > task->count * sizeof(uint64_t))
                return -ENOSPC;
        run->growth = malloc(sizeof(*run->growth));
        must(run->growth ? 0 : -ENOMEM, "rewired");
        growth_open(run->growth, task, unit_bytes, lead_max(run->way));
        run->growth->take = take;
        run->growth->arg = run;
        partition_run_set_room(run, task->partitions);
        if (run->way->is_fresh) {
                rearrange_memory_warm(units * unit_bytes);
                return 0;
        }
        err = open_pool(run);
        return err ? err : fill_pool(run);
}

/* ---- layout ---- */

static int layout_open(struct layout *layout, struct partition_run *run)
{
        xac_rewire_pool_stats stats;

        xac_rewire_pool_stat(run->pool, &stats);
        *layout = (struct layout){ .pool = run->pool, .page_bytes = stats.page_bytes };
        layout->pool_bytes = xac_rewire_pool_page(run->pool, 0);
        layout->pages = calloc(stats.taken_pages, sizeof(*layout->pages));
        return layout->pages ? 0 : -ENOMEM;
}

static uint64_t page_of(const struct layout *layout, const char *bytes)
{
        return (uint64_t)(bytes - layout->pool_bytes) / layout->page_bytes;
}

/* A partition's pages, behind the others; those that its lead has filled go back. */
static void append(struct layout *layout, const struct partition_growth *growth, uint32_t p)
{
        const struct growth_partition *partition = &growth->partition[p];
        uint32_t unit = partition->first;
        uint64_t k = partition->lead / layout->page_bytes;

        if (k)
                (void)xac_rewire_pool_give(layout->pool, page_of(layout, growth->unit[unit].bytes), k);
        for (uint32_t i = 0; i < partition->units; i++, unit = growth->unit[unit].next, k = 0)
                for (; k < growth->unit_bytes / layout->page_bytes; k++)
                        layout->pages[layout->count++] = page_of(layout, growth->unit[unit].bytes) + k;
}

/* Pages behind the end go back. */
static void cut(struct layout *layout)
{
        const uint64_t needed = (layout->end + layout->page_bytes - 1) / layout->page_bytes;
        while (layout->count > needed)
                (void)xac_rewire_pool_give(layout->pool, layout->pages[--layout->count], 1);
}

static char *at(const struct layout *layout, uint64_t position)
{
        return layout->pool_bytes + layout->pages[position / layout->page_bytes] * layout->page_bytes +
               position % layout->page_bytes;
}

static uint64_t in_page(const struct layout *layout, uint64_t position)
{
        return layout->page_bytes - position % layout->page_bytes;
}

/* The ranges do not overlap. */
static void move(const struct layout *layout, uint64_t to, uint64_t from, uint64_t byte_len)
{
        while (byte_len) {
                uint64_t here = byte_len;
                here = here < in_page(layout, to) ? here : in_page(layout, to);
                here = here < in_page(layout, from) ? here : in_page(layout, from);
                memcpy(at(layout, to), at(layout, from), here);
                to += here;
                from += here;
                byte_len -= here;
        }
}

static void add_aligned(struct layout *layout, const struct partition_growth *growth, uint32_t p)
{
        const uint64_t begin = layout->count * layout->page_bytes;

        append(layout, growth, p);
        layout->end = begin + growth->partition[p].lead % layout->page_bytes + growth_byte_len(growth, p);
        cut(layout);
}

/* Between where the former partition ends and where this one's keys begin, its last keys move. */
static void add_gapless(struct layout *layout, const struct partition_growth *growth, uint32_t p)
{
        const uint64_t keys = layout->count * layout->page_bytes + growth->partition[p].lead % layout->page_bytes;
        const uint64_t byte_len = growth_byte_len(growth, p), gap = keys - layout->end;
        const uint64_t moved = byte_len < gap ? byte_len : gap;

        append(layout, growth, p);
        move(layout, layout->end, keys + byte_len - moved, moved);
        layout->end += byte_len;
        cut(layout);
}

/* By reading, for which the kernel maps the pages around in the same fault, and writable, as memory that is shared is.
 * xac_rewire_area_populate() faults on each small page: three times as slow. */
static int populate(xac_rewire_area *area, uint64_t pages, uint64_t page_bytes)
{
        if (madvise(xac_rewire_area_address(area), pages * page_bytes, MADV_POPULATE_READ) == 0)
                return 0;
        return xac_rewire_area_populate(area, 0, pages);
}

static int show(struct partition_run *run, const struct layout *layout)
{
        int err = xac_rewire_area_create(run->pool, layout->count, 0, &run->area);
        if (!err)
                err = xac_rewire_area_map_each(run->area, 0, layout->pages, layout->count);
        return err ? err : populate(run->area, layout->count, layout->page_bytes);
}

/* Where in the area the partitions begin is known once it is there. */
static int lay_out(struct partition_run *run, struct layout *layout)
{
        const struct partition_growth *growth = run->growth;
        const bool is_gapless = run->way->gaps == PARTITION_GAPLESS;

        for (uint32_t p = 0; p < growth->partitions; p++) {
                const uint64_t keys = growth_byte_len(growth, p) / sizeof(uint64_t);
                if (is_gapless)
                        add_gapless(layout, growth, p);
                else
                        add_aligned(layout, growth, p);
                partition_run_add(run, NULL, keys, p);
                run->pieces[p].keys = (uint64_t *)(layout->end - keys * sizeof(uint64_t));
        }
        int err = show(run, layout);
        for (uint32_t p = 0; p < growth->partitions && !err; p++)
                run->pieces[p].keys =
                        (uint64_t *)((char *)xac_rewire_area_address(run->area) + (uintptr_t)run->pieces[p].keys);
        return err;
}

int rewired_run(struct partition_run *run)
{
        struct layout layout;
        int err = run->way->is_fresh ? open_pool(run) : 0;
        if (!err)
                err = growth_scatter(run->growth, run->task, run->way->is_buffered);
        if (!err)
                err = layout_open(&layout, run);
        if (err)
                return err;
        err = lay_out(run, &layout);
        free(layout.pages);
        return err;
}
