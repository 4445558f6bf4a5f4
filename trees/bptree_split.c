/* SPDX-License-Identifier: MIT */
#include "trees/bptree.h"

#include <string.h>

/*
 * A record that has no room, from the leaf upwards:
 *
 *      before   ... | 3 7 | ...                     the parent: one more separator, or a split of its own
 *                     |
 *                   | 3 4 5 6 |                     6 + has no room
 *
 *      after    ... | 3 5 7 | ...
 *                     | |
 *                 | 3 4 |  | 5 6 + |
 *
 * Separators travel upwards in two buffers in turn: the one that is inserted, and the one that its insertion makes.
 */

/* Whether an inner node takes one more separator, whatever its length. */
static bool takes_separator(const struct bptree *tree, const struct bpnode *node)
{
        size_t longest = tree->shape.is_fixed ? 8 : XAC_TREE_KEY_MAX;
        return bpnode_room(&tree->shape, node) >= bpnode_inner_bytes(&tree->shape, longest);
}

/* A map that is damaged must not make two nodes of one page. */
static bool is_on_path(const struct bptree_path *path, const struct page_reserve *reserve)
{
        for (unsigned step = 0; step <= path->depth; step++)
                for (uint32_t i = 0; i < reserve->count; i++)
                        if (path->steps[step].page == reserve->pages[i])
                                return true;
        return false;
}

int bptree_split_reserve(const struct bptree *tree, const struct bptree_path *path, uint32_t spare,
                         struct page_reserve *reserve)
{
        uint32_t count = 1; /* a neighbour of the leaf */
        unsigned step = path->depth;
        while (step && !takes_separator(tree, path->steps[step - 1].node)) {
                count++;
                step--;
        }
        if (!step)
                count++; /* the root moves, too */
        if (!step && path->depth + 1 >= BPTREE_LEVELS_MAX)
                return -ENOSPC;
        if (count <= reserve->count)
                return 0;
        uint32_t most = count + spare < ALLOC_RESERVE_MAX ? count + spare : ALLOC_RESERVE_MAX;
        int err = page_alloc_reserve(tree->arena, reserve, most);
        if (err && most > count && err != ARENA_LOST && err != XAC_CORRUPT)
                err = page_alloc_reserve(tree->arena, reserve, count);
        if (!err && is_on_path(path, reserve))
                err = XAC_CORRUPT;
        return err;
}

/* The root's content moves into a new child, the only one (T1). The path then has one step more. */
static int grow_root(const struct bptree *tree, struct bptree_path *path, struct page_reserve *reserve)
{
        page_no page = page_alloc_take(reserve);
        struct bpnode *root = arena_write(tree->arena, tree->root);
        struct bpnode *child = arena_write(tree->arena, page);
        if (!root || !child)
                return ARENA_LOST;
        memcpy(child, root, tree->shape.page_bytes);
        bpnode_init(&tree->shape, root, (uint8_t)(child->level + 1));
        bpnode_insert_child(&tree->shape, root, 0, (struct bpnode_key){ "", 0 }, page);
        memmove(&path->steps[1], &path->steps[0], (path->depth + 1) * sizeof(path->steps[0]));
        path->depth++;
        path->steps[0] = (struct leaf_place){ .node = root, .page = tree->root, .i = 0 };
        path->steps[1].page = page;
        return 0;
}

/* The node of a step, and a new page at its right; the root gets out of the way first. */
static int split_pages(const struct bptree *tree, struct bptree_path *path, unsigned *step,
                       struct page_reserve *reserve, struct bpnode **node, struct bpnode **right, page_no *right_page)
{
        if (!*step) {
                int err = grow_root(tree, path, reserve);
                if (err)
                        return err;
                *step = 1;
        }
        *right_page = page_alloc_take(reserve);
        *right = arena_write(tree->arena, *right_page);
        if (!*right)
                return ARENA_LOST;
        return bptree_write_node(tree, path->steps[*step].page, path->depth - *step, node);
}

static int split_leaf(const struct bptree *tree, struct bptree_path *path, unsigned *step,
                      const struct bpnode_record *record, struct page_reserve *reserve, struct bpnode_split *split,
                      page_no *right_page)
{
        struct bpnode *node, *right;
        int err = split_pages(tree, path, step, reserve, &node, &right, right_page);
        if (err)
                return err;
        bpnode_split_leaf(&tree->shape, node, right, path->steps[*step].i, record, split);
        bpnode_insert(&tree->shape, split->is_right ? right : node, split->i, record);
        return 0;
}

/* Splits the inner node of a step, and inserts a child behind the one the path goes to. */
static int split_inner(const struct bptree *tree, struct bptree_path *path, unsigned *step, struct bpnode_key key,
                       page_no child, struct page_reserve *reserve, struct bpnode_split *split, page_no *right_page)
{
        struct bpnode *node, *right;
        int err = split_pages(tree, path, step, reserve, &node, &right, right_page);
        if (err)
                return err;
        bpnode_split_inner(&tree->shape, node, right, path->steps[*step].i + 1, key, split);
        if (split->is_right && !split->i)
                key.len = 0; /* it became the separator */
        bpnode_insert_child(&tree->shape, split->is_right ? right : node, split->i, key, child);
        return 0;
}

/* The new page's separator into its parent; true: it had room. */
static int insert_separator(const struct bptree *tree, const struct bptree_path *path, unsigned step,
                            struct bpnode_key key, page_no child, bool *is_done)
{
        struct bpnode *node;
        int err = bptree_write_node(tree, path->steps[step].page, path->depth - step, &node);
        if (err)
                return err;
        *is_done = bpnode_room(&tree->shape, node) >= bpnode_inner_bytes(&tree->shape, key.len);
        if (*is_done)
                bpnode_insert_child(&tree->shape, node, path->steps[step].i + 1, key, child);
        return 0;
}

int bptree_split(const struct bptree *tree, struct bptree_path *path, const struct bpnode_record *record,
                 struct page_reserve *reserve)
{
        struct bpnode_split splits[2]; /* not zeroed: 2 KiB */
        unsigned turn = 0;
        unsigned step = path->depth;
        page_no child;
        bool is_done;
        int err = split_leaf(tree, path, &step, record, reserve, &splits[0], &child);
        while (!err) {
                struct bpnode_key key = { splits[turn].separator, splits[turn].separator_len };
                step--;
                err = insert_separator(tree, path, step, key, child, &is_done);
                if (err || is_done)
                        break;
                turn = !turn;
                err = split_inner(tree, path, &step, key, child, reserve, &splits[turn], &child);
        }
        return err;
}
