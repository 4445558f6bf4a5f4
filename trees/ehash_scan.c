/* SPDX-License-Identifier: MIT */
#include "trees/ehash.h"

/* Bucket by bucket, in the order of hash values. */

struct scan {
        struct ehash *table;
        int (*visit)(void *arg, const ehash_record *record);
        void *arg;
        int result;
};

static int show(void *arg, const bptree_record *stored)
{
        struct scan *scan = arg;
        unsigned char shown[EHASH_FRONT];
        bptree_record record = *stored;
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
        return err ? handle_settle(&scan->result, err) : 0;
}

int ehash_scan(ehash *table, int (*visit)(void *arg, const ehash_record *record), void *arg)
{
        struct scan scan = { table, visit, arg, 0 };
        int err = ehash_enter(table);
        if (!err)
                err = arena_run(table->arena, XAC_RDONLY, scan_body, &scan);
        return err ? err : scan.result;
}
