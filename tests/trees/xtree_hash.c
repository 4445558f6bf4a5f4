/* SPDX-License-Identifier: MIT */
#include "tests/trees/xtree_hash.h"

#include <stdlib.h>
#include <string.h>

#include "tests/support/check.h"
#include "trees/ehash.h"

/* Their values stay where they are: in pages of the open transaction. */
struct gathered {
        xac_tree_record *records;
        size_t count, room;
};

struct ordered_scan {
        xac_tree *table;
        struct bpnode_key from, to;
        int (*visit)(void *arg, const xac_tree_record *record);
        void *arg;
        int result;
};

static int gather(void *gathered_, const xac_tree_record *record)
{
        struct gathered *gathered = gathered_;
        void *key = malloc(record->key_len);

        check(key != NULL);
        memcpy(key, record->key, record->key_len);
        if (gathered->count == gathered->room) {
                gathered->room = gathered->room ? 2 * gathered->room : 64;
                gathered->records = realloc(gathered->records, gathered->room * sizeof(*record));
                check(gathered->records != NULL);
        }
        gathered->records[gathered->count] = *record;
        gathered->records[gathered->count++].key = key;
        return 0;
}

static int compare_keys(struct bpnode_key a, struct bpnode_key b)
{
        int order = memcmp(a.bytes, b.bytes, a.len < b.len ? a.len : b.len);

        return order ? order : (a.len > b.len) - (a.len < b.len);
}

static struct bpnode_key key_of(const xac_tree_record *record)
{
        return (struct bpnode_key){ record->key, record->key_len };
}

static int compare_records(const void *a, const void *b)
{
        return compare_keys(key_of(a), key_of(b));
}

static int show(const struct ordered_scan *scan, const struct gathered *gathered)
{
        int result = 0;

        for (size_t i = 0; !result && i < gathered->count; i++) {
                struct bpnode_key key = key_of(&gathered->records[i]);

                if (scan->from.bytes && compare_keys(key, scan->from) < 0)
                        continue;
                if (scan->to.bytes && compare_keys(key, scan->to) >= 0)
                        break;
                result = scan->visit(scan->arg, &gathered->records[i]);
        }
        return result;
}

static int scan_body(void *scan_)
{
        struct ordered_scan *scan = scan_;
        struct gathered gathered = { 0 };
        int err = xac_tree_scan(scan->table, NULL, 0, NULL, 0, gather, &gathered);

        scan->result = 0;
        if (!err && gathered.count) {
                qsort(gathered.records, gathered.count, sizeof(*gathered.records), compare_records);
                scan->result = show(scan, &gathered);
        }
        for (size_t i = 0; i < gathered.count; i++)
                free((void *)gathered.records[i].key);
        free(gathered.records);
        return err == -ECANCELED ? ARENA_LOST : err;
}

int xtree_hash_scan(xac_tree *table, const void *from, size_t from_len, const void *to, size_t to_len,
                    int (*visit)(void *arg, const xac_tree_record *record), void *arg)
{
        struct ordered_scan scan = { table, { from, from_len }, { to, to_len }, visit, arg, 0 };
        int err = arena_run(table->arena, XAC_RDONLY, scan_body, &scan);

        return err ? err : scan.result;
}
