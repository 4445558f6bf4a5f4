/* SPDX-License-Identifier: MIT */
#include "trees/bpnode.h"

/*
 * Splits give room to the record that had none, lose nothing, and find separators that separate; a merge
 * undoes them. Ascending keys fill pages.
 */

#include <string.h>

#include "tests/trees/node_model.h"

static struct chance chance;
static struct model_maker maker;
static struct bpnode_split split;

static const struct bpnode_key none = { NULL, 0 };

static const struct bpnode_shape shapes[] = {
        { .page_bytes = 4096, .tree_id = 7, .is_fixed = true, .value_bytes = 8 },
        { .page_bytes = 4096, .tree_id = 8, .is_fixed = true, .value_bytes = 256 },
        { .page_bytes = 65536, .tree_id = 9, .is_fixed = true, .value_bytes = 8 },
        { .page_bytes = 4096, .tree_id = 11 },
        { .page_bytes = 65536, .tree_id = 12 },
        { .page_bytes = 4096, .tree_id = 13, .compare = model_compare_by_length },
        { .page_bytes = 65536, .tree_id = 14, .compare = model_compare_by_length },
};

enum { SHAPES = sizeof(shapes) / sizeof(shapes[0]) };

static int group_setup(void **state)
{
        (void)state;
        chance.state = chance_seed();
        return 0;
}

/* A record that the model does not have, and its place. */
static struct bpnode_record make_stranger(const struct model *model, unsigned *i)
{
        struct bpnode_record record = { .key = make_key(&maker, model->shape) };
        bool is_there;

        *i = model_find(model, record.key, &is_there);
        while (is_there || *i < (model->node->level > 0)) {
                maker.kind = (maker.kind + 1) % KEYS_KINDS; /* some kinds have few keys */
                record.key = make_key(&maker, model->shape);
                *i = model_find(model, record.key, &is_there);
        }
        return model->node->level ? record : make_record(&maker, model->shape, record.key);
}

static size_t bytes_of(const struct model *model, const struct bpnode_record *record)
{
        return model->node->level ? bpnode_inner_bytes(model->shape, record->key.len)
                                  : bpnode_leaf_bytes(model->shape, record->key.len, record->value_len);
}

/* Inserts until a record comes that has no room: this one. */
static struct bpnode_record fill(struct model *model, unsigned *i)
{
        for (;;) {
                struct bpnode_record record = make_stranger(model, i);

                if (bpnode_room(model->shape, model->node) < bytes_of(model, &record))
                        return record;
                model_insert(model, *i, &record, (page_no)chance_next(&chance));
        }
}

/* The separator is the shortest that is greater than all on the left and not than any on the right. */
static void verify_separator(const struct model *left, const struct model *right)
{
        const struct bpnode_shape *shape = left->shape;
        struct bpnode_key separator = { split.separator, split.separator_len };
        struct bpnode_key shorter = { split.separator, split.separator_len - 1 };

        assert_true(bpnode_compare(shape, model_key(left, left->count - 1), separator) < 0);
        if (left->node->level)
                return; /* the first key of the right node is the separator itself */
        assert_true(bpnode_compare(shape, separator, model_key(right, 0)) <= 0);
        if (!shape->is_fixed && !shape->compare)
                assert_true(bpnode_compare(shape, model_key(left, left->count - 1), shorter) >= 0);
}

/* The new record goes where the split says, in the array at once, and both halves are checked before and
 * after. */
static void insert_into_half(struct model *left, struct model *right, const struct bpnode_record *record)
{
        struct bpnode_record named = *record;
        struct model *home = split.is_right ? right : left;
        bool is_first = right->node->level && split.is_right && split.i == 0;

        if (is_first) {
                assert_int_equal(record->key.len, split.separator_len);
                assert_memory_equal(record->key.bytes, split.separator, split.separator_len);
                named.key = none;
        } else if (right->node->level) {
                assert_int_equal(model_key(right, 0).len, split.separator_len);
                assert_memory_equal(model_key(right, 0).bytes, split.separator, split.separator_len);
                model_rekey(right, 0, none);
        }
        assert_true(bpnode_room(left->shape, home->node) >= bytes_of(home, &named));
        model_insert(home, split.i, &named, 4711);
}

/* Splits for the record; returns the right half. */
static struct model *split_for(struct model *left, unsigned i, const struct bpnode_record *record)
{
        const struct bpnode_shape *shape = left->shape;
        struct model *right = model_start(shape, left->node->level);

        while (right->count)
                model_forget(right, 0);
        memset(right->node, 0xa5, shape->page_bytes);
        if (left->node->level)
                bpnode_split_inner(shape, left->node, right->node, i, record->key, &split);
        else
                bpnode_split_leaf(shape, left->node, right->node, i, record, &split);
        assert_int_equal(left->node->count + right->node->count, left->count);
        assert_int_equal(i, split.i + (split.is_right ? left->node->count : 0));
        model_move(left, left->node->count, right);
        insert_into_half(left, right, record);
        verify_separator(left, right);
        model_verify_within(left, none, (struct bpnode_key){ split.separator, split.separator_len });
        model_verify_within(right, (struct bpnode_key){ split.separator, split.separator_len }, none);
        assert_true(left->count >= 1U + (left->node->level > 0));
        assert_true(right->count >= 1U + (left->node->level > 0));
        return right;
}

/* Takes records away until all have room in the left node, and merges. The separator is that of the split. */
static void merge(struct model *left, struct model *right)
{
        const struct bpnode_shape *shape = left->shape;
        struct bpnode_key separator = { split.separator, split.separator_len };
        const size_t extra = left->node->level && !shape->is_fixed ? separator.len : 0;

        while (bpnode_room(shape, left->node) < bpnode_used(shape, right->node) + extra) {
                struct model *from = right->count < 3 || chance_percent(&chance, 50) ? left : right;
                unsigned first = from->node->level > 0;

                if (from->count > first)
                        model_remove(from, first + (unsigned)chance_below(&chance, from->count - first));
        }
        bpnode_merge(shape, left->node, right->node, separator);
        if (left->node->level)
                model_rekey(right, 0, separator);
        model_move(right, 0, left);
        model_verify(left);
        model_end(right);
}

static void run_splits(const struct bpnode_shape *shape, uint8_t level, enum model_keys kind)
{
        const unsigned rounds = shape->page_bytes == 4096 ? 20 : 3;
        struct model *left = model_start(shape, level);

        maker_start(&maker, &chance, kind);
        for (unsigned round = 0; round < rounds; round++) {
                unsigned i;

                maker.kind = kind;
                struct bpnode_record record = fill(left, &i);
                struct model *right = split_for(left, i, &record);
                merge(left, right);
        }
        model_end(left);
}

static void test_splits_and_merges_lose_nothing(void **state)
{
        (void)state;
        for (unsigned i = 0; i < SHAPES; i++)
                for (enum model_keys kind = 0; kind < KEYS_KINDS; kind++)
                        for (uint8_t level = 0; level < 2; level++)
                                run_splits(&shapes[i], level, kind);
}

/* Records of any size up to the largest, at any place: the halves always have room. */
static void test_large_records_have_room_after_a_split(void **state)
{
        (void)state;
        for (unsigned round = 0; round < 1500; round++) {
                const struct bpnode_shape *shape = &shapes[3 + round % 4];
                struct model *left = model_start(shape, round % 8 >= 4);
                unsigned i;

                maker_start(&maker, &chance, KEYS_RANDOM);
                maker.value_max = round % 3 ? shape->page_bytes / 2 : 1 + chance_below(&chance, 2000);
                memset(maker.prefix, (int)chance_below(&chance, 3), sizeof(maker.prefix));
                maker.prefix_len = XAC_TREE_KEY_MAX - 8;
                maker.kind = round % 5 ? KEYS_PREFIXED : KEYS_RANDOM;
                if (shape->page_bytes > 4096 && round % 8 >= 4)
                        maker.kind = KEYS_RANDOM;
                struct bpnode_record record = fill(left, &i);
                left->node->run = chance_percent(&chance, 50) ? 100 : 0; /* also where it seems to ascend */
                left->node->last = (uint16_t)(i - 1);
                model_end(split_for(left, i, &record));
                model_end(left);
        }
}

/* ---- sharing ---- */

/* Records from the beginning of the right node go to the end of the left one, or the other way round: so that as many
 * are in the arrays as in the pages. */
static void follow_share(struct model *left, struct model *right)
{
        struct model *rest = model_start(left->shape, 0);

        if (left->node->count > left->count) {
                model_move(right, left->node->count - left->count, rest);
                model_move(right, 0, left);
                model_move(rest, 0, right);
        } else {
                model_move(right, 0, rest);
                model_move(left, left->node->count, right);
                model_move(rest, 0, right);
        }
        model_end(rest);
}

static bool belongs(const struct model *node, struct bpnode_key key, bool is_right)
{
        struct bpnode_key separator = { split.separator, split.separator_len };

        return (bpnode_compare(node->shape, key, separator) >= 0) == is_right;
}

/* Inserts into one of the two until a record comes that has no room: this one. False: none comes in a long time. */
static bool fill_side(struct model *model, bool is_right, struct bpnode_record *record, unsigned *i)
{
        for (unsigned tries = 0; tries < 20000; tries++) {
                *record = make_stranger(model, i);
                if (!belongs(model, record->key, is_right))
                        continue;
                if (bpnode_room(model->shape, model->node) < bytes_of(model, record))
                        return true;
                model_insert(model, *i, record, 0);
        }
        return false;
}

/* What has no room in one of two halves of a node has room when they share. How often they could. */
static unsigned share(const struct bpnode_shape *shape, enum model_keys kind, size_t value_max)
{
        struct model *left = model_start(shape, 0);
        unsigned i, shares = 0;

        maker_start(&maker, &chance, kind);
        maker.value_max = value_max;
        struct bpnode_record record = fill(left, &i);
        struct model *right = split_for(left, i, &record);
        bool is_right = chance_percent(&chance, 50);
        while (fill_side(is_right ? right : left, is_right, &record, &i) &&
               bpnode_may_share(shape, left->node, right->node, is_right, i, bytes_of(left, &record))) {
                const size_t record_bytes = bytes_of(left, &record);
                bpnode_share(shape, left->node, right->node, is_right, i, &record, &split);
                assert_int_equal(left->node->count + right->node->count, left->count + right->count);
                follow_share(left, right);
                insert_into_half(left, right, &record);
                assert_true(bpnode_room(shape, left->node) + bpnode_room(shape, right->node) >= 4 * record_bytes);
                verify_separator(left, right);
                model_verify_within(left, none, (struct bpnode_key){ split.separator, split.separator_len });
                model_verify_within(right, (struct bpnode_key){ split.separator, split.separator_len }, none);
                is_right = chance_percent(&chance, 50);
                shares++;
        }
        model_end(left);
        model_end(right);
        return shares;
}

static void test_neighbours_share(void **state)
{
        static const size_t values[] = { 8, 60, 500, 16384 };

        (void)state;
        for (unsigned i = 0; i < SHAPES; i++) {
                unsigned shares = 0;

                for (unsigned round = 0; round < 20 && shares < 3; round++)
                        for (enum model_keys kind = 0; kind < KEYS_KINDS; kind++)
                                for (unsigned k = 0; k < (shapes[i].page_bytes == 4096 ? 4 : 1); k++)
                                        shares += share(&shapes[i], kind, values[k]);
                assert_true(shares >= 3);
        }
}

/* The fuller of two gives so much to the other that about as many bytes are in each. How often that was worth it. */
static unsigned even(const struct bpnode_shape *shape, enum model_keys kind, size_t value_max)
{
        struct model *left = model_start(shape, 0);
        unsigned i, done = 0;

        maker_start(&maker, &chance, kind);
        maker.value_max = value_max;
        struct bpnode_record record = fill(left, &i);
        struct model *right = split_for(left, i, &record);
        for (unsigned round = 0; round < 20; round++) {
                const bool is_right = chance_percent(&chance, 50);
                const struct model *node = is_right ? right : left;
                if (!fill_side(is_right ? right : left, is_right, &record, &i))
                        break;
                const size_t wanted = chance_below(&chance, bpnode_capacity(shape));
                if (!bpnode_may_even(shape, left->node, right->node, is_right, wanted))
                        continue;
                const size_t all = bpnode_used(shape, left->node) + bpnode_used(shape, right->node);
                bpnode_even(shape, left->node, right->node, is_right, &split);
                follow_share(left, right);
                verify_separator(left, right);
                model_verify_within(left, none, (struct bpnode_key){ split.separator, split.separator_len });
                model_verify_within(right, (struct bpnode_key){ split.separator, split.separator_len }, none);
                assert_int_equal(bpnode_used(shape, left->node) + bpnode_used(shape, right->node), all);
                assert_true(32 * (wanted + bpnode_used(shape, node->node)) <= 62 * bpnode_capacity(shape));
                done++;
        }
        model_end(left);
        model_end(right);
        return done;
}

static void test_a_full_one_gives_to_the_other(void **state)
{
        static const size_t values[] = { 8, 60, 500, 16384 };

        (void)state;
        for (unsigned i = 0; i < SHAPES; i++) {
                unsigned done = 0;

                for (enum model_keys kind = 0; kind < KEYS_KINDS; kind++)
                        for (unsigned k = 0; k < (shapes[i].page_bytes == 4096 ? 4 : 1); k++)
                                done += even(&shapes[i], kind, values[k]);
                assert_true(done >= 3);
        }
}

static struct bpnode_record numbered(unsigned number, const struct bpnode_shape *shape)
{
        maker.key[0] = (unsigned char)(number >> 24);
        maker.key[1] = (unsigned char)(number >> 16);
        maker.key[2] = (unsigned char)(number >> 8);
        maker.key[3] = (unsigned char)number;
        memset(maker.key + 4, 'k', 4);
        return (struct bpnode_record){
                { maker.key, 8 }, maker.value, shape->is_fixed ? shape->value_bytes : number % 90, false
        };
}

/* About as many bytes are in both then; and a neighbour that is nearly full is left alone. */
static void test_neighbours_share_evenly(void **state)
{
        (void)state;
        for (unsigned round = 0; round < 40; round++) {
                const bool is_right = round % 2;
                struct model *nodes[2] = { model_start(&shapes[0], 0), model_start(&shapes[0], 0) };
                const unsigned capacity = (unsigned)(bpnode_capacity(&shapes[0]) / bpnode_leaf_bytes(&shapes[0], 8, 8));
                const unsigned its_count = 1 + (unsigned)chance_below(&chance, capacity);
                unsigned number = 1000;

                maker_start(&maker, &chance, KEYS_RANDOM);
                for (unsigned k = 0; k < 2; k++)
                        for (unsigned n = k == is_right ? capacity : its_count; n; n--) {
                                struct bpnode_record record = numbered(number += 2, &shapes[0]);

                                model_insert(nodes[k], nodes[k]->count, &record, 0);
                        }
                const unsigned i = (unsigned)chance_below(&chance, capacity);
                const bool may = bpnode_may_share(&shapes[0], nodes[0]->node, nodes[1]->node, is_right, i,
                                                  bpnode_leaf_bytes(&shapes[0], 8, 8));
                assert_int_equal(may, 32 * (capacity + 1 + its_count) * 16 <= 2 * 31 * bpnode_capacity(&shapes[0]));
                if (may) {
                        const unsigned before = 1002 + 2 * (i + (is_right ? its_count : 0));
                        struct bpnode_record record = numbered(before - 1, &shapes[0]);

                        bpnode_share(&shapes[0], nodes[0]->node, nodes[1]->node, is_right, i, &record, &split);
                        follow_share(nodes[0], nodes[1]);
                        insert_into_half(nodes[0], nodes[1], &record);
                        verify_separator(nodes[0], nodes[1]);
                        assert_in_range(nodes[0]->count + 1 - nodes[1]->count, 0, 2);
                }
                model_end(nodes[0]);
                model_end(nodes[1]);
        }
}

/* ---- ascending keys ---- */

/* Inserts ascending keys from `number` on, until pages were split `splits` times; verifies that what is
 * left behind is full. */
static struct model *ascend(struct model *node, unsigned number, unsigned splits)
{
        const struct bpnode_shape *shape = node->shape;
        const size_t largest = node->node->level ? bpnode_inner_bytes(shape, 8) : bpnode_leaf_bytes(shape, 8, 90);

        while (splits) {
                struct bpnode_record record = numbered(number++, shape);
                bool is_there;
                unsigned i = model_find(node, record.key, &is_there);

                assert_false(is_there);
                if (bpnode_room(shape, node->node) >= bytes_of(node, &record)) {
                        model_insert(node, i, &record, number);
                        continue;
                }
                struct model *right = split_for(node, i, &record);
                if (!split.is_right) {
                        model_end(right); /* the tail, which is there but once */
                        continue;
                }
                /* An inner node hands on its last record. */
                assert_true(bpnode_room(shape, node->node) < largest * (node->node->level ? 2 : 1));
                assert_true(right->node->run > 8); /* it goes on there */
                model_end(node);
                node = right;
                splits--;
        }
        return node;
}

static void test_ascending_keys_fill_pages(void **state)
{
        (void)state;
        maker_start(&maker, &chance, KEYS_RANDOM);
        for (unsigned i = 0; i < SHAPES - 2; i++)
                for (uint8_t level = 0; level < 2; level++)
                        model_end(ascend(model_start(&shapes[i], level), 1, 8));
}

static void test_ascending_keys_below_others_fill_pages(void **state)
{
        (void)state;
        maker_start(&maker, &chance, KEYS_RANDOM);
        for (unsigned i = 0; i < SHAPES - 2; i++) {
                for (uint8_t level = 0; level < 2; level++) {
                        struct model *node = model_start(&shapes[i], level);

                        for (unsigned above = 5; above > 0; above--) {
                                struct bpnode_record record = numbered(2000000000U + above, &shapes[i]);

                                model_insert(node, level, &record, above);
                        }
                        model_end(ascend(node, 1, 8));
                }
        }
}

/* A queue: removals before the place where the inserts ascend are no end of it. */
static void test_a_run_goes_on_while_others_are_removed(void **state)
{
        (void)state;
        maker_start(&maker, &chance, KEYS_RANDOM);
        for (unsigned i = 0; i < SHAPES - 2; i++) {
                struct model *model = model_start(&shapes[i], 0);

                for (unsigned number = 1; number <= 100; number++) {
                        struct bpnode_record record = numbered(number, &shapes[i]);

                        model_insert(model, model->count, &record, 0);
                        assert_int_equal(model->node->run, number - 1);
                        if (model->count > 10)
                                model_remove(model, number % (model->count - 1));
                }
                model_verify(model);
                model_end(model);
        }
}

static void test_other_keys_split_in_the_middle(void **state)
{
        (void)state;
        for (unsigned i = 0; i < SHAPES; i++) {
                struct model *left = model_start(&shapes[i], 0);
                unsigned at;

                maker_start(&maker, &chance, KEYS_DECIMAL);
                maker.value_max = 40;
                struct bpnode_record record = fill(left, &at);
                struct model *right = split_for(left, at, &record);
                size_t of_left = bpnode_used(&shapes[i], left->node);
                size_t of_right = bpnode_used(&shapes[i], right->node);
                size_t difference = of_left > of_right ? of_left - of_right : of_right - of_left;
                size_t key_max = shapes[i].compare ? XAC_TREE_KEY_MAX : 8; /* by length there are few of one */
                assert_true(difference <= bpnode_leaf_bytes(&shapes[i], key_max, 40));
                model_end(left);
                model_end(right);
        }
}

/* ---- what a split leaves behind ---- */

/* Twenty keys from "aa00" on and twenty from "bb00", in order. */
static struct model *make_two_kinds(const struct bpnode_shape *shape, size_t value_len)
{
        struct model *model = model_start(shape, 0);

        for (unsigned i = 0; i < 40; i++) {
                char letter = i < 20 ? 'a' : 'b';
                unsigned char key[] = { (unsigned char)letter, (unsigned char)letter, '0', (unsigned char)(i % 20) };
                struct bpnode_record record = { { key, 4 }, maker.value, value_len, false };

                model_insert(model, i, &record, 0);
        }
        assert_int_equal(model->node->prefix_len, 0);
        model->node->run = 0;
        return model;
}

static void test_prefixes_grow_when_nodes_are_split(void **state)
{
        const struct bpnode_shape *shape = &shapes[3];

        (void)state;
        maker_start(&maker, &chance, KEYS_RANDOM);
        struct model *left = make_two_kinds(shape, 80);
        struct bpnode_record record = { { "aa0z", 4 }, maker.value, 500, false };
        struct model *right = split_for(left, 20, &record);
        assert_int_equal(left->node->prefix_len, 3);
        assert_int_equal(right->node->prefix_len, 3);
        model_end(right);
        model_end(left);

        left = make_two_kinds(shape, 80);
        record.key.bytes = "bb0z";
        right = split_for(left, 40, &record);
        assert_int_equal(left->node->prefix_len, 0);
        assert_int_equal(right->node->prefix_len, 3);
        model_end(right);
        model_end(left);
}

/* What was moved away had come last: its room is in one piece with the rest. */
static void test_room_of_what_was_moved_needs_no_compaction(void **state)
{
        const struct bpnode_shape *shape = &shapes[3];
        struct bpnode_record record = { { "bb0z", 4 }, maker.value, 500, false };

        (void)state;
        struct model *left = make_two_kinds(shape, 80);
        struct model *right = split_for(left, 40, &record);
        assert_int_equal(left->node->dead_bytes, 0);
        model_end(right);
        model_end(left);
}

/* One of twenty keys from "aa00" on, or from "bb00". */
static void insert_kind(struct model *model, unsigned i, char letter, unsigned no, size_t value_len)
{
        unsigned char key[] = { (unsigned char)letter, (unsigned char)letter, '0', (unsigned char)no };
        struct bpnode_record record = { { key, 4 }, maker.value, value_len, false };

        model_insert(model, i, &record, 0);
}

/* Both kinds, whose cells lie in turn; then the second goes. */
static struct model *make_holes(const struct bpnode_shape *shape, size_t value_len)
{
        struct model *model = model_start(shape, 0);

        for (unsigned i = 0; i < 20; i++) {
                insert_kind(model, i, 'a', i, value_len);
                insert_kind(model, model->count, 'b', i, value_len);
        }
        for (unsigned i = 0; i < 20; i++)
                model_remove(model, model->count - 1);
        model_verify(model);
        assert_true(model->node->dead_bytes > 0);
        return model;
}

/* Compaction: keys that had kept the prefix short are gone. */
static void test_prefixes_grow_when_nodes_are_compacted(void **state)
{
        struct model *model = make_holes(&shapes[3], 80);

        (void)state;
        insert_kind(model, 20, 'a', 20, 1000);
        assert_int_equal(model->node->dead_bytes, 0);
        assert_int_equal(model->node->prefix_len, 3);
        model_verify(model);
        model_end(model);
}

/* What is as large as what has gone takes its place, and no cell moves. */
static void test_holes_are_filled_without_compaction(void **state)
{
        struct model *model = make_holes(&shapes[3], 80);
        const uint16_t first = bpnode_slots(model->node)->offset;

        (void)state;
        const unsigned dead = model->node->dead_bytes;
        for (unsigned no = 20; no < 40; no++) {
                insert_kind(model, no, 'a', no, 80);
                assert_int_equal(bpnode_slots(model->node)->offset, first);
                model_verify(model);
        }
        assert_true(model->node->dead_bytes < dead / 2);
        model_end(model);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_splits_and_merges_lose_nothing),
                cmocka_unit_test(test_large_records_have_room_after_a_split),
                cmocka_unit_test(test_neighbours_share),
                cmocka_unit_test(test_neighbours_share_evenly),
                cmocka_unit_test(test_a_full_one_gives_to_the_other),
                cmocka_unit_test(test_ascending_keys_fill_pages),
                cmocka_unit_test(test_ascending_keys_below_others_fill_pages),
                cmocka_unit_test(test_a_run_goes_on_while_others_are_removed),
                cmocka_unit_test(test_other_keys_split_in_the_middle),
                cmocka_unit_test(test_prefixes_grow_when_nodes_are_split),
                cmocka_unit_test(test_room_of_what_was_moved_needs_no_compaction),
                cmocka_unit_test(test_prefixes_grow_when_nodes_are_compacted),
                cmocka_unit_test(test_holes_are_filled_without_compaction),
        };

        return cmocka_run_group_tests_name("trees/bpnode_split", tests, group_setup, NULL);
}
