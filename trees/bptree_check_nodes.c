/* SPDX-License-Identifier: MIT */
#include "trees/bptree_check.h"

#include "trees/overflow.h"

struct check_nodes {
        struct check *check;
        const struct bptree *tree;
        const char *name;
};

/* What leads to a node: nothing (the root), or a place in its parent. */
struct bounds {
        struct bpnode_key low, high; /* NULL bytes: none */
        bool is_root;
};

static int check_link(void *nodes_, page_no page)
{
        const struct check_nodes *nodes = nodes_;
        return check_reach(nodes->check, page, nodes->name);
}

static int check_chain(struct check_nodes *nodes, page_no leaf, const struct bpnode_record *record)
{
        const struct bptree *tree = nodes->tree;
        struct bpnode_overflow chain = overflow_of(record->value);
        if (chain.byte_len > BPTREE_VALUE_MAX || bpnode_is_inline(&tree->shape, record->key.len, chain.byte_len))
                return check_fail(nodes->check, leaf, nodes->name, "a value has an impossible length");
        int err = overflow_walk(tree->arena, tree->shape.tree_id, chain, check_link, nodes);
        if (err == XAC_CORRUPT)
                return check_fail(nodes->check, leaf, nodes->name, "the overflow pages of a value are damaged");
        return err;
}

static int check_leaf(struct check_nodes *nodes, page_no page, const struct bpnode *leaf)
{
        const struct bpnode_shape *shape = &nodes->tree->shape;
        int err = 0;
        nodes->check->report.records += leaf->count;
        for (unsigned i = 0; !err && !shape->is_fixed && i < leaf->count; i++) {
                struct bpnode_record record = bpnode_record_at(shape, leaf, i);
                if (record.is_overflow)
                        err = check_chain(nodes, page, &record);
        }
        return err;
}

/* T5 */
static const char *count_fault(const struct bpnode *node, bool is_root)
{
        if (!is_root && !node->count)
                return "an empty node";
        return is_root && node->level && node->count < 2 ? "a root with a single child" : NULL;
}

static int check_node(struct check_nodes *nodes, page_no page, unsigned level, struct bounds bounds)
{
        const struct bpnode_shape *shape = &nodes->tree->shape;
        int err = check_reach(nodes->check, page, nodes->name);
        if (err)
                return err;
        const struct bpnode *node = arena_read(nodes->tree->arena, page);
        if (!node)
                return ARENA_LOST;
        const char *fault = bpnode_fault(shape, node, (uint8_t)level, bounds.low, bounds.high);
        if (!fault)
                fault = count_fault(node, bounds.is_root);
        if (fault)
                return check_fail(nodes->check, page, nodes->name, fault);
        if (!level)
                return check_leaf(nodes, page, node);
        for (unsigned i = 0; !err && i < node->count; i++) {
                struct bounds below = { i ? bpnode_key_at(shape, node, i) : bounds.low,
                                        i + 1u < node->count ? bpnode_key_at(shape, node, i + 1) : bounds.high,
                                        false }; /* T2 */
                err = check_node(nodes, bpnode_child(shape, node, i), level - 1, below);
        }
        return err;
}

int check_tree(struct check *check, const struct bptree *tree, const char *name)
{
        struct check_nodes nodes = { check, tree, name };
        struct bounds all = { .is_root = true };
        if (tree->root >= check->pages)
                return check_fail(check, PAGE_CATALOG, name, "its root is no page of the arena");
        const struct bpnode *root = arena_read(tree->arena, tree->root);
        if (!root)
                return ARENA_LOST;
        if (root->level >= BPTREE_LEVELS_MAX)
                return check_fail(check, tree->root, name, "a root of an impossible level");
        return check_node(&nodes, tree->root, root->level, all);
}
