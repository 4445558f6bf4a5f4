/* SPDX-License-Identifier: MIT */
#include "pages/arena.h"

/*
 * What an arena asks of what it lies in: room, and transactions.
 */

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

/* ---- growth: a larger step each time, as it costs a sync; in a pool only what is needed, as that has memory then ----
 */

enum { STEP_GROUPS_MIN = 16, STEP_PART = 4, PAGES_MAX = 1 << 28 };

/* The steps are the same for all arenas of a file, so that one that grows it does so for the others. */
static uint64_t step_groups(uint64_t groups)
{
        uint64_t step = STEP_GROUPS_MIN;
        while (step < groups)
                step += step / STEP_PART > STEP_GROUPS_MIN ? step / STEP_PART : STEP_GROUPS_MIN;
        return step;
}

/* Mapping it again makes the file as long as that; the view stays where it is, and is counted. */
static int extend_env(struct xac_arena *arena, uint64_t byte_len)
{
        void *base = xac_mmap(arena->env, arena->file, byte_len, arena->map_flags);
        return base == MAP_FAILED ? -errno : xac_munmap(arena->env, base);
}

/* Its pages are taken in the order of their numbers, and never given back. */
static int extend_pool(struct xac_arena *arena, uint64_t byte_len)
{
        const uint64_t pages = arena->byte_len >> arena->page_shift;
        const uint64_t more = (byte_len >> arena->page_shift) - pages;
        uint64_t first;
        int err = xac_rewire_pool_take(arena->pool, more, &first);
        if (err || first == pages)
                return err;
        xac_rewire_pool_give(arena->pool, first, more);
        return -ENOSPC;
}

/* The kernel ends a process (SIGXFSZ) that makes a file longer than its limit (ulimit -f). */
static int extend_file(int fd, uint64_t byte_len)
{
        struct rlimit limit;
        if (!getrlimit(RLIMIT_FSIZE, &limit) && byte_len > limit.rlim_cur)
                return -EFBIG;
        return ftruncate(fd, (off_t)byte_len) ? -errno : 0;
}

static int extend_plain(struct xac_arena *arena, uint64_t byte_len)
{
        if (arena->snapshot)
                return XAC_WROTE;
        if (byte_len > arena->max_bytes)
                return -ENOSPC;
        if (arena->pool)
                return extend_pool(arena, byte_len);
        if (arena->fd >= 0)
                return extend_file(arena->fd, byte_len);
        return mprotect(arena->base + arena->byte_len, byte_len - arena->byte_len, PROT_READ | PROT_WRITE) ? -errno : 0;
}

int arena_extend(struct xac_arena *arena, uint64_t byte_len)
{
        int err = arena->env ? extend_env(arena, byte_len) : extend_plain(arena, byte_len);
        if (!err)
                arena->byte_len = byte_len;
        return err;
}

int arena_grow(struct xac_arena *arena, uint64_t pages)
{
        const uint64_t group_bytes = (uint64_t)GROUP_PAGES << arena->page_shift;
        uint64_t groups = (pages + GROUP_PAGES - 1) / GROUP_PAGES;
        if (groups * group_bytes <= arena->byte_len)
                return 0;
        if (groups * GROUP_PAGES > PAGES_MAX)
                return -ENOSPC;
        if (!arena->pool && !arena_extend(arena, step_groups(groups) * group_bytes))
                return 0;
        return arena_extend(arena, groups * group_bytes); /* perhaps there is room for as much as that */
}

/* ---- moves ---- */

enum { FRONT_BYTES = 64 };

static int lost_if(int err)
{
        return err ? ARENA_LOST : 0;
}

static int move_plain(const struct xac_arena *arena, char *to, char *from)
{
        memcpy(to, from, arena->page_bytes);
        memset(from, 0, FRONT_BYTES);
        return 0;
}

int arena_move(const struct xac_arena *arena, page_no to, page_no from)
{
        char *target = arena->base + ((uint64_t)to << arena->page_shift);
        char *source = arena->base + ((uint64_t)from << arena->page_shift);
        return arena->env ? lost_if(xac_page_move(arena->env, target, source, 1)) : move_plain(arena, target, source);
}

/* ---- pages of nothing ---- */

/* A hint: in a pool it stays. */
static int give_plain(const struct xac_arena *arena, char *page)
{
        if (!arena->pool)
                (void)madvise(page, arena->page_bytes, arena->fd >= 0 ? MADV_REMOVE : MADV_DONTNEED);
        return 0;
}

int arena_clear(const struct xac_arena *arena, page_no page)
{
        char *bytes = arena_write(arena, page);
        if (!bytes)
                return ARENA_LOST;
        memset(bytes, 0, arena->page_bytes);
        return arena->env ? 0 : give_plain(arena, bytes);
}

/* ---- transactions ---- */

struct run {
        int (*body)(void *arg);
        void *arg;
        int tries, result;
};

/* Says whether to abort. What the body returns is kept, so that it means nothing to xac_run; what is lost goes on to
 * xend, which knows the reason. */
static int run_body(void *run_)
{
        struct run *run = run_;
        run->result = run->tries-- ? run->body(run->arg) : XAC_CONFLICT;
        return run->result && run->result != ARENA_LOST;
}

/* In the open transaction; or in one of its own, which is a level of that, for a single try. An error is of the
 * library then: if the body was run, of the end of its level, and the transaction is lost; if not, of its beginning. */
static int run_env(struct xac_arena *arena, int flags, struct run *run)
{
        bool is_joined = arena_txn(arena);
        int err = is_joined && run->tries > 1 ? run_body(run) : xac_run(arena->env, flags, run_body, run);
        if (err < 0 && (!is_joined || run->tries))
                return err;
        return err < 0 || run->result == ARENA_LOST ? -ECANCELED : run->result;
}

static int run_with(struct xac_arena *arena, int flags, int tries, int (*body)(void *arg), void *arg)
{
        if (arena->snapshot && !(flags & XAC_RDONLY))
                return XAC_WROTE;
        return arena->env ? run_env(arena, flags, &(struct run){ body, arg, tries, 0 }) : body(arg);
}

int arena_run(struct xac_arena *arena, int flags, int (*body)(void *arg), void *arg)
{
        return run_with(arena, flags, INT_MAX, body, arg);
}

int arena_run_once(struct xac_arena *arena, int flags, int (*body)(void *arg), void *arg)
{
        return run_with(arena, flags, 1, body, arg);
}
