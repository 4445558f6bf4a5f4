/* SPDX-License-Identifier: MIT */
#include "libxac/mappings.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/sys.h"

enum {
        LIMIT_FALLBACK = 65530, /* vm.max_map_count where it cannot be read */
        BALLAST_PAGES = 129,    /* each a mapping of its own; enough for a view to go on with */
        BALLAST_PAGE_BYTES = 65536
};

#define BALLAST_BYTES ((uint64_t)BALLAST_PAGES * BALLAST_PAGE_BYTES)

static _Atomic uint64_t in_use;
static _Atomic uint64_t limit;
static _Atomic(char *) ballast;

void mappings_count(int64_t more)
{
        atomic_fetch_add_explicit(&in_use, (uint64_t)more, memory_order_relaxed);
}

uint64_t mappings_in_use(void)
{
        return atomic_load_explicit(&in_use, memory_order_relaxed);
}

bool mappings_are_scarce(void)
{
        return mappings_in_use() > atomic_load_explicit(&limit, memory_order_relaxed);
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

/* Every second page is inaccessible, so that none joins its neighbours. Both ends are readable: they
 * join no reservation either, and unmapping splits nothing, which works at the limit. */
static char *make_ballast(void)
{
        void *area;
        if (sys_mmap(NULL, BALLAST_BYTES, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0, &area))
                return NULL;
        for (uint64_t i = 1; i < BALLAST_PAGES; i += 2) {
                if (sys_mprotect((char *)area + i * BALLAST_PAGE_BYTES, BALLAST_PAGE_BYTES, PROT_NONE)) {
                        sys_munmap(area, BALLAST_BYTES);
                        return NULL;
                }
        }
        return area;
}

void mappings_prepare(void)
{
        if (!atomic_load(&limit))
                atomic_store(&limit, read_limit());
        if (atomic_load_explicit(&ballast, memory_order_relaxed))
                return;
        char *mine = make_ballast(); /* without, things still work until mappings run out */
        char *none = NULL;
        if (mine && !atomic_compare_exchange_strong(&ballast, &none, mine))
                sys_munmap(mine, BALLAST_BYTES); /* another thread was first */
}

bool mappings_drop_ballast(void)
{
        char *area = atomic_exchange(&ballast, NULL);
        return area && !sys_munmap(area, BALLAST_BYTES);
}

void mappings_forget_in_child(void)
{
        atomic_store(&in_use, 0);
}
