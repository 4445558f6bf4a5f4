/* SPDX-License-Identifier: MIT */
#include "bench/cost/cost.h"

#include <stdlib.h>

/* Keys and values of 8 bytes, in no order; each operation is a transaction of its own, by declared access. */

enum { RECORDS = 10000, TIMES = 1000, SCANS = 200, SCANNED = 100 };

/* Another one for each n: the multiplier is odd. */
static uint64_t key_of(uint64_t n)
{
        return (n + 1) * UINT64_C(0x9E3779B97F4A7C15);
}

static void end(struct cost_load *load, int err)
{
        must(err, "a call of the tree");
        must(xend(load->scratch.env), "xend");
}

static void close_arena(struct cost_load *load)
{
        xac_tree_close(load->tree);
        xac_tree_close(load->table);
        must(xac_arena_close(load->arena), "xac_arena_close");
}

static void open_arena(struct cost_load *load)
{
        load->close = close_arena;
        must(xac_arena_open_env(load->scratch.env, "tree", XAC_ARENA_DECLARED, &load->arena), "xac_arena_open_env");
}

/* ---- B+-tree ---- */

static void put(struct cost_load *load, uint64_t times)
{
        for (uint64_t i = 0; i < times; i++) {
                const uint64_t key = key_of(load->next++);

                xbegin(load->scratch.env, 0);
                end(load, xac_tree_put(load->tree, &key, sizeof(key), &i, sizeof(i), 0));
        }
}

static void get(struct cost_load *load, uint64_t times)
{
        for (uint64_t i = 0; i < times; i++) {
                const uint64_t key = key_of(i);
                uint64_t value;

                xbegin(load->scratch.env, XAC_RDONLY);
                end(load, xac_tree_get(load->tree, &key, sizeof(key), &value, sizeof(value), NULL));
        }
}

static int count_down(void *left_, const xac_tree_record *record)
{
        uint64_t *left = left_;

        (void)record;
        return --*left == 0;
}

static void scan(struct cost_load *load, uint64_t times)
{
        for (uint64_t i = 0; i < times; i++) {
                const uint64_t key = key_of(i) & ~UINT64_C(0x80); /* of its first byte: half of all are behind it */
                uint64_t left = SCANNED;

                xbegin(load->scratch.env, XAC_RDONLY);
                end(load, xac_tree_scan(load->tree, &key, sizeof(key), NULL, 0, count_down, &left) != 1);
        }
}

static void delete_one(struct cost_load *load, uint64_t times)
{
        for (uint64_t i = 0; i < times; i++) {
                const uint64_t key = key_of(--load->next);

                xbegin(load->scratch.env, 0);
                end(load, xac_tree_delete(load->tree, &key, sizeof(key)));
        }
}

static void fill_tree(struct cost_load *load)
{
        static const xac_tree_options options = { .key_bytes = 8, .value_bytes = 8 };

        open_arena(load);
        must(xac_tree_open(load->arena, "tree", XAC_TREE_CREATE, &options, &load->tree), "xac_tree_open");
        put(load, RECORDS);
}

/* ---- hash table ---- */

static void hash_get(struct cost_load *load, uint64_t times)
{
        for (uint64_t i = 0; i < times; i++) {
                const uint64_t key = key_of(i);
                uint64_t value;

                xbegin(load->scratch.env, XAC_RDONLY);
                end(load, xac_tree_get(load->table, &key, sizeof(key), &value, sizeof(value), NULL));
        }
}

static void fill_table(struct cost_load *load)
{
        static const xac_tree_options options = { .kind = XAC_TREE_HASH, .key_bytes = 8, .value_bytes = 8 };

        open_arena(load);
        must(xac_tree_open(load->arena, "table", XAC_TREE_CREATE, &options, &load->table), "xac_tree_open");
        for (uint64_t i = 0; i < RECORDS; i++) {
                const uint64_t key = key_of(i);

                xbegin(load->scratch.env, 0);
                end(load, xac_tree_put(load->table, &key, sizeof(key), &i, sizeof(i), 0));
        }
}

static const struct cost_loop loops[] = {
        { "B+-tree put", TIMES, fill_tree, put },          { "B+-tree get", TIMES, fill_tree, get },
        { "B+-tree scan of 100", SCANS, fill_tree, scan }, { "B+-tree delete", TIMES, fill_tree, delete_one },
        { "hash get", TIMES, fill_table, hash_get },
};

const struct cost_loops cost_trees = { loops, sizeof(loops) / sizeof(loops[0]) };
