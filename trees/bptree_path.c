/* SPDX-License-Identifier: MIT */
#include "trees/bptree.h"

#include <limits.h>

/* Ways through a tree that remember where they went: there are no links between leaves (T2). */

static int begin(const struct bptree *tree, struct bptree_path *path)
{
        const struct bpnode *root;
        int err = bptree_root(tree, &root);
        if (err)
                return err;
        if (root->level >= BPTREE_LEVELS_MAX)
                return XAC_CORRUPT;
        path->depth = root->level; /* T5 */
        path->run = path->expected = 0;
        path->steps[0] = (struct leaf_place){ root, tree->root, 0 };
        return 0;
}

/* From the step to the child that it names. */
static int enter_child(const struct bptree *tree, struct bptree_path *path, unsigned step)
{
        struct leaf_place *child = &path->steps[step + 1];
        int err = bptree_child(tree, path->steps[step].node, path->steps[step].i, &child->page);
        child->i = 0;
        return err ? err : bptree_node(tree, child->page, path->depth - step - 1, &child->node);
}

int bptree_path_seek(const struct bptree *tree, struct bpnode_key key, struct bptree_path *path, bool *is_equal)
{
        int err = begin(tree, path);
        for (unsigned step = 0; !err && step < path->depth; step++) {
                path->steps[step].i = bpnode_find_child(&tree->shape, path->steps[step].node, key);
                err = enter_child(tree, path, step);
        }
        if (err)
                return err;
        struct leaf_place *leaf = bptree_path_leaf(path);
        leaf->i = bpnode_find(&tree->shape, leaf->node, key, is_equal);
        return 0;
}

/* From a step that is right down to the leaf, always at one edge. */
static int descend_first(const struct bptree *tree, struct bptree_path *path, unsigned step)
{
        int err = 0;
        for (; !err && step < path->depth; step++)
                err = enter_child(tree, path, step);
        return err;
}

static int descend_last(const struct bptree *tree, struct bptree_path *path, unsigned step)
{
        int err = 0;
        for (; !err && step < path->depth; step++) {
                err = enter_child(tree, path, step);
                if (!err)
                        path->steps[step + 1].i = path->steps[step + 1].node->count - 1;
        }
        return err;
}

int bptree_path_first(const struct bptree *tree, struct bptree_path *path)
{
        int err = begin(tree, path);
        return err ? err : descend_first(tree, path, 0);
}

int bptree_path_last(const struct bptree *tree, struct bptree_path *path)
{
        int err = begin(tree, path);
        if (err)
                return err;
        unsigned count = path->steps[0].node->count;
        path->steps[0].i = count ? count - 1 : 0;
        return descend_last(tree, path, 0);
}

/* Who has passed some leaves reads on: the next ones of the same parent are read from disk meanwhile, as many as were
 * passed, so that a short range reads few in vain. What is damaged is found when its turn comes. */
static void expect_leaves(const struct bptree *tree, struct bptree_path *path)
{
        enum { RUN_MIN = 3, AHEAD_MAX = 64, NEVER = UINT_MAX };
        const struct leaf_place *above = &path->steps[path->depth - 1];
        page_no page;
        if (path->run == NEVER || (path->run += path->run < AHEAD_MAX) < RUN_MIN)
                return;
        const unsigned wanted = above->i + 1 + path->run;
        const unsigned end = wanted < above->node->count ? wanted : above->node->count;
        unsigned i = above->i + 1 > path->expected ? above->i + 1 : path->expected;
        for (; i < end && !bptree_child(tree, above->node, i, &page); i++)
                if (!arena_expect(tree->arena, page)) {
                        path->run = NEVER;
                        return;
                }
        path->expected = i;
}

int bptree_path_next_leaf(const struct bptree *tree, struct bptree_path *path)
{
        for (unsigned step = path->depth; step-- > 0;) {
                if (path->steps[step].i + 1 >= path->steps[step].node->count)
                        continue;
                path->steps[step].i++;
                if (step < path->depth - 1)
                        path->expected = 0;
                const int err = descend_first(tree, path, step);
                if (!err)
                        expect_leaves(tree, path);
                return err;
        }
        return -ENOENT;
}

int bptree_path_previous_leaf(const struct bptree *tree, struct bptree_path *path)
{
        for (unsigned step = path->depth; step-- > 0;) {
                if (!path->steps[step].i)
                        continue;
                path->steps[step].i--;
                return descend_last(tree, path, step);
        }
        return -ENOENT;
}

struct walk {
        uint64_t pages_left; /* no tree has more: the end of one whose nodes are damaged */
        const struct bptree *tree;
        int (*visit)(void *arg, page_no page, const struct bpnode *node);
        void *arg;
};

static int walk_below(struct walk *walk, page_no page, const struct bpnode *node)
{
        int err = walk->pages_left-- ? walk->visit(walk->arg, page, node) : XAC_CORRUPT;
        for (unsigned i = 0; !err && node->level && i < node->count; i++) {
                const struct bpnode *child;
                page_no child_page;
                err = bptree_child(walk->tree, node, i, &child_page);
                if (!err)
                        err = bptree_node(walk->tree, child_page, node->level - 1u, &child);
                if (!err)
                        err = walk_below(walk, child_page, child);
        }
        return err;
}

int bptree_walk(const struct bptree *tree, int (*visit)(void *arg, page_no page, const struct bpnode *node), void *arg)
{
        const struct bpnode *root;
        uint32_t groups;
        int err = bptree_root(tree, &root);
        if (!err)
                err = page_group_count(tree->arena, &groups);
        if (err)
                return err;
        struct walk walk = { (uint64_t)groups * GROUP_PAGES, tree, visit, arg };
        return root->level < BPTREE_LEVELS_MAX ? walk_below(&walk, tree->root, root) : XAC_CORRUPT;
}
