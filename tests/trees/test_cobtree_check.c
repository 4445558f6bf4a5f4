/* SPDX-License-Identifier: MIT */

/*
 * xac_tree_check on damaged indexes and segments of cobtrees: each kind of damage is found and told (test_arena_check.c
 * has all the rest).
 */

#include "trees/cobindex_top.h"
#include "trees/cobtree.h"

#include <string.h>

#include "tests/support/check.h"
#include "tests/support/isolate.h"
#include "tests/trees/damaged.h"

static const struct cobindex *words, *numbers;
static uint32_t words_root;

static void begin(int way)
{
        damaged_begin(way);
        words = &((const struct cobtree *)damaged.words->tree)->index;
        numbers = &((const struct cobtree *)damaged.numbers->tree)->index;
        words_root = words->root;
}

/* The n-th used segment of a tree. */
static struct cobindex_place segment(const struct cobindex *index, unsigned n)
{
        struct cobindex_place place;

        check_ok(cobindex_first(index, &place));
        while (n-- > 0)
                check_ok(cobindex_next(index, &place));
        return place;
}

static struct bpnode *segment_at(const struct cobindex *index, unsigned n)
{
        return damaged_page(cobindex_segment_page(index, segment(index, n)));
}

static page_no index_page(struct cobindex_place place)
{
        return place.group * GROUP_PAGES + 1;
}

/* Where the top has the group of an extent. */
static uint32_t *group_in_top(const struct cobindex *index, uint32_t extent)
{
        struct top top = { 0 };

        check_ok(top_open(index, &top));
        return (uint32_t *)((char *)damaged_page(index->root) + TOP_ROOT_BEGIN +
                            top_group_offset(index, top.height, extent));
}

static unsigned char *separator_in_top(const struct cobindex *index, uint32_t extent)
{
        struct top top = { 0 };

        check_ok(top_open(index, &top));
        return (unsigned char *)damaged_page(index->root) + TOP_ROOT_BEGIN +
               top_node_offset(index, top.height, veb_node_of_gap(top.height, extent));
}

/* The separator before a used segment that is not the first of its extent. */
static unsigned char *separator_of(const struct cobindex *index, struct cobindex_place place)
{
        struct extent extent = { 0 };
        const unsigned char *node;

        check_ok(extent_open(index, place.group, &extent));
        check_ok(extent_node(&extent, veb_gap_table[place.i], &node));
        return (unsigned char *)(uintptr_t)node;
}

/* ---- the root and the top ---- */

static void roots_that_are_none(int way)
{
        struct cobindex_root *root;

        begin(way);
        root = damaged_page(words_root);
        root->kind = PAGE_IS_LEAF;
        damaged_is_found(words_root, "root");
        root->tree_id++;
        damaged_is_found(words_root, "root");
        root->extents = 0;
        damaged_is_found(words_root, "root");
        root->extents = UINT32_MAX;
        damaged_is_found(words_root, "root");
        root->top_pages = 1;
        damaged_is_found(words_root, "top pages");
        root->top_pages = UINT32_MAX;
        damaged_is_found(words_root, "tree words");
        memset(root, 0, damaged.arena->page_bytes);
        damaged_is_found(words_root, "root");
        damaged_end();
}

/* Another number of extents has another tree over them, of which nothing is in its place. */
static void extents_that_are_too_many_or_too_few(int way)
{
        struct cobindex_root *root;

        begin(way);
        root = damaged_page(words_root);
        check(root->extents > 1);
        root->extents--;
        damaged_is_found(0, "");
        root->extents++;
        damaged_is_found(0, "");
        root->extents = COBINDEX_EXTENTS_MAX;
        damaged_is_found(words_root, "tree words");
        damaged_end();
}

static void extents_that_are_no_extents(int way)
{
        begin(way);
        *group_in_top(words, 1) = *group_in_top(words, 0);
        damaged_is_found(0, "reached twice");
        *group_in_top(words, 1) = *group_in_top(numbers, 0);
        damaged_is_found(0, "reached twice");
        *group_in_top(words, 1) = 0; /* pages that are others' */
        damaged_is_found(words_root, "an extent that cannot be");
        *group_in_top(words, 1) = (uint32_t)(damaged.sound_bytes >> damaged.arena->page_shift) / GROUP_PAGES;
        damaged_is_found(0, "the arena ends before");
        *group_in_top(words, 1) = UINT32_MAX;
        damaged_is_found(words_root, "an extent that cannot be");
        *group_in_top(words, 0) = UINT32_MAX / GROUP_PAGES + 1; /* its pages have the numbers of others */
        damaged_is_found(words_root, "an extent that cannot be");
        damaged_end();
}

static void separators_of_extents(int way)
{
        begin(way);
        memset(separator_in_top(words, 1), 0, words->node_bytes); /* greater than all keys */
        damaged_is_found(0, "tree words");
        separator_in_top(words, 1)[0] = 0xff;
        damaged_is_found(0, "tree words");
        separator_in_top(words, 1)[1] = 0xff;
        damaged_is_found(0, "tree words");
        separator_in_top(words, 1)[1] = 0;
        damaged_is_found(0, "tree words");
        damaged_end();
}

/* ---- the index of an extent ---- */

static void index_pages_that_are_none(int way)
{
        begin(way);
        const struct cobindex *const trees[] = { words, numbers };
        for (int i = 0; i < 2; i++) {
                page_no page = index_page(segment(trees[i], 0));
                struct cobindex_first *first = damaged_page(page);

                first->page.kind = PAGE_IS_LEAF;
                damaged_is_found(page, "index page");
                first->page.tree_id++;
                damaged_is_found(page, "index page");
                first->page.number++;
                damaged_is_found(page, "index page");
                memset(first, 0, damaged.arena->page_bytes);
                damaged_is_found(page, "index page");
                if (trees[i]->index_pages == 1)
                        continue;
                ((struct cobindex_page *)damaged_page(page + 1))->number++;
                damaged_is_found(0, "");
        }
        damaged_end();
}

/* Each set of used places has its own separators. */
static void places_that_are_not_used(int way)
{
        begin(way);
        const struct cobindex *const trees[] = { words, numbers };
        for (int i = 0; i < 2; i++) {
                struct cobindex_place place = segment(trees[i], 3);
                struct cobindex_first *first = damaged_page(index_page(place));
                unsigned unused = 0;

                pma_clear(&first->used, place.i);
                damaged_is_found(0, "separator");
                while (pma_is_used(&first->used, unused))
                        unused++;
                pma_set(&first->used, unused);
                damaged_is_found(0, trees[i] == words ? "tree words" : "tree numbers");
                pma_set(&first->used, PMA_PLACES - 1); /* there are fewer */
                damaged_is_found(0, "index page");
                memset(&first->used, 0, sizeof(first->used));
                damaged_is_found(0, trees[i] == words ? "tree words" : "tree numbers");
        }
        damaged_end();
}

static void separators_that_separate_nothing(int way)
{
        begin(way);
        const struct cobindex *const trees[] = { words, numbers };
        for (int i = 0; i < 2; i++) {
                struct cobindex_place place = segment(trees[i], 5), before = segment(trees[i], 4);
                const size_t bytes = trees[i]->node_bytes;

                memset(separator_of(trees[i], place), 0, bytes);
                damaged_is_found(0, "separator");
                memcpy(separator_of(trees[i], place), separator_of(trees[i], before), bytes);
                damaged_is_found(0, "separator");
                memset(separator_of(trees[i], place), 0xff, bytes);
                damaged_is_found(0, "separator");
        }
        damaged_end();
}

/* Separators in order may yet be too great or too small for the keys: one by one up to the next, one down to the one
 * before. */
static void separators_that_lead_elsewhere(int way)
{
        struct cobindex_place place;
        unsigned char *node;

        begin(way);
        place = segment(numbers, 5);
        node = separator_of(numbers, place);
        uint64_t number;
        memcpy(&number, node, sizeof(number));
        number--; /* of the next key: in nodes they are inverted */
        for (unsigned i = place.i;
             i > 0 && memcmp(separator_of(numbers, (struct cobindex_place){ place.extent, place.group, i }),
                             damaged.sound + ((char *)node - damaged.arena->base), 8) == 0;
             i--)
                memcpy(separator_of(numbers, (struct cobindex_place){ place.extent, place.group, i }), &number,
                       sizeof(number));
        damaged_is_found(cobindex_segment_page(numbers, place), "leads elsewhere");
        damaged_end();
}

/* ---- segments ---- */

static void segments_that_are_none(int way)
{
        begin(way);
        const struct cobindex *const trees[] = { words, numbers };
        for (int i = 0; i < 2; i++) {
                page_no page = cobindex_segment_page(trees[i], segment(trees[i], 2));
                struct bpnode *node = damaged_page(page);

                node->kind = PAGE_IS_INNER;
                damaged_is_found(page, i ? "tree numbers" : "tree words");
                node->tree_id++;
                damaged_is_found(page, "another tree");
                node->level++;
                damaged_is_found(page, "level");
                bpnode_init(&trees[i]->shape, node, 0);
                damaged_is_found(page, "empty");
                node->count = UINT16_MAX;
                damaged_is_found(page, i ? "more records" : "tree words");
        }
        damaged_end();
}

static void keys_out_of_order_or_place(int way)
{
        begin(way);
        const struct cobindex *const trees[] = { words, numbers };
        for (int i = 0; i < 2; i++) {
                page_no page = cobindex_segment_page(trees[i], segment(trees[i], 2));

                memcpy(damaged_page(page), segment_at(trees[i], 1), damaged.arena->page_bytes);
                damaged_is_found(page, "not greater");
                memcpy(damaged_page(page), segment_at(trees[i], 3), damaged.arena->page_bytes);
                damaged_is_found(page, "leads elsewhere");
        }
        struct bpnode *node = segment_at(numbers, 2);
        memcpy((char *)(node + 1) + 108, node + 1, 8); /* the second key is the first one */
        damaged_is_found(0, "tree numbers");
        memset(node + 1, 0, 8); /* belongs further left */
        damaged_is_found(0, "tree numbers");
        damaged_end();
}

#define in_memory(body) isolated_way(body, IN_MEMORY | WAYS_COBTREE, "memory")
#define by_page(body)   in_memory(body), isolated_way(body, IN_MEMORY | WAYS_COBTREE | WAYS_MIDDLE, "memory, 16 KiB")

int main(void)
{
        const struct CMUnitTest tests[] = {
                in_memory(roots_that_are_none),
                in_memory(extents_that_are_too_many_or_too_few),
                in_memory(extents_that_are_no_extents),
                in_memory(separators_of_extents),
                by_page(index_pages_that_are_none),
                by_page(places_that_are_not_used),
                by_page(separators_that_separate_nothing),
                in_memory(separators_that_lead_elsewhere),
                by_page(segments_that_are_none),
                by_page(keys_out_of_order_or_place),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
