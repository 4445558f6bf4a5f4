/* SPDX-License-Identifier: MIT */
#include "rewire/mappings.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/sys.h"
#include "base/vector.h"

enum {
        LIMIT_FALLBACK = 65530, /* vm.max_map_count where it cannot be read */
        BALLAST_PAGES = 129,    /* each a mapping of its own; enough for a view to go on with */
        BALLAST_PAGE_BYTES = 65536,
        PEBBLE_PAGES = 3,
        PEBBLES = 4 /* so that threads do not take them from each other */
};

static _Atomic uint64_t in_use;
static _Atomic uint64_t limit;
static _Atomic(char *) ballast;
static _Atomic(char *) pebbles[PEBBLES];

_Atomic bool mappings_lack_spare = true;

void mappings_count(int64_t more)
{
        atomic_fetch_add_explicit(&in_use, (uint64_t)more, memory_order_relaxed);
}

uint64_t mappings_in_use(void)
{
        return atomic_load_explicit(&in_use, memory_order_relaxed);
}

bool mappings_would_be_scarce(uint64_t more)
{
        return mappings_in_use() + more > atomic_load_explicit(&limit, memory_order_relaxed);
}

bool mappings_are_scarce(void)
{
        return mappings_would_be_scarce(0);
}

static uint64_t read_limit(void)
{
        char text[32] = "";
        int fd;
        uint64_t all = 0;
        if (!sys_open(AT_FDCWD, "/proc/sys/vm/max_map_count", O_RDONLY, 0, &fd)) {
                sys_read_all(fd, text, sizeof(text) - 1, 0); /* ends early: that is all of it */
                sys_close(fd);
                all = strtoull(text, NULL, 10);
        }
        return (all ? all : LIMIT_FALLBACK) / 2;
}

/* `pages` mappings: every second page is inaccessible, so that none joins its neighbours. The first (and
 * with an odd number the last) is readable: it joins no reservation either, and unmapping splits nothing,
 * which works at the limit. */
static char *make_spare(uint64_t pages)
{
        void *area;
        uint64_t byte_len = pages * BALLAST_PAGE_BYTES;
        if (sys_mmap(NULL, byte_len, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0, &area))
                return NULL;
        for (uint64_t i = 1; i < pages; i += 2) {
                if (sys_mprotect((char *)area + i * BALLAST_PAGE_BYTES, BALLAST_PAGE_BYTES, PROT_NONE)) {
                        sys_munmap(area, byte_len);
                        return NULL;
                }
        }
        return area;
}

/* Puts a spare area where there is none; without it, things still work until mappings run out. */
static void prepare_spare(_Atomic(char *) *spare, uint64_t pages)
{
        if (atomic_load_explicit(spare, memory_order_relaxed))
                return;
        char *mine = make_spare(pages);
        char *none = NULL;
        if (mine && !atomic_compare_exchange_strong(spare, &none, mine))
                sys_munmap(mine, pages * BALLAST_PAGE_BYTES); /* another thread was first */
}

/* It says so once it is gone (mappings_make_spare). */
static bool drop_spare(_Atomic(char *) *spare, uint64_t pages)
{
        char *area = atomic_exchange(spare, NULL);
        if (area)
                atomic_store(&mappings_lack_spare, true);
        return area && !sys_munmap(area, pages * BALLAST_PAGE_BYTES);
}

static bool is_all_there(void)
{
        bool is_there = atomic_load(&ballast) != NULL;
        for (uint32_t i = 0; i < PEBBLES; i++)
                is_there &= atomic_load(&pebbles[i]) != NULL;
        return is_there;
}

/* Until all is there, other threads come here as well. What is dropped meanwhile is missed by the last look, or says
 * so after us. */
void mappings_make_spare(void)
{
        if (!atomic_load_explicit(&limit, memory_order_relaxed))
                atomic_store(&limit, read_limit());
        prepare_spare(&ballast, BALLAST_PAGES);
        atomic_store(&vector_last_resort, mappings_drop_ballast);
        mappings_make_pebble();
        atomic_store(&mappings_lack_spare, false);
        if (!is_all_there())
                atomic_store(&mappings_lack_spare, true); /* the next one tries again */
}

bool mappings_drop_ballast(void)
{
        return drop_spare(&ballast, BALLAST_PAGES);
}

void mappings_make_pebble(void)
{
        for (uint32_t i = 0; i < PEBBLES; i++)
                prepare_spare(&pebbles[i], PEBBLE_PAGES);
}

bool mappings_drop_pebble(void)
{
        for (uint32_t i = 0; i < PEBBLES; i++)
                if (drop_spare(&pebbles[i], PEBBLE_PAGES))
                        return true;
        return false;
}

void mappings_forget_in_child(void)
{
        atomic_store(&in_use, 0);
}
