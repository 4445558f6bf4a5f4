/* SPDX-License-Identifier: MIT */

/* bptree_check on damaged arenas: each kind of damage is found and told, and none makes it crash or hang. */

#include "trees/bptree_catalog.h"
#include "trees/overflow.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xac/bptree.h>

#include "tests/support/chance.h"
#include "tests/support/check.h"
#include "tests/support/isolate.h"
#include "tests/trees/ways.h"

enum { WORDS = 3000, LONG_BYTES = 200000 };

static page_arena *arena;
static bptree *words, *numbers;
static char *sound; /* all its bytes, before they are damaged */
static uint64_t sound_bytes;
static uint64_t pages_used; /* the first ones */

static void *page_at(page_no page)
{
        return arena->base + ((uint64_t)page << arena->page_shift);
}

static void put_word(unsigned i, size_t value_len)
{
        static char value[LONG_BYTES];
        char key[40];
        int len = snprintf(key, sizeof(key), "%06u is the number of this key", i);

        check_ok(bptree_put(words, key, (size_t)len, value, value_len, 0));
}

/* Two trees of two levels and more; a long value; free pages. */
static void begin(int way)
{
        const bptree_options fixed = { .key_bytes = 8, .value_bytes = 100 };
        bptree_report report;

        arena = ways_open(way);
        check_ok(bptree_open(arena, "words", BPTREE_CREATE, NULL, &words));
        check_ok(bptree_open(arena, "numbers", BPTREE_CREATE, &fixed, &numbers));
        for (unsigned i = 0; i < WORDS; i++) {
                char value[100] = "";
                uint64_t key = chance_mix(i);

                put_word(i, 40);
                check_ok(bptree_put(numbers, &key, 8, value, 100, 0));
        }
        put_word(77, LONG_BYTES);
        put_word(99, LONG_BYTES);
        put_word(99, 10);
        check_ok(bptree_check(arena, &report));
        check_equal(report.trees, 2);
        check_equal(report.records, 2 * WORDS);
        check(report.page_no == 0 && report.message[0] == '\0');
        sound_bytes = report.pages << arena->page_shift;
        pages_used = report.pages - report.free_pages;
        sound = malloc(sound_bytes);
        check(sound != NULL);
        memcpy(sound, arena->base, sound_bytes);
}

static void end(void)
{
        free(sound);
        bptree_close(words);
        bptree_close(numbers);
        ways_close();
}

static void repair(void)
{
        bptree_report report;

        memcpy(arena->base, sound, sound_bytes);
        check_ok(bptree_check(arena, &report));
}

/* The damage is told of with these words, at that page; 0: any. */
static void damage_is_found(page_no page, const char *what)
{
        bptree_report report;

        check_code(bptree_check(arena, &report), XAC_CORRUPT);
        if (!strstr(report.message, what) || (page && report.page_no != page))
                check_failed(__FILE__, __LINE__, "said: \"%s\", page %" PRIu64 "; it should be \"%s\", page %u",
                             report.message, report.page_no, what, page);
        repair();
}

static page_no child(const bptree *tree, unsigned i)
{
        return bpnode_child(&tree->shape, page_at(tree->root), i);
}

/* The node that has only leaves below it. */
static page_no above_leaves(const bptree *tree)
{
        page_no page = tree->root;

        while (((struct bpnode *)page_at(page))->level > 1)
                page = bpnode_child(&tree->shape, page_at(page), 0);
        return page;
}

static page_no leaf(const bptree *tree, unsigned i)
{
        return bpnode_child(&tree->shape, page_at(above_leaves(tree)), i);
}

/* ---- nodes ---- */

static void a_page_of_another_kind(int way)
{
        begin(way);
        ((struct bpnode *)page_at(leaf(words, 1)))->kind = PAGE_IS_INNER;
        damage_is_found(leaf(words, 1), "tree words");
        ((struct bpnode *)page_at(leaf(numbers, 1)))->tree_id++;
        damage_is_found(leaf(numbers, 1), "another tree");
        ((struct bpnode *)page_at(child(words, 0)))->level++;
        damage_is_found(child(words, 0), "level");
        ((struct bpnode *)page_at(words->root))->level = BPTREE_LEVELS_MAX;
        damage_is_found(words->root, "impossible level");
        memset(page_at(words->root), 0, arena->page_bytes);
        damage_is_found(words->root, "tree words");
        end();
}

static void children_that_are_no_children(int way)
{
        begin(way);
        const bptree *const trees[] = { words, numbers };
        for (int i = 0; i < 2; i++) {
                struct bpnode *node = page_at(above_leaves(trees[i]));
                const struct bpnode_shape *shape = &trees[i]->shape;

                bpnode_set_child(shape, node, 1, bpnode_child(shape, node, 0));
                damage_is_found(bpnode_child(shape, page_at(above_leaves(trees[i])), 0), "reached twice");
                bpnode_set_child(shape, node, 1, trees[i]->root); /* a circle */
                damage_is_found(trees[i]->root, "reached twice");
                bpnode_set_child(shape, node, 1, (page_no)(sound_bytes >> arena->page_shift));
                damage_is_found(0, "ends before this page");
                bpnode_set_child(shape, node, 1, UINT32_MAX);
                damage_is_found(UINT32_MAX, "ends before this page");
                bpnode_set_child(shape, node, 1, 0);
                damage_is_found(0, "reached twice");
        }
        end();
}

static void keys_out_of_order_or_bounds(int way)
{
        page_no first, second;

        begin(way);
        first = leaf(numbers, 0);
        second = leaf(numbers, 1);
        struct bpnode *node = page_at(first);
        memcpy((char *)(node + 1) + 108, node + 1, 8); /* the second key is the first one */
        damage_is_found(first, "tree numbers");
        struct bpnode *other = page_at(second);
        memset(other + 1, 0, 8); /* belongs further left */
        damage_is_found(second, "tree numbers");
        end();
}

static void counts_that_cannot_be(int way)
{
        struct bpnode *node;

        begin(way);
        bpnode_init(&words->shape, page_at(leaf(words, 0)), 0);
        damage_is_found(leaf(words, 0), "empty node");
        node = page_at(words->root);
        while (node->count > 1)
                bpnode_remove(&words->shape, node, node->count - 1u);
        damage_is_found(words->root, "single child");
        ((struct bpnode *)page_at(leaf(numbers, 0)))->count = UINT16_MAX;
        damage_is_found(leaf(numbers, 0), "more records");
        end();
}

/* ---- overflow pages ---- */

static page_no find_chain(void)
{
        for (page_no page = PAGES_FIXED; page < sound_bytes >> arena->page_shift; page++)
                if (*(unsigned char *)page_at(page) == PAGE_IS_OVERFLOW)
                        return page;
        check_failed(__FILE__, __LINE__, "no overflow page");
}

static void chains_that_are_broken(int way)
{
        struct overflow_page *page;

        begin(way);
        page = page_at(find_chain());
        page->next = PAGE_NONE;
        damage_is_found(0, "overflow");
        page->next = find_chain(); /* a circle */
        damage_is_found(0, "");
        page->used--;
        damage_is_found(0, "overflow");
        page->tree_id++;
        damage_is_found(0, "overflow");
        page->next = UINT32_MAX;
        damage_is_found(0, "overflow");
        end();
}

/* ---- maps, header, catalog ---- */

static void pages_that_are_lost_or_given_twice(int way)
{
        struct page_reserve reserve = { 0 };

        begin(way);
        check_ok(page_alloc_reserve(arena, &reserve, 1)); /* taken, and not used */
        damage_is_found(reserve.pages[0], "neither in use nor free");
        check_ok(page_alloc_free(arena, leaf(words, 0)));
        memcpy(page_at(leaf(words, 0)), sound + ((uint64_t)leaf(words, 0) << arena->page_shift), arena->page_bytes);
        damage_is_found(leaf(words, 0), "free as well");
        end();
}

static void maps_and_headers_that_are_damaged(int way)
{
        begin(way);
        *(unsigned char *)page_at(0) = PAGE_IS_LEAF;
        damage_is_found(0, "map");
        *(unsigned char *)page_at(PAGE_HEADER) = PAGE_IS_LEAF;
        damage_is_found(PAGE_HEADER, "header");
        memset(page_at(PAGE_HEADER), 0xff, 40);
        damage_is_found(PAGE_HEADER, "header");
        end();
}

static void entries_that_cannot_be(int way)
{
        static const struct catalog_record entries[] = { { 2, 9, 0, 0, 0 },    { 20, 1, 0, 0, 0 }, { 20, 9, 4, 0, 0 },
                                                         { 20, 9, 8, 257, 0 }, { 20, 9, 0, 8, 0 }, { 20, 9, 8, 8, 1 },
                                                         { 20, 9, 0, 0, 2 } };
        const struct catalog_record beyond = { UINT32_MAX, 9, 0, 0, 0 };

        begin(way);
        for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++) {
                check_ok(catalog_add(arena, "bad", &entries[i]));
                damage_is_found(PAGE_CATALOG, "entry");
        }
        check_ok(catalog_add(arena, "bad", &beyond));
        damage_is_found(PAGE_CATALOG, "root is no page");
        struct bptree catalog;
        catalog_tree(arena, &catalog);
        check_ok(bptree_put_value(&catalog, (struct bpnode_key){ "bad", 3 }, "short", 5, 0));
        damage_is_found(PAGE_CATALOG, "entry");
        check_ok(bptree_put_value(&catalog, (struct bpnode_key){ "b\0d", 3 }, &beyond, sizeof(beyond), 0));
        damage_is_found(PAGE_CATALOG, "name");
        ((struct bpnode *)page_at(PAGE_CATALOG))->kind = PAGE_IS_OVERFLOW;
        damage_is_found(PAGE_CATALOG, "tree (catalog)");
        end();
}

/* ---- anything ---- */

static page_no damage(struct chance *chance)
{
        page_no page = (page_no)chance_below(chance, pages_used);
        unsigned char *bytes = page_at(page);
        uint64_t at = chance_below(chance, chance_percent(chance, 50) ? 64 : arena->page_bytes);

        switch (chance_below(chance, 4)) {
        case 0:
                bytes[at] ^= (unsigned char)(1U << chance_below(chance, 8));
                break;
        case 1:
                bytes[at] = (unsigned char)chance_next(chance);
                break;
        case 2:
                for (uint64_t i = at; i < arena->page_bytes; i++)
                        bytes[i] = (unsigned char)chance_next(chance);
                break;
        default:
                memcpy(bytes, page_at((page_no)chance_below(chance, pages_used)), arena->page_bytes);
        }
        return page;
}

static void no_damage_makes_it_fall(int way)
{
        enum { ROUNDS = 1000, TIMES = 5 };
        struct chance chance = { chance_seed() };
        bptree_report report;
        int found = 0;

        begin(way);
        for (int round = 0; round < ROUNDS; round++) {
                page_no damaged[TIMES];
                uint64_t times = 1 + chance_below(&chance, TIMES);
                for (uint64_t i = 0; i < times; i++)
                        damaged[i] = damage(&chance);
                int err = bptree_check(arena, &report);
                check(err == 0 || err == XAC_CORRUPT);
                check((err != 0) == (report.message[0] != '\0'));
                found += err != 0;
                for (uint64_t i = 0; i < times; i++)
                        memcpy(page_at(damaged[i]), sound + ((uint64_t)damaged[i] << arena->page_shift),
                               arena->page_bytes);
        }
        check(found > ROUNDS / 3);
        end();
}

#define in_memory(body)                             \
        isolated_way(body, IN_MEMORY, "memory"),    \
                isolated_way(body, IN_MEMORY | WAYS_BIG, "memory, 64 KiB")

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_way(a_page_of_another_kind, IN_MEMORY, "memory"),
                in_memory(children_that_are_no_children),
                in_memory(keys_out_of_order_or_bounds),
                isolated_way(counts_that_cannot_be, IN_MEMORY, "memory"),
                in_memory(chains_that_are_broken),
                in_memory(pages_that_are_lost_or_given_twice),
                in_memory(maps_and_headers_that_are_damaged),
                in_memory(entries_that_cannot_be),
                in_memory(no_damage_makes_it_fall),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
