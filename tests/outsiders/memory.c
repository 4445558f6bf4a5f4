/* SPDX-License-Identifier: MIT */

/*
 * Linked into a program that knows nothing of libxac, compiled by xac-cc, so that all that it allocates lies on a heap
 * in a file: -Wl,--wrap=malloc and so on, for each function below. What the C library allocates for itself stays its
 * own, and is freed by it.
 *
 * The program begins in a transaction, and is in one until it ends. Every COMMIT_AFTER allocations that is committed
 * and another begun, so that what was written is met again as a version of the pages. When the program ends, the heap
 * is checked. A finding, and a transaction that does not commit, end it with status FAILED.
 *
 *      OUTSIDER_ENV     where the environment is to be made
 */

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <xac/heap.h>
#include <xac/translate.h>

#include "tests/outsiders/outsider.h"

enum { COMMIT_AFTER = 1000, FAILED = 99 };

static xac_env *env;
static xac_heap *heap;
static unsigned allocations;
static bool has_ended;

static void must(int err, const char *what)
{
        if (!err)
                return;
        fprintf(stderr, "outsider: %s: %s\n", what, xac_strerror(err));
        _exit(FAILED);
}

static void tell(void *unused, const char *text)
{
        (void)unused;
        fprintf(stderr, "outsider: the heap: %s\n", text);
}

/* What runs behind this, when the program ends, finds what was committed, and frees nothing any more. */
static void end(void)
{
        xac_heap_stats stats;

        has_ended = true;

        must(xend(env), "the last commit");
        faults_tell(env);
        must(xac_heap_check(heap, &stats, tell, NULL), "xac_heap_check");
}

__attribute__((constructor)) static void begin(void)
{
        const char *directory = getenv("OUTSIDER_ENV");

        must(directory ? 0 : -EINVAL, "OUTSIDER_ENV");
        must(xac_open(directory, XAC_CREATE | XAC_VOLATILE, NULL, &env), directory);
        must(xac_heap_open(env, "memory", XAC_CREATE, &heap), "memory");
        faults_watch(env);
        must(atexit(end) ? -ENOMEM : 0, "atexit");
        must(xbegin(env, 0), "xbegin");
}

static void count(void)
{
        if (++allocations % COMMIT_AFTER)
                return;
        must(xend(env), "xend");
        must(xbegin(env, 0), "xbegin");
}

/* ---- the linker's names. NOLINTBEGIN(bugprone-reserved-identifier) ---- */

void *__real_realloc(void *object, size_t size);
void __real_free(void *object);
size_t __real_malloc_usable_size(void *object);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t number, size_t size);
void *__wrap_realloc(void *object, size_t size);
void *__wrap_reallocarray(void *object, size_t number, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
int __wrap_posix_memalign(void **object, size_t alignment, size_t size);
size_t __wrap_malloc_usable_size(void *object);
void __wrap_free(void *object);

void *__wrap_malloc(size_t size)
{
        count();
        return xac_heap_malloc(heap, size);
}

void *__wrap_calloc(size_t number, size_t size)
{
        count();
        return xac_heap_calloc(heap, number, size);
}

void *__wrap_realloc(void *object, size_t size)
{
        if (object && !xac_in_window(object))
                return __real_realloc(object, size);
        count();
        return xac_heap_realloc(heap, object, size);
}

void *__wrap_reallocarray(void *object, size_t number, size_t size)
{
        size_t byte_len;

        if (__builtin_mul_overflow(number, size, &byte_len)) {
                errno = ENOMEM;
                return NULL;
        }
        return __wrap_realloc(object, byte_len);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
        count();
        return xac_heap_aligned_alloc(heap, alignment, size);
}

int __wrap_posix_memalign(void **object, size_t alignment, size_t size)
{
        void *made = __wrap_aligned_alloc(alignment, size);

        if (!made)
                return errno;
        *object = made;
        return 0;
}

size_t __wrap_malloc_usable_size(void *object)
{
        if (object && xac_in_window(object))
                return xac_heap_usable_size(heap, object);
        return __real_malloc_usable_size(object);
}

void __wrap_free(void *object)
{
        if (!object || !xac_in_window(object))
                __real_free(object);
        else if (!has_ended)
                xac_heap_free(heap, object);
}

/* NOLINTEND(bugprone-reserved-identifier) */
