/* SPDX-License-Identifier: MIT */
#include "trees/arena_check.h"

struct check_nodes {
        const struct check_tree *of;
        struct bptree tree;
};

/* What leads to a node: nothing (the root), or a place in its parent. */
struct bounds {
        struct bpnode_key low, high; /* NULL bytes: none */
        bool is_root;
};

/* T5 */
static const char *count_fault(const struct bpnode *node, bool is_root)
{
        if (!is_root && !node->count)
                return "an empty node";
        return is_root && node->level && node->count < 2 ? "a root with a single child" : NULL;
}

static int check_node(const struct check_nodes *nodes, page_no page, unsigned level, struct bounds bounds)
{
        const struct bpnode_shape *shape = &nodes->tree.shape;
        int err = check_reach(nodes->of->check, page, nodes->of->name);
        if (err)
                return err;
        const struct bpnode *node = arena_read(nodes->tree.arena, page);
        if (!node)
                return ARENA_LOST;
        const char *fault = bpnode_fault(shape, node, (uint8_t)level, bounds.low, bounds.high);
        if (!fault)
                fault = count_fault(node, bounds.is_root);
        if (fault)
                return check_fail(nodes->of->check, page, nodes->of->name, fault);
        if (!level)
                return check_leaf(nodes->of, shape, page, node);
        for (unsigned i = 0; !err && i < node->count; i++) {
                struct bounds below = { i ? bpnode_key_at(shape, node, i) : bounds.low,
                                        i + 1u < node->count ? bpnode_key_at(shape, node, i + 1) : bounds.high,
                                        false }; /* T2 */
                err = check_node(nodes, bpnode_child(shape, node, i), level - 1, below);
        }
        return err;
}

int check_bptree(const struct check_tree *tree)
{
        struct check_nodes nodes = { .of = tree };
        struct bounds all = { .is_root = true };
        bptree_init(tree->check->arena, &tree->record, tree->compare, tree->compare_arg, &nodes.tree);
        const struct bpnode *root = arena_read(nodes.tree.arena, nodes.tree.root);
        if (!root)
                return ARENA_LOST;
        if (root->level >= BPTREE_LEVELS_MAX)
                return check_fail(tree->check, nodes.tree.root, tree->name, "a root of an impossible level");
        return check_node(&nodes, nodes.tree.root, root->level, all);
}
