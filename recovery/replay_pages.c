/* SPDX-License-Identifier: MIT */
#include "recovery/replay_pages.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/scatter.h"
#include "base/sys.h"

enum { SLAB_BYTES = 4 << 20, TABLE_BITS_MIN = 12, TABLE_BITS_MAX = 31 };

struct replay_slot {
        uint64_t page;
        uint32_t number; /* index of the page + 1; 0: empty */
};

static int memory_take(size_t byte_len, void **memory)
{
        return sys_mmap(NULL, byte_len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0, memory);
}

/* ---- The table ---- */

static struct replay_slot *table_place(const struct replay_pages *pages, uint64_t page)
{
        return &pages->table[scatter(page, pages->secret, pages->table_bits)];
}

/* The slot of a page, or the empty one where it would go. */
static struct replay_slot *table_find(const struct replay_pages *pages, uint64_t page)
{
        const struct replay_slot *end = pages->table + ((size_t)1 << pages->table_bits);
        struct replay_slot *slot = table_place(pages, page);

        while (slot->number && slot->page != page)
                if (++slot == end)
                        slot = pages->table;
        return slot;
}

static size_t table_bytes(uint32_t table_bits)
{
        return sizeof(struct replay_slot) << table_bits;
}

static int table_grow(struct replay_pages *pages, uint32_t table_bits)
{
        struct replay_slot *before = pages->table;
        const uint32_t bits_before = pages->table_bits;
        void *memory;

        if (table_bits > TABLE_BITS_MAX)
                return -ENOMEM;
        if (memory_take(table_bytes(table_bits), &memory))
                return -ENOMEM;
        pages->table = memory;
        pages->table_bits = table_bits;
        for (uint32_t i = 0; i < pages->pages.count; i++) {
                uint64_t page = replay_pages_at(pages, i)->page;

                *table_find(pages, page) = (struct replay_slot){ .page = page, .number = i + 1 };
        }
        if (before)
                sys_munmap(before, table_bytes(bits_before));
        return 0;
}

/* ---- Buffers ---- */

static int buffer_take(struct replay_pages *pages, unsigned char **bytes)
{
        uint32_t per_slab = SLAB_BYTES / pages->page_bytes;
        void *slab;

        if (pages->slabs.count == 0 || pages->slab_used == per_slab) {
                int err = vector_reserve(&pages->slabs, pages->slabs.count + 1, sizeof(slab));

                if (!err)
                        err = memory_take(SLAB_BYTES, &slab);
                if (err)
                        return -ENOMEM;
                /* Records hit pages at random: large translations spare a miss for each. Only a wish. */
                (void)sys_madvise(slab, SLAB_BYTES, MADV_HUGEPAGE);
                ((void **)pages->slabs.items)[pages->slabs.count++] = slab;
                pages->slab_used = 0;
        }
        slab = ((void **)pages->slabs.items)[pages->slabs.count - 1];
        *bytes = (unsigned char *)slab + (size_t)pages->slab_used++ * pages->page_bytes;
        return 0;
}

/* ---- Pages ---- */

int replay_pages_init(struct replay_pages *pages, uint32_t page_bytes)
{
        *pages = (struct replay_pages){ .page_bytes = page_bytes };
        int err = sys_random(&pages->secret, sizeof(pages->secret));

        return err ? err : table_grow(pages, TABLE_BITS_MIN);
}

void replay_pages_free(struct replay_pages *pages)
{
        for (uint32_t i = 0; i < pages->slabs.count; i++)
                sys_munmap(((void **)pages->slabs.items)[i], SLAB_BYTES);
        vector_free(&pages->slabs, sizeof(void *));
        vector_free(&pages->pages, sizeof(struct replay_page));
        if (pages->table)
                sys_munmap(pages->table, table_bytes(pages->table_bits));
        pages->table = NULL;
}

int replay_pages_add(struct replay_pages *pages, uint64_t page, struct replay_page **added)
{
        struct replay_page one = { .page = page };
        int err = 0;

        if (pages->pages.count >= UINT32_C(1) << (pages->table_bits - 1)) /* half full */
                err = table_grow(pages, pages->table_bits + 1);
        if (!err)
                err = vector_reserve(&pages->pages, pages->pages.count + 1, sizeof(one));
        if (!err)
                err = buffer_take(pages, &one.bytes);
        if (err)
                return err;
        *added = (struct replay_page *)pages->pages.items + pages->pages.count++;
        **added = one;
        *table_find(pages, page) = (struct replay_slot){ .page = page, .number = pages->pages.count };
        return 0;
}

struct replay_page *replay_pages_find(const struct replay_pages *pages, uint64_t page)
{
        uint32_t number = table_find(pages, page)->number;

        return number ? (struct replay_page *)pages->pages.items + (number - 1) : NULL;
}

void replay_pages_expect(const struct replay_pages *pages, uint64_t page)
{
        __builtin_prefetch(table_place(pages, page));
}

/* The buffer's address follows from the page's number, without a look at the page itself: pages are taken from the
 * slabs in the order of their numbers. */
void replay_pages_expect_bytes(const struct replay_pages *pages, uint64_t page, uint32_t at)
{
        const struct replay_slot *slot = table_place(pages, page);
        uint32_t per_slab = SLAB_BYTES / pages->page_bytes;

        if (slot->page != page || !slot->number)
                return;
        uint32_t i = slot->number - 1;
        const char *slab = ((void **)pages->slabs.items)[i / per_slab];

        __builtin_prefetch(replay_pages_at(pages, i), 1);
        __builtin_prefetch(slab + (size_t)(i % per_slab) * pages->page_bytes + at % pages->page_bytes, 1);
}

static int compare_pages(const void *a, const void *b)
{
        uint64_t left = ((const struct replay_page *)a)->page;
        uint64_t right = ((const struct replay_page *)b)->page;

        return left < right ? -1 : left > right;
}

void replay_pages_sort(struct replay_pages *pages, struct vector *lost)
{
        struct replay_page *page = pages->pages.items;
        const uint32_t count = pages->pages.count;

        if (count)
                qsort(page, count, sizeof(struct replay_page), compare_pages);
        pages->pages.count = 0;
        for (uint32_t i = 0; i < count; i++)
                if (page[i].is_lost)
                        ((uint64_t *)lost->items)[lost->count++] = page[i].page;
                else
                        page[pages->pages.count++] = page[i];
}
