/* SPDX-License-Identifier: MIT */

/*
 * heap: bytes are calls on a heap in plain memory. Each object keeps what was put into it until it is freed, roots are
 * found as long as they should be, and xac_heap_check() counts as many objects as there are. Or pages are damaged in
 * the end: then xac_heap_check() survives, and where it finds nothing the heap can be used by whoever opens it then.
 *
 *      first byte   bit 0: damage in the end; bit 1: pages of 16 KiB; bit 2: few pages
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "heap/roots.h"
#include "heap/slab.h"
#include "heap/xac_heap.h"
#include "tests/fuzz/fuzz.h"

const char fuzz_target[] = "heap";

enum { OBJECTS = 256, ROOTS = 120, OPERATIONS_MAX = 3000, DAMAGES_MAX = 12, FEW_GROUPS = 2, MANY_BYTES = 64 << 20 };

struct object {
        unsigned char *bytes;
        size_t size;
        unsigned char seed;
};

struct stage {
        struct fuzz_input *input;
        struct xac_heap *heap;
        struct object objects[OBJECTS];
        size_t roots[ROOTS]; /* sizes; 0: there is none */
        uint64_t damages;
};

/* ---- opening, as of a heap that lies in no environment ---- */

static struct xac_heap *open_heap(xac_arena *arena)
{
        struct xac_heap *heap = fuzz_alloc(sizeof(*heap));

        memset(heap, 0, sizeof(*heap));
        heap->arena = arena;
        heap->self = 1;
        size_classes_make(&heap->classes, arena->page_bytes);
        return heap;
}

static void reopen(struct stage *stage)
{
        xac_arena *arena = stage->heap->arena;

        free(stage->heap);
        arena->own_group = NO_GROUP;
        stage->heap = open_heap(arena);
}

/* ---- objects ---- */

/* Zeroing more takes long, and shows no more. */
static size_t few(const struct stage *stage, size_t size)
{
        return size % (8 * (size_t)stage->heap->arena->page_bytes);
}

static size_t read_size(struct stage *stage)
{
        const uint8_t how = fuzz_u8(stage->input);
        const size_t page_bytes = stage->heap->arena->page_bytes;

        if (how < 160)
                return how * 3u;
        if (how < 220)
                return (how - 159u) * page_bytes / 32;
        if (how < 250)
                return (how - 219u) * page_bytes + fuzz_u8(stage->input);
        return (GROUP_PAGES - 253u + how) * page_bytes; /* about a group */
}

/* Some of its bytes, the first and the last among them. */
static size_t step(size_t size)
{
        return size < 64 ? 1 : size / 23;
}

static void fill(struct object *object)
{
        for (size_t at = 0; at < object->size; at += step(object->size))
                object->bytes[at] = (unsigned char)(object->seed + at);
        if (object->size)
                object->bytes[object->size - 1] = object->seed;
}

static bool is_whole(const struct object *object, size_t size)
{
        for (size_t at = 0; at < size && at + 1 < object->size; at += step(object->size))
                if (object->bytes[at] != (unsigned char)(object->seed + at))
                        return false;
        return size < object->size || !size || object->bytes[size - 1] == object->seed;
}

static void take(struct stage *stage, struct object *object, void *bytes, size_t size)
{
        if (!bytes)
                return;
        fuzz_check(xac_heap_usable_size(stage->heap, bytes) >= size && ((uintptr_t)bytes & 15) == 0);
        *object = (struct object){ bytes, size, fuzz_u8(stage->input) };
        fill(object);
}

static void give_back(struct stage *stage, struct object *object)
{
        fuzz_check(is_whole(object, object->size));
        xac_heap_free(stage->heap, object->bytes);
        *object = (struct object){ 0 };
}

static void resize(struct stage *stage, struct object *object, size_t size)
{
        const struct object before = *object;

        fuzz_check(is_whole(object, object->size));
        unsigned char *bytes = xac_heap_realloc(stage->heap, object->bytes, size);
        if (!bytes && !size) {
                *object = (struct object){ 0 };
                return;
        }
        if (!bytes) {
                fuzz_check(is_whole(object, object->size));
                return;
        }
        object->bytes = bytes;
        fuzz_check(is_whole(object, size < before.size ? size : before.size));
        take(stage, object, bytes, size);
}

static void change_root(struct stage *stage)
{
        const unsigned i = fuzz_u8(stage->input) % ROOTS;
        char name[16];
        xac_heap_root root;

        snprintf(name, sizeof(name), "root %u", i);
        int err = xac_heap_root_find(stage->heap, name, &root);
        fuzz_check(stage->damages || (err ? err == -ENOENT && !stage->roots[i] : root.size == stage->roots[i]));
        if (!err && !stage->damages) {
                fuzz_check(xac_heap_root_remove(stage->heap, name) == 0);
                stage->roots[i] = 0;
                return;
        }
        const size_t size = 1 + few(stage, read_size(stage));
        if (xac_heap_root_create(stage->heap, name, size, i, &root) == 0)
                stage->roots[i] = size;
}

static void operate(struct stage *stage)
{
        const uint8_t what = fuzz_u8(stage->input) % 16;
        struct object *object = &stage->objects[fuzz_u8(stage->input)];
        const size_t size = read_size(stage);

        if (what == 15)
                change_root(stage);
        else if (what == 14)
                reopen(stage);
        else if (object->bytes && what < 10)
                give_back(stage, object);
        else if (object->bytes)
                resize(stage, object, size);
        else if (what < 10)
                take(stage, object, xac_heap_malloc(stage->heap, size), size);
        else if (what < 12)
                take(stage, object, xac_heap_calloc(stage->heap, few(stage, size), 1), few(stage, size));
        else
                take(stage, object, xac_heap_aligned_alloc(stage->heap, 16u << what % 5, size), size);
}

static void prove(struct stage *stage)
{
        uint64_t live = 0;
        xac_heap_stats stats;

        for (unsigned i = 0; i < OBJECTS; i++) {
                live += stage->objects[i].bytes != NULL;
                fuzz_check(!stage->objects[i].bytes || is_whole(&stage->objects[i], stage->objects[i].size));
        }
        for (unsigned i = 0; i < ROOTS; i++)
                live += stage->roots[i] != 0;
        fuzz_check(xac_heap_check(stage->heap, &stats, NULL, NULL) == 0);
        fuzz_check(stats.live_objects == live);
        fuzz_check(stats.file_bytes == stats.slab_bytes + stats.run_bytes + stats.free_bytes + stats.kept_bytes);
}

/* ---- damage ---- */

static unsigned char *read_page(struct stage *stage)
{
        const struct xac_arena *arena = stage->heap->arena;
        const uint64_t pages = arena->byte_len >> arena->page_shift;
        const uint8_t how = fuzz_u8(stage->input);
        const struct object *object = &stage->objects[fuzz_u8(stage->input)];
        uint64_t page = how < 100 ? how % 4 : how < 120 ? how % 8u * GROUP_PAGES : how;

        if (how >= 200 && object->bytes)
                page = heap_page_of(stage->heap, object->bytes);
        return (unsigned char *)arena->base + (page % pages << arena->page_shift);
}

static void damage(struct stage *stage)
{
        const uint32_t page_bytes = stage->heap->arena->page_bytes;

        for (unsigned i = fuzz_u8(stage->input) % DAMAGES_MAX + 1; i-- > 0;) {
                unsigned char *page = read_page(stage);
                const uint8_t how = fuzz_u8(stage->input);

                if (how < 16)
                        memmove(page, read_page(stage), page_bytes);
                else
                        fuzz_damage(stage->input, page, how < 160 ? 128 : page_bytes);
                stage->damages++;
        }
}

static void count_finding(void *findings, const char *text)
{
        fuzz_check(strlen(text) > 10);
        ++*(uint64_t *)findings;
}

/* Objects from before mean nothing any more: one may be part of another now. */
static void live_with_damage(struct stage *stage)
{
        uint64_t findings = 0;

        damage(stage);
        int err = xac_heap_check(stage->heap, NULL, count_finding, &findings);
        fuzz_check(err ? findings > 0 || err == -ENOSPC : !findings);
        if (err)
                return;
        memset(stage->objects, 0, sizeof(stage->objects));
        reopen(stage);
        for (unsigned i = 0; i < OPERATIONS_MAX && stage->input->left; i++)
                operate(stage);
        fuzz_check(xac_heap_check(stage->heap, NULL, NULL, NULL) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t byte_len)
{
        static struct stage stage;
        struct fuzz_input input = { bytes, byte_len };
        const uint8_t how = fuzz_u8(&input);
        const uint32_t page_bytes = how & 2 ? 16384 : 4096;
        xac_arena *arena;

        stage = (struct stage){ .input = &input };
        fuzz_check(xac_arena_open_memory(how & 4 ? (uint64_t)FEW_GROUPS * GROUP_PAGES * page_bytes : MANY_BYTES,
                                         page_bytes, &arena) == 0);
        stage.heap = open_heap(arena);
        fuzz_check(page_group_make(arena) == 0 && roots_make(stage.heap, NULL) == 0);
        for (unsigned i = 0; i < OPERATIONS_MAX && input.left > (how & 1 ? 300 : 0); i++)
                operate(&stage);
        if (how & 1)
                live_with_damage(&stage);
        else
                prove(&stage);
        free(stage.heap);
        fuzz_check(xac_arena_close(arena) == 0);
        return 0;
}
