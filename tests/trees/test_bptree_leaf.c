/* SPDX-License-Identifier: MIT */
#include <xac/tree.h>

/*
 * Leaves where they lie: those of a range are visited in order, and have all its records and no others. Leaves as
 * copies: what xac_tree_leaf_open() takes can be read without leaving the page, is in order, and is what a scan shows.
 * Two versions of a leaf have in common what a comparison record by record finds.
 */

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tests/support/chance.h"
#include "tests/support/check.h"
#include "tests/trees/ways.h"

enum { KINDS = 5, KEY_ROOM = 200, RECORDS = 3000 };

static struct chance chance;

static int setup(void **state)
{
        (void)state;
        chance.state = chance_seed();
        return 0;
}

static int by_last_byte(void *arg, const void *a, size_t a_len, const void *b, size_t b_len)
{
        const size_t shorter = a_len < b_len ? a_len : b_len;
        int order = 0;

        (void)arg;
        for (size_t i = 1; i <= shorter && !order; i++)
                order = ((const unsigned char *)a)[a_len - i] - ((const unsigned char *)b)[b_len - i];
        return order ? order : (a_len > b_len) - (a_len < b_len);
}

static const xac_tree_options kinds[KINDS] = { { .key_bytes = 8, .value_bytes = 8 },
                                               { .key_bytes = 8, .value_bytes = 0 },
                                               { .key_bytes = 8, .value_bytes = 13 },
                                               { .key_bytes = 0 },
                                               { .compare = by_last_byte } };

static size_t draw_key(const xac_tree_options *options, unsigned char *key)
{
        const size_t len = options->key_bytes ? 8 : 1 + (size_t)chance_below(&chance, KEY_ROOM);

        for (size_t i = 0; i < len; i++)
                key[i] = (unsigned char)chance_below(&chance, options->key_bytes ? 256 : i < 4 ? 2 : 5);
        return len;
}

static xac_tree *make(xac_arena *arena, const xac_tree_options *options, unsigned records)
{
        unsigned char key[KEY_ROOM], value[5000] = { 0 };
        xac_tree *tree;

        check_ok(xac_tree_open(arena, "tree", XAC_TREE_CREATE, options, &tree));
        for (unsigned i = 0; i < records; i++) {
                size_t len = draw_key(options, key);
                size_t value_len = chance_below(&chance, 100) ? i % 60 : sizeof(value); /* long: in overflow pages */

                memcpy(value, &i, sizeof(i));
                check_ok(xac_tree_put(tree, key, len, value, options->key_bytes ? options->value_bytes : value_len, 0));
        }
        return tree;
}

/* ---- what a scan shows, beside what the leaves have ---- */

struct list {
        const xac_tree_options *options;
        xac_tree_record records[RECORDS];
        size_t count, seen;
        unsigned leaves, leaves_without;
};

static int add_record(void *arg, const xac_tree_record *record)
{
        struct list *list = arg;

        check(list->count < RECORDS);
        list->records[list->count++] = *record;
        return 0;
}

static void expect_next(struct list *list, const xac_tree_record *record)
{
        check(list->seen < list->count);
        const xac_tree_record *other = &list->records[list->seen++];

        check_equal(record->key_len, other->key_len);
        check_equal(record->value_len, other->value_len);
        check(memcmp(record->key, other->key, record->key_len) == 0);
        check(!record->value == !other->value);
        check(!record->value || record->value_len == 0 || memcmp(record->value, other->value, record->value_len) == 0);
}

static int see_leaf(void *arg, const xac_tree_leaf_view *view)
{
        struct list *list = arg;
        xac_tree_record record;

        list->leaves++;
        list->leaves_without += view->first == view->end;
        check(view->first <= view->end && view->end <= view->leaf.count);
        check_equal(view->leaf.options.key_bytes, list->options->key_bytes);
        check_equal(view->leaf.options.value_bytes, list->options->value_bytes);
        for (uint32_t i = view->first; i < view->end; i++) {
                xac_tree_leaf_record(&view->leaf, i, &record);
                expect_next(list, &record);
        }
        return 0;
}

static void compare_ranges(xac_tree *tree, const xac_tree_options *options)
{
        static struct list list;
        unsigned char from[KEY_ROOM], to[KEY_ROOM];

        for (unsigned round = 0; round < 100; round++) {
                const void *low = chance_below(&chance, 4) ? from : NULL;
                const void *high = chance_below(&chance, 4) ? to : NULL;
                const size_t from_len = draw_key(options, from), to_len = draw_key(options, to);

                list.options = options;
                list.count = list.seen = 0;
                list.leaves = list.leaves_without = 0;
                check_ok(xac_tree_scan(tree, low, from_len, high, to_len, add_record, &list));
                check_ok(xac_tree_scan_leaves(tree, low, from_len, high, to_len, see_leaf, &list));
                check_equal(list.seen, list.count);
                check(list.leaves_without <= 2);
        }
}

static void leaves_have_what_a_scan_shows(int way)
{
        for (unsigned kind = 0; kind < KINDS; kind++) {
                xac_arena *arena = ways_open(way);

                ways_begin();
                xac_tree *tree = make(arena, &kinds[kind], chance_below(&chance, 2) ? RECORDS : 20);

                compare_ranges(tree, &kinds[kind]);
                check_ok(ways_end());
                xac_tree_close(tree);
                check_ok(xac_tree_drop(arena, "tree"));
                ways_close();
        }
}

static int count_leaf(void *arg, const xac_tree_leaf_view *view)
{
        (void)view;
        return ++*(int *)arg;
}

static void a_visit_ends_the_scan_of_leaves(int way)
{
        const uint64_t low = 0, high = UINT64_MAX;
        xac_arena *arena = ways_open(way);
        xac_tree *tree = make(arena, &kinds[0], RECORDS);
        int leaves = 0;

        check_code(xac_tree_scan_leaves(tree, NULL, 0, NULL, 0, count_leaf, &leaves), 1);
        check_equal(leaves, 1);
        check_code(xac_tree_scan_leaves(tree, "short", 5, NULL, 0, count_leaf, &leaves), -EINVAL);
        check_code(xac_tree_scan_leaves(tree, NULL, 0, "short", 5, count_leaf, &leaves), -EINVAL);
        check_ok(xac_tree_scan_leaves(tree, &high, 8, &low, 8, count_leaf, &leaves)); /* there is nothing between */
        check_equal(leaves, 1);
        xac_tree_close(tree);
        ways_close();
}

static void an_empty_tree_has_one_leaf(int way)
{
        xac_arena *arena = ways_open(way);
        xac_tree *tree = make(arena, &kinds[3], 0);
        int leaves = 0;

        check_code(xac_tree_scan_leaves(tree, "from", 4, "to", 2, count_leaf, &leaves), 1);
        check_equal(leaves, 1);
        xac_tree_close(tree);
        ways_close();
}

/* ---- copies ---- */

enum { COPIES = 40 };

/* Pages of a tree, each alone between pages that cannot be accessed. */
struct copies {
        const xac_tree_options *options;
        unsigned char *pages[COPIES];
        uint32_t page_bytes;
        unsigned count;
};

static unsigned char *make_room(uint32_t page_bytes)
{
        enum { FENCE = 65536 };
        unsigned char *room = mmap(NULL, page_bytes + 2 * FENCE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        check(room != MAP_FAILED);
        check_ok(mprotect(room + FENCE, page_bytes, PROT_READ | PROT_WRITE));
        return room + FENCE;
}

static int copy_leaf(void *arg, const xac_tree_leaf_view *view)
{
        struct copies *copies = arg;

        copies->page_bytes = view->leaf.page_bytes;
        copies->pages[copies->count] = make_room(copies->page_bytes);
        memcpy(copies->pages[copies->count], view->leaf.page, copies->page_bytes);
        return ++copies->count == COPIES;
}

static int order_of(const xac_tree_options *options, const xac_tree_record *a, const void *key, size_t key_len)
{
        const size_t shorter = a->key_len < key_len ? a->key_len : key_len;

        if (options->compare)
                return options->compare(NULL, a->key, a->key_len, key, key_len);
        const int order = memcmp(a->key, key, shorter);
        return order ? order : (a->key_len > key_len) - (a->key_len < key_len);
}

/* All that can be asked of a leaf, whatever it was made of. */
static void read_all(const xac_tree_leaf *leaf)
{
        static volatile unsigned char sum;
        unsigned char key[KEY_ROOM];
        xac_tree_record record;
        const size_t key_len = draw_key(&leaf->options, key) - (chance_below(&chance, 8) == 0);
        uint32_t less = 0;

        for (uint32_t i = 0; i < leaf->count; i++) {
                xac_tree_leaf_record(leaf, i, &record);
                for (size_t at = 0; at < record.key_len; at++)
                        sum += ((const unsigned char *)record.key)[at];
                for (size_t at = 0; record.value && at < record.value_len; at++)
                        sum += ((const unsigned char *)record.value)[at];
                check_equal(xac_tree_leaf_find(leaf, record.key, record.key_len), i);
                less += order_of(&leaf->options, &record, key, key_len) < 0;
        }
        check_equal(xac_tree_leaf_find(leaf, key, key_len), less);
}

static void damage(const struct copies *copies, unsigned char *page)
{
        const unsigned header = 200; /* and slots, where damage has the most to say */
        const unsigned bytes = chance_below(&chance, 2) ? header : copies->page_bytes;

        for (unsigned changes = 1 + (unsigned)chance_below(&chance, 4); changes; changes--)
                page[chance_below(&chance, bytes)] = (unsigned char)chance_next(&chance);
}

static void a_copy_is_read_or_refused(int way)
{
        unsigned refused = 0;

        for (unsigned kind = 0; kind < KINDS; kind++) {
                xac_arena *arena = ways_open(way);
                xac_tree *tree = make(arena, &kinds[kind], RECORDS);
                struct copies copies = { .options = &kinds[kind] };
                unsigned char *room;
                xac_tree_leaf leaf;

                check(xac_tree_scan_leaves(tree, NULL, 0, NULL, 0, copy_leaf, &copies) >= 0);
                room = make_room(copies.page_bytes);
                for (unsigned round = 0; round < 2000; round++) {
                        memcpy(room, copies.pages[round % copies.count], copies.page_bytes);
                        check_ok(xac_tree_leaf_open(room, copies.page_bytes, copies.options, &leaf));
                        if (round < copies.count)
                                read_all(&leaf);
                        damage(&copies, room);
                        int err = xac_tree_leaf_open(room, copies.page_bytes, copies.options, &leaf);
                        if (!err)
                                read_all(&leaf);
                        else
                                check_code(err, XAC_CORRUPT);
                        refused += err != 0;
                }
                xac_tree_close(tree);
                ways_close();
        }
        check(refused > 1000);
}

/* ---- two versions of leaves ---- */

static bool is_same(const xac_tree_leaf *one, uint32_t at, const xac_tree_leaf *other, uint32_t other_at)
{
        xac_tree_record a, b;

        xac_tree_leaf_record(one, at, &a);
        xac_tree_leaf_record(other, other_at, &b);
        return a.key_len == b.key_len && a.value_len == b.value_len && a.value && b.value &&
               memcmp(a.key, b.key, a.key_len) == 0 && memcmp(a.value, b.value, a.value_len) == 0;
}

static void compare_leaves(const xac_tree_leaf *one, const xac_tree_leaf *other)
{
        for (unsigned round = 0; round < 30; round++) {
                const uint32_t at = (uint32_t)chance_below(&chance, one->count + 1);
                const uint32_t other_at =
                        round % 2 && at <= other->count ? at : (uint32_t)chance_below(&chance, other->count + 1);
                uint32_t count = 0;

                while (at + count < one->count && other_at + count < other->count &&
                       is_same(one, at + count, other, other_at + count))
                        count++;
                check_equal(xac_tree_leaf_common(one, at, other, other_at), count);
        }
}

static void change_some(xac_tree *tree, const xac_tree_options *options)
{
        for (unsigned i = 0; i < 20; i++) {
                unsigned char key[KEY_ROOM], value[60] = { 0 };
                const size_t len = draw_key(options, key), value_len = (size_t)chance_below(&chance, sizeof(value));
                const bool is_kept = chance_below(&chance, 2);

                check_ok(xac_tree_put(tree, key, len, value, options->key_bytes ? options->value_bytes : value_len, 0));
                if (!is_kept) /* other bytes between the records */
                        check_ok(xac_tree_delete(tree, key, len));
        }
}

static void leaves_have_in_common_what_their_records_have(int way)
{
        for (unsigned kind = 0; kind < KINDS; kind++) {
                xac_arena *arena = ways_open(way);
                xac_tree *tree = make(arena, &kinds[kind], RECORDS);
                struct copies before = { .options = &kinds[kind] }, now = before;
                xac_tree_leaf one, other;

                check(xac_tree_scan_leaves(tree, NULL, 0, NULL, 0, copy_leaf, &before) >= 0);
                change_some(tree, &kinds[kind]);
                check(xac_tree_scan_leaves(tree, NULL, 0, NULL, 0, copy_leaf, &now) >= 0);
                for (unsigned i = 0; i < before.count && i < now.count; i++) {
                        check_ok(xac_tree_leaf_open(before.pages[i], before.page_bytes, before.options, &one));
                        check_ok(xac_tree_leaf_open(now.pages[i], now.page_bytes, now.options, &other));
                        compare_leaves(&one, &other);
                        compare_leaves(&other, &other);
                }
                xac_tree_close(tree);
                ways_close();
        }
}

static void options_that_no_tree_has_are_refused(void)
{
        const xac_tree_options odd[] = { { .key_bytes = 9 },
                                         { .key_bytes = 8, .value_bytes = XAC_TREE_FIXED_VALUE_MAX + 1 },
                                         { .value_bytes = 1 },
                                         { .key_bytes = 8, .compare = by_last_byte } };
        unsigned char *page = make_room(4096);
        xac_tree_leaf leaf;

        for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++)
                check_code(xac_tree_leaf_open(page, 4096, &odd[i], &leaf), -EINVAL);
        check_code(xac_tree_leaf_open(page, 2048, NULL, &leaf), -EINVAL);
        check_code(xac_tree_leaf_open(page, 4097, NULL, &leaf), -EINVAL);
        check_code(xac_tree_leaf_open(page, 131072, NULL, &leaf), -EINVAL);
        check_code(xac_tree_leaf_open(page, 4096, NULL, &leaf), XAC_CORRUPT);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                ways_all(leaves_have_what_a_scan_shows),
                ways_all(a_visit_ends_the_scan_of_leaves),
                ways_all(an_empty_tree_has_one_leaf),
                isolated_way(a_copy_is_read_or_refused, IN_MEMORY, "memory"),
                isolated_way(a_copy_is_read_or_refused, WAYS_BIG, "memory, 64 KiB"),
                isolated_way(leaves_have_in_common_what_their_records_have, IN_MEMORY, "memory"),
                isolated_way(leaves_have_in_common_what_their_records_have, WAYS_BIG, "memory, 64 KiB"),
                isolated_test(options_that_no_tree_has_are_refused),
        };

        return cmocka_run_group_tests(tests, setup, NULL);
}
