/* SPDX-License-Identifier: MIT */
#include "libxac/store/read_ahead.h"

#include <sys/mman.h>

#include "base/sys.h"
#include "libxac/ground/page_id.h"
#include "libxac/ground/thread_local.h"
#include "libxac/store/files.h"

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22 /* Linux 5.14; elsewhere it fails, and a fault reads around the page */
#endif

enum {
        RUN_MIN = 4, /* pages one behind the other */
        MACHINE_PAGE_BYTES = 4096,
        FIRST_PAGES = 16,
        MOST_PAGES = 256,
        GROWTH_PART = 8 /* the files have grown by such a part: it is time to look again */
};

static const uint64_t SMALL_BYTES = 16 << 20; /* fits anywhere */
static const uint64_t LOOK_NS = 5000000000;

/* ---- Do the files fit into memory? ---- */

static uint64_t length_of_all(const struct files *files)
{
        uint64_t bytes = 0;
        for (uint32_t i = 0; i < FILES_MAX; i++)
                if (atomic_load_explicit(&files->file[i].home, memory_order_acquire))
                        bytes += files_byte_len(files, i);
        return bytes;
}

static bool is_due(const struct read_ahead *ahead, uint64_t bytes)
{
        const uint64_t judged = atomic_load_explicit(&ahead->judged_bytes, memory_order_relaxed);
        if (bytes < SMALL_BYTES && judged < SMALL_BYTES)
                return false;
        return bytes > judged + judged / GROWTH_PART || bytes < judged ||
               sys_monotonic_ns() - atomic_load_explicit(&ahead->judged_ns, memory_order_relaxed) >= LOOK_NS;
}

static void advise(const struct files *files, void *home, size_t byte_len)
{
        (void)sys_madvise(home, byte_len, atomic_load(&files->read_ahead.is_single) ? MADV_RANDOM : MADV_NORMAL);
}

/* Who maps a file anew meanwhile sees the change behind it, or is seen before it. */
void read_ahead_judge(struct files *files)
{
        struct read_ahead *ahead = &files->read_ahead;
        const uint64_t bytes = length_of_all(files);
        if (!is_due(ahead, bytes))
                return;
        const bool is_single = bytes > allowance_limit(&files->shared->allowance) / 2;
        atomic_store_explicit(&ahead->judged_ns, sys_monotonic_ns(), memory_order_relaxed);
        atomic_store_explicit(&ahead->judged_bytes, bytes, memory_order_relaxed);
        if (atomic_exchange(&ahead->is_single, is_single) == is_single)
                return;
        for (uint32_t i = 0; i < FILES_MAX; i++) {
                char *home = atomic_load_explicit(&files->file[i].home, memory_order_acquire);
                if (home)
                        advise(files, home, files->file[i].reserve_bytes);
        }
}

void read_ahead_mapped(const struct files *files, void *home, size_t byte_len)
{
        if (atomic_load(&files->read_ahead.is_single))
                advise(files, home, byte_len);
}

/* ---- Pages one behind the other ---- */

/* A thread's latest. */
static THREAD_TLS struct run {
        const struct files *files;
        uint64_t next;   /* the page behind the last one */
        uint64_t until;  /* up to here pages are read ahead */
        uint32_t length; /* of the run so far */
        uint32_t window; /* as many pages are read ahead at once */
} latest;

static bool is_in_file(const struct files *files, uint64_t page)
{
        return page_id_no(page) << files->shared->page_shift < files_byte_len(files, page_id_file(page));
}

/* The kernel reads beside the thread. */
void read_ahead_expect(const struct files *files, uint64_t page, uint64_t count)
{
        (void)sys_madvise(files_home_bytes(files, page), count << files->shared->page_shift, MADV_WILLNEED);
}

static void read_next(const struct files *files, struct run *run)
{
        const uint64_t begin = run->until > run->next ? run->until : run->next;
        run->window = run->window ? run->window * 2 : FIRST_PAGES;
        if (run->window > MOST_PAGES)
                run->window = MOST_PAGES;
        run->until = run->next + run->window;
        if (is_in_file(files, begin))
                read_ahead_expect(files, begin, run->until - begin);
}

static void follow(const struct files *files, uint64_t page)
{
        struct run *run = &latest;
        if (run->files != files || page != run->next) {
                if (run->files != files || page + 1 != run->next)
                        *run = (struct run){ .files = files, .next = page + 1 };
                return;
        }
        run->next = page + 1;
        if (++run->length >= RUN_MIN && run->until < run->next + run->window / 2 + 1)
                read_next(files, run);
}

/* An error is that of the thread's own fault. */
static void fetch(const struct files *files, uint64_t page)
{
        if (is_in_file(files, page))
                (void)sys_madvise(files_home_bytes(files, page), files->shared->page_bytes, MADV_POPULATE_READ);
}

/* By itself a fault reads as much of a larger page as the machine's pages have. */
void read_ahead_follow(const struct files *files, uint64_t page)
{
        follow(files, page);
        if (files->shared->page_bytes > MACHINE_PAGE_BYTES)
                fetch(files, page);
}

void read_ahead_fetch(const struct files *files, uint64_t page)
{
        follow(files, page);
        fetch(files, page);
}
