/* SPDX-License-Identifier: MIT */

/*
 * The cache-oblivious claim: how many blocks have to be brought in for a search, whatever the size of a block and of
 * the memory that they are brought into. Both trees serve random searches and short scans in a mapped file, and what
 * their code touches goes through simulated caches (transfers_cache.h). That is exact, and the same on every machine:
 * nothing is timed.
 *
 *         bench/papers/libxac-2005/transfers --keys 4000000
 *
 * The processor's own caches are such memories with blocks of 64 bytes, a disk's memory one with blocks of 4,096.
 */

#include "bench/papers/libxac-2005/transfers_cache.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <xac/tree.h>

#include "bench/papers/libxac-2005/transfers_hooks.h"
#include "bench/support/csv.h"
#include "bench/support/mappings.h"
#include "bench/support/options.h"
#include "bench/support/scratch.h"
#include "bench/xacbench_records.h"

enum { TREES = 2, BLOCKS = 4, SIZES = 9, MIN_BLOCKS_SHIFT = 2, PATH = SCRATCH_PATH + 16, PARAM = 160, VISIT_ENDS = 1 };

static const unsigned block_shifts[BLOCKS] = { 6, 9, 12, 16 };
static const unsigned size_shifts[SIZES] = { 16, 17, 18, 19, 20, 21, 22, 23, 24 };

static struct transfers {
        uint64_t keys, searches, ranges, range_records;
        struct record_shape shape;
        bool is_static;
        struct scratch scratch;
        struct cache caches[BLOCKS][SIZES];
        uint64_t at;                            /* the number of the record to be loaded next */
        uint32_t *sorted;                       /* their numbers in the order of keys */
        uint64_t left;                          /* records to be visited */
        double of_search[TREES][BLOCKS][SIZES]; /* transfers */
        double of_range[TREES][BLOCKS][SIZES];
} transfers = { .keys = 1000000,
                .searches = 100000,
                .ranges = 1000,
                .range_records = 1000,
                .shape = { .key_bytes = 8, .value_bytes = 8 } };

/* ---- the trees ---- */

struct tree {
        const char *name;
        uint32_t kind;
};

static const struct tree trees[TREES] = { { "bptree-serial", XAC_TREE_BPLUS }, { "cobtree-serial", XAC_TREE_COBTREE } };

/* ---- filling ---- */

static void put_all(xac_tree *tree)
{
        struct record record;

        record_init(&transfers.shape, &record);
        for (uint64_t n = 0; n < transfers.keys; n++) {
                record_make_key(&transfers.shape, &record, n);
                record_make_value(&transfers.shape, &record, n);
                must(xac_tree_put(tree, record.key, transfers.shape.key_bytes, record.value,
                                  transfers.shape.value_bytes, 0),
                     "put");
        }
}

static int by_rank(const void *a, const void *b)
{
        const uint64_t left = record_rank(&transfers.shape, *(const uint32_t *)a);
        const uint64_t right = record_rank(&transfers.shape, *(const uint32_t *)b);
        return (left > right) - (left < right);
}

static int next_record(void *arg, xac_tree_record *next)
{
        static struct record record;
        const uint64_t at = transfers.at++;
        (void)arg;

        if (at == transfers.keys)
                return 0;
        if (at == 0)
                record_init(&transfers.shape, &record);
        record_make_key(&transfers.shape, &record, transfers.sorted[at]);
        record_make_value(&transfers.shape, &record, transfers.sorted[at]);
        *next = (xac_tree_record){ record.key, transfers.shape.key_bytes, record.value, transfers.shape.value_bytes };
        return 1;
}

static void load_all(xac_tree *tree)
{
        transfers.at = 0;
        transfers.sorted = calloc(transfers.keys, sizeof(*transfers.sorted));
        if (!transfers.sorted)
                scratch_fail(-ENOMEM, "sorting");
        for (uint64_t n = 0; n < transfers.keys; n++)
                transfers.sorted[n] = (uint32_t)n;
        qsort(transfers.sorted, transfers.keys, sizeof(*transfers.sorted), by_rank);
        must(xac_tree_load(tree, next_record, NULL), "load");
        free(transfers.sorted);
}

/* ---- counting ---- */

/* A cache has some blocks at least. */
static bool is_measured(int b, int s)
{
        return size_shifts[s] >= block_shifts[b] + MIN_BLOCKS_SHIFT;
}

static void touch_all(void *arg, uint64_t at, size_t byte_len)
{
        (void)arg;
        for (int b = 0; b < BLOCKS; b++)
                for (int s = 0; s < SIZES; s++)
                        if (is_measured(b, s))
                                cache_touch(&transfers.caches[b][s], at, byte_len);
}

static void make_caches(uint64_t byte_len)
{
        for (int b = 0; b < BLOCKS; b++)
                for (int s = 0; s < SIZES; s++)
                        if (is_measured(b, s))
                                cache_init(&transfers.caches[b][s], block_shifts[b], UINT64_C(1) << size_shifts[s],
                                           byte_len);
}

static void free_caches(void)
{
        for (int b = 0; b < BLOCKS; b++)
                for (int s = 0; s < SIZES; s++)
                        if (is_measured(b, s))
                                cache_free(&transfers.caches[b][s]);
}

/* Adds up (sign -1: takes away) what was transferred so far, for each of so many. */
static void tally(double of[BLOCKS][SIZES], double sign, uint64_t count)
{
        for (int b = 0; b < BLOCKS; b++)
                for (int s = 0; s < SIZES; s++)
                        of[b][s] += sign * (double)transfers.caches[b][s].transfers / (double)count;
}

static void search(xac_tree *tree, uint64_t count, uint64_t *random)
{
        struct record record, found;

        record_init(&transfers.shape, &record);
        for (uint64_t i = 0; i < count; i++) {
                const uint64_t n = measure_random(random) % transfers.keys;
                record_make_key(&transfers.shape, &record, n);
                record_make_value(&transfers.shape, &record, n);
                must(xac_tree_get(tree, record.key, transfers.shape.key_bytes, found.value, transfers.shape.value_bytes,
                                  NULL),
                     "get");
                if (memcmp(found.value, record.value, transfers.shape.value_bytes) != 0)
                        scratch_fail(-EINVAL, "another value was found");
        }
}

/* A caller looks at the records that it is shown. */
static int visit(void *arg, const xac_tree_record *record)
{
        (void)arg;
        hooks_note(record->key, record->key_len);
        hooks_note(record->value, record->value_len);
        return --transfers.left ? 0 : VISIT_ENDS;
}

static void read_ranges(xac_tree *tree, uint64_t count, uint64_t *random)
{
        struct record record;

        record_init(&transfers.shape, &record);
        for (uint64_t i = 0; i < count; i++) {
                transfers.left = transfers.range_records;
                record_make_key(&transfers.shape, &record, measure_random(random) % transfers.keys);
                const int err = xac_tree_scan(tree, record.key, transfers.shape.key_bytes, NULL, 0, visit, NULL);
                must(err == VISIT_ENDS ? 0 : err, "scan");
        }
}

/* The second half counts: the first one has filled the caches. */
static void count(xac_tree *tree, int t)
{
        uint64_t random = 88172645463325252u;

        search(tree, transfers.searches, &random);
        tally(transfers.of_search[t], -1, transfers.searches);
        search(tree, transfers.searches, &random);
        tally(transfers.of_search[t], 1, transfers.searches);
        read_ranges(tree, transfers.ranges, &random);
        tally(transfers.of_range[t], -1, transfers.ranges);
        read_ranges(tree, transfers.ranges, &random);
        tally(transfers.of_range[t], 1, transfers.ranges);
}

/* ---- a tree ---- */

struct bounds {
        char *begin, *end;
};

static void extend(void *arg, char *begin, size_t byte_len)
{
        struct bounds *bounds = arg;
        if (!bounds->begin)
                bounds->begin = begin;
        bounds->end = begin + byte_len;
}

static void measure(int t)
{
        const bool is_fixed = transfers.shape.key_bytes == 8 && transfers.shape.value_bytes <= XAC_TREE_FIXED_VALUE_MAX;
        const xac_tree_options options = { .kind = trees[t].kind,
                                           .key_bytes = is_fixed ? 8 : 0,
                                           .value_bytes = is_fixed ? (uint32_t)transfers.shape.value_bytes : 0 };
        struct bounds bounds = { NULL, NULL };
        xac_arena *arena;
        xac_tree *tree;
        char path[PATH];

        if (isatty(STDERR_FILENO))
                fprintf(stderr, "\r\033[K%s", trees[t].name);
        snprintf(path, sizeof(path), "%s/%s", transfers.scratch.directory, trees[t].name);
        must(xac_arena_open_file(path, 0, 0, &arena), path);
        must(xac_tree_open(arena, "records", XAC_TREE_CREATE, &options, &tree), "xac_tree_open");
        (transfers.is_static ? load_all : put_all)(tree);
        mappings_of_file(path, extend, &bounds);
        make_caches((uint64_t)(bounds.end - bounds.begin));
        hooks_watch(bounds.begin, (size_t)(bounds.end - bounds.begin), touch_all, NULL);
        count(tree, t);
        hooks_watch(NULL, 0, NULL, NULL);
        free_caches();
        xac_tree_close(tree);
        must(xac_arena_close(arena), "xac_arena_close");
        if (isatty(STDERR_FILENO))
                fprintf(stderr, "\r\033[K");
}

/* ---- results ---- */

static void print_size(unsigned shift)
{
        if (shift >= 20)
                printf(" %10u MiB", 1u << (shift - 20));
        else
                printf(" %10u KiB", 1u << (shift - 10));
}

static void print_table(const char *what, double of[TREES][BLOCKS][SIZES])
{
        printf("\nTransfers of blocks for %s\n\n%8s", what, "block");
        printf(" %14s", "cache");
        for (int t = 0; t < TREES; t++)
                printf(" %16s", trees[t].name);
        printf(" %8s\n", "ratio");
        for (int b = 0; b < BLOCKS; b++)
                for (int s = 0; s < SIZES; s++) {
                        if (!is_measured(b, s))
                                continue;
                        printf("%8u", 1u << block_shifts[b]);
                        print_size(size_shifts[s]);
                        for (int t = 0; t < TREES; t++)
                                printf(" %16.3f", of[t][b][s]);
                        printf(" %8.2f\n", of[0][b][s] > 0 ? of[1][b][s] / of[0][b][s] : 0);
                }
}

static void write_rows(struct csv *csv, const char *metric, double of[TREES][BLOCKS][SIZES])
{
        for (int t = 0; t < TREES; t++)
                for (int b = 0; b < BLOCKS; b++)
                        for (int s = 0; s < SIZES; s++) {
                                const struct csv_series series = { .system = trees[t].name,
                                                                   .processes = 1,
                                                                   .threads = 1,
                                                                   .metric = metric,
                                                                   .unit = "blocks" };
                                char param[PARAM];
                                if (!is_measured(b, s))
                                        continue;
                                snprintf(param, sizeof(param), "keys=%" PRIu64 ";key=%zu;value=%zu%s;block=%u;cache=%u",
                                         transfers.keys, transfers.shape.key_bytes, transfers.shape.value_bytes,
                                         transfers.is_static ? ";static" : "", 1u << block_shifts[b],
                                         1u << size_shifts[s]);
                                csv_text_row(csv, &series, param, of[t][b][s]);
                        }
}

/* ---- the command line ---- */

static const char *parse(int argc, char **argv)
{
        const char *csv_path = "transfers.csv";
        uint64_t key_bytes = transfers.shape.key_bytes, value_bytes = transfers.shape.value_bytes;
        const struct option_spec options[] = {
                OPTION_NUMBER("keys", transfers.keys, "records in each tree, put in random order"),
                OPTION_FLAG("static", transfers.is_static, "they are loaded in order instead"),
                OPTION_NUMBER("searches", transfers.searches, "that are counted, after as many that are not"),
                OPTION_NUMBER("ranges", transfers.ranges, "scans from a random record on, likewise"),
                OPTION_NUMBER("range-records", transfers.range_records, "records that each of them reads"),
                OPTION_NUMBER("key-size", key_bytes, "bytes of a key: 8, or 16 to 500"),
                OPTION_NUMBER("value-size", value_bytes, "bytes of a value: 8 to 1000"),
                OPTION_TEXT("csv", csv_path, "where the figures go"),
                OPTION_END,
        };

        options_parse(argc, argv,
                      "Counts the blocks that searches and scans have to bring into caches of several sizes.", options);
        transfers.shape = (struct record_shape){ .key_bytes = key_bytes, .value_bytes = value_bytes };
        if (record_shape_fault(&transfers.shape))
                options_refuse(record_shape_fault(&transfers.shape), "--key-size, --value-size");
        if (!transfers.keys || transfers.keys > UINT32_MAX || !transfers.searches || !transfers.ranges ||
            !transfers.range_records)
                options_refuse("too few, or too many", "a number");
        return csv_path;
}

int main(int argc, char **argv)
{
        struct csv csv;
        char what[PARAM];

        csv_open(&csv, parse(argc, argv), "transfers");
        record_prepare();
        scratch_make(&transfers.scratch, 0);
        for (int t = 0; t < TREES; t++)
                measure(t);
        scratch_remove(&transfers.scratch);
        printf("%" PRIu64 " records of %zu + %zu bytes, %s\n", transfers.keys, transfers.shape.key_bytes,
               transfers.shape.value_bytes, transfers.is_static ? "loaded in order" : "put in random order");
        print_table("a random search", transfers.of_search);
        snprintf(what, sizeof(what), "a scan of %" PRIu64 " records from a random one on", transfers.range_records);
        print_table(what, transfers.of_range);
        write_rows(&csv, "transfers_per_search", transfers.of_search);
        write_rows(&csv, "transfers_per_range", transfers.of_range);
        csv_close(&csv);
        return EXIT_SUCCESS;
}
