/* SPDX-License-Identifier: MIT */

/* Opening and closing. */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "heap/roots.h"
#include "pages/page_trim.h"

#define MAGIC UINT64_C(0x3170616568636178) /* "xacheap1" */

/* ---- opening ---- */

struct opening {
        struct xac_heap *heap;
        int flags;
};

/* The roots say where it was made; a heap is there as soon as they are. */
static int find_or_make(void *opening_)
{
        struct opening *opening = opening_;
        struct xac_arena *arena = opening->heap->arena;
        const void *base = opening->flags & XAC_ANYWHERE ? NULL : arena->base;
        uint32_t groups;
        int err = page_group_count(arena, &groups);
        if (err || groups)
                return err ? err : opening->flags & XAC_EXCL ? -EEXIST : roots_check_place(opening->heap);
        if (!(opening->flags & XAC_CREATE))
                return -ENOENT;
        err = page_group_make(arena);
        return err ? err : roots_make(opening->heap, base);
}

static void tell_of_place(const struct xac_heap *heap, const char *file)
{
        fprintf(stderr,
                "libxac: the heap '%s' holds pointers, and this thread sees it at %p, where they do not lead: in "
                "further "
                "threads of a process open it with XAC_SHARED in all of them; a copy, beside its original, not at all; "
                "or make it with XAC_ANYWHERE and store offsets\n",
                file /* safe */, (void *)heap->arena->base);
}

/* A file without a heap stays as it is, if that is all that is asked: no transaction that could write is begun. */
static int open_arena(struct xac_heap *heap, xac_env *env, const char *file, int flags)
{
        xac_stats stats;
        xac_arena *arena;
        int err = xac_stat(env, &stats);
        if (err || (err = arena_new((uint32_t)stats.page_bytes, ARENA_TRANSLATED, &arena)))
                return err;
        arena->env = env;
        arena->magic = MAGIC;
        arena->map_flags = flags & (XAC_SHARED | XAC_ANYWHERE);
        arena->file = strdup(file);
        arena->base = arena->file ? xac_mmap(env, file, stats.page_bytes, arena->map_flags) : MAP_FAILED;
        err = arena_open(&arena, arena->base == MAP_FAILED ? -errno : xac_retain(env));
        heap->arena = arena;
        return err;
}

static int open_heap(struct xac_heap *heap, xac_env *env, const char *file, int flags)
{
        struct opening opening = { heap, flags };
        int err = open_arena(heap, env, file, flags);
        if (err)
                return err;
        size_classes_make(&heap->classes, heap->arena->page_bytes);
        heap->self = xac_self(env);
        err = heap->self ? arena_run(heap->arena, 0, find_or_make, &opening) : XAC_LIMIT;
        if (err == -EADDRNOTAVAIL)
                tell_of_place(heap, file);
        if (err)
                arena_close(heap->arena);
        return err;
}

int xac_heap_open(xac_env *env, const char *file, int flags, xac_heap **heap)
{
        if (!env || !file || !heap || flags & ~(XAC_CREATE | XAC_EXCL | XAC_SHARED | XAC_ANYWHERE))
                return -EINVAL;
        if (xac_txn_id(env))
                return -EBUSY;
        struct xac_heap *made = calloc(1, sizeof(*made));
        if (!made)
                return -ENOMEM;
        int err = open_heap(made, env, file, flags);
        if (err)
                free(made);
        else
                *heap = made;
        return err;
}

int xac_heap_trim(xac_heap *heap, int (*progress)(void *arg, uint64_t done, uint64_t total), void *arg,
                  uint64_t *trimmed)
{
        if (!heap)
                return -EINVAL;
        return arena_txn(heap->arena) ? -EBUSY : page_trim(heap->arena, progress, arg, trimmed);
}

int xac_heap_close(xac_heap *heap)
{
        if (!heap)
                return -EINVAL;
        if (arena_txn(heap->arena))
                return -EBUSY;
        arena_close(heap->arena);
        free(heap);
        return 0;
}
