/* SPDX-License-Identifier: MIT */

/*
 * Vectors of private memory that lies in one piece. They differ in how they get more:
 *
 *     copied     other memory, into which everything is copied: by malloc() in 4 KiB pages; in 2 MiB pages by mmap(),
 *                aligned; or the next part of memory that was touched before
 *     mremap     the kernel moves the page tables. The new addresses are aligned, so that it can move a whole table
 *                of 4 KiB pages at once, and need not split pages of 2 MiB
 *     jemalloc   its realloc(), if it can be loaded
 *     reserved   addresses for all entries at first: it knows how many there will be, and never moves. Touched before,
 *                it is an array
 */

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "bench/papers/ruma-2016/rewire.h"
#include "bench/papers/ruma-2016/vector_systems.h"
#include "bench/support/memory.h"
#include "bench/support/scratch.h"

struct grown {
        uint64_t *items;
        size_t count, capacity;
        size_t page_bytes;
        char *spare; /* memory that was touched before, for all copies; NULL: none */
        void (*grow)(struct grown *grown, size_t old_bytes, size_t bytes);
        void *(*reallocate)(void *memory, size_t bytes); /* jemalloc's */
};

/* ---- how they grow ---- */

/* What lies before and behind is given back at once. */
static char *map_aligned(size_t bytes, size_t page_bytes)
{
        char *memory = memory_reserve(bytes + HUGE_PAGE);
        const size_t before = -(uintptr_t)memory & (HUGE_PAGE - 1);

        if (before)
                munmap(memory, before);
        munmap(memory + before + bytes, HUGE_PAGE - before);
        memory += before;
        madvise(memory, bytes, page_bytes == HUGE_PAGE ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
        return memory;
}

static void grow_by_malloc(struct grown *grown, size_t old_bytes, size_t bytes)
{
        uint64_t *items = malloc(bytes);

        must(items ? 0 : -ENOMEM, "malloc");
        if (old_bytes)
                memcpy(items, grown->items, old_bytes);
        free(grown->items);
        grown->items = items;
}

/* What was copied from is not used again: so copies cost no page fault at all. */
static void grow_in_spare(struct grown *grown, size_t old_bytes, size_t bytes)
{
        char *items = grown->spare;

        grown->spare += bytes;
        if (old_bytes)
                memcpy(items, grown->items, old_bytes);
        grown->items = (uint64_t *)items;
}

static void grow_by_copy(struct grown *grown, size_t old_bytes, size_t bytes)
{
        char *items = map_aligned(bytes, grown->page_bytes);

        if (old_bytes) {
                memcpy(items, grown->items, old_bytes);
                munmap(grown->items, old_bytes);
        }
        grown->items = (uint64_t *)items;
}

static void grow_by_mremap(struct grown *grown, size_t old_bytes, size_t bytes)
{
        char *items = map_aligned(bytes, grown->page_bytes);

        if (old_bytes && mremap(grown->items, old_bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, items) == MAP_FAILED)
                scratch_fail(-errno, "mremap");
        grown->items = (uint64_t *)items;
}

static void grow_by_jemalloc(struct grown *grown, size_t old_bytes, size_t bytes)
{
        (void)old_bytes;
        grown->items = grown->reallocate(grown->items, bytes);
        must(grown->items ? 0 : -ENOMEM, "jemalloc");
}

static void double_room(struct grown *grown)
{
        const size_t old_bytes = grown->capacity * sizeof(uint64_t);
        const size_t bytes = old_bytes ? 2 * old_bytes : VECTOR_FIRST_BYTES;

        grown->grow(grown, old_bytes, bytes);
        grown->capacity = bytes / sizeof(uint64_t);
}

/* ---- how they begin ---- */

static struct grown *open_grown(const struct vector_system *system,
                                void (*grow)(struct grown *grown, size_t old_bytes, size_t bytes))
{
        struct grown *grown = calloc(1, sizeof(*grown));

        must(grown ? 0 : -ENOMEM, "malloc");
        grown->page_bytes = system->page_bytes;
        grown->grow = grow;
        return grown;
}

static char *make_touched(size_t bytes, size_t page_bytes)
{
        return page_bytes == HUGE_PAGE ? memory_make_huge(bytes) : memory_make(bytes);
}

/* The doubled sizes together are less than twice the last one. */
static void *open_copied(const struct vector_system *system, uint64_t entries)
{
        struct grown *grown = open_grown(system, system->page_bytes == SMALL_PAGE ? grow_by_malloc : grow_by_copy);

        if (system->is_touched) {
                grown->grow = grow_in_spare;
                grown->spare = make_touched(2 * vector_room(entries), system->page_bytes);
        }
        double_room(grown);
        return grown;
}

static void *open_mremap(const struct vector_system *system, uint64_t entries)
{
        struct grown *grown = open_grown(system, grow_by_mremap);

        (void)entries;
        double_room(grown);
        return grown;
}

static void *open_reserved(const struct vector_system *system, uint64_t entries)
{
        struct grown *grown = open_grown(system, NULL);
        const size_t bytes = vector_room(entries);

        grown->items = (uint64_t *)(system->is_touched ? make_touched(bytes, system->page_bytes)
                                                       : map_aligned(bytes, system->page_bytes));
        grown->capacity = bytes / sizeof(uint64_t);
        return grown;
}

/* This process has nothing else of it. Small pages are what it asks for unless it is told; its own memory that the C
 * library gives to threads may not suffice (`run` asks for more). */
static void *open_jemalloc(const struct vector_system *system, uint64_t entries)
{
        setenv("MALLOC_CONF", system->page_bytes == HUGE_PAGE ? "thp:always" : "thp:never", 1);
        void *library = dlopen("libjemalloc.so.2", RTLD_NOW | RTLD_LOCAL);
        void *reallocate = library ? dlsym(library, "realloc") : NULL;
        struct grown *grown;

        (void)entries;
        if (!reallocate) {
                printf("without jemalloc: %s\n", dlerror());
                fflush(stdout);
                return NULL;
        }
        grown = open_grown(system, grow_by_jemalloc);
        memcpy(&grown->reallocate, &reallocate, sizeof(reallocate)); /* C has no other way to make a function of it */
        double_room(grown);
        return grown;
}

/* ---- what they have in common ---- */

static void append(void *arg, uint64_t first, uint64_t count)
{
        struct grown *grown = arg;
        uint64_t *items = grown->items;
        size_t size = grown->count, capacity = grown->capacity;

        for (uint64_t i = 0; i < count; i++) {
                if (size == capacity) {
                        double_room(grown);
                        items = grown->items;
                        capacity = grown->capacity;
                }
                items[size++] = vector_entry(first + i);
        }
        grown->count = size;
}

static uint64_t read_random(const void *arg, uint64_t entries, uint64_t reads, uint64_t seed)
{
        const struct grown *grown = arg;
        return vector_read_flat(grown->items, entries, reads, seed);
}

static uint64_t check(const void *arg, uint64_t entries)
{
        const struct grown *grown = arg;
        return grown->count == entries ? vector_check_flat(grown->items, entries) : grown->count;
}

const struct vector_system vector_grown[] = {
        { "copied", SMALL_PAGE, 1, NULL, open_copied, append, read_random, check },
        { "copied", HUGE_PAGE, 1, NULL, open_copied, append, read_random, check },
        { "copied", SMALL_PAGE, 0, NULL, open_copied, append, read_random, check },
        { "copied", HUGE_PAGE, 0, "2.5", open_copied, append, read_random, check },
        { "mremap", SMALL_PAGE, 0, NULL, open_mremap, append, read_random, check },
        { "mremap", HUGE_PAGE, 0, "1.4", open_mremap, append, read_random, check },
        { "jemalloc", SMALL_PAGE, 0, NULL, open_jemalloc, append, read_random, check },
        { "jemalloc", HUGE_PAGE, 0, NULL, open_jemalloc, append, read_random, check },
        { "reserved", SMALL_PAGE, 1, NULL, open_reserved, append, read_random, check },
        { "reserved", HUGE_PAGE, 1, NULL, open_reserved, append, read_random, check },
        { "reserved", SMALL_PAGE, 0, NULL, open_reserved, append, read_random, check },
        { "reserved", HUGE_PAGE, 0, NULL, open_reserved, append, read_random, check },
        { 0 },
};
