/* SPDX-License-Identifier: MIT */
#include "tests/crash/workloads.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "libxac/store/env.h"

/* ---- A seat ---- */

/* Mapped with a length, a file gets it. After a crash one may be shorter than it was to be, or missing. */
static size_t length_to_map(const struct seat_of_world *seat, const char *name, unsigned pages)
{
        const size_t whole = (size_t)(pages - 1) * WORLD_PAGE;
        struct stat st;

        if (!seat->world->workload->is_odd || fstatat(seat->env->directory, name, &st, 0) != 0)
                return whole + WORLD_PAGE;
        return (size_t)st.st_size > whole ? 0 : whole + WORLD_PAGE;
}

static int map_file(struct seat_of_world *seat, unsigned file, unsigned pages, struct trace *trace)
{
        char name[16];
        void *view;

        world_file_name(file, name);
        view = xac_mmap(seat->env, name, length_to_map(seat, name, pages), 0);
        if (view == MAP_FAILED)
                return -errno;
        seat->views[file] = view;
        seat->pages[file] = pages;
        if (trace)
                trace_required(trace, WORLD_FILE + file, pages);
        return 0;
}

int workload_map(struct seat_of_world *seat, unsigned lane, uint64_t k, struct trace *trace)
{
        const struct workload *workload = seat->world->workload;

        if (workload->is_tree)
                return workload_tree_open(seat);
        if (workload->is_heap)
                return workload_heap_open(seat);
        for (unsigned i = 0; i < workload->files; i++) {
                unsigned file = lane * workload->files + i;
                unsigned pages = world_pages(workload, file, k);
                int err = pages > seat->pages[file] ? map_file(seat, file, pages, trace) : 0;

                if (err)
                        return err;
        }
        return 0;
}

int workload_leave(struct seat_of_world *seat)
{
        int err = deeds_close(&seat->desk);

        return err ? err : heap_deeds_close(&seat->heap_desk);
}

static bool is_mapped(const struct seat_of_world *seat, unsigned lane, uint64_t k)
{
        const struct workload *workload = seat->world->workload;

        for (unsigned i = 0; i < workload->files; i++) {
                unsigned file = lane * workload->files + i;

                if (world_pages(workload, file, k) > seat->pages[file])
                        return false;
        }
        return true;
}

/* ---- A commit ---- */

static unsigned char *write_page(void *arg, unsigned file, unsigned page)
{
        struct seat_of_world *seat = arg;
        unsigned char *bytes = seat->views[file] + (size_t)page * WORLD_PAGE;

        return seat->world->workload->is_view ? bytes : xac_page_write(seat->env, bytes);
}

static bool move_pages(void *arg, unsigned file, unsigned to, unsigned from, unsigned pages)
{
        struct seat_of_world *seat = arg;
        unsigned char *view = seat->views[file];

        return xac_page_move(seat->env, view + (size_t)to * WORLD_PAGE, view + (size_t)from * WORLD_PAGE, pages) == 0;
}

bool workload_counter(struct seat_of_world *seat, unsigned lane, uint64_t *counter)
{
        if (seat->world->workload->is_tree)
                return deeds_counter(&seat->desk, lane, counter) == 0;
        if (seat->world->workload->is_heap) {
                *counter = heap_deeds_counter(&seat->heap_desk, lane);
                return true;
        }
        unsigned char *page = seat->views[lane * seat->world->workload->files];
        const void *bytes = seat->world->workload->is_view ? page : xac_page_read(seat->env, page);

        if (bytes)
                memcpy(counter, bytes, sizeof(*counter));
        return bytes != NULL;
}

/* What an inner level does that is then undone. */
static void scribble(struct seat_of_world *seat, unsigned lane, uint64_t k)
{
        const struct workload *workload = seat->world->workload;

        if (xbegin(seat->env, 0) != 0)
                return;
        for (unsigned i = 0; i < workload->files; i++) {
                unsigned file = lane * workload->files + i;
                unsigned pages = world_pages(workload, file, k);
                unsigned char *bytes = pages ? write_page(seat, file, (unsigned)(k % pages)) : NULL;

                if (bytes)
                        memset(bytes, 0xee, WORLD_PAGE);
        }
        xabort(seat->env);
}

/* What the commit saw of the other lanes; taken from the snapshot, without conflicts. */
static void note_others(struct seat_of_world *seat, unsigned lane)
{
        const struct workload *workload = seat->world->workload;
        unsigned char *first = write_page(seat, lane * workload->files, 0);

        for (unsigned other = 0; first && other < workload->lanes; other++) {
                uint64_t counter;

                if (other != lane && workload_counter(seat, other, &counter))
                        memcpy(first + world_seen_at(other), &counter, sizeof(counter));
        }
}

static void write_commit(struct seat_of_world *seat, unsigned lane, uint64_t k)
{
        const struct workload *workload = seat->world->workload;
        const struct world_memory memory = { .page = write_page, .move = move_pages, .arg = seat };

        if (workload->lanes > 1)
                note_others(seat, lane);
        if (!workload->is_nested) {
                world_commit(seat->world, lane, k, &memory);
                return;
        }
        scribble(seat, lane, k);
        if (k % 2 && xbegin(seat->env, 0) == 0) {
                world_commit(seat->world, lane, k, &memory);
                xend(seat->env);
        } else {
                world_commit(seat->world, lane, k, &memory);
        }
        scribble(seat, lane, k);
}

/* One attempt; XAC_CONFLICT: once more. */
static int attempt(struct seat_of_world *seat, unsigned lane, uint64_t most, int flags, struct trace *trace,
                   uint64_t *k)
{
        uint64_t counter = 0;
        int err = xbegin(seat->env, flags);

        if (err)
                return err;
        if (!workload_counter(seat, lane, &counter))
                return xend(seat->env);
        *k = counter + 1 <= most ? counter + 1 : 0;
        if (*k == 0)
                return xabort(seat->env);
        if (!is_mapped(seat, lane, *k)) {
                xabort(seat->env);
                err = workload_map(seat, lane, *k, trace);
                return err ? err : XAC_CONFLICT;
        }
        write_commit(seat, lane, *k);
        if (trace)
                trace_allowed(trace, lane, *k);
        return xend(seat->env);
}

int workload_commit(struct seat_of_world *seat, unsigned lane, uint64_t most, int flags, struct trace *trace,
                    uint64_t *k)
{
        int err;

        if (seat->world->workload->is_tree)
                return workload_tree_commit(seat, lane, most, flags, trace, k);
        if (seat->world->workload->is_heap)
                return workload_heap_commit(seat, lane, most, flags, trace, k);
        flags |= seat->world->workload->lanes > 1 ? XAC_SNAPSHOT_ISOLATION : 0;
        do
                err = attempt(seat, lane, most, flags, trace, k);
        while (err == XAC_CONFLICT);
        return err;
}
