/* SPDX-License-Identifier: MIT */
#include "trees/bptree.h"

/* Walks leaf by leaf; within a leaf nothing is asked but the visitor. */

struct scan {
        struct bptree *tree;
        const struct bpnode_key *from; /* NULL: the first */
        const struct bpnode_key *to;   /* NULL: to the last */
        int (*visit)(void *arg, const bptree_record *record);
        void *arg;
        int result;
};

/* Records side by side: key, value, key, value. */
static int scan_fixed(const struct scan *scan, const struct bpnode *leaf, unsigned i, unsigned end)
{
        size_t stride = 8 + scan->tree->shape.value_bytes;
        const char *at = (const char *)(leaf + 1) + i * stride;
        const char *behind = (const char *)(leaf + 1) + end * stride;
        bptree_record record = { .key_len = 8, .value_len = stride - 8 };
        for (; at < behind; at += stride) {
                record.key = at;
                record.value = at + 8;
                int result = scan->visit(scan->arg, &record);
                if (result)
                        return result;
        }
        return 0;
}

static int scan_variable(const struct scan *scan, const struct bpnode *leaf, unsigned i, unsigned end)
{
        const struct bpnode_shape shape = { .is_fixed = false }; /* so that nobody asks for each record */
        bptree_record record;
        for (; i < end; i++) {
                struct bpnode_record stored = bpnode_record_at(&shape, leaf, i);
                bptree_show(&stored, &record);
                int result = scan->visit(scan->arg, &record);
                if (result)
                        return result;
        }
        return 0;
}

/* Where the records of this leaf end that are asked for; true: no later leaf has any. */
static bool find_end(const struct scan *scan, const struct bpnode *leaf, unsigned *end)
{
        const struct bpnode_shape *shape = &scan->tree->shape;
        bool is_equal;
        *end = leaf->count;
        if (!scan->to || !leaf->count)
                return false;
        if (bpnode_compare(shape, bpnode_key_at(shape, leaf, leaf->count - 1u), *scan->to) < 0)
                return false;
        *end = bpnode_find(shape, leaf, *scan->to, &is_equal);
        return true;
}

/* The next leaf is on its way from memory while this one is visited. It will be visited, too, unless the visitor
 * ends the scan: short scans, of a leaf or two, do not come here. */
static int fetch_ahead(const struct scan *scan, const struct bptree_path *path)
{
        enum { AHEAD_BYTES = 512, LINE_BYTES = 64 }; /* then the processor sees by itself where that leads */
        const struct bptree_step *above = &path->steps[path->depth - 1];
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
                const struct bptree_step *leaf = bptree_path_leaf(&path);
                unsigned end;
                is_last = find_end(scan, leaf->node, &end);
                if (!is_first && !is_last && path.depth && (err = fetch_ahead(scan, &path)))
                        break;
                is_first = false;
                if (tree->shape.is_fixed)
                        scan->result = scan_fixed(scan, leaf->node, leaf->i, end);
                else
                        scan->result = scan_variable(scan, leaf->node, leaf->i, end);
                if (!scan->result && !is_last)
                        err = bptree_path_next_leaf(tree, &path);
        }
        return err == -ENOENT ? 0 : err;
}

int bptree_scan_all(struct bptree *tree, int (*visit)(void *arg, const bptree_record *record), void *arg, int *result)
{
        struct scan scan = { .tree = tree, .visit = visit, .arg = arg };
        int err = scan_leaves(&scan);
        *result = scan.result;
        return err;
}

static int scan_body(void *arg)
{
        struct scan *scan = arg;
        int err = scan_leaves(scan);
        return err ? bptree_settle(&scan->result, err) : 0;
}

int bptree_scan(bptree *tree, const void *from, size_t from_len, const void *to, size_t to_len,
                int (*visit)(void *arg, const bptree_record *record), void *arg)
{
        struct bpnode_key first = { from, from_len };
        struct bpnode_key behind = { to, to_len };
        struct scan scan = { tree, from ? &first : NULL, to ? &behind : NULL, visit, arg, 0 };
        if ((from && !bptree_takes_key(tree, from_len)) || (to && !bptree_takes_key(tree, to_len)))
                return -EINVAL;
        int err = bptree_enter(tree);
        if (!err)
                err = arena_run(tree->arena, XAC_RDONLY, scan_body, &scan);
        return err ? err : scan.result;
}
