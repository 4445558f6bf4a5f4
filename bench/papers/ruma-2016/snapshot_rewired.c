/* SPDX-License-Identifier: MIT */
#include "bench/papers/ruma-2016/snapshot.h"

/*
 * Two areas show the same pages of a pool: the writer's, and the snapshot's. Before the first write to a page since the
 * snapshot was taken, the page is copied to one of the pool, and one of the areas shows that from then on:
 *
 *                    page shared          the writer's is rewired      the writer's is kept
 *      writer        -> 7                 -> 9 (copy of 7)             -> 7
 *      snapshot      -> 7                 -> 7                         -> 9 (copy of 7)
 *      next one                           7 given back, snapshot -> 9  9 given back, snapshot -> 7
 *
 * The first is the paper's way (section 5.3.2). Each page has the number of the snapshot since which it was written to
 * (its epoch), so that no fault is needed to find out; the paper protects pages and waits for the signal. In the second
 * the writer's addresses show neighbours for ever: it takes no fault, and one call can show the next snapshot.
 *
 * What is copied at once is a unit: a page, or several small ones.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bench/support/scratch.h"

enum { SMALL_PAGE = 4096, WORD = sizeof(uint64_t) };

struct snapshot_rewired {
        xac_rewire_pool *pool;
        xac_rewire_area *writer, *snapshot;
        uint64_t unit_pages, units;
        uint32_t unit_shift; /* of words */
        uint32_t now;        /* the snapshot's number */
        uint32_t *epoch;     /* of each unit */
        uint64_t *page;      /* first page of each unit that the writer sees */
        uint64_t *place;     /* units copied since the snapshot was taken, */
        uint64_t *shared;    /* and the page that is given back once it ends */
        uint64_t copied;
};

static void *must_have(uint64_t count, size_t byte_len)
{
        void *memory = malloc(count * byte_len);
        must(memory ? 0 : -ENOMEM, "snapshots");
        memset(memory, 0, count * byte_len);
        return memory;
}

/* Twice the array: in the end every page may be another. All of it is touched before. */
static int open_pool(struct snapshot_rewired *rewired, uint64_t page_bytes)
{
        const uint64_t pages = 2 * rewired->units * rewired->unit_pages;
        const xac_rewire_pool_options options = { .page_bytes = page_bytes, .max_bytes = pages * page_bytes };
        uint64_t first = 0;
        int err = xac_rewire_pool_create(&options, &rewired->pool);
        if (!err)
                err = xac_rewire_pool_grow(rewired->pool, pages);
        if (!err)
                err = xac_rewire_pool_take(rewired->pool, pages / 2, &first);
        if (!err)
                err = xac_rewire_area_create(rewired->pool, pages / 2, 0, &rewired->writer);
        if (!err)
                err = xac_rewire_area_create(rewired->pool, pages / 2, XAC_REWIRE_READ_ONLY, &rewired->snapshot);
        if (!err)
                err = xac_rewire_area_map(rewired->writer, 0, first, pages / 2);
        if (!err)
                err = xac_rewire_area_map(rewired->snapshot, 0, first, pages / 2);
        for (uint64_t u = 0; u < rewired->units && !err; u++)
                rewired->page[u] = first + u * rewired->unit_pages;
        return err ? err : xac_rewire_area_populate(rewired->writer, 0, pages / 2);
}

int snapshot_rewired_open(struct snapshot_run *run, uint64_t **words)
{
        const uint64_t unit_bytes = run->way->unit_bytes;
        const uint64_t page_bytes = run->way->is_huge ? XAC_REWIRE_HUGE_BYTES : SMALL_PAGE;
        struct snapshot_rewired *rewired = must_have(1, sizeof(*rewired));

        run->rewired = rewired;
        rewired->units = run->byte_len / unit_bytes;
        rewired->unit_pages = unit_bytes / page_bytes;
        rewired->unit_shift = (uint32_t)__builtin_ctzll(unit_bytes / WORD);
        rewired->epoch = must_have(rewired->units, sizeof(*rewired->epoch));
        rewired->page = must_have(rewired->units, sizeof(*rewired->page));
        rewired->place = must_have(rewired->units, sizeof(*rewired->place));
        rewired->shared = must_have(rewired->units, sizeof(*rewired->shared));
        int err = open_pool(rewired, page_bytes);
        if (!err)
                *words = xac_rewire_area_address(rewired->writer);
        return err;
}

void snapshot_rewired_close(struct snapshot_run *run)
{
        struct snapshot_rewired *rewired = run->rewired;

        xac_rewire_area_destroy(rewired->writer);
        xac_rewire_area_destroy(rewired->snapshot);
        must(xac_rewire_pool_destroy(rewired->pool), "xac_rewire_pool_destroy");
        free(rewired->epoch);
        free(rewired->page);
        free(rewired->place);
        free(rewired->shared);
        free(rewired);
}

/* ---- the next snapshot ---- */

/* Copied units that are neighbours in the areas and in the pool, from the i-th on. */
static uint64_t run_from(const struct snapshot_rewired *rewired, uint64_t i)
{
        const uint64_t *place = rewired->place, *page = rewired->page;
        uint64_t run = 1;
        while (i + run < rewired->copied && place[i + run] == place[i] + run &&
               page[place[i + run]] == page[place[i]] + run * rewired->unit_pages)
                run++;
        return run;
}

/* The former one showed what the writer does not see any more: these places only. */
static int show_what_changed(const struct snapshot_rewired *rewired)
{
        for (uint64_t i = 0, run; i < rewired->copied; i += run) {
                const uint64_t place = rewired->place[i];
                run = run_from(rewired, i);
                int err = xac_rewire_area_map(rewired->snapshot, place * rewired->unit_pages, rewired->page[place],
                                              run * rewired->unit_pages);
                if (err)
                        return err;
        }
        return 0;
}

/* One call for all of it, which takes apart its page tables: where the writer sees what it saw at first. */
static int show_all(const struct snapshot_rewired *rewired)
{
        return xac_rewire_area_map(rewired->snapshot, 0, rewired->page[0], rewired->units * rewired->unit_pages);
}

/* Are the places that changed so many that one call for all costs less? */
static bool are_many(const struct snapshot_rewired *rewired)
{
        enum { SHARE = 64 };
        uint64_t runs = 0;
        for (uint64_t i = 0; i < rewired->copied; i += run_from(rewired, i))
                runs++;
        return runs > rewired->units / SHARE;
}

int snapshot_rewired_take(struct snapshot_run *run)
{
        struct snapshot_rewired *rewired = run->rewired;
        int err = run->way->is_writer_kept && are_many(rewired) ? show_all(rewired) : show_what_changed(rewired);
        for (uint64_t i = 0; i < rewired->copied && !err; i++)
                err = xac_rewire_pool_give(rewired->pool, rewired->shared[i], rewired->unit_pages);
        rewired->copied = 0;
        rewired->now++;
        return err;
}

/* ---- updates ---- */

/* Not inline: the updates have the registers. */
__attribute__((noinline, cold)) static int copy_unit(const struct snapshot_run *run, uint64_t unit)
{
        struct snapshot_rewired *rewired = run->rewired;
        const uint64_t pages = rewired->unit_pages, old = rewired->page[unit];
        const bool is_writer_kept = run->way->is_writer_kept;
        uint64_t copy;
        int err = xac_rewire_pool_take(rewired->pool, pages, &copy);
        if (err)
                return err;
        memcpy(xac_rewire_pool_page(rewired->pool, copy), xac_rewire_pool_page(rewired->pool, old),
               run->way->unit_bytes);
        err = xac_rewire_area_map(is_writer_kept ? rewired->snapshot : rewired->writer, unit * pages, copy, pages);
        if (err)
                return err;
        rewired->place[rewired->copied] = unit;
        rewired->shared[rewired->copied++] = is_writer_kept ? copy : old;
        rewired->page[unit] = is_writer_kept ? old : copy;
        rewired->epoch[unit] = rewired->now;
        return 0;
}

int snapshot_rewired_update(struct snapshot_run *run, uint64_t count)
{
        struct snapshot_updates updates = run->updates; /* in registers */
        const uint32_t *epoch = run->rewired->epoch;
        const uint32_t shift = run->rewired->unit_shift, now = run->rewired->now;
        uint64_t *words = xac_rewire_area_address(run->rewired->writer);

        for (uint64_t i = 0; i < count; i++) {
                const uint64_t at = snapshot_next(&updates);
                if (__builtin_expect(epoch[at >> shift] != now, 0)) {
                        int err = copy_unit(run, at >> shift);
                        if (err)
                                return err;
                }
                snapshot_add(&updates, words, at);
        }
        run->updates = updates;
        return 0;
}

int snapshot_rewired_read(struct snapshot_run *run, uint64_t *sum)
{
        *sum = snapshot_sum(xac_rewire_area_address(run->rewired->snapshot), run->updates.words);
        return 0;
}
