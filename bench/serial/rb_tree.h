/* SPDX-License-Identifier: MIT */
#ifndef BENCH_SERIAL_RB_TREE_H
#define BENCH_SERIAL_RB_TREE_H

/*
 * A red-black tree (L. J. Guibas, R. Sedgewick, 1978): the root is black, a red node's children are black, and each way
 * down to where there is no child passes as many black nodes. child[0] has the smaller keys. What holds for one side
 * holds for the other, with `side` for 0 or 1. Nodes that are not in the tree are in a list, linked by child[0].
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RB_TREE_NODES = 30000, RB_TREE_WORDS = 3 };

struct rb_value {
        uint64_t word[RB_TREE_WORDS];
};

struct rb_node {
        uint64_t key;
        struct rb_node *parent, *child[2];
        bool is_red;
        struct rb_value value;
};

struct rb_tree {
        struct rb_node *root, *free;
        size_t count;
        struct rb_node node[RB_TREE_NODES];
};

static void rb_tree_make(struct rb_tree *tree)
{
        tree->root = tree->free = NULL;
        tree->count = 0;
        for (size_t n = RB_TREE_NODES; n-- > 0;) {
                tree->node[n].child[0] = tree->free;
                tree->free = &tree->node[n];
        }
}

static bool rb_tree_is_red(const struct rb_node *node)
{
        return node && node->is_red;
}

static int rb_tree_side(const struct rb_node *parent, const struct rb_node *child)
{
        return parent->child[1] == child;
}

static struct rb_node *rb_tree_find(const struct rb_tree *tree, uint64_t key)
{
        struct rb_node *node = tree->root;
        while (node && node->key != key)
                node = node->child[key > node->key];
        return node;
}

/* `below` takes the place of `node` below its parent. */
static void rb_tree_replace(struct rb_tree *tree, struct rb_node *node, struct rb_node *below)
{
        struct rb_node *parent = node->parent;

        if (below)
                below->parent = parent;
        if (parent)
                parent->child[rb_tree_side(parent, node)] = below;
        else
                tree->root = below;
}

/*
 * `top` goes down on that side, and its child of the other side comes up. Here for side 0:
 *
 *          top               up
 *         /   \             /  \
 *        a     up   ->   top    c
 *             /  \      /   \
 *            b    c    a     b
 */
static void rb_tree_rotate(struct rb_tree *tree, struct rb_node *top, int side)
{
        struct rb_node *up = top->child[!side], *b = up->child[side];

        rb_tree_replace(tree, top, up);
        up->child[side] = top;
        top->parent = up;
        top->child[!side] = b;
        if (b)
                b->parent = top;
}

/* `node` is red, and perhaps its parent is, too. */
static void rb_tree_mend_insert(struct rb_tree *tree, struct rb_node *node)
{
        while (rb_tree_is_red(node->parent)) {
                struct rb_node *parent = node->parent, *grandparent = parent->parent;
                const int side = rb_tree_side(grandparent, parent);
                struct rb_node *uncle = grandparent->child[!side];

                grandparent->is_red = true;
                if (rb_tree_is_red(uncle)) {
                        parent->is_red = uncle->is_red = false;
                        node = grandparent;
                        continue;
                }
                if (rb_tree_side(parent, node) != side) {
                        rb_tree_rotate(tree, parent, side);
                        parent = node;
                }
                parent->is_red = false;
                rb_tree_rotate(tree, grandparent, !side);
                break;
        }
        tree->root->is_red = false;
}

/* A red child of the black sibling makes up for the black node that is missing on that side. */
static void rb_tree_lend(struct rb_tree *tree, struct rb_node *parent, int side)
{
        struct rb_node *sibling = parent->child[!side], *outer = sibling->child[!side];

        if (!rb_tree_is_red(outer)) {
                outer = sibling;
                sibling = sibling->child[side];
                rb_tree_rotate(tree, outer, !side);
        }
        sibling->is_red = parent->is_red;
        parent->is_red = outer->is_red = false;
        rb_tree_rotate(tree, parent, side);
}

/* Black nodes are one too few through the child of `parent` on that side, which is black or not there. */
static void rb_tree_mend_erase(struct rb_tree *tree, struct rb_node *parent, int side)
{
        while (parent) {
                struct rb_node *node = parent, *sibling = parent->child[!side];

                if (sibling->is_red) { /* another sibling, which is black */
                        sibling->is_red = false;
                        parent->is_red = true;
                        rb_tree_rotate(tree, parent, side);
                        continue;
                }
                if (rb_tree_is_red(sibling->child[0]) || rb_tree_is_red(sibling->child[1])) {
                        rb_tree_lend(tree, parent, side);
                        return;
                }
                sibling->is_red = true; /* one too few on both sides */
                if (parent->is_red) {
                        parent->is_red = false;
                        return;
                }
                parent = node->parent;
                side = parent ? rb_tree_side(parent, node) : 0;
        }
}

/* Takes out a node that has one child at most. */
static void rb_tree_remove(struct rb_tree *tree, struct rb_node *node)
{
        struct rb_node *below = node->child[0] ? node->child[0] : node->child[1];
        struct rb_node *parent = node->parent;
        const int side = parent ? rb_tree_side(parent, node) : 0;

        rb_tree_replace(tree, node, below);
        if (below)
                below->is_red = false; /* a single child is red, or it would be one too many */
        else if (!node->is_red)
                rb_tree_mend_erase(tree, parent, side);
}

/* Returns whether the key is there. */
static int rb_tree_get(const struct rb_tree *tree, uint64_t key, struct rb_value *value)
{
        const struct rb_node *node = rb_tree_find(tree, key);
        if (!node)
                return 0;
        *value = node->value;
        return 1;
}

/* Returns whether there is a node more than before. */
static int rb_tree_put(struct rb_tree *tree, uint64_t key, const struct rb_value *value)
{
        struct rb_node *parent = NULL, *node = tree->root;

        while (node && node->key != key) {
                parent = node;
                node = node->child[key > node->key];
        }
        if (node) {
                node->value = *value;
                return 0;
        }
        node = tree->free;
        if (!node)
                return 0;
        tree->free = node->child[0];
        *node = (struct rb_node){ .key = key, .parent = parent, .is_red = true, .value = *value };
        if (parent)
                parent->child[key > parent->key] = node;
        else
                tree->root = node;
        rb_tree_mend_insert(tree, node);
        tree->count++;
        return 1;
}

/* Returns whether the key was there. */
static int rb_tree_erase(struct rb_tree *tree, uint64_t key)
{
        struct rb_node *node = rb_tree_find(tree, key);
        if (!node)
                return 0;
        if (node->child[0] && node->child[1]) {
                struct rb_node *next = node->child[1];
                while (next->child[0])
                        next = next->child[0];
                node->key = next->key;
                node->value = next->value;
                node = next;
        }
        rb_tree_remove(tree, node);
        node->child[0] = tree->free;
        tree->free = node;
        tree->count--;
        return 1;
}

#endif
