/* SPDX-License-Identifier: MIT */
#include "trees/bpnode.h"

/* A node under random changes is what a sorted array is under the same. */

#include <stdio.h>
#include <string.h>

#include "tests/trees/node_model.h"
#include "trees/bpnode_cells.h"

static struct chance chance;
static struct model_maker maker;

static const struct bpnode_shape shapes[] = {
        { .page_bytes = 4096, .tree_id = 7, .is_fixed = true, .value_bytes = 8 },
        { .page_bytes = 4096, .tree_id = 8, .is_fixed = true, .value_bytes = 0 },
        { .page_bytes = 65536, .tree_id = 9, .is_fixed = true, .value_bytes = 100 },
        { .page_bytes = 65536, .tree_id = 10, .is_fixed = true, .value_bytes = 8 },
        { .page_bytes = 4096, .tree_id = 11 },
        { .page_bytes = 4096, .tree_id = 14, .has_quarters = true },
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

static unsigned below(unsigned bound)
{
        return (unsigned)chance_below(&chance, bound);
}

/* ---- one random step ---- */

static void look_up(const struct model *model, struct bpnode_key key)
{
        bool is_there, is_equal;
        unsigned expected = model_find(model, key, &is_there);

        assert_int_equal(bpnode_find(model->shape, model->node, key, &is_equal), expected);
        assert_int_equal(is_equal, is_there);
        if (model->node->level)
                assert_int_equal(bpnode_find_child(model->shape, model->node, key), expected - !is_there);
}

static void insert(struct model *model, struct bpnode_key key)
{
        struct bpnode_record record = { .key = key };
        bool is_there;
        unsigned i = model_find(model, key, &is_there);

        if (!model->node->level)
                record = make_record(&maker, model->shape, key);
        size_t needed = model->node->level ? bpnode_inner_bytes(model->shape, key.len)
                                           : bpnode_leaf_bytes(model->shape, key.len, record.value_len);
        if (!is_there && bpnode_room(model->shape, model->node) >= needed)
                model_insert(model, i, &record, (page_no)chance_next(&chance));
}

/* Another value for a key, if there is room for it. */
static void replace(struct model *model, unsigned i)
{
        unsigned char key[XAC_TREE_KEY_MAX];

        memcpy(key, model_key(model, i).bytes, model_key(model, i).len);
        struct bpnode_record record =
                make_record(&maker, model->shape, (struct bpnode_key){ key, model_key(model, i).len });
        size_t needed = bpnode_leaf_bytes(model->shape, record.key.len, record.value_len);
        if (bpnode_room(model->shape, model->node) + model_bytes(model, i) < needed)
                return;
        bpnode_replace(model->shape, model->node, i, &record);
        model_forget(model, i);
        model_note(model, i, &record, 0);
}

/* Another child below the key. */
static void replace_inner(struct model *model, struct bpnode_key key)
{
        bool is_there;
        unsigned i = model_find(model, key, &is_there);
        page_no child = (page_no)chance_next(&chance);

        bpnode_set_child(model->shape, model->node, i - 1, child);
        model->records[i - 1]->child = child;
}

static void step(struct model *model, unsigned insert_percent)
{
        struct bpnode_key key = make_key(&maker, model->shape);
        const unsigned min = model->node->level > 0;

        if (chance_percent(&chance, insert_percent))
                insert(model, key);
        else if (model->count > min && below(2))
                model_remove(model, below(model->count));
        else if (model->count > min && model->node->level == 0)
                replace(model, below(model->count));
        else if (model->count > min)
                replace_inner(model, key);
        look_up(model, make_key(&maker, model->shape));
        if (model->count > min)
                look_up(model, model_key(model, min + below(model->count - min)));
}

/* Fills up, empties, fills up ... */
static void run_model(const struct bpnode_shape *shape, uint8_t level, enum model_keys kind)
{
        const unsigned rounds = shape->page_bytes == 4096 ? 1500 : 6000;
        struct model *model = model_start(shape, level);

        maker_start(&maker, &chance, kind);
        for (unsigned i = 0; i < rounds; i++) {
                step(model, i % (rounds / 2) < rounds / 4 ? 80 : 25);
                if (i % (shape->page_bytes / 1024) == 0)
                        model_verify(model);
        }
        model_verify(model);
        while (model->count > level)
                model_remove(model, below(model->count));
        model_verify(model);
        model_end(model);
}

static void test_leaves_are_as_sorted_arrays(void **state)
{
        (void)state;
        for (unsigned i = 0; i < SHAPES; i++)
                for (enum model_keys kind = 0; kind < KEYS_KINDS; kind++)
                        run_model(&shapes[i], 0, kind);
}

static void test_inner_nodes_are_as_sorted_arrays(void **state)
{
        (void)state;
        for (unsigned i = 0; i < SHAPES; i++)
                for (enum model_keys kind = 0; kind < KEYS_KINDS; kind++)
                        run_model(&shapes[i], 3, kind);
}

/* The least and the greatest of all 8-byte keys, looked up and there. */
static void test_keys_at_the_ends(void **state)
{
        static const unsigned char zeros[8] = { 0 };
        static const unsigned char ones[8] = { 255, 255, 255, 255, 255, 255, 255, 255 };

        (void)state;
        maker_start(&maker, &chance, KEYS_RANDOM);
        for (unsigned i = 0; i < SHAPES; i++) {
                for (uint8_t level = 0; level < 2; level++) {
                        struct model *model = model_start(&shapes[i], level);

                        for (unsigned steps = 0; steps < 100; steps++) {
                                look_up(model, (struct bpnode_key){ zeros, 8 });
                                look_up(model, (struct bpnode_key){ ones, 8 });
                                insert(model, make_key(&maker, &shapes[i]));
                                if (steps == 50)
                                        insert(model, (struct bpnode_key){ ones, 8 });
                        }
                        model_verify(model);
                        model_end(model);
                }
        }
}

/* ---- what there is room for ---- */

/* Half of the room is enough for any record, also the largest. */
static void test_no_record_takes_more_than_half(void **state)
{
        (void)state;
        for (unsigned i = 0; i < SHAPES; i++) {
                const size_t half = bpnode_capacity(&shapes[i]) / 2;

                assert_true(bpnode_inner_bytes(&shapes[i], XAC_TREE_KEY_MAX) <= half);
                assert_true(bpnode_leaf_bytes(&shapes[i], XAC_TREE_KEY_MAX, sizeof(struct bpnode_overflow)) <= half);
                if (shapes[i].is_fixed) {
                        assert_true(bpnode_is_inline(&shapes[i], 8, shapes[i].value_bytes));
                        continue;
                }
                for (size_t key_len = 1; key_len <= XAC_TREE_KEY_MAX; key_len++) {
                        size_t value_len = 0;

                        while (bpnode_is_inline(&shapes[i], key_len, value_len + 1))
                                value_len++;
                        assert_true(bpnode_leaf_bytes(&shapes[i], key_len, value_len) <= half);
                        assert_true((shapes[i].has_quarters && value_len == shapes[i].page_bytes / 4) ||
                                    bpnode_leaf_bytes(&shapes[i], key_len, value_len + 1) > half);
                        assert_true(bpnode_may_overflow(&shapes[i], key_len, value_len + 1));
                        assert_false(bpnode_may_overflow(&shapes[i], key_len, shapes[i].page_bytes / 8));
                }
        }
}

static void test_a_page_is_used_to_its_last_bytes(void **state)
{
        (void)state;
        for (unsigned i = 0; i < SHAPES; i++) {
                struct model *model = model_start(&shapes[i], 0);

                maker_start(&maker, &chance, KEYS_DECIMAL);
                memset(maker.value, 'v', sizeof(maker.value));
                for (;;) {
                        struct bpnode_record record = { make_key(&maker, &shapes[i]), maker.value,
                                                        shapes[i].value_bytes, false };
                        bool is_there;
                        unsigned at = model_find(model, record.key, &is_there);

                        if (bpnode_room(&shapes[i], model->node) < bpnode_leaf_bytes(&shapes[i], 8, record.value_len))
                                break;
                        if (!is_there)
                                model_insert(model, at, &record, 0);
                }
                model_verify(model);
                assert_int_equal(model->count,
                                 bpnode_capacity(&shapes[i]) / bpnode_leaf_bytes(&shapes[i], 8, shapes[i].value_bytes));
                model_end(model);
        }
}

/* ---- heads ---- */

/* Zeros behind a short key in its head are no zeros of the key. */
static void test_keys_that_differ_in_zeros_alone(void **state)
{
        static const unsigned char zeros[8] = { 0 };
        struct model *model = model_start(&shapes[4], 0);

        (void)state;
        for (unsigned len = 8; len > 0; len--) {
                struct bpnode_record record = { { zeros, len }, "", 0, false };

                model_insert(model, 0, &record, 0);
                model_verify(model);
        }
        for (unsigned len = 1; len <= 8; len++) {
                look_up(model, (struct bpnode_key){ zeros, len });
                assert_int_equal(bpnode_slots(model->node)[len - 1].head, 0);
        }
        model_end(model);
}

static void test_heads_begin_behind_what_all_keys_share(void **state)
{
        char key[40];
        struct model *model = model_start(&shapes[4], 0);

        (void)state;
        for (unsigned i = 0; i < 50; i++) {
                snprintf(key, sizeof(key), "/usr/include/%04u", i * 7);
                struct bpnode_record record = { { key, strlen(key) }, "value", 5, false };

                model_insert(model, i, &record, 0);
        }
        model_verify(model);
        assert_int_equal(model->node->prefix_len, strlen("/usr/include/0"));
        look_up(model, (struct bpnode_key){ "/usr", 4 });
        look_up(model, (struct bpnode_key){ "/usr/include/", 13 });
        look_up(model, (struct bpnode_key){ "/usr/include/0", 14 });
        look_up(model, (struct bpnode_key){ "/usr/jnclude/0", 14 });
        look_up(model, (struct bpnode_key){ "/usr/hnclude/0123", 17 });
        look_up(model, (struct bpnode_key){ "/vs", 3 });
        struct bpnode_record stranger = { { "/var", 4 }, "", 0, false };
        model_insert(model, 50, &stranger, 0);
        assert_int_equal(model->node->prefix_len, 1);
        model_verify(model);
        model_end(model);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_leaves_are_as_sorted_arrays),
                cmocka_unit_test(test_inner_nodes_are_as_sorted_arrays),
                cmocka_unit_test(test_keys_at_the_ends),
                cmocka_unit_test(test_no_record_takes_more_than_half),
                cmocka_unit_test(test_a_page_is_used_to_its_last_bytes),
                cmocka_unit_test(test_keys_that_differ_in_zeros_alone),
                cmocka_unit_test(test_heads_begin_behind_what_all_keys_share),
        };

        return cmocka_run_group_tests_name("trees/bpnode", tests, group_setup, NULL);
}
