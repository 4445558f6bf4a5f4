/* SPDX-License-Identifier: MIT */

/* xac_tree_check on damaged nodes of B+-trees: each kind of damage is found and told (test_arena_check.c has all the
 * rest). */

#include "trees/bptree.h"

#include <string.h>

#include "tests/support/check.h"
#include "tests/support/isolate.h"
#include "tests/trees/damaged.h"

static const struct bptree *words, *numbers;

static void begin(int way)
{
        damaged_begin(way);
        words = damaged.words->tree;
        numbers = damaged.numbers->tree;
}

static page_no child(const struct bptree *tree, unsigned i)
{
        return bpnode_child(&tree->shape, damaged_page(tree->root), i);
}

/* The node that has only leaves below it. */
static page_no above_leaves(const struct bptree *tree)
{
        page_no page = tree->root;

        while (((struct bpnode *)damaged_page(page))->level > 1)
                page = bpnode_child(&tree->shape, damaged_page(page), 0);
        return page;
}

static page_no leaf(const struct bptree *tree, unsigned i)
{
        return bpnode_child(&tree->shape, damaged_page(above_leaves(tree)), i);
}

static void a_page_of_another_kind(int way)
{
        begin(way);
        ((struct bpnode *)damaged_page(leaf(words, 1)))->kind = PAGE_IS_INNER;
        damaged_is_found(leaf(words, 1), "tree words");
        ((struct bpnode *)damaged_page(leaf(numbers, 1)))->tree_id++;
        damaged_is_found(leaf(numbers, 1), "another tree");
        ((struct bpnode *)damaged_page(child(words, 0)))->level++;
        damaged_is_found(child(words, 0), "level");
        ((struct bpnode *)damaged_page(words->root))->level = BPTREE_LEVELS_MAX;
        damaged_is_found(words->root, "impossible level");
        memset(damaged_page(words->root), 0, damaged.arena->page_bytes);
        damaged_is_found(words->root, "tree words");
        damaged_end();
}

static void children_that_are_no_children(int way)
{
        begin(way);
        const struct bptree *const trees[] = { words, numbers };
        for (int i = 0; i < 2; i++) {
                struct bpnode *node = damaged_page(above_leaves(trees[i]));
                const struct bpnode_shape *shape = &trees[i]->shape;

                bpnode_set_child(shape, node, 1, bpnode_child(shape, node, 0));
                damaged_is_found(bpnode_child(shape, damaged_page(above_leaves(trees[i])), 0), "reached twice");
                bpnode_set_child(shape, node, 1, trees[i]->root); /* a circle */
                damaged_is_found(trees[i]->root, "reached twice");
                bpnode_set_child(shape, node, 1, (page_no)(damaged.sound_bytes >> damaged.arena->page_shift));
                damaged_is_found(0, "ends before this page");
                bpnode_set_child(shape, node, 1, UINT32_MAX);
                damaged_is_found(UINT32_MAX, "ends before this page");
                bpnode_set_child(shape, node, 1, 0);
                damaged_is_found(0, "reached twice");
        }
        damaged_end();
}

static void keys_out_of_order_or_bounds(int way)
{
        page_no first, second;

        begin(way);
        first = leaf(numbers, 0);
        second = leaf(numbers, 1);
        struct bpnode *node = damaged_page(first);
        memcpy((char *)(node + 1) + 108, node + 1, 8); /* the second key is the first one */
        damaged_is_found(first, "tree numbers");
        struct bpnode *other = damaged_page(second);
        memset(other + 1, 0, 8); /* belongs further left */
        damaged_is_found(second, "tree numbers");
        damaged_end();
}

static void counts_that_cannot_be(int way)
{
        struct bpnode *node;

        begin(way);
        bpnode_init(&words->shape, damaged_page(leaf(words, 0)), 0);
        damaged_is_found(leaf(words, 0), "empty node");
        node = damaged_page(words->root);
        while (node->count > 1)
                bpnode_remove(&words->shape, node, node->count - 1u);
        damaged_is_found(words->root, "single child");
        ((struct bpnode *)damaged_page(leaf(numbers, 0)))->count = UINT16_MAX;
        damaged_is_found(leaf(numbers, 0), "more records");
        damaged_end();
}

#define in_memory(body) \
        isolated_way(body, IN_MEMORY, "memory"), isolated_way(body, IN_MEMORY | WAYS_BIG, "memory, 64 KiB")

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_way(a_page_of_another_kind, IN_MEMORY, "memory"),
                in_memory(children_that_are_no_children),
                in_memory(keys_out_of_order_or_bounds),
                isolated_way(counts_that_cannot_be, IN_MEMORY, "memory"),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
