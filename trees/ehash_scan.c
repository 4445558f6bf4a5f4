/* SPDX-License-Identifier: MIT */
#include "trees/ehash.h"

/* Bucket by bucket, in the order of hash values. */

struct scan {
        struct ehash *table;
        int (*visit)(void *arg, const xac_tree_record *record);
        void *arg;
        int result;
};

static int show(void *arg, const xac_tree_record *stored)
{
        struct scan *scan = arg;
        unsigned char shown[EHASH_FRONT];
        xac_tree_record record = *stored;
        ehash_key_show(&scan->table->shape, scan->table->seed, &record, shown);
        return scan->visit(scan->arg, &record);
}

static int scan_buckets(struct scan *scan)
{
        const struct ehash *table = scan->table;
        const struct leaf_visitor visitor = { .visit = show, .arg = scan };
        struct ehash_way way;
        scan->result = 0;
        int err = ehash_find_first(table, &way);
        while (!err && !scan->result) {
                scan->result = leaf_scan(&table->shape, way.leaf, 0, way.leaf->count, NULL, &visitor);
                if (!scan->result)
                        err = ehash_find_next(table, &way);
        }
        return err == -ENOENT ? 0 : err;
}

static int scan_body(void *arg)
{
        struct scan *scan = arg;
        int err = scan_buckets(scan);
        return err ? tree_settle(&scan->result, err) : 0;
}

int ehash_scan(struct xac_tree *handle, const void *from, size_t from_len, const void *to, size_t to_len,
               int (*visit)(void *arg, const xac_tree_record *record), void *arg)
{
        struct ehash *table = handle->tree;
        struct scan scan = { table, visit, arg, 0 };
        (void)from_len, (void)to_len;
        if (from || to)
                return -EOPNOTSUPP;
        int err = ehash_enter(table);
        if (!err)
                err = arena_run(table->arena, XAC_RDONLY, scan_body, &scan);
        return err ? err : scan.result;
}
