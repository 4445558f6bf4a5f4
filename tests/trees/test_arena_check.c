/* SPDX-License-Identifier: MIT */

/*
 * xac_tree_check on damaged arenas with trees of either kind: chains, maps, the header, the catalog, anything. Each
 * kind of damage is found and told, and none makes it crash or hang. What is in the trees: test_bptree_check.c,
 * test_cobtree_check.c.
 */

#include "trees/bptree_catalog.h"
#include "trees/overflow.h"

#include <string.h>

#include "tests/support/chance.h"
#include "tests/support/check.h"
#include "tests/support/isolate.h"
#include "tests/trees/damaged.h"

/* ---- overflow pages ---- */

static page_no find_page(enum page_kind kind)
{
        for (page_no page = PAGES_FIXED; page < damaged.sound_bytes >> damaged.arena->page_shift; page++)
                if (*(unsigned char *)damaged_page(page) == kind)
                        return page;
        check_failed(__FILE__, __LINE__, "no such page");
}

static void chains_that_are_broken(int way)
{
        struct overflow_page *page;

        damaged_begin(way);
        page = damaged_page(find_page(PAGE_IS_OVERFLOW));
        page->next = PAGE_NONE;
        damaged_is_found(0, "overflow");
        page->next = find_page(PAGE_IS_OVERFLOW); /* a circle */
        damaged_is_found(0, "");
        page->used--;
        damaged_is_found(0, "overflow");
        page->tree_id++;
        damaged_is_found(0, "overflow");
        page->next = UINT32_MAX;
        damaged_is_found(0, "overflow");
        damaged_end();
}

/* ---- maps, header, catalog ---- */

static void pages_that_are_lost_or_given_twice(int way)
{
        struct page_reserve reserve = { 0 };
        page_no used;

        damaged_begin(way);
        used = find_page(PAGE_IS_LEAF);
        check_ok(page_alloc_reserve(damaged.arena, &reserve, 1)); /* taken, and not used */
        damaged_is_found(reserve.pages[0], "neither in use nor free");
        check_ok(page_alloc_free(damaged.arena, used));
        damaged_is_found(used, "free as well");
        damaged_end();
}

static void maps_and_headers_that_are_damaged(int way)
{
        damaged_begin(way);
        *(unsigned char *)damaged_page(0) = PAGE_IS_LEAF;
        damaged_is_found(0, "map");
        *(unsigned char *)damaged_page(PAGE_HEADER) = PAGE_IS_LEAF;
        damaged_is_found(PAGE_HEADER, "header");
        memset(damaged_page(PAGE_HEADER), 0xff, 40);
        damaged_is_found(PAGE_HEADER, "header");
        *(unsigned char *)damaged_page(PAGE_HEADER) = PAGE_FRESH; /* so that there seems to be nothing at all */
        damaged_is_found(PAGE_HEADER, "header");
        memset(damaged_page(PAGE_HEADER), 0, damaged.arena->page_bytes);
        damaged_is_found(PAGE_HEADER, "header");
        damaged_end();
}

static void entries_that_cannot_be(int way)
{
        static const struct catalog_record entries[] = { { 2, 9, 0, 0, 0 },    { 20, 1, 0, 0, 0 }, { 20, 9, 4, 0, 0 },
                                                         { 20, 9, 8, 257, 0 }, { 20, 9, 0, 8, 0 }, { 20, 9, 8, 8, 1 },
                                                         { 20, 9, 0, 0, 8 },   { 20, 9, 0, 0, 6 }, { 20, 9, 0, 0, 5 } };
        const struct catalog_record beyond = { UINT32_MAX, 9, 0, 0, 0 };

        damaged_begin(way);
        for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++) {
                check_ok(catalog_add(damaged.arena, "bad", &entries[i]));
                damaged_is_found(PAGE_CATALOG, "entry");
        }
        check_ok(catalog_add(damaged.arena, "bad", &beyond));
        damaged_is_found(PAGE_CATALOG, "root is no page");
        struct bptree catalog;
        catalog_tree(damaged.arena, &catalog);
        check_ok(bptree_put_value(&catalog, (struct bpnode_key){ "bad", 3 }, "short", 5, 0));
        damaged_is_found(PAGE_CATALOG, "entry");
        check_ok(bptree_put_value(&catalog, (struct bpnode_key){ "b\0d", 3 }, &beyond, sizeof(beyond), 0));
        damaged_is_found(PAGE_CATALOG, "name");
        ((struct bpnode *)damaged_page(PAGE_CATALOG))->kind = PAGE_IS_OVERFLOW;
        damaged_is_found(PAGE_CATALOG, "tree (catalog)");
        damaged_end();
}

/* ---- anything ---- */

/* Mostly one in which there is something. */
static page_no choose_page(struct chance *chance)
{
        page_no page = 0;

        for (int tries = 0; tries < 10; tries++) {
                page = (page_no)chance_below(chance, damaged.pages_used);
                if (*(unsigned char *)damaged_page(page) != PAGE_FRESH)
                        break;
        }
        return page;
}

static page_no damage(struct chance *chance)
{
        page_no page = choose_page(chance);
        unsigned char *bytes = damaged_page(page);
        uint64_t at = chance_below(chance, chance_percent(chance, 50) ? 64 : damaged.arena->page_bytes);

        switch (chance_below(chance, 4)) {
        case 0:
                bytes[at] ^= (unsigned char)(1U << chance_below(chance, 8));
                break;
        case 1:
                bytes[at] = (unsigned char)chance_next(chance);
                break;
        case 2:
                for (uint64_t i = at; i < damaged.arena->page_bytes; i++)
                        bytes[i] = (unsigned char)chance_next(chance);
                break;
        default:
                memcpy(bytes, damaged_page((page_no)chance_below(chance, damaged.pages_used)),
                       damaged.arena->page_bytes);
        }
        return page;
}

static void no_damage_makes_it_fall(int way)
{
        enum { ROUNDS = 1000, TIMES = 5 };
        struct chance chance = { chance_seed() };
        xac_tree_report report;
        int found = 0;

        damaged_begin(way);
        for (int round = 0; round < ROUNDS; round++) {
                page_no hit[TIMES];
                uint64_t times = 1 + chance_below(&chance, TIMES);
                for (uint64_t i = 0; i < times; i++)
                        hit[i] = damage(&chance);
                int err = xac_tree_check(damaged.arena, &report);
                check(err == 0 || err == XAC_CORRUPT);
                check((err != 0) == (report.message[0] != '\0'));
                found += err != 0;
                for (uint64_t i = 0; i < times; i++)
                        damaged_repair_page(hit[i]);
        }
        check(found > ROUNDS / 3);
        damaged_end();
}

#define in_memory(body)      isolated_trees(body, IN_MEMORY, "memory")
#define in_large_pages(body) isolated_way(body, IN_MEMORY + WAYS_BIG, "bptree, memory, 64 KiB")

int main(void)
{
        const struct CMUnitTest tests[] = {
                in_memory(chains_that_are_broken),
                in_memory(pages_that_are_lost_or_given_twice),
                in_memory(maps_and_headers_that_are_damaged),
                in_memory(entries_that_cannot_be),
                in_memory(no_damage_makes_it_fall),
                in_large_pages(chains_that_are_broken),
                in_large_pages(pages_that_are_lost_or_given_twice),
                in_large_pages(maps_and_headers_that_are_damaged),
                in_large_pages(entries_that_cannot_be),
                isolated_trees(no_damage_makes_it_fall, IN_MEMORY + WAYS_BIG, "memory, 64 KiB"),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
