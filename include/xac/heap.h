/* SPDX-License-Identifier: MIT */
#ifndef XAC_HEAP_H
#define XAC_HEAP_H

/*
 * A heap in a file: malloc() for serial code whose data lie in an environment.
 *
 *         xac_heap_open(env, "heap", XAC_CREATE, &heap);
 *         xac_heap_root_create(heap, "list", sizeof(struct list), 0, &root);
 *
 *         static int push(void *number)                       // for xac_run()
 *         {
 *                 struct node *node = xac_heap_malloc(heap, sizeof(*node));
 *                 if (!node)
 *                         return -errno;
 *                 *node = (struct node){ *(int *)number, list->first };
 *                 list->first = node;
 *                 return 0;
 *         }
 *
 * All of it is part of the transaction that is open: what an aborted one has allocated was never allocated, and what it
 * has freed never freed. A call without a transaction is one of its own. Processes and threads may allocate at once,
 * and seldom conflict: each takes objects from pages of its own, and a free touches the object's page alone.
 *
 * Pointers are raw, so the file has to lie where it lay when the heap was made: -EADDRNOTAVAIL if it cannot. Each
 * thread opens the heap for itself, with XAC_SHARED if several of one process do (then code that touches objects is
 * compiled by xac-cc, or declares its accesses). With XAC_ANYWHERE at creation it opens at any address, and the program
 * stores offsets.
 *
 * The names and what they promise are those of <stdlib.h>. Named roots are an idea of Boost.Interprocess, bitmaps in
 * slabs of pages one of J. Bonwick (USENIX 1994).
 */

#include <xac/xac.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct xac_heap xac_heap;

/* Of this thread. Flags: XAC_CREATE, XAC_EXCL, XAC_SHARED, XAC_ANYWHERE. -ENOENT: the file holds no heap yet;
 * -EADDRNOTAVAIL; -EBUSY: a transaction is open; XAC_FORMAT: it is something else, or of another page size; the errors
 * of xac_mmap() and xac_run(). */
int xac_heap_open(xac_env *env, const char *file, int flags, xac_heap **heap);
/* -EBUSY: a transaction is open. */
int xac_heap_close(xac_heap *heap);

/* NULL and errno: ENOMEM, ENOSPC, EINVAL; EIO: the heap is damaged (xac_heap_check). Objects are aligned to 16 bytes;
 * those larger than half a page begin on a page. */
void *xac_heap_malloc(xac_heap *heap, size_t size);
void *xac_heap_calloc(xac_heap *heap, size_t count, size_t size);
/* Of no object: as xac_heap_malloc(). To 0 bytes: the object is freed, and NULL returned, with errno as it was. */
void *xac_heap_realloc(xac_heap *heap, void *object, size_t size);
/* A power of two up to the size of a page. */
void *xac_heap_aligned_alloc(xac_heap *heap, size_t alignment, size_t size);
/* What is no object of the heap, was freed, or has a name ends the program with a line, as the C library does. So it is
 * with xac_heap_realloc(). */
void xac_heap_free(xac_heap *heap, void *object);
size_t xac_heap_usable_size(xac_heap *heap, const void *object);

/* ---- roots: objects with names ---- */

enum { XAC_HEAP_NAME_MAX = 47 /* bytes */ };

typedef struct xac_heap_root {
        char name[XAC_HEAP_NAME_MAX + 1];
        void *object;
        size_t size;
        uint64_t tag;         /* the program's: what the object is */
        uint64_t reserved[2]; /* zero */
} xac_heap_root;

/* -ENOENT. */
int xac_heap_root_find(xac_heap *heap, const char *name, xac_heap_root *root);
/* The object is new, and zeros. -EEXIST (then *root is what there is), -EINVAL: no such name, or size 0; -ENOMEM,
 * -ENOSPC. */
int xac_heap_root_create(xac_heap *heap, const char *name, size_t size, uint64_t tag, xac_heap_root *root);
/* The one whose object that is. -ENOENT. */
int xac_heap_root_of(xac_heap *heap, const void *object, xac_heap_root *root);
/* Frees the object, too. -ENOENT. */
int xac_heap_root_remove(xac_heap *heap, const char *name);
/* Calls for each, in no order, until one returns other than 0, which is returned. In a transaction that is open and may
 * write, a call may remove roots, also its own, and create some: what is removed before its turn is left out; what is
 * created may be. */
int xac_heap_root_list(xac_heap *heap, int (*each)(void *arg, const xac_heap_root *root), void *arg);

/* ---- where things are ---- */

/* Of an address in the heap, from the beginning of the file; and back. NULL is 0. */
uint64_t xac_heap_offset(const xac_heap *heap, const void *address);
void *xac_heap_address(const xac_heap *heap, uint64_t offset);
/* Does an object begin at this offset, which may be any number? *size, unless NULL: as large as it can be used.
 * -ENOENT: none does. */
int xac_heap_find(xac_heap *heap, uint64_t offset, size_t *size);

/* ---- care ---- */

typedef struct xac_heap_stats {
        uint64_t file_bytes; /* what the heap spans */
        uint64_t live_bytes; /* in objects, as large as they can be used */
        uint64_t live_objects;
        uint64_t slab_bytes; /* pages of objects up to half a page, whole */
        uint64_t slab_free;  /* bytes in them where objects could be */
        uint64_t run_bytes;  /* pages of larger objects */
        uint64_t free_bytes; /* pages that are nothing yet */
        uint64_t kept_bytes; /* maps, the header, roots */
        uint64_t roots;
        uint64_t reserved[7];
} xac_heap_stats;

/* Looks at all of it, in a transaction that reads. `finding`, which may be NULL, is told in words of all that is wrong,
 * up to some 10,000 things: then the result is XAC_CORRUPT. Every byte is accounted for: file_bytes is the sum of
 * slab_bytes, run_bytes, free_bytes and kept_bytes. */
int xac_heap_check(xac_heap *heap, xac_heap_stats *stats, void (*finding)(void *arg, const char *text), void *arg);

/* Gives back what free pages take on the disk: xac_arena_trim(3) for a heap. -EBUSY: a transaction is open; the errors
 * of xac_run(). */
int xac_heap_trim(xac_heap *heap, int (*progress)(void *arg, uint64_t done, uint64_t total), void *arg,
                  uint64_t *trimmed);

#ifdef __cplusplus
}
#endif

#endif
