/* SPDX-License-Identifier: MIT */

/*
 * What <xac/tree.h> and <xac/tree.h> promise of single calls, by every way in: records, long values, orders,
 * scans, loading, dropping.
 */

#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/chance.h"
#include "tests/support/check.h"
#include "tests/support/isolate.h"
#include "tests/trees/one_tree.h"

/* ---- records ---- */

static void put_replaces_unless_told_not_to(int way)
{
        char value[100];

        begin(way, NULL);
        check_code(get("key", value), -ENOENT);
        check_ok(put("key", "old"));
        check_code(xac_tree_put(tree, "key", 3, "new", 3, XAC_TREE_NOOVERWRITE), -EEXIST);
        expect("key", "old");
        check_ok(put("key", "a longer one"));
        expect("key", "a longer one");
        check_ok(xac_tree_put(tree, "other", 5, "", 0, XAC_TREE_NOOVERWRITE));
        expect("other", "");
        check_ok(xac_tree_delete(tree, "key", 3));
        check_code(xac_tree_delete(tree, "key", 3), -ENOENT);
        check_code(get("key", value), -ENOENT);
        end();
}

static void lengths_have_limits(int way)
{
        char key[XAC_TREE_KEY_MAX + 1] = { 1 };
        char value[9];
        size_t len = 77;
        const xac_tree_options fixed = { .key_bytes = 8, .value_bytes = 4 };
        xac_tree *numbers;

        begin(way, NULL);
        check_code(xac_tree_put(tree, key, 0, "", 0, 0), -EINVAL);
        check_code(xac_tree_put(tree, key, sizeof(key), "", 0, 0), -EINVAL);
        check_code(xac_tree_put(tree, key, 1, key, (size_t)XAC_TREE_VALUE_MAX + 1, 0), -EINVAL);
        check_code(xac_tree_put(tree, key, 1, "", 0, 2), -EINVAL);
        check_code(xac_tree_get(tree, key, 0, value, 9, &len), -EINVAL);
        check_code(xac_tree_delete(tree, key, sizeof(key)), -EINVAL);
        check_ok(xac_tree_put(tree, key, XAC_TREE_KEY_MAX, "longest", 7, 0));
        check_code(xac_tree_get(tree, key, XAC_TREE_KEY_MAX, value, 3, &len), -ERANGE);
        check(len == 7 && memcmp(value, "lon", 3) == 0);
        check_code(xac_tree_get(tree, key, XAC_TREE_KEY_MAX, NULL, 0, NULL), -ERANGE);
        check_ok(xtree_open(arena, "numbers", XAC_TREE_CREATE, &fixed, &numbers));
        check_code(xac_tree_put(numbers, key, 7, "1234", 4, 0), -EINVAL);
        check_code(xac_tree_put(numbers, key, 8, "12345", 5, 0), -EINVAL);
        check_code(xtree_scan(numbers, key, 9, NULL, 0, NULL, NULL), -EINVAL);
        check_ok(xac_tree_put(numbers, key, 8, "1234", 4, 0));
        xac_tree_close(numbers);
        end();
}

static int expect_ascending(void *last_, const xac_tree_record *record)
{
        uint64_t *last = last_, key;

        memcpy(&key, record->key, 8);
        key = be64toh(key);
        check(key == *last + 1 && record->value_len == 0);
        *last = key;
        return 0;
}

/* In whatever order they come, records are read in one. */
static void fixed_keys_are_in_order_of_their_bytes(int way)
{
        enum { RECORDS = 3000 };
        const xac_tree_options options = { .key_bytes = 8 };
        xtree_stats stats;
        uint64_t last = 0;

        begin(way, &options);
        ways_begin();
        for (uint64_t i = 0; i < RECORDS; i++) {
                uint64_t key = htobe64(i * 1009 % RECORDS + 1);

                check_ok(xac_tree_put(tree, &key, 8, NULL, 0, 0));
        }
        check_ok(xtree_scan(tree, NULL, 0, NULL, 0, expect_ascending, &last));
        check_equal(last, RECORDS);
        check_ok(ways_end());
        check_ok(xtree_stat(tree, &stats));
        check_equal(stats.records, RECORDS);
        check_equal(stats.bytes_used, RECORDS * 8);
        if (!xtree_is_cob())
                check(stats.height == (way & WAYS_BIG ? 1 : 2) && stats.index_pages == stats.height - 1);
        end();
}

/* ---- values in overflow pages ---- */

static unsigned char *make_value(size_t len, uint64_t seed)
{
        unsigned char *value = malloc(len + 8);

        check(value != NULL);
        for (size_t i = 0; i < len; i += 8) {
                uint64_t word = chance_mix(seed + i);

                memcpy(value + i, &word, 8);
        }
        return value;
}

static void check_value(const char *key, const unsigned char *expected, size_t expected_len)
{
        unsigned char *got = malloc(expected_len + 1);
        size_t len = 0;

        check(got != NULL);
        check_ok(xac_tree_get(tree, key, strlen(key), got, expected_len, &len));
        check_equal(len, expected_len);
        check(memcmp(got, expected, len) == 0);
        free(got);
}

/* The longest value beside a key of one byte that needs no page of its own. Two records share a leaf of a B+-tree, each
 * with a slot, a length and the key. */
static size_t longest_in_leaf(size_t page)
{
        const size_t node_bytes = 20, record_bytes = 8 + 2 + 1;

        return xtree_is_cob() || xtree_is_hash() ? page / 4 : (page - node_bytes) / 2 - record_bytes;
}

/* Around what a leaf takes, around whole overflow pages, and far beyond; each replaced by the next, none lost. */
static void values_have_any_length(int way)
{
        begin(way, NULL);
        const size_t page = ways_page_bytes(way), most = longest_in_leaf(page);
        const size_t lengths[] = { page / 4,
                                   page / 4 + 1,
                                   page - 16,
                                   page - 15,
                                   most,
                                   most + 1,
                                   3 * (page - 16),
                                   3 * (page - 16) + 1,
                                   most,
                                   300 * 1000,
                                   16 << 20,
                                   5 * page,
                                   10,
                                   page / 2,
                                   0 };
        xtree_stats stats;

        check_ok(put("a", "neighbour"));
        check_ok(put("c", "neighbour"));
        for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
                unsigned char *value = make_value(lengths[i], i);
                char start[10];
                size_t len = 0;

                check_ok(xac_tree_put(tree, "b", 1, value, lengths[i], 0));
                check_value("b", value, lengths[i]);
                if (lengths[i] > 10)
                        check_code(xac_tree_get(tree, "b", 1, start, 10, &len), -ERANGE);
                if (lengths[i] > 10)
                        check(len == lengths[i] && memcmp(start, value, 10) == 0);
                check_ok(xtree_stat(tree, &stats));
                check_equal(stats.overflow_pages, lengths[i] <= most ? 0 : (lengths[i] + page - 17) / (page - 16));
                look();
                free(value);
        }
        expect("a", "neighbour");
        expect("c", "neighbour");
        end();
}

static void deleting_frees_overflow_pages(int way)
{
        xac_tree_report before, after;
        unsigned char *value = make_value(200000, 1);

        begin(way, NULL);
        check_ok(put("a", "1"));
        check_ok(xac_tree_check(arena, &before));
        check_ok(xac_tree_put(tree, "long", 4, value, 200000, 0));
        check_ok(xac_tree_check(arena, &after));
        check(after.free_pages < before.free_pages);
        check_ok(xac_tree_delete(tree, "long", 4));
        check_ok(xac_tree_check(arena, &after));
        check_equal(after.free_pages, before.free_pages);
        free(value);
        end();
}

/* ---- an order of one's own ---- */

static int backwards(void *arg, const void *a, size_t a_len, const void *b, size_t b_len)
{
        size_t shorter = a_len < b_len ? a_len : b_len;
        int order = memcmp(b, a, shorter);

        ++*(int *)arg;
        return order ? order : (b_len > a_len) - (b_len < a_len);
}

static int add_key(void *text, const xac_tree_record *record)
{
        strncat(text, record->key, record->key_len);
        return 0;
}

static void an_own_order_is_asked_for_at_each_open(int way)
{
        int calls = 0;
        char text[100] = "";
        const xac_tree_options options = { .compare = backwards, .compare_arg = &calls };
        const xac_tree_options fixed = { .key_bytes = 8, .compare = backwards };
        xac_tree_report report;

        begin(way, &options);
        for (const char *key = "knqaz"; *key; key++)
                check_ok(xac_tree_put(tree, key, 1, "", 0, 0));
        check_ok(xtree_scan(tree, NULL, 0, NULL, 0, add_key, text));
        check(strcmp(text, "zqnka") == 0 && calls > 0);
        check_ok(xac_tree_check(arena, &report));
        check_equal(report.unordered_trees, 0);
        xac_tree_close(tree);
        check_code(xtree_open(arena, "tree", 0, NULL, &tree), -EINVAL);
        check_code(xtree_open(arena, "fixed", XAC_TREE_CREATE, &fixed, &tree), -EINVAL);
        check_ok(xac_tree_check(arena, &report)); /* nobody says what the order is */
        check_equal(report.unordered_trees, 1);
        check_ok(xtree_open(arena, "plain", XAC_TREE_CREATE, NULL, &tree));
        xac_tree_close(tree);
        check_code(xtree_open(arena, "plain", 0, &options, &tree), -EINVAL);
        check_ok(xtree_open(arena, "tree", 0, &options, &tree));
        end();
}

/* ---- scans ---- */

static int stop_at_c(void *text, const xac_tree_record *record)
{
        add_key(text, record);
        return *(const char *)record->key == 'c' ? -77 : 0;
}

static void a_scan_visits_what_lies_between(int way)
{
        static const struct {
                const char *from, *to, *visited;
        } scans[] = { { NULL, NULL, "abcdef" }, { "b", "e", "bcd" }, { "bb", "dd", "cd" }, { "f", NULL, "f" },
                      { "g", NULL, "" },        { NULL, "a", "" },   { "e", "b", "" },     { NULL, "zz", "abcdef" } };
        char text[20] = "";

        begin(way, NULL);
        check_ok(xtree_scan(tree, NULL, 0, NULL, 0, add_key, text));
        check(text[0] == '\0');
        for (const char *key = "fbdace"; *key; key++)
                check_ok(xac_tree_put(tree, key, 1, "", 0, 0));
        for (size_t i = 0; i < sizeof(scans) / sizeof(scans[0]); i++) {
                text[0] = '\0';
                check_ok(xtree_scan(tree, scans[i].from, scans[i].from ? strlen(scans[i].from) : 0, scans[i].to,
                                    scans[i].to ? strlen(scans[i].to) : 0, add_key, text));
                check(strcmp(text, scans[i].visited) == 0);
        }
        text[0] = '\0';
        check_code(xtree_scan(tree, NULL, 0, NULL, 0, stop_at_c, text), -77);
        check(strcmp(text, "abc") == 0);
        end();
}

/* What runs have shown: ascending numbers, each beside its square. */
struct run_log {
        uint64_t next;   /* that is to come */
        unsigned runs;   /* so far */
        unsigned end_at; /* the run that ends the scan; 0: none */
};

enum { RUN_STRIDE = 16, RUN_STEP = 3 /* from one key to the next */ };

static int expect_squares(void *log_, const void *records, size_t count)
{
        struct run_log *log = log_;
        const char *at = records;

        check(count > 0);
        for (size_t i = 0; i < count; i++, at += RUN_STRIDE, log->next += RUN_STEP) {
                uint64_t number, square;

                memcpy(&number, at, 8);
                memcpy(&square, at + 8, 8);
                check_equal(be64toh(number), log->next);
                check_equal(square, log->next * log->next);
        }
        return ++log->runs == log->end_at ? -77 : 0;
}

/* The numbers from `from` up to `to`; 0: from the first, to the last. */
static int scan_squares(uint64_t from, uint64_t to, struct run_log *log)
{
        const uint64_t low = htobe64(from), high = htobe64(to);

        return xac_tree_scan_runs(tree, from ? &low : NULL, 8, to ? &high : NULL, 8, expect_squares, log);
}

/* The first key that is not less: what a scan begins with that begins at a number, and where one ends that ends there.
 */
static uint64_t first_from(uint64_t number)
{
        return (number + RUN_STEP - 1) / RUN_STEP * RUN_STEP;
}

static void runs_are_what_lies_between(int way)
{
        enum { RECORDS = 20000, BEHIND = (RECORDS + 1) * RUN_STEP };
        const xac_tree_options options = { .key_bytes = 8, .value_bytes = 8 };
        struct run_log log = { 0 };

        begin(way, &options);
        ways_begin();
        check_ok(scan_squares(0, 0, &log));
        check_equal(log.runs, 0);
        for (uint64_t i = 0; i < RECORDS; i++) {
                uint64_t number = (i * 1009 % RECORDS + 1) * RUN_STEP, key = htobe64(number), square = number * number;

                check_ok(xac_tree_put(tree, &key, 8, &square, 8, 0));
        }
        log = (struct run_log){ .next = RUN_STEP };
        check_ok(scan_squares(0, 0, &log));
        check_equal(log.next, BEHIND);
        check(log.runs < RECORDS / 16);
        for (uint64_t from = 1; from < BEHIND; from += from / 3 + 1) {
                for (uint64_t to = from; to < 2 * BEHIND; to += to / 5 + 1) {
                        log = (struct run_log){ .next = first_from(from) };
                        check_ok(scan_squares(from, to, &log));
                        check_equal(log.next, to < BEHIND ? first_from(to) : BEHIND);
                }
        }
        log = (struct run_log){ .next = RUN_STEP, .end_at = 3 };
        check_code(scan_squares(0, 0, &log), -77);
        check(log.runs == 3 && log.next < BEHIND);
        log = (struct run_log){ 0 };
        check_ok(scan_squares(BEHIND, RUN_STEP, &log));
        check_equal(log.runs, 0);
        check_ok(ways_end());
        end();
}

static void runs_are_for_fixed_records(int way)
{
        struct run_log log = { 0 };

        begin(way, NULL);
        check_ok(xac_tree_put(tree, "a key of", 8, "a value.", 8, 0));
        check_code(xac_tree_scan_runs(tree, NULL, 0, NULL, 0, expect_squares, &log), -EINVAL);
        check_code(xac_tree_scan_runs(tree, "a key of", 8, NULL, 0, expect_squares, &log), -EINVAL);
        check_equal(log.runs, 0);
        end();
}

/* ---- loading ---- */

struct supply {
        uint32_t next, end;
        uint32_t fail_at;
        char key[20];
};

static int supply(void *supply_, xac_tree_record *record)
{
        struct supply *supply = supply_;

        if (supply->next == supply->fail_at)
                return -EIO;
        if (supply->next == supply->end)
                return 0;
        snprintf(supply->key, sizeof(supply->key), "%010u", (unsigned)supply->next++);
        *record = (xac_tree_record){ supply->key, 10, supply->key + 5, 5 };
        return 1;
}

static void loading_fills_pages(int way)
{
        struct supply first = { 0, 20000, UINT32_MAX, "" }, second = { 20000, 25000, UINT32_MAX, "" };
        const uint64_t page = ways_page_bytes(way);
        xtree_stats stats;

        begin(way, NULL);
        check_ok(xac_tree_load(tree, supply, &first));
        check_ok(xac_tree_load(tree, supply, &second));
        check_ok(xtree_stat(tree, &stats));
        check_equal(stats.records, 25000);
        check(stats.bytes_used > (stats.record_pages - 2) * page * 97 / 100);
        expect("0000012345", "12345");
        end();
}

static void loading_asks_for_ascending_keys(int way)
{
        struct supply first = { 10, 20, UINT32_MAX, "" }, low = { 5, 8, UINT32_MAX, "" };
        struct supply same = { 19, 20, UINT32_MAX, "" }, broken = { 30, 2000, 1500, "" };
        xtree_stats stats;

        begin(way, NULL);
        check_ok(xac_tree_load(tree, supply, &first));
        check_code(xac_tree_load(tree, supply, &low), -EINVAL);
        check_code(xac_tree_load(tree, supply, &same), -EINVAL);
        check_code(xac_tree_load(tree, supply, &broken), -EIO);
        look();
        check_ok(xtree_stat(tree, &stats));
        if ((way & WAYS_KIND) >= IN_VIEW)
                check_equal(stats.records, 10); /* all or nothing */
        else
                check_equal(stats.records, 10 + 1500 - 30); /* nothing is undone where there are no transactions */
        end();
}

/* ---- dropping ---- */

static void a_dropped_tree_gives_its_pages_back(int way)
{
        xac_tree_report before, after;
        struct supply records = { 0, 5000, UINT32_MAX, "" };
        unsigned char *value = make_value(100000, 1);
        char got[100];
        xac_tree *other;

        begin(way, NULL);
        check_ok(put("stays", "here"));
        check_ok(xtree_open(arena, "other", XAC_TREE_CREATE, NULL, &other)); /* the map of its extent stays */
        xac_tree_close(other);
        check_ok(xac_tree_drop(arena, "other"));
        check_ok(xac_tree_check(arena, &before));
        check_ok(xtree_open(arena, "other", XAC_TREE_CREATE, NULL, &other));
        check_ok(xac_tree_load(other, supply, &records));
        check_ok(xac_tree_put(other, "long", 4, value, 100000, 0));
        check_ok(xac_tree_drop(arena, "other"));
        check_ok(xac_tree_check(arena, &after));
        check_equal(after.pages - after.free_pages, before.pages - before.free_pages);
        check_equal(after.trees, 1);
        check_code(xac_tree_get(other, "long", 4, got, 100, NULL), -ESTALE);
        check_code(xac_tree_put(other, "long", 4, "", 0, 0), -ESTALE);
        check_code(xac_tree_delete(other, "long", 4), -ESTALE);
        xac_tree_close(other);
        check_ok(
                xtree_open(arena, "other", XAC_TREE_CREATE, NULL, &other)); /* another one, perhaps in the same pages */
        check_code(xac_tree_get(other, "long", 4, got, 100, NULL), -ENOENT);
        xac_tree_close(other);
        expect("stays", "here");
        free(value);
        end();
}

static void a_handle_of_a_dropped_tree_never_sees_its_successor(int way)
{
        char value[100];
        xac_tree *old;

        begin(way, NULL);
        old = tree;
        check_ok(put("key", "old"));
        check_ok(xac_tree_drop(arena, "tree"));
        check_ok(xtree_open(arena, "tree", XAC_TREE_CREATE, NULL, &tree));
        check(tree != old);
        check_ok(put("key", "new"));
        check_code(xac_tree_get(old, "key", 3, value, 100, NULL), -ESTALE);
        xac_tree_close(old);
        expect("key", "new");
        end();
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                trees_all(put_replaces_unless_told_not_to),
                trees_all(lengths_have_limits),
                trees_all(fixed_keys_are_in_order_of_their_bytes),
                trees_all(values_have_any_length),
                trees_all(deleting_frees_overflow_pages),
                trees_all(an_own_order_is_asked_for_at_each_open),
                trees_all(a_scan_visits_what_lies_between),
                trees_all(runs_are_what_lies_between),
                trees_all(runs_are_for_fixed_records),
                trees_all(loading_fills_pages),
                trees_all(loading_asks_for_ascending_keys),
                trees_all(a_dropped_tree_gives_its_pages_back),
                trees_all(a_handle_of_a_dropped_tree_never_sees_its_successor),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
