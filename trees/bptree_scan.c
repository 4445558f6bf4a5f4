/* SPDX-License-Identifier: MIT */
#include "trees/bptree.h"

/* Walks leaf by leaf; within a leaf nothing is asked but the visitor. */

struct scan {
        struct bptree *tree;
        const struct bpnode_key *from; /* NULL: the first */
        const struct bpnode_key *to;   /* NULL: to the last */
        struct leaf_visitor visitor;
        int result;
};

/* The next leaf is on its way from memory while this one is visited. It will be visited, too, unless the visitor
 * ends the scan: short scans, of a leaf or two, do not come here. */
static int fetch_ahead(const struct scan *scan, const struct bptree_path *path)
{
        enum { AHEAD_BYTES = 512, LINE_BYTES = 64 }; /* then the processor sees by itself where that leads */
        const struct leaf_place *above = &path->steps[path->depth - 1];
        const struct bpnode_shape *shape = &scan->tree->shape;
        page_no page;
        if (above->i + 1 >= above->node->count ||
            (scan->to && bpnode_compare(shape, bpnode_key_at(shape, above->node, above->i + 1), *scan->to) >= 0))
                return 0;
        int err = bptree_child(scan->tree, above->node, above->i + 1, &page);
        if (err)
                return err;
        const char *next = arena_read(scan->tree->arena, page);
        for (size_t at = 0; next && at < AHEAD_BYTES; at += LINE_BYTES)
                __builtin_prefetch(next + at);
        return next ? 0 : ARENA_LOST;
}

static int scan_leaves(struct scan *scan)
{
        const struct bptree *tree = scan->tree;
        struct bptree_path path;
        bool is_equal, is_last = false, is_first = true;
        int err = scan->from ? bptree_path_seek(tree, *scan->from, &path, &is_equal) : bptree_path_first(tree, &path);
        scan->result = 0;
        while (!err && !scan->result && !is_last) {
                const struct leaf_place *leaf = bptree_path_leaf(&path);
                unsigned end;
                is_last = leaf_find_end(&tree->shape, leaf->node, scan->to, &end);
                if (!is_first && !is_last && path.depth && (err = fetch_ahead(scan, &path)))
                        break;
                is_first = false;
                scan->result = leaf_scan(&tree->shape, leaf->node, leaf->i, end, NULL, &scan->visitor);
                if (!scan->result && !is_last)
                        err = bptree_path_next_leaf(tree, &path);
        }
        return err == -ENOENT ? 0 : err;
}

int bptree_scan_all(struct bptree *tree, int (*visit)(void *arg, const xac_tree_record *record), void *arg, int *result)
{
        struct scan scan = { .tree = tree, .visitor = { .visit = visit, .arg = arg } };
        int err = scan_leaves(&scan);
        *result = scan.result;
        return err;
}

static int scan_body(void *arg)
{
        struct scan *scan = arg;
        int err = scan_leaves(scan);
        return err ? tree_settle(&scan->result, err) : 0;
}

static int scan_tree(struct bptree *tree, struct bpnode_key from, struct bpnode_key to,
                     const struct leaf_visitor *visitor)
{
        struct scan scan = { tree, from.bytes ? &from : NULL, to.bytes ? &to : NULL, *visitor, 0 };
        if ((from.bytes && !leaf_takes_key(&tree->shape, from.len)) ||
            (to.bytes && !leaf_takes_key(&tree->shape, to.len)))
                return -EINVAL;
        int err = tree_enter(&tree->handle);
        if (!err)
                err = arena_run(tree->arena, XAC_RDONLY, scan_body, &scan);
        return err ? err : scan.result;
}

int bptree_scan(struct xac_tree *handle, const void *from, size_t from_len, const void *to, size_t to_len,
                int (*visit)(void *arg, const xac_tree_record *record), void *arg)
{
        struct bptree *tree = handle->tree;
        const struct leaf_visitor visitor = { .visit = visit, .arg = arg };
        return scan_tree(tree, (struct bpnode_key){ from, from_len }, (struct bpnode_key){ to, to_len }, &visitor);
}

int bptree_scan_runs(struct xac_tree *handle, const void *from, size_t from_len, const void *to, size_t to_len,
                     int (*visit)(void *arg, const void *records, size_t count), void *arg)
{
        struct bptree *tree = handle->tree;
        const struct leaf_visitor visitor = { .visit_run = visit, .arg = arg };
        if (!tree->shape.is_fixed)
                return -EINVAL;
        return scan_tree(tree, (struct bpnode_key){ from, from_len }, (struct bpnode_key){ to, to_len }, &visitor);
}
