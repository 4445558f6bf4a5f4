/* SPDX-License-Identifier: MIT */

/* malloc and its kin, and what is known of an offset. */

#include <errno.h>
#include <string.h>

#include "heap/objects.h"
#include "heap/roots.h"

/* The first write of a page may move what was read: the destination is asked for first. In a damaged heap the two may
 * overlap. */
static void copy(void *to_, const void *from_, size_t len)
{
        char *to = to_;
        const char *from = from_;
        while (len) {
                const size_t piece = object_piece(to, object_piece(from, len));
                char *place = xac_for_write(to);
                memmove(place, xac_for_read(from), piece);
                to += piece;
                from += piece;
                len -= piece;
        }
}

/* ---- names ---- */

/* Ends the program. The name would lead to what is free, or somebody else's; its object is freed with it. */
static void refuse_named(struct xac_heap *heap, const void *object)
{
        if (roots_have(heap, object))
                heap_refuse(object, "it is a root, which has a name: xac_heap_root_remove() frees both");
}

/* Apart from the rest, which is short so. */
__attribute__((noinline, cold)) static void give_back_if_nameless(struct xac_heap *heap, void *object)
{
        if (heap->was_chained)
                roots_shorten(heap);
        refuse_named(heap, object);
        object_give_back(heap, object, true);
}

static inline void give_back(struct xac_heap *heap, void *object)
{
        if (heap->was_chained || !object_give_back(heap, object, false))
                give_back_if_nameless(heap, object);
}

/* ---- calls ---- */

/* What a call of ours is asked for, and its result. */
struct request {
        struct xac_heap *heap;
        void *object;
        size_t size;
};

/* What <errno.h> has no name for: a transaction of its own may be too large for the pool, or only read; the rest is
 * damage. */
static int errno_of(int err)
{
        if (err == XAC_FULL)
                return ENOMEM;
        if (err == XAC_WROTE)
                return EROFS;
        return err > -4000 ? -err : EIO;
}

static void *object_or_errno(const struct request *request, int err)
{
        if (!err)
                return request->object;
        errno = errno_of(err);
        return NULL;
}

static int allocate(void *request_)
{
        struct request *request = request_;
        int err = 0;
        request->object = object_take(request->heap, request->size, &err);
        return err;
}

void *xac_heap_malloc(xac_heap *heap, size_t size)
{
        struct request request = { heap, NULL, size };
        return object_or_errno(&request, arena_run(heap->arena, 0, allocate, &request));
}

static int allocate_zeros(void *request_)
{
        struct request *request = request_;
        int err = allocate(request);
        if (!err)
                object_zero(request->object, request->size);
        return err;
}

void *xac_heap_calloc(xac_heap *heap, size_t count, size_t size)
{
        struct request request = { heap, NULL, 0 };
        if (__builtin_mul_overflow(count, size, &request.size))
                return object_or_errno(&request, -ENOMEM);
        return object_or_errno(&request, arena_run(heap->arena, 0, allocate_zeros, &request));
}

/* It stays where it is if it fits, and not into less than half of that. */
static int reallocate(void *request_)
{
        struct request *request = request_;
        void *before = request->object;
        const size_t room = object_size(request->heap, before);
        if (request->heap->was_chained || object_is_marked(request->heap, before))
                refuse_named(request->heap, before);
        if (request->size <= room && request->size > room / 2)
                return 0;
        int err = allocate(request);
        if (err)
                return err;
        copy(request->object, before, room < request->size ? room : request->size);
        give_back(request->heap, before);
        return 0;
}

/* To no bytes: as in the C library of GNU. */
void *xac_heap_realloc(xac_heap *heap, void *object, size_t size)
{
        struct request request = { heap, object, size };
        if (!object)
                return xac_heap_malloc(heap, size);
        if (!size) {
                xac_heap_free(heap, object);
                return NULL;
        }
        return object_or_errno(&request, arena_run(heap->arena, 0, reallocate, &request));
}

/* Objects of a multiple of their alignment lie so on a page if the first of them does: those that do not become runs.
 */
void *xac_heap_aligned_alloc(xac_heap *heap, size_t alignment, size_t size)
{
        struct request request = { heap, NULL, size };
        if (!alignment || alignment & (alignment - 1) || alignment > heap->arena->page_bytes)
                return object_or_errno(&request, -EINVAL);
        if (alignment > SIZE_STEP && size <= heap->classes.size_max)
                request.size = heap->classes.size_max + 1;
        return object_or_errno(&request, arena_run(heap->arena, 0, allocate, &request));
}

static int release(void *request_)
{
        struct request *request = request_;
        give_back(request->heap, request->object);
        return 0;
}

void xac_heap_free(xac_heap *heap, void *object)
{
        struct request request = { heap, object, 0 };
        if (object)
                arena_run(heap->arena, 0, release, &request);
}

static int measure(void *request_)
{
        struct request *request = request_;
        request->size = object_size(request->heap, request->object);
        return 0;
}

size_t xac_heap_usable_size(xac_heap *heap, const void *object)
{
        struct request request = { heap, (void *)(uintptr_t)object, 0 };
        if (object)
                arena_run(heap->arena, XAC_RDONLY, measure, &request);
        return request.size;
}

/* ---- what is only said to be an object ---- */

struct looking {
        struct xac_heap *heap;
        uint64_t offset, room;
};

static int look(void *looking_)
{
        struct looking *looking = looking_;
        looking->room = object_room(looking->heap, looking->offset);
        return looking->room ? 0 : -ENOENT;
}

int xac_heap_find(xac_heap *heap, uint64_t offset, size_t *size)
{
        if (!heap)
                return -EINVAL;
        struct looking looking = { heap, offset, 0 };
        int err = arena_run(heap->arena, XAC_RDONLY, look, &looking);
        if (!err && size)
                *size = looking.room;
        return err;
}
