/* SPDX-License-Identifier: MIT */

/*
 * Damage: xac_heap_check() finds it where the heap's own bytes are hit, and survives any. Each damage is done in a
 * transaction that is aborted, so that the next begins with a heap that is whole.
 */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "heap/roots.h"
#include "heap/slab.h"
#include "heap/xac_heap.h"
#include "tests/heap/tables.h"
#include "tests/support/check.h"
#include "tests/support/isolate.h"
#include "tests/support/scratch.h"

static xac_env *env;
static xac_heap *heap;
static page_no slab_page, run_page, pages;
static uint32_t slab_class;

static int of_a_large_object(void *arg, const xac_heap_root *root)
{
        (void)arg;
        if (!strcmp(root->name, "large"))
                run_page = heap_page_of(heap, root->object);
        if (!strcmp(root->name, "small")) {
                slab_page = heap_page_of(heap, root->object);
                slab_class = size_class_for(&heap->classes, root->size);
        }
        return 0;
}

static void make_heap(uint64_t seed)
{
        struct chance chance = { seed };
        xac_heap_root root;
        xac_heap_stats stats;

        check_ok(xac_open(scratch_path("env"), XAC_CREATE | XAC_VOLATILE, NULL, &env));
        check_ok(xac_heap_open(env, "heap", XAC_CREATE, &heap));
        struct table *table = table_open(heap, 0);
        check_ok(xac_heap_root_create(heap, "small", 100, 0, &root));
        check_ok(xac_heap_root_create(heap, "large", 5 * 4096, 0, &root));
        check_ok(xac_heap_root_create(heap, "huge", 3 << 20, 0, &root));
        for (int i = 0; i < 20; i++) {
                check_ok(xbegin(env, 0));
                for (int n = 0; n < 50; n++)
                        table_change(heap, table, &chance, 50000);
                check_ok(xend(env));
        }
        check_ok(xac_heap_root_list(heap, of_a_large_object, NULL));
        check_ok(xac_heap_check(heap, &stats, NULL, NULL));
        pages = (page_no)(stats.file_bytes / 4096);
        check(slab_page && run_page && pages > 2 * GROUP_PAGES);
}

static void close_heap(void)
{
        check_ok(xac_heap_check(heap, NULL, NULL, NULL));
        check_ok(xac_heap_close(heap));
        check_ok(xac_close(env));
}

static void count_finding(void *count, const char *text)
{
        check(strlen(text) > 10);
        ++*(int *)count;
}

static void append_again(struct tree_bucket *bucket)
{
        const uint32_t end = bucket->is.count++;

        bucket->tag[end] = bucket->tag[0];
        memcpy(tree_entry(heap, bucket, end), tree_entry(heap, bucket, 0), tree_entry_bytes(bucket->is.tree));
}

/* Writes something on a page, and looks. */
#define FINDS(type, page_, ...)                                                                \
        do {                                                                                   \
                int findings = 0;                                                              \
                check_ok(xbegin(env, 0));                                                      \
                type *page = arena_write(heap->arena, page_);                                  \
                __VA_ARGS__;                                                                   \
                check_code(xac_heap_check(heap, NULL, count_finding, &findings), XAC_CORRUPT); \
                check(findings > 0);                                                           \
                check_ok(xabort(env));                                                         \
        } while (0)

static void damage_of_the_heaps_own_bytes_is_found(void)
{
        make_heap(1);
        check_ok(xbegin(env, XAC_RDONLY));
        const page_no names = tree_top(heap)->tree[BY_NAME], places = tree_top(heap)->tree[BY_PLACE];
        check_ok(xend(env));
        const page_no map = map_of(group_of(slab_page));
        const unsigned at = slab_page % GROUP_PAGES, run_at = run_page % GROUP_PAGES;

        FINDS(struct arena_header, PAGE_HEADER, page->magic++);
        FINDS(struct arena_header, PAGE_HEADER, page->groups++);
        FINDS(struct arena_header, PAGE_HEADER, header_set_covered(page, 0, true));
        FINDS(struct arena_header, PAGE_HEADER, memset(page->covered, 0, 100));
        FINDS(struct heap_map, map, page->pages.kind = PAGE_IS_LEAF);
        FINDS(struct heap_map, map, page->pages.group++);
        FINDS(struct heap_map, map, map_set_free(&page->pages, slab_page));
        FINDS(struct heap_map, map, page->label[at] = LABEL_NONE);
        FINDS(struct heap_map, map, page->label[at]++);
        FINDS(struct heap_map, map, page->label[at] = LABEL_REST);
        FINDS(struct heap_map, map, page->label[at] = 255);
        FINDS(struct heap_map, map, page->label[at] = LABEL_ROOTS);
        FINDS(struct heap_map, map_of(group_of(run_page)), page->label[run_at] = LABEL_NONE);
        FINDS(struct heap_map, map_of(group_of(run_page)), page->label[run_at + 1] = LABEL_RUN);
        FINDS(struct heap_map, map_of(group_of(run_page)), page->label[0] = LABEL_RUN);
        FINDS(struct slab, slab_page, page->kind = PAGE_FRESH);
        FINDS(struct slab, slab_page, page->size_class++);
        FINDS(struct slab, slab_page, page->free_count++);
        FINDS(struct slab, slab_page, page->free[0] ^= 1);
        FINDS(struct slab, slab_page, slab_make(page, slab_class, &heap->classes.of[slab_class], 0)); /* a root's */
        FINDS(struct roots_top, PAGE_CATALOG, page->kind = PAGE_FRESH);
        FINDS(struct roots_top, PAGE_CATALOG, page->base += 16);
        FINDS(struct roots_top, PAGE_CATALOG, page->tree[BY_NAME] = PAGE_NONE);
        FINDS(struct roots_top, PAGE_CATALOG, page->tree[BY_PLACE] = PAGE_NONE);
        FINDS(struct roots_top, PAGE_CATALOG, page->tree[BY_NAME] = slab_page);
        FINDS(struct roots_top, PAGE_CATALOG, page->tree[BY_NAME] = UINT32_MAX);
        FINDS(struct tree_bucket, names, page->is.count--);
        FINDS(struct tree_bucket, names, page->is.depth++);
        FINDS(struct tree_bucket, names, page->tag[0]++);
        FINDS(struct tree_bucket, names, ((struct root_entry *)tree_entry(heap, page, 0))->offset += 16);
        FINDS(struct tree_bucket, names, ((struct root_entry *)tree_entry(heap, page, 0))->offset = UINT64_MAX);
        FINDS(struct tree_bucket, names, ((struct root_entry *)tree_entry(heap, page, 0))->size = 1 << 30);
        FINDS(struct tree_bucket, names, ((struct root_entry *)tree_entry(heap, page, 0))->name[0]++);
        FINDS(struct tree_bucket, names, ((struct root_entry *)tree_entry(heap, page, 0))->name[0] = 0);
        FINDS(struct tree_bucket, names, append_again(page));
        FINDS(struct tree_bucket, places, page->is.count--);
        FINDS(struct tree_bucket, places, ((struct place_entry *)tree_entry(heap, page, 0))->name_hash++);
        FINDS(struct tree_bucket, places, append_again(page));
        FINDS(struct slab, slab_page, page->named_count--);
        FINDS(struct slab, slab_page, page->named_count++);
        FINDS(struct heap_map, map_of(group_of(run_page)), page->label[run_at] = LABEL_RUN);
        close_heap();
}

static void any_damage_is_survived(void)
{
        struct chance chance = { chance_seed() };
        int found = 0;

        make_heap(chance_next(&chance));
        for (int i = 0; i < 2000; i++) {
                check_ok(xbegin(env, 0));
                for (uint64_t n = 1 + chance_below(&chance, 3); n--;) {
                        const page_no first = (page_no)chance_below(&chance, 4) ? 0 : group_of(pages) * GROUP_PAGES / 2;
                        page_no page = chance_percent(&chance, 50)
                                               ? (page_no)chance_below(&chance, 3)
                                               : (first + (page_no)chance_below(&chance, 64)) % pages;
                        unsigned char *bytes = arena_write(heap->arena, page);
                        uint64_t at = chance_below(&chance, chance_percent(&chance, 50) ? 128 : 4096);
                        bytes[at] ^= (unsigned char)(1 + chance_below(&chance, 255));
                }
                int err = xac_heap_check(heap, NULL, NULL, NULL);
                check(!err || err == XAC_CORRUPT || err == -ENOSPC || err == -ENOMEM);
                found += err != 0;
                check_ok(xabort(env));
        }
        check(found > 100);
        close_heap();
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_test(damage_of_the_heaps_own_bytes_is_found),
                isolated_test(any_damage_is_survived),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
