/* SPDX-License-Identifier: MIT */
#include "bench/papers/anker/snapshots/workload.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include <xac/tree.h>

#include "bench/papers/anker/snapshots/columns.h"

static void *checked(void *memory)
{
        must(memory ? 0 : -ENOMEM, "memory");
        return memory;
}

/* ---- transfers ---- */

struct transfers {
        xac_env *env;
        char *view;
        uint64_t pages;
        uint64_t random;
};

static void *transfers_open(const struct workload *workload, const struct scratch *scratch)
{
        struct transfers *writer = checked(malloc(sizeof(*writer)));

        *writer = (struct transfers){ .env = scratch->env, .pages = workload->pages, .random = workload->seed | 1 };
        writer->view = xac_mmap(writer->env, workload->file, writer->pages * PAGE, 0);
        must(writer->view == MAP_FAILED ? -errno : 0, "xac_mmap");
        return writer;
}

static char *random_page(struct transfers *writer)
{
        return writer->view + (measure_random(&writer->random) >> 16) % writer->pages * PAGE;
}

static int transfer(struct transfers *writer)
{
        must(xbegin(writer->env, 0), "xbegin");
        uint64_t *from = xac_page_write(writer->env, random_page(writer));
        if (from)
                from[COUNTER]--;
        uint64_t *to = xac_page_write(writer->env, random_page(writer));
        if (to)
                to[COUNTER]++;
        return xend(writer->env);
}

static void transfers_run(void *arg, uint64_t transactions)
{
        for (uint64_t i = 0; i < transactions; i++) {
                int err;
                do
                        err = transfer(arg);
                while (err == XAC_CONFLICT);
                must(err, "xend");
        }
}

const struct workload workload_transfers = {
        "transfers", "column", transfers_open, transfers_run, free, .has_sum = true
};

/* ---- inserts ---- */

struct inserts {
        xac_arena *arena;
        xac_tree *tree;
        uint64_t random;
};

static void open_tree(const struct workload *workload, const struct scratch *scratch, struct inserts *writer)
{
        const xac_tree_options options = { .key_bytes = 8, .value_bytes = 8 };

        writer->random = workload->seed | 1;
        must(xac_arena_open_env(scratch->env, workload->file, XAC_ARENA_DECLARED, &writer->arena),
             "xac_arena_open_env");
        must(xac_tree_open(writer->arena, "records", XAC_TREE_CREATE, &options, &writer->tree), "xac_tree_open");
}

static void *inserts_open(const struct workload *workload, const struct scratch *scratch)
{
        struct inserts *writer = checked(malloc(sizeof(*writer)));
        open_tree(workload, scratch, writer);
        return writer;
}

/* In the order of memcmp(). */
static uint64_t key_bytes_of(uint64_t number)
{
        return __builtin_bswap64(number);
}

static void inserts_run(void *arg, uint64_t transactions)
{
        struct inserts *writer = arg;

        for (uint64_t i = 0; i < transactions; i++) {
                const uint64_t number = measure_random(&writer->random), key = key_bytes_of(number);
                must(xac_tree_put(writer->tree, &key, sizeof(key), &number, sizeof(number), 0), "xac_tree_put");
        }
}

static void inserts_close(void *arg)
{
        struct inserts *writer = arg;

        xac_tree_close(writer->tree);
        must(xac_arena_close(writer->arena), "xac_arena_close");
        free(writer);
}

const struct workload workload_inserts = { "bptree inserts", "tree",        inserts_open,
                                           inserts_run,      inserts_close, .has_sum = false };

/* ---- before ---- */

static void fill_column(const struct workload *workload, const struct scratch *scratch)
{
        struct transfers *writer = transfers_open(workload, scratch);

        for (uint64_t p = 0; p < workload->pages; p++) {
                must(xbegin(writer->env, 0), "xbegin");
                char *page = xac_page_write(writer->env, writer->view + p * PAGE);
                if (page)
                        columns_fill_page(page, p);
                must(xend(writer->env), "xend");
        }
        free(writer);
}

struct loading {
        uint64_t done, records;
        uint64_t key, value;
};

static int next_record(void *arg, xac_tree_record *record)
{
        struct loading *loading = arg;

        if (loading->done == loading->records)
                return 0;
        loading->value = loading->done++ * (UINT64_MAX / loading->records);
        loading->key = key_bytes_of(loading->value);
        *record = (xac_tree_record){ &loading->key, 8, &loading->value, 8 };
        return 1;
}

static void fill_tree(const struct workload *workload, const struct scratch *scratch)
{
        struct inserts *writer = inserts_open(workload, scratch);
        struct loading loading = { .records = workload->records };

        must(xac_tree_load(writer->tree, next_record, &loading), "xac_tree_load");
        inserts_close(writer);
}

void workload_prepare(const struct workload *workload, struct scratch *scratch)
{
        scratch_open(scratch, 0);
        if (workload->has_sum)
                fill_column(workload, scratch);
        else
                fill_tree(workload, scratch);
        scratch_close(scratch);
}
