/* SPDX-License-Identifier: MIT */
#include "pages/arena.h"

/*
 * Opening and closing: the ways in.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/low_descriptors.h"
#include "pages/page_alloc.h"
#include "pages/page_trim.h"

enum { PAGE_BYTES_MIN = 4096, PAGE_BYTES_MAX = 65536 };

#define MAX_BYTES_DEFAULT (UINT64_C(16) << 30)

/* Other than those of all other arenas, as good as certainly. */
static uint64_t make_random(const struct xac_arena *arena)
{
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        uint64_t random = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
        random ^= (uint64_t)gettid() << 40 ^ (uint64_t)(uintptr_t)arena << 16;
        return random ? random : 1;
}

/* In an environment others can tell whether its owner is still there. */
static uint64_t make_token(const struct xac_arena *arena)
{
        return arena->env ? xac_self(arena->env) : arena->random;
}

int arena_new(uint32_t page_bytes, enum arena_way way, struct xac_arena **made)
{
        struct xac_arena *arena = *made = calloc(1, sizeof(*arena));
        if (!arena)
                return -ENOMEM;
        arena->page_bytes = page_bytes;
        arena->page_shift = (uint32_t)__builtin_ctz(page_bytes);
        arena->way = way;
        arena->fd = -1;
        arena->map_flags = XAC_ANYWHERE;
        arena->magic = ARENA_MAGIC_TREES;
        arena->own_group = NO_GROUP;
        arena->random = make_random(arena);
        return 0;
}

/* The environment may be closed then. */
static void unmap(struct xac_arena *arena)
{
        char *base = arena->base;
        arena->env ? (xac_munmap(arena->env, base), xac_release(arena->env)) : munmap(base, arena->max_bytes);
}

/* Nothing shows the pages of the pool elsewhere any more. */
static void arena_free(struct xac_arena *arena)
{
        if (arena->pool)
                xac_rewire_pool_destroy(arena->pool);
        else if (arena->base && arena->base != MAP_FAILED)
                unmap(arena);
        if (arena->snapshot)
                xac_snapshot_release(arena->snapshot);
        if (arena->fd >= 0)
                close(arena->fd);
        free(arena->file);
        free(arena);
}

static int probe(void *arena)
{
        return page_alloc_probe(arena);
}

int arena_open(struct xac_arena **arena, int err)
{
        if (!err)
                err = arena_run(*arena, XAC_RDONLY, probe, *arena);
        if (!err) {
                (*arena)->token = make_token(*arena);
                return 0;
        }
        arena_free(*arena);
        *arena = NULL;
        return err;
}

/* ---- plain ---- */

/* Groups are whole. */
static int plain_new(uint64_t max_bytes, uint32_t page_bytes, struct xac_arena **arena)
{
        if (!page_bytes)
                page_bytes = PAGE_BYTES_MIN;
        if (page_bytes < PAGE_BYTES_MIN || page_bytes > PAGE_BYTES_MAX || page_bytes & (page_bytes - 1))
                return -EINVAL;
        const uint64_t group_bytes = (uint64_t)GROUP_PAGES * page_bytes;
        max_bytes = max_bytes ? max_bytes / group_bytes * group_bytes : MAX_BYTES_DEFAULT;
        if (!max_bytes)
                return -EINVAL;
        int err = arena_new(page_bytes, ARENA_PLAIN, arena);
        if (!err)
                (*arena)->max_bytes = max_bytes;
        return err;
}

static int plain_reserve(struct xac_arena *arena, int prot, int flags)
{
        void *base = mmap(NULL, arena->max_bytes, prot, flags | MAP_NORESERVE, arena->fd, 0);
        if (base == MAP_FAILED)
                return -errno;
        arena->base = base;
        return 0;
}

int xac_arena_open_memory(uint64_t max_bytes, uint32_t page_bytes, xac_arena **arena)
{
        int err = arena ? plain_new(max_bytes, page_bytes, arena) : -EINVAL;
        if (err)
                return err;
        err = plain_reserve(*arena, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS);
        return arena_open(arena, err ? err : arena_grow(*arena, GROUP_PAGES));
}

int xac_arena_open_rewired(uint64_t max_bytes, uint32_t page_bytes, xac_arena **arena)
{
        if (page_bytes && page_bytes != PAGE_BYTES_MIN)
                return -EINVAL;
        int err = arena ? plain_new(max_bytes, page_bytes, arena) : -EINVAL;
        if (err)
                return err;
        const xac_rewire_pool_options options = { .page_bytes = PAGE_BYTES_MIN,
                                                  .max_bytes = (*arena)->max_bytes,
                                                  .collapse = 1 };
        err = xac_rewire_pool_create(&options, &(*arena)->pool);
        if (!err)
                (*arena)->base = xac_rewire_pool_page((*arena)->pool, 0);
        return arena_open(arena, err ? err : arena_grow(*arena, GROUP_PAGES));
}

/* A file that is empty becomes long enough to be looked at. */
static int file_map(struct xac_arena *arena, const char *path)
{
        struct low_descriptors low;
        struct stat st;
        low_descriptors_hold(&low);
        arena->fd = low_descriptors_leave(open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666));
        low_descriptors_release(&low);
        if (arena->fd < 0 || fstat(arena->fd, &st))
                return -errno;
        if (!S_ISREG(st.st_mode))
                return -EINVAL;
        arena->byte_len = (uint64_t)st.st_size >> arena->page_shift << arena->page_shift;
        if (st.st_size && !arena->byte_len)
                return XAC_FORMAT;
        if (arena->max_bytes < arena->byte_len)
                arena->max_bytes = arena->byte_len;
        int err = plain_reserve(arena, PROT_READ | PROT_WRITE, MAP_SHARED);
        return err || st.st_size ? err : arena_grow(arena, GROUP_PAGES);
}

int xac_arena_open_file(const char *path, uint64_t max_bytes, uint32_t page_bytes, xac_arena **arena)
{
        int err = path && arena ? plain_new(max_bytes, page_bytes, arena) : -EINVAL;
        return err ? err : arena_open(arena, file_map(*arena, path));
}

/* ---- in an environment ---- */

/* How long the file is, nobody says: it has one page at least, and becomes longer when it has proved to be an arena. */
int xac_arena_open_env(xac_env *env, const char *file, enum xac_arena_access access, xac_arena **arena)
{
        xac_stats stats;
        if (!env || !file || !arena || (access != XAC_ARENA_VIEW && access != XAC_ARENA_DECLARED))
                return -EINVAL;
        int err = xac_stat(env, &stats);
        if (err || (err = arena_new((uint32_t)stats.page_bytes, (enum arena_way)access, arena)))
                return err;
        (*arena)->env = env;
        (*arena)->file = strdup(file);
        (*arena)->base = (*arena)->file ? xac_mmap(env, file, stats.page_bytes, (*arena)->map_flags) : MAP_FAILED;
        return arena_open(arena, (*arena)->base == MAP_FAILED ? -errno : xac_retain(env));
}

/* ---- of a snapshot ---- */

int xac_arena_open_snapshot(xac_snapshot *snapshot, const char *file, xac_arena **arena)
{
        xac_snapshot_file found;
        if (!snapshot || !file || !arena)
                return -EINVAL;
        int err = xac_snapshot_find(snapshot, file, &found);
        if (err || (err = arena_new(found.page_bytes, ARENA_SNAPSHOT, arena)))
                return err;
        xac_snapshot_retain(snapshot); /* it is not closed before the arena is */
        (*arena)->snapshot = snapshot;
        (*arena)->file_no = found.number;
        (*arena)->byte_len = found.pages * found.page_bytes;
        return arena_open(arena, found.pages < GROUP_PAGES ? XAC_FORMAT : 0);
}

/* ---- closing ---- */

static int leave(void *arena)
{
        return page_group_leave(arena);
}

/* What cannot be left is taken over by others some time. */
void arena_close(struct xac_arena *arena)
{
        if (arena->own_group != NO_GROUP)
                arena_run(arena, XAC_NOSYNC, leave, arena);
        arena_free(arena);
}

int xac_arena_trim(xac_arena *arena, int (*progress)(void *arg, uint64_t done, uint64_t total), void *arg,
                   uint64_t *trimmed)
{
        if (!arena || (arena->env && arena_txn(arena)))
                return arena ? -EBUSY : -EINVAL;
        return page_trim(arena, progress, arg, trimmed);
}

int xac_arena_close(xac_arena *arena)
{
        if (!arena)
                return -EINVAL;
        if (arena->trees || (arena->env && arena_txn(arena)))
                return -EBUSY;
        arena_close(arena);
        return 0;
}
