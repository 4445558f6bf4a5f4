/* SPDX-License-Identifier: MIT */
#include "send/base.h"

/*
 * What has changed in a leaf: at both ends of it, where records come and go, more than may be; and at random, against a
 * comparison record by record.
 */

#include <stdlib.h>
#include <string.h>

#include "send/send_format.h"
#include "tests/support/chance.h"
#include "tests/support/check.h"
#include "tests/support/isolate.h"

enum { PAGE_BYTES = 4096, LEAVES = 64, KEY_ROOM = 16, VALUE_ROOM = 2100, KEYS = 120, ANY = SEND_PAGE_MAX };

static const xac_tree_options kinds[] = { { .key_bytes = 8, .value_bytes = 8 },
                                          { .key_bytes = 8, .value_bytes = 0 },
                                          { .key_bytes = 8, .value_bytes = 61 },
                                          { .key_bytes = 0 } };

static struct chance chance;

static int setup(void **state)
{
        (void)state;
        chance.state = chance_seed();
        return 0;
}

/* ---- trees, and copies of their leaves ---- */

static xac_arena *arena;
static xac_tree *tree;
static const xac_tree_options *options;

static void open_tree(const xac_tree_options *its_options)
{
        options = its_options;
        check_ok(xac_arena_open_memory(1 << 26, PAGE_BYTES, &arena));
        check_ok(xac_tree_open(arena, "tree", XAC_TREE_CREATE, options, &tree));
}

static void close_tree(void)
{
        xac_tree_close(tree);
        check_ok(xac_arena_close(arena));
}

static size_t make_key(unsigned number, unsigned char *key)
{
        memset(key, 0, KEY_ROOM);
        key[options->key_bytes ? 6 : 0] = (unsigned char)(number >> 8);
        key[options->key_bytes ? 7 : 1] = (unsigned char)number;
        return options->key_bytes ? 8 : 2 + number % (KEY_ROOM - 2);
}

static void put(unsigned number, unsigned char byte, size_t value_len)
{
        unsigned char key[KEY_ROOM], value[VALUE_ROOM];
        const size_t key_len = make_key(number, key);

        memset(value, byte, sizeof(value));
        check_ok(xac_tree_put(tree, key, key_len, value, options->key_bytes ? options->value_bytes : value_len, 0));
}

static void remove_key(unsigned number)
{
        unsigned char key[KEY_ROOM];
        const size_t key_len = make_key(number, key);
        const int err = xac_tree_delete(tree, key, key_len);

        check(err == 0 || err == -ENOENT);
}

struct leaves {
        unsigned char pages[LEAVES][PAGE_BYTES] __attribute__((aligned(8)));
        xac_tree_leaf leaves[LEAVES];
        unsigned count;
};

static int copy_leaf(void *arg, const xac_tree_leaf_view *view)
{
        struct leaves *leaves = arg;
        const unsigned i = leaves->count++;

        check(i < LEAVES);
        memcpy(leaves->pages[i], view->leaf.page, PAGE_BYTES);
        leaves->leaves[i] = view->leaf;
        leaves->leaves[i].page = leaves->pages[i];
        return 0;
}

static void copy_leaves(struct leaves *leaves)
{
        leaves->count = 0;
        check_ok(xac_tree_scan_leaves(tree, NULL, 0, NULL, 0, copy_leaf, leaves));
}

/* ---- record by record ---- */

static int order_of(const xac_tree_leaf *before, uint32_t i, const xac_tree_leaf *now, uint32_t j)
{
        xac_tree_record one, other;

        if (i == before->count || j == now->count)
                return i == before->count ? 1 : -1;
        xac_tree_leaf_record(before, i, &one);
        xac_tree_leaf_record(now, j, &other);
        const size_t shorter = one.key_len < other.key_len ? one.key_len : other.key_len;
        const int order = memcmp(one.key, other.key, shorter);
        return order ? order : (one.key_len > other.key_len) - (one.key_len < other.key_len);
}

static bool has_other_value(const xac_tree_leaf *before, uint32_t i, const xac_tree_record *record)
{
        xac_tree_record old = { .value = "" };

        xac_tree_leaf_record(before, i, &old);
        return old.value_len != record->value_len || memcmp(old.value, record->value, old.value_len) != 0;
}

static void expect_change(const struct changes *changes, size_t at, const xac_tree_leaf *leaf, uint32_t i, bool is_gone)
{
        xac_tree_record record;

        xac_tree_leaf_record(leaf, i, &record);
        check(at < changes->count);
        const struct change *change = &changes->list[at];
        check_equal(change->is_gone, is_gone);
        check(change->record.key_len == record.key_len);
        check(memcmp(change->record.key, record.key, record.key_len) == 0);
        check(is_gone || change->record.value == record.value);
        check(is_gone || change->record.value_len == record.value_len);
}

static void expect_changes(struct changes *changes, const xac_tree_leaf *before, const xac_tree_leaf *now)
{
        uint32_t i = 0, j = 0;
        size_t found = 0;

        check(changes_find(changes, before, now, ANY));
        while (i < before->count || j < now->count) {
                const int order = order_of(before, i, now, j);
                xac_tree_record record = { .value = "" };

                if (j < now->count)
                        xac_tree_leaf_record(now, j, &record);
                if (order < 0)
                        expect_change(changes, found++, before, i, true);
                else if (order > 0 || has_other_value(before, i, &record))
                        expect_change(changes, found++, now, j, false);
                i += order <= 0;
                j += order >= 0;
        }
        check_equal(changes->count, found);
}

/* ---- at random ---- */

static void change_some(unsigned count)
{
        while (count--) {
                const unsigned number = (unsigned)chance_below(&chance, KEYS);

                if (chance_percent(&chance, 30))
                        remove_key(number);
                else
                        put(number, (unsigned char)chance_below(&chance, 4), (size_t)chance_below(&chance, 90));
        }
}

/* Leaves that have nothing to do with each other, too, as splits move them along. */
static void changes_are_those_that_a_comparison_finds(int kind)
{
        static struct leaves before, now;
        struct changes changes = { .list = NULL };

        for (unsigned round = 0; round < 400; round++) {
                open_tree(&kinds[kind]);
                change_some((unsigned)chance_below(&chance, 200));
                copy_leaves(&before);
                change_some((unsigned)chance_below(&chance, 8));
                copy_leaves(&now);
                for (unsigned i = 0; i < before.count && i < now.count; i++) {
                        expect_changes(&changes, &before.leaves[i], &now.leaves[i]);
                        expect_changes(&changes, &now.leaves[i], &before.leaves[(i + 1) % before.count]);
                        expect_changes(&changes, &now.leaves[i], &now.leaves[i]);
                        check_equal(changes.count, 0);
                }
                close_tree();
        }
        changes_free(&changes);
}

/* ---- by hand ---- */

enum { FIRST = 10, LAST = 29 };

static void fill(void)
{
        for (unsigned i = FIRST; i <= LAST; i++)
                put(i, 1, 20);
}

static void renew_first(void)
{
        put(FIRST, 2, 20);
}

static void renew_last(void)
{
        put(LAST, 2, 20);
}

static void put_before_first(void)
{
        put(FIRST - 1, 2, 20);
}

static void put_behind_last(void)
{
        put(LAST + 1, 2, 20);
}

static void delete_first(void)
{
        remove_key(FIRST);
}

static void delete_last(void)
{
        remove_key(LAST);
}

static void delete_all(void)
{
        for (unsigned i = FIRST; i <= LAST; i++)
                remove_key(i);
}

/* Bytes outside of records: those of the record were there. */
static void put_and_delete(void)
{
        put(15, 1, 20);
        put(LAST + 1, 2, 40);
        remove_key(LAST + 1);
}

static void change_all_over(void)
{
        put(FIRST - 1, 2, 20);
        remove_key(FIRST);
        put(20, 2, 19);
        remove_key(21);
        put(LAST + 1, 2, 20);
}

static void changes_at_both_ends_are_found(int kind)
{
        static struct leaves before, now;
        static const struct {
                void (*change)(void);
                unsigned count, count_of_keys; /* changes, where records have no values */
        } ways[] = { { renew_first, 1, 0 },     { renew_last, 1, 0 },     { put_before_first, 1, 1 },
                     { put_behind_last, 1, 1 }, { delete_first, 1, 1 },   { delete_last, 1, 1 },
                     { delete_all, 20, 20 },    { put_and_delete, 0, 0 }, { change_all_over, 5, 4 } };
        struct changes changes = { .list = NULL };

        for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
                const bool has_values = !kinds[kind].key_bytes || kinds[kind].value_bytes;
                const unsigned count = has_values ? ways[i].count : ways[i].count_of_keys;

                open_tree(&kinds[kind]);
                fill();
                copy_leaves(&before);
                ways[i].change();
                copy_leaves(&now);
                check(before.count == 1 && now.count == 1);
                expect_changes(&changes, before.leaves, now.leaves);
                check_equal(changes.count, count);
                expect_changes(&changes, now.leaves, before.leaves);
                check_equal(changes.count, count);
                close_tree();
        }
        changes_free(&changes);
}

static void too_much_is_not_told(void)
{
        static struct leaves before, now;
        struct changes changes = { .list = NULL };
        const size_t needed = 2 * (sizeof(struct send_lengths) + 16);

        open_tree(&kinds[0]);
        fill();
        copy_leaves(&before);
        renew_first();
        renew_last();
        copy_leaves(&now);
        check(!changes_find(&changes, before.leaves, now.leaves, needed - 1));
        check(changes_find(&changes, before.leaves, now.leaves, needed));
        check_equal(changes.byte_len, 32);
        close_tree();
        changes_free(&changes);
}

/* Such a leaf is sent as records. */
static void a_value_in_overflow_pages_is_no_change(void)
{
        static struct leaves before, now;
        struct changes changes = { .list = NULL };

        open_tree(&kinds[3]);
        fill();
        copy_leaves(&before);
        put(15, 1, VALUE_ROOM);
        copy_leaves(&now);
        check(!changes_find(&changes, before.leaves, now.leaves, ANY));
        check(!changes_find(&changes, now.leaves, now.leaves, ANY)); /* nobody knows whether it is the same */
        close_tree();
        changes_free(&changes);
}

/* The same bytes side by side, of which more are the key's. */
static void where_a_key_ends_is_a_change(void)
{
        static struct leaves before, now;
        struct changes changes = { .list = NULL };

        open_tree(&kinds[3]);
        check_ok(xac_tree_put(tree, "a", 1, "bc", 2, 0));
        copy_leaves(&before);
        check_ok(xac_tree_delete(tree, "a", 1));
        check_ok(xac_tree_put(tree, "ab", 2, "cd", 2, 0));
        copy_leaves(&now);
        expect_changes(&changes, before.leaves, now.leaves);
        check_equal(changes.count, 2);
        close_tree();
        changes_free(&changes);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_way(changes_are_those_that_a_comparison_finds, 0, "8/8"),
                isolated_way(changes_are_those_that_a_comparison_finds, 1, "8/0"),
                isolated_way(changes_are_those_that_a_comparison_finds, 2, "8/61"),
                isolated_way(changes_are_those_that_a_comparison_finds, 3, "any lengths"),
                isolated_way(changes_at_both_ends_are_found, 0, "8/8"),
                isolated_way(changes_at_both_ends_are_found, 1, "8/0"),
                isolated_way(changes_at_both_ends_are_found, 2, "8/61"),
                isolated_way(changes_at_both_ends_are_found, 3, "any lengths"),
                isolated_test(too_much_is_not_told),
                isolated_test(where_a_key_ends_is_a_change),
                isolated_test(a_value_in_overflow_pages_is_no_change),
        };

        return cmocka_run_group_tests(tests, setup, NULL);
}
