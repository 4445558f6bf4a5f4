/* SPDX-License-Identifier: MIT */
#include "trees/bpnode.h"

/*
 * What bpnode_fault says of pages that are damaged: each kind of damage by its name, and of any bytes
 * whatever something, without looking outside of the page. (The pages lie between pages that cannot be
 * accessed.)
 */

#include <string.h>

#include "tests/trees/node_model.h"
#include "trees/bpnode_cells.h"
#include "trees/bpnode_fixed.h"

static struct chance chance;
static struct model_maker maker;

static const struct bpnode_key none = { NULL, 0 };

static const struct bpnode_shape shapes[] = {
        { .page_bytes = 4096, .tree_id = 7, .is_fixed = true, .value_bytes = 8 },
        { .page_bytes = 4096, .tree_id = 8, .is_fixed = true, .value_bytes = 0 },
        { .page_bytes = 65536, .tree_id = 9, .is_fixed = true, .value_bytes = 13 },
        { .page_bytes = 4096, .tree_id = 11 },
        { .page_bytes = 65536, .tree_id = 12 },
        { .page_bytes = 4096, .tree_id = 13, .compare = model_compare_by_length },
};

enum { SHAPES = sizeof(shapes) / sizeof(shapes[0]), FIXED = 0, VARIABLE = 3, COMPARED = 5 };

static int group_setup(void **state)
{
        (void)state;
        chance.state = chance_seed();
        return 0;
}

/* A node with so many keys of 8 bytes (or 9) that have 7 in common. */
static struct model *make_node(const struct bpnode_shape *shape, uint8_t level, unsigned count)
{
        struct model *model = model_start(shape, level);

        for (unsigned i = 0; i < count; i++) {
                unsigned char key[9] = { 'a', 'b', 'c', 'd', 'e', 'f', 'g', (unsigned char)i, 0 };
                struct bpnode_record record = { { key, 8 }, "value value value", i % 17, false };
                bool is_there;

                if (shape->is_fixed)
                        record.value_len = shape->value_bytes;
                else if (!shape->compare)
                        record.key.len += i % 3 == 1;
                model_insert(model, model_find(model, record.key, &is_there), &record, i);
        }
        model_verify(model);
        return model;
}

/* The fault of a node that has been damaged; the node is given up. */
static void expect_fault(struct model *model, const char *expected)
{
        const char *fault = bpnode_fault(model->shape, model->node, model->node->level, none, none);

        assert_non_null(fault);
        assert_string_equal(fault, expected);
        model_end(model);
}

static void test_headers(void **state)
{
        (void)state;
        for (unsigned i = 0; i < SHAPES; i++) {
                struct model *model = make_node(&shapes[i], 0, 20);

                assert_string_equal(bpnode_fault(&shapes[i], model->node, 1, none, none), "the page is no inner node");
                assert_false(bpnode_is_of(&shapes[i], model->node, 1));
                model->node->kind = PAGE_FRESH;
                assert_false(bpnode_is_of(&shapes[i], model->node, 0));
                expect_fault(model, "the page is no leaf");

                model = make_node(&shapes[i], 2, 20);
                assert_string_equal(bpnode_fault(&shapes[i], model->node, 3, none, none),
                                    "the node is on another level");
                assert_string_equal(bpnode_fault(&shapes[i], model->node, 0, none, none), "the page is no leaf");
                model->node->tree_id++;
                assert_false(bpnode_is_of(&shapes[i], model->node, 2));
                expect_fault(model, "the node belongs to another tree");

                model = make_node(&shapes[i], 1, 20);
                model->node->count = UINT16_MAX;
                assert_false(bpnode_is_of(&shapes[i], model->node, 1));
                expect_fault(model, "more records than a page can hold");

                model = model_start(&shapes[i], 1);
                model->node->count = 0;
                expect_fault(model, "an inner node without a child");
        }
}

static void test_bounds(void **state)
{
        struct bpnode_key low, high;

        (void)state;
        for (unsigned i = 0; i < SHAPES; i++) {
                for (uint8_t level = 0; level < 2; level++) {
                        struct model *model = make_node(&shapes[i], level, 20);
                        const struct bpnode *node = model->node;

                        low = model_key(model, level);
                        high = model_key(model, model->count - 1);
                        assert_null(bpnode_fault(&shapes[i], node, level, low, none));
                        assert_string_equal(bpnode_fault(&shapes[i], node, level, low, high),
                                            "a key above the node's bounds");
                        low = model_key(model, level + 1U);
                        assert_string_equal(bpnode_fault(&shapes[i], node, level, low, none),
                                            "a key below the node's bounds");
                        model_end(model);
                }
        }
}

static void test_order(void **state)
{
        (void)state;
        for (unsigned i = 0; i < SHAPES; i++) {
                for (uint8_t level = 0; level < 2; level++) {
                        struct model *model = make_node(&shapes[i], level, 20);
                        unsigned char *bytes = (unsigned char *)model->node;
                        const unsigned char *key = bpnode_key_at(&shapes[i], model->node, 5).bytes;

                        bytes[key - bytes + 6] = shapes[i].compare ? 0 : 'z';
                        expect_fault(model, "keys out of order");
                }
        }
        struct model *model = make_node(&shapes[FIXED], 1, 20);
        *bpnode_fixed_at(model->shape, model->node, 0) = 1;
        expect_fault(model, "the first key of an inner node is not empty");
}

static void test_cells(void **state)
{
        struct model *model = make_node(&shapes[VARIABLE], 0, 20);

        (void)state;
        model->node->cells_begin = 4097;
        expect_fault(model, "the cells begin outside of their area");
        model = make_node(&shapes[VARIABLE], 0, 20);
        model->node->cells_begin = sizeof(struct bpnode) + 19 * sizeof(struct bpnode_slot) + 7;
        expect_fault(model, "the cells begin outside of their area");
        model = make_node(&shapes[VARIABLE], 0, 20);
        bpnode_slots(model->node)[3].key_len = 0;
        expect_fault(model, "a key of impossible length");
        model = make_node(&shapes[VARIABLE], 0, 20);
        bpnode_slots(model->node)[3].key_len = XAC_TREE_KEY_MAX + 1;
        expect_fault(model, "a key of impossible length");
        model = make_node(&shapes[VARIABLE], 1, 20);
        bpnode_slots(model->node)[0].key_len = 1;
        expect_fault(model, "a key of impossible length");
        model = make_node(&shapes[VARIABLE], 0, 20);
        bpnode_slots(model->node)[3].offset = 4095;
        expect_fault(model, "a cell outside of the page");
        model = make_node(&shapes[VARIABLE], 0, 20);
        bpnode_slots(model->node)[3].offset = (uint16_t)(model->node->cells_begin - 1);
        expect_fault(model, "a cell outside of the page");
        model = make_node(&shapes[VARIABLE], 0, 20);
        bpnode_slots(model->node)[3].offset = bpnode_slots(model->node)[4].offset;
        expect_fault(model, "two cells overlap");
        model = make_node(&shapes[VARIABLE], 0, 20);
        model->node->dead_bytes = 1;
        expect_fault(model, "the dead bytes are miscounted");
}

static void test_values(void **state)
{
        static const uint16_t impossible[] = { 2037, BPNODE_OVERFLOW, BPNODE_OVERFLOW | 9, UINT16_MAX };
        struct model *model;

        (void)state;
        for (unsigned i = 0; i < sizeof(impossible) / sizeof(impossible[0]); i++) {
                model = make_node(&shapes[VARIABLE], 0, 20);
                memcpy(bpnode_cell(model->node, 7), &impossible[i], sizeof(impossible[i]));
                expect_fault(model, "a value of impossible length");
        }
        model = make_node(&shapes[VARIABLE], 0, 20);
        memcpy(bpnode_cell(model->node, 0), &(uint16_t){ 500 }, sizeof(uint16_t));
        expect_fault(model, "a value reaches out of the page");
}

static void test_heads(void **state)
{
        (void)state;
        for (uint8_t level = 0; level < 2; level++) {
                struct model *model = make_node(&shapes[VARIABLE], level, 20);

                bpnode_slots(model->node)[level + 3].head++;
                expect_fault(model, "a head is not that of its key");
                model = make_node(&shapes[VARIABLE], level, 20);
                model->node->prefix_len = 8;
                expect_fault(model, "the prefix is not common to all keys");
                model = make_node(&shapes[COMPARED], level, 20);
                model->node->prefix_len = 1;
                expect_fault(model, "a prefix in a tree with its own comparison");
                model = make_node(&shapes[COMPARED], level, 20);
                bpnode_slots(model->node)[level + 3].head = 1;
                expect_fault(model, "a head is not that of its key");
        }
        struct model *model = make_node(&shapes[VARIABLE], 1, 20);
        bpnode_slots(model->node)[0].head = 1;
        expect_fault(model, "a head is not that of its key");
}

/* ---- anything ---- */

/* Whoever trusts the verdict reads nothing outside of the page. */
static void read_all(const struct bpnode_shape *shape, const struct bpnode *node, uint8_t level)
{
        unsigned char sum = 0;

        if (bpnode_fault(shape, node, level, none, none))
                return;
        for (unsigned i = 0; i < node->count; i++) {
                struct bpnode_key key = bpnode_key_at(shape, node, i);
                struct bpnode_record record = { .value = "" };

                if (level)
                        sum = (unsigned char)(sum + bpnode_child(shape, node, i));
                else
                        record = bpnode_record_at(shape, node, i);
                for (size_t at = 0; at < key.len; at++)
                        sum ^= ((const unsigned char *)key.bytes)[at];
                for (size_t at = 0; at < record.value_len; at++)
                        sum ^= ((const unsigned char *)record.value)[at];
        }
        ((volatile unsigned char *)maker.value)[0] = sum;
}

static void test_damaged_pages(void **state)
{
        (void)state;
        for (unsigned round = 0; round < 20000; round++) {
                const struct bpnode_shape *shape = &shapes[round % SHAPES];
                const uint8_t level = round / SHAPES % 2;
                struct model *model = make_node(shape, level, 10);
                unsigned char *bytes = (unsigned char *)model->node;

                for (uint64_t changes = 1 + chance_below(&chance, 4); changes > 0; changes--) {
                        uint64_t at = chance_below(&chance, chance_percent(&chance, 70) ? 120 : shape->page_bytes);

                        bytes[at] = (unsigned char)chance_next(&chance);
                }
                read_all(shape, model->node, level);
                model_end(model);
        }
}

static void test_garbage(void **state)
{
        (void)state;
        for (unsigned i = 0; i < SHAPES; i++) {
                struct model *model = model_start(&shapes[i], 0);
                struct bpnode *node = model->node;
                unsigned char *bytes = (unsigned char *)node;

                for (unsigned round = 0; round < 200; round++) {
                        for (uint32_t at = 0; at < shapes[i].page_bytes; at++)
                                bytes[at] = (unsigned char)chance_next(&chance);
                        node->level = round % 2;
                        node->kind = node->level ? PAGE_IS_INNER : PAGE_IS_LEAF;
                        node->tree_id = shapes[i].tree_id;
                        node->count %= 400;
                        node->cells_begin %= shapes[i].page_bytes + 1;
                        read_all(&shapes[i], node, node->level);
                }
                model_end(model);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_headers),       cmocka_unit_test(test_bounds),  cmocka_unit_test(test_order),
                cmocka_unit_test(test_cells),         cmocka_unit_test(test_values),  cmocka_unit_test(test_heads),
                cmocka_unit_test(test_damaged_pages), cmocka_unit_test(test_garbage),
        };

        return cmocka_run_group_tests_name("trees/bpnode_check", tests, group_setup, NULL);
}
