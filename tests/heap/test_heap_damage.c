/* SPDX-License-Identifier: MIT */

/*
 * Damage to the heap's own bytes, on every kind of page that it writes. Each bit of a page is flipped, and each byte
 * gets some other values: where the byte means something that the rest of the heap contradicts, xac_heap_check() finds
 * it; elsewhere it may find nothing; it never does anything else. Then, on damaged heaps, all functions are called:
 * they succeed, fail, or end the program with their line.
 */

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "heap/roots.h"
#include "heap/slab.h"
#include "heap/xac_heap.h"
#include "tests/support/chance.h"
#include "tests/support/check.h"
#include "tests/support/crash.h"
#include "tests/support/isolate.h"
#include "tests/support/scratch.h"

enum { PAGE = 4096, OBJECTS = 260, ROOTS = 60, VALUES = 2 };

static xac_env *env;
static xac_heap *heap;
static void *object[OBJECTS];
static page_no pages;
static uint32_t groups;

/* Of all sizes of slabs, larger ones, and one of more than a group in a row of groups. */
static size_t size_of(int i)
{
        return i == 0 ? (size_t)3 << 20 : i % 9 == 0 ? 2100 + (size_t)i * 50 : 1 + (size_t)i * 37 % 2032;
}

static xac_options options;

static void open_heap(void)
{
        check_ok(xac_open(scratch_path("env"), XAC_CREATE | XAC_VOLATILE, &options, &env));
        check_ok(xac_heap_open(env, "heap", XAC_CREATE, &heap));
}

/* Whatever it is: nobody follows it. */
static int take_root(void *count, const xac_heap_root *root)
{
        *(size_t *)count += strlen(root->name);
        return 0;
}

/* The roots lead to some of the objects; the others are known as long as this process lives. */
static void make_heap(void)
{
        xac_heap_root root;
        xac_heap_stats stats;
        char name[32];

        open_heap();
        check_ok(xbegin(env, 0));
        for (int i = 0; i < OBJECTS; i++)
                check((object[i] = xac_heap_malloc(heap, size_of(i))) != NULL);
        for (int i = 3; i < OBJECTS; i += 4) { /* holes */
                xac_heap_free(heap, object[i]);
                object[i] = NULL;
        }
        for (int i = 0; i < ROOTS; i++) {
                snprintf(name, sizeof(name), "object %d", i);
                check_ok(xac_heap_root_create(heap, name, 8 + (size_t)i * 40, 0, &root));
                *(void **)xac_for_write(root.object) = object[i];
        }
        for (int i = 0; i < 5; i++) {
                snprintf(name, sizeof(name), "object %d", i * 7);
                check_ok(xac_heap_root_remove(heap, name));
        }
        check_ok(xend(env));
        check_ok(xac_heap_check(heap, &stats, NULL, NULL));
        pages = (page_no)(stats.file_bytes / PAGE);
        groups = pages / GROUP_PAGES;
        check(groups >= 3);
}

static void close_heap(void)
{
        check_ok(xac_heap_check(heap, NULL, NULL, NULL));
        check_ok(xac_heap_close(heap));
        check_ok(xac_close(env));
}

/* ---- each bit ---- */

/* Bytes of a page whose every bit says something that others contradict. */
struct range {
        uint32_t first, end;
};

#define FIELD(type, field)                                                                \
        {                                                                                 \
                offsetof(type, field), offsetof(type, field) + sizeof(((type *)0)->field) \
        }

static const struct range map_ranges[] = { FIELD(struct group_map, kind),
                                           FIELD(struct group_map, group),
                                           FIELD(struct group_map, free),
                                           FIELD(struct heap_map, label),
                                           { 0 } };
static const struct range header_ranges[] = {
        FIELD(struct arena_header, kind),   FIELD(struct arena_header, page_bytes), FIELD(struct arena_header, magic),
        FIELD(struct arena_header, groups), FIELD(struct arena_header, not_groups), { 0 }
};
static const struct range top_ranges[] = { { 0, sizeof(struct roots_top) }, { 0 } };
static const struct range node_ranges[] = { { 0, sizeof(struct tree_node) }, { 0 } };
static const struct range chain_ranges[] = {
        FIELD(struct roots_page, kind), FIELD(struct roots_page, next), FIELD(struct roots_page, base), { 0 }
};
static const struct range none[] = { { 0 } };

static bool is_in(const struct range *range, uint32_t at)
{
        for (; range->end; range++)
                if (at >= range->first && at < range->end)
                        return true;
        return false;
}

static uint64_t tried, found;

/* Looks at the heap with another value in one byte. */
static bool is_found(page_no page, uint32_t at, unsigned char value)
{
        unsigned char *bytes = arena_write(heap->arena, page), before = bytes[at];

        bytes[at] = value;
        int err = xac_heap_check(heap, NULL, NULL, NULL);
        bytes = arena_write(heap->arena, page);
        bytes[at] = before;
        if (err && err != XAC_CORRUPT)
                check_failed(__FILE__, __LINE__, "page %u, byte %u, %02x instead of %02x: the check returned %d", page,
                             at, value, before, err);
        tried++;
        found += err != 0;
        return err != 0;
}

/* A page that is labelled as an object, or the rest of the one before, can hold anything: of maps (elsewhere it is no
 * question). */
static bool is_plausible_label(uint32_t at, int label)
{
        return at >= offsetof(struct heap_map, label) && (label == LABEL_RUN || label == LABEL_REST);
}

static void damage_byte(page_no page, uint32_t at, bool must_be_found, struct chance *chance)
{
        const unsigned char before = *((const unsigned char *)arena_read(heap->arena, page) + at);

        for (int bit = 0; bit < 8; bit++)
                if (!is_found(page, at, before ^ (unsigned char)(1 << bit)) && must_be_found &&
                    !is_plausible_label(at, before ^ (1 << bit)))
                        check_failed(__FILE__, __LINE__,
                                     "page %u, byte %u, which is %02x: that bit %d was flipped is not found", page, at,
                                     before, bit);
        for (int i = 0; i < VALUES; i++)
                is_found(page, at, (unsigned char)chance_next(chance));
}

/* `len`: of what the heap writes there, or of some of what it does not. */
static void damage_page(page_no page, uint32_t len, const struct range *must, const char *what, struct chance *chance)
{
        tried = found = 0;
        check_ok(xbegin(env, 0));
        for (uint32_t at = 0; at < len; at++)
                damage_byte(page, at, is_in(must, at), chance);
        check_ok(xac_heap_check(heap, NULL, NULL, NULL));
        check_ok(xabort(env));
        printf("%s: of %" PRIu64 " damages %" PRIu64 " are found\n", what, tried, found);
        fflush(stdout);
}

static void damage_slab(page_no page, struct chance *chance)
{
        check_ok(xbegin(env, XAC_RDONLY));
        const struct slab *slab = arena_read(heap->arena, page);
        const struct size_class class = heap->classes.of[slab->size_class];
        check_ok(xend(env));
        const struct range must[] = { { 0, offsetof(struct slab, owner) },
                                      { offsetof(struct slab, free), offsetof(struct slab, free) + class.words * 8 },
                                      { 0 } };
        char what[64];

        snprintf(what, sizeof(what), "slab of %u bytes", class.size);
        damage_page(page, class.first + 64, must, what, chance);
}

/* Slabs of many, of some and of few objects. */
static void damage_slabs(struct chance *chance)
{
        static const int in_slabs[] = { 110, 1, 58, 60, 13, 5 };

        for (size_t i = 0; i < sizeof(in_slabs) / sizeof(in_slabs[0]); i++) {
                check(object[in_slabs[i]] && heap_within(heap, object[in_slabs[i]]));
                damage_slab(heap_page_of(heap, object[in_slabs[i]]), chance);
        }
}

/* In a transaction. */
static page_no second_roots_page(void)
{
        const page_no page = chain_page_at(heap, PAGE_CATALOG)->next;

        check(page != PAGE_NONE);
        return page;
}

/* Where a root stands; in a transaction. */
static struct tree_spot spot_of(const char *name)
{
        struct tree_spot spot;

        check_ok(tree_find(heap, BY_NAME, tree_hash_name(name), name, &spot));
        return spot;
}

static struct root_entry *entry_of(const char *name)
{
        const struct tree_spot spot = spot_of(name);

        return tree_entry(heap, arena_write(heap->arena, spot.bucket), spot.at);
}

static void damage_bucket(page_no page, const char *what, struct chance *chance)
{
        check_ok(xbegin(env, XAC_RDONLY));
        const struct tree_page is = *(const struct tree_page *)arena_read(heap->arena, page);
        const uint32_t end = (uint32_t)(sizeof(struct tree_bucket) + is.count * sizeof(uint16_t));
        const uint32_t bytes = (uint32_t)(sizeof(struct tree_bucket) + tree_room(heap, is.tree) * sizeof(uint16_t) +
                                          is.count * tree_entry_bytes(is.tree));
        check_ok(xend(env));
        damage_page(page, bytes, (const struct range[]){ { 0, end }, { 0 } }, what, chance);
}

static void each_bit_of_the_maps_is_looked_at(void)
{
        struct chance chance = { chance_seed() };

        make_heap();
        for (uint32_t group = 0; group < groups; group++)
                if (!page_group_is_covered(heap->arena, group))
                        damage_page(map_of(group), sizeof(struct heap_map) + 64, map_ranges, "map", &chance);
        close_heap();
}

static void each_bit_of_the_header_is_looked_at(void)
{
        struct chance chance = { chance_seed() };

        make_heap();
        damage_page(PAGE_HEADER, PAGE, header_ranges, "header", &chance);
        close_heap();
}

static void each_bit_of_the_roots_is_looked_at(void)
{
        struct chance chance = { chance_seed() };

        make_heap();
        damage_page(PAGE_CATALOG, sizeof(struct roots_top), top_ranges, "first page of roots", &chance);
        check_ok(xbegin(env, XAC_RDONLY));
        const struct tree_spot spot = spot_of("object 1");
        const page_no place = tree_top(heap)->tree[BY_PLACE];
        check_ok(xend(env));
        check(spot.node != PAGE_NONE); /* there are more than fit into a bucket */
        damage_page(spot.node, sizeof(struct tree_node), node_ranges, "node of roots", &chance);
        damage_bucket(spot.bucket, "bucket of names", &chance);
        damage_bucket(place, "bucket of places", &chance);
        close_heap();
}

/* ---- older heaps ---- */

/* An empty heap as it was made before: page 2 begins a chain. While somebody lists it, it stays one. */
static void make_chain(void)
{
        static const struct root_entry nothing;
        xac_heap_root root;
        char name[32];

        open_heap();
        check_ok(xbegin(env, 0));
        struct roots_page *first = arena_write(heap->arena, PAGE_CATALOG);
        const uint64_t base = (uintptr_t)heap->arena->base;
        memset(first, 0, PAGE);
        first->kind = PAGE_IS_ROOTS;
        first->base = base;
        check_ok(xend(env));
        check_ok(xac_heap_close(heap));
        check_ok(xac_heap_open(env, "heap", XAC_CREATE, &heap));
        check(heap->was_chained);
        heap->listing++;
        for (int i = 0; i < ROOTS; i++) {
                snprintf(name, sizeof(name), "object %d", i);
                check_ok(xac_heap_root_create(heap, name, 8 + (size_t)i * 40, (uint64_t)i, &root));
                check((object[i] = xac_heap_malloc(heap, 8 + (size_t)i * 40)) != NULL);
        }
        check_ok(xac_heap_root_remove(heap, "object 7"));
        check_ok(xbegin(env, XAC_RDONLY));
        check(!memcmp(&chain_page_at(heap, PAGE_CATALOG)->entry[7], &nothing, sizeof(nothing)));
        (void)second_roots_page();
        check_ok(xend(env));
        heap->listing--;
}

static bool is_chain(void)
{
        check_ok(xbegin(env, XAC_RDONLY));
        const bool is = chain_is_there(heap);
        check_ok(xend(env));
        return is;
}

static int count_root(void *count, const xac_heap_root *root)
{
        check_equal(root->size, 8 + root->tag * 40);
        ++*(int *)count;
        return 0;
}

static void has_roots(int expected)
{
        int count = 0;
        xac_heap_root root;
        xac_heap_stats stats;

        check_ok(xac_heap_root_list(heap, count_root, &count));
        check_equal(count, expected);
        check_ok(xac_heap_check(heap, &stats, NULL, NULL));
        check_equal(stats.roots, expected);
        check_ok(xac_heap_root_find(heap, "object 59", &root));
        check_equal(root.tag, 59);
        check_ok(xac_heap_root_of(heap, root.object, &root));
        check(!strcmp(root.name, "object 59"));
        check_code(xac_heap_root_find(heap, "object 7", &root), -ENOENT);
        check_code(xac_heap_root_of(heap, object[3], &root), -ENOENT);
}

static void a_chain_is_read_and_becomes_trees_when_a_root_is_added(void)
{
        xac_heap_root root;

        make_chain();
        has_roots(ROOTS - 1);
        check_code(xac_heap_root_create(heap, "object 8", 8, 0, &root), -EEXIST);
        check_ok(xac_heap_root_remove(heap, "object 8"));
        check(is_chain());
        check_ok(xbegin(env, 0));
        check_ok(xac_heap_root_create(heap, "object 8", 8 + 8 * 40, 8, &root));
        check(chain_page_at(heap, PAGE_CATALOG) == NULL);
        check_ok(xabort(env));
        check(is_chain());
        has_roots(ROOTS - 2);
        check_ok(xac_heap_root_create(heap, "object 8", 8 + 8 * 40, 8, &root));
        check(!is_chain());
        has_roots(ROOTS - 1);
        close_heap();
        open_heap();
        check(!heap->was_chained);
        has_roots(ROOTS - 1);
        close_heap();
}

static void a_long_chain_becomes_trees_when_something_is_freed(void)
{
        make_chain();
        xac_heap_free(heap, object[5]);
        check(!is_chain());
        has_roots(ROOTS - 1);
        close_heap();
}

static void a_chain_that_is_damaged_stays_one(void)
{
        xac_heap_root root;

        make_chain();
        check_ok(xbegin(env, 0));
        struct roots_page *first = arena_write(heap->arena, PAGE_CATALOG);
        first->entry[3].offset += 16;
        check_code(xac_heap_check(heap, NULL, NULL, NULL), XAC_CORRUPT);
        check_ok(xac_heap_root_create(heap, "new", 8, 0, &root));
        check(chain_is_there(heap));
        check_ok(xac_heap_root_find(heap, "object 9", &root));
        check_ok(xabort(env));
        close_heap();
}

static void each_bit_of_a_chain_is_looked_at(void)
{
        struct chance chance = { chance_seed() };
        const uint32_t bytes = 1024; /* of its entries all have the same */

        make_chain();
        damage_page(PAGE_CATALOG, bytes, chain_ranges, "first page of a chain", &chance);
        check_ok(xbegin(env, XAC_RDONLY));
        const page_no second = second_roots_page();
        check_ok(xend(env));
        damage_page(second, bytes, chain_ranges, "second page of a chain", &chance);
        close_heap();
}

static void each_bit_of_slabs_is_looked_at(void)
{
        struct chance chance = { chance_seed() };

        make_heap();
        damage_slabs(&chance);
        damage_page(heap_page_of(heap, object[9]), 256, none, "large object", &chance);
        damage_page(heap_page_of(heap, object[0]) + GROUP_PAGES, 256, none, "huge object", &chance);
        check_equal(found, 0);
        close_heap();
}

/* ---- calls on a damaged heap ---- */

static page_no draw_page(struct chance *chance)
{
        switch (chance_below(chance, 6)) {
        case 0:
                return PAGE_HEADER;
        case 1:
                return PAGE_CATALOG;
        case 2:
                return map_of((uint32_t)chance_below(chance, groups));
        case 3:
                return map_of(0);
        case 4:
                return (page_no)chance_below(chance, pages);
        default: {
                const void *some = object[chance_below(chance, OBJECTS)];
                return some ? heap_page_of(heap, some) : PAGE_CATALOG;
        }
        }
}

/* A byte, a number that is plausible somewhere else, or many bytes. */
static void damage_something(struct chance *chance)
{
        unsigned char *bytes = arena_write(heap->arena, draw_page(chance));
        const uint32_t end = chance_percent(chance, 60) ? 128 : PAGE;
        const uint32_t at = (uint32_t)chance_below(chance, end - 8);
        const uint64_t word = chance_percent(chance, 50) ? chance_below(chance, 600) : chance_next(chance);

        if (chance_percent(chance, 50))
                bytes[at] ^= (unsigned char)(1 + chance_below(chance, 255));
        else if (chance_percent(chance, 70))
                memcpy(bytes + at / 4 * 4, &word, chance_percent(chance, 50) ? 4 : 8);
        else
                memset(bytes + at, (int)word, chance_below(chance, PAGE - at));
}

/* What was given is in the heap, and can be written to its end. */
static void use(void *given, size_t size)
{
        const char *base = heap->arena->base;

        check(((uintptr_t)given & 15) == 0);
        check((char *)given > base && (char *)given + size <= base + heap->arena->byte_len);
        check(heap_within(heap, given) == 0 || heap_within(heap, given) + size <= PAGE);
        for (size_t at = 0; at < size; at += PAGE / 4)
                *(char *)xac_for_write((char *)given + at) = 1;
}

static void call_something(struct chance *chance)
{
        void **some = &object[chance_below(chance, OBJECTS)];
        const size_t size = size_of((int)chance_below(chance, OBJECTS));
        char name[32];
        xac_heap_root root;

        snprintf(name, sizeof(name), "object %d", (int)chance_below(chance, ROOTS + 10));
        switch (chance_below(chance, 8)) {
        case 0:
                (void)xac_heap_root_find(heap, name, &root);
                break;
        case 1:
                (void)xac_heap_root_create(heap, name, size, 0, &root);
                break;
        case 2:
                (void)xac_heap_root_remove(heap, name);
                break;
        case 3:
                (void)xac_heap_root_list(heap, take_root, &(size_t){ 0 });
                break;
        case 4:
                (void)xac_heap_usable_size(heap, *some);
                break;
        default:
                if (*some && chance_percent(chance, 70)) {
                        xac_heap_free(heap, *some);
                        *some = NULL;
                        break;
                }
                errno = 0;
                void *given = xac_heap_realloc(heap, *some, size);
                check(given || errno == EIO || errno == ENOMEM || errno == ENOSPC);
                if (given)
                        use(*some = given, size);
        }
}

static uint64_t seed;
static _Atomic int *next;

/* Until one ends the program. */
static void live_with_damages(int count, void *objects)
{
        open_heap();
        memcpy(object, objects, sizeof(object));
        while (*next < count) {
                struct chance chance = { chance_mix(seed + (uint64_t)(*next)++) };
                check_ok(xbegin(env, 0));
                for (uint64_t n = 1 + chance_below(&chance, 3); n--;)
                        damage_something(&chance);
                for (int n = 0; n < 30; n++)
                        call_something(&chance);
                int err = xac_heap_check(heap, NULL, NULL, NULL);
                check(!err || err == XAC_CORRUPT || err == -ENOSPC || err == -ENOMEM);
                check_ok(xabort(env));
                memcpy(object, objects, sizeof(object));
        }
        close_heap();
}

static void all_calls_survive_damage_or_say_so(void)
{
        enum { DAMAGES = 3000 };
        struct crash crash;
        static void *objects[OBJECTS];
        int refused = 0;

        seed = chance_mix(chance_seed());
        next = crew_shared(sizeof(*next));
        make_heap();
        memcpy(objects, object, sizeof(object));
        while (*next < DAMAGES) {
                crash_run(live_with_damages, DAMAGES, objects, &crash);
                if (!crash.signal && !crash.status)
                        continue;
                if (crash.signal != SIGABRT || crash_lines(&crash) != 1 || !strstr(crash.said, "function of the heap"))
                        check_failed(__FILE__, __LINE__, "damage %d: signal %d, status %d: %s", *next - 1, crash.signal,
                                     crash.status, crash.said);
                refused++;
        }
        printf("of %d damages %d ended the program with its line\n", DAMAGES, refused);
        fflush(stdout);
        close_heap();
}

static void a_root_that_leads_out_of_the_heap_is_not_followed(void)
{
        static const uint64_t offsets[] = { UINT64_MAX, UINT64_C(1) << 60, UINT64_C(1) << 40 };
        xac_heap_root root;

        make_heap();
        check_ok(xbegin(env, 0));
        struct root_entry *entry = entry_of("object 3");
        const struct root_entry before = *entry;
        for (size_t i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++) {
                entry->offset = offsets[i];
                check_code(xac_heap_root_find(heap, before.name, &root), XAC_CORRUPT);
                check_code(xac_heap_root_create(heap, before.name, 8, 0, &root), XAC_CORRUPT);
                check_code(xac_heap_root_remove(heap, before.name), XAC_CORRUPT);
                check_code(xac_heap_root_list(heap, take_root, &(size_t){ 0 }), XAC_CORRUPT);
        }
        entry->offset = before.offset;
        entry->size = UINT64_MAX;
        check_code(xac_heap_root_find(heap, before.name, &root), XAC_CORRUPT);
        check_ok(xabort(env));
        close_heap();
}

/* A page of the tree says which it is: so one that hangs twice, or below itself, is not followed. */
static void a_tree_that_leads_into_itself_is_not_followed(void)
{
        xac_heap_root root;

        make_heap();
        check_ok(xbegin(env, 0));
        const struct tree_spot spot = spot_of("object 1");
        struct tree_node *node = arena_write(heap->arena, spot.node);
        for (int i = 0; i < NODE_SLOTS; i++)
                node->slot[i] = spot.node;
        check_code(xac_heap_root_find(heap, "object 1", &root), XAC_CORRUPT);
        check_code(xac_heap_root_create(heap, "absent", 8, 0, &root), XAC_CORRUPT);
        check_code(xac_heap_root_remove(heap, "object 1"), XAC_CORRUPT);
        check_code(xac_heap_root_list(heap, take_root, &(size_t){ 0 }), XAC_CORRUPT);
        check_code(xac_heap_check(heap, NULL, NULL, NULL), XAC_CORRUPT);
        for (int i = 0; i < NODE_SLOTS; i++)
                node->slot[i] = spot.bucket;
        check_code(xac_heap_root_list(heap, take_root, &(size_t){ 0 }), XAC_CORRUPT);
        check_code(xac_heap_check(heap, NULL, NULL, NULL), XAC_CORRUPT);
        check_ok(xabort(env));
        close_heap();
}

static void pages_of_roots_in_a_circle_are_found(void)
{
        xac_heap_root root;

        make_chain();
        check_ok(xbegin(env, 0));
        struct roots_page *last = arena_write(heap->arena, second_roots_page());
        last->next = PAGE_CATALOG;
        check_code(xac_heap_root_find(heap, "absent", &root), XAC_CORRUPT);
        check_code(xac_heap_root_create(heap, "absent", 8, 0, &root), XAC_CORRUPT);
        check_code(xac_heap_root_remove(heap, "absent"), XAC_CORRUPT);
        check_code(xac_heap_root_list(heap, take_root, &(size_t){ 0 }), XAC_CORRUPT);
        check_code(xac_heap_check(heap, NULL, NULL, NULL), XAC_CORRUPT);
        check_ok(xabort(env));
        close_heap();
}

/* ---- What only a crafted file says ---- */

enum { GROUPS_MANY = 1 << 17, FINDINGS_MOST = 10100 };

static void count_finding(void *count, const char *text)
{
        (void)text;
        ++*(uint64_t *)count;
}

static uint64_t check_crafted(void)
{
        uint64_t findings = 0;

        check_code(xac_heap_check(heap, NULL, count_finding, &findings), XAC_CORRUPT);
        return findings;
}

/* Those of a circle, and no more than a few times. */
static int take_few_roots(void *count, const xac_heap_root *root)
{
        (void)root;
        return ++*(unsigned *)count > 10 * ROOTS;
}

/* The header says that there are very many groups: all but those of the heap are a hole. */
static void groups_that_are_a_hole_are_not_all_looked_at(void)
{
        unsigned roots = 0;
        xac_heap_root root;

        options.reserve_bytes = (uint64_t)GROUPS_MANY * GROUP_PAGES * PAGE;
        make_chain();
        check_ok(xbegin(env, 0));
        struct arena_header *header = arena_write(heap->arena, PAGE_HEADER);
        header->groups = GROUPS_MANY;
        header->not_groups = ~header->groups;
        check(check_crafted() < FINDINGS_MOST);
        /* Now that the file is so long: a circle is found by what it is, not by how many pages there are. */
        struct roots_page *last = arena_write(heap->arena, second_roots_page());
        last->next = PAGE_CATALOG;
        check_code(xac_heap_root_list(heap, take_few_roots, &roots), XAC_CORRUPT);
        check_code(xac_heap_root_find(heap, "absent", &root), XAC_CORRUPT);
        check_ok(xabort(env));
        close_heap();
}

/* A map on which all is taken, and nothing labelled, is worth 511 findings. */
static void groups_of_nobody_are_not_all_told_of(void)
{
        enum { MANY = 40 };

        make_heap();
        check_ok(xbegin(env, 0));
        struct arena_header *header = arena_write(heap->arena, PAGE_HEADER);
        const uint32_t first = header->groups;
        header->groups = first + MANY;
        header->not_groups = ~header->groups;
        check(check_crafted() >= MANY); /* the file has got them */
        for (uint32_t group = first; group < first + MANY; group++) {
                struct group_map *map = arena_write(heap->arena, map_of(group));

                *map = (struct group_map){ .kind = PAGE_IS_MAP, .group = group };
        }
        check(check_crafted() < FINDINGS_MOST + GROUP_PAGES);
        check_ok(xabort(env));
        close_heap();
}

/* One bit after the other, as before. */
static void groups_that_are_covered_are_counted(void)
{
        static union {
                struct arena_header header;
                unsigned char page[PAGE];
        } crafted;
        const uint32_t end = header_can_cover(PAGE);
        struct chance chance = { chance_seed() };

        for (int round = 0; round < 200; round++) {
                const uint32_t first = (uint32_t)chance_below(&chance, end);
                const uint32_t count = (uint32_t)chance_below(&chance, end - first + 1);

                memset(&crafted, 0, sizeof(crafted));
                for (uint32_t group = first; group < first + count; group++)
                        header_set_covered(&crafted.header, group, true);
                check_equal(header_count_covered(&crafted.header, first, PAGE), count);
                check_equal(header_count_covered(&crafted.header, first + count, PAGE), 0);
                if (first)
                        check_equal(header_count_covered(&crafted.header, first - 1, PAGE), 0);
        }
        check_equal(header_count_covered(&crafted.header, end + 1, PAGE), 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_timed(each_bit_of_the_maps_is_looked_at, 120),
                isolated_timed(each_bit_of_the_header_is_looked_at, 120),
                isolated_timed(each_bit_of_the_roots_is_looked_at, 120),
                isolated_timed(each_bit_of_a_chain_is_looked_at, 120),
                isolated_timed(each_bit_of_slabs_is_looked_at, 120),
                isolated_test(a_chain_is_read_and_becomes_trees_when_a_root_is_added),
                isolated_test(a_long_chain_becomes_trees_when_something_is_freed),
                isolated_test(a_chain_that_is_damaged_stays_one),
                isolated_test(a_root_that_leads_out_of_the_heap_is_not_followed),
                isolated_test(a_tree_that_leads_into_itself_is_not_followed),
                isolated_test(pages_of_roots_in_a_circle_are_found),
                isolated_timed(groups_that_are_a_hole_are_not_all_looked_at, 20),
                isolated_test(groups_of_nobody_are_not_all_told_of),
                isolated_test(groups_that_are_covered_are_counted),
                isolated_timed(all_calls_survive_damage_or_say_so, 120),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
