/* SPDX-License-Identifier: MIT */

/*
 * bpnode: a node that is made by any inserts, replacements, removals, splits and merges holds what a sorted array
 * holds, and bpnode_fault finds nothing. And bpnode_fault may be given any bytes: it stays inside the page, and what it
 * finds nothing wrong with can be read.
 *
 *      first byte   bit 0: damage in the end; bit 1: inner; bit 2: fixed; bit 3: pages of 16 KiB; bit 4: a comparison
 *                   is given; bits 5 and 6: nothing is made before, but bytes taken as they come
 */

#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/fuzz.h"
#include "tests/trees/sorted.h"
#include "trees/bpnode.h"

const char fuzz_target[] = "bpnode";

enum { TREE_ID = 7, VALUE_BYTES = 24, VALUE_MAX = 3000, CHANGES_MAX = 600 };

struct stage {
        struct fuzz_input *input;
        struct bpnode_shape shape;
        uint8_t level;
        struct bpnode *node; /* a block of its own: a sanitizer sees each step beyond it */
        page_no first_child; /* inner: beside the empty key */
        struct sorted model; /* the others; a child is a value of its bytes, and before a leaf's value stands whether it
                                is one */
        unsigned char key[XAC_TREE_KEY_MAX];
        unsigned char value[1 + VALUE_MAX];
};

static struct bpnode *new_page(const struct stage *stage)
{
        struct bpnode *node = fuzz_alloc(stage->shape.page_bytes);

        fuzz_noise(stage->input->left, node, stage->shape.page_bytes);
        return node;
}

/* ---- what the input says ---- */

/* Few different bytes, so that keys begin with each other, and heads are equal. */
static struct bpnode_key read_key(struct stage *stage)
{
        uint8_t how = fuzz_u8(stage->input);
        size_t len = how < 200 ? 1 + how % 24u : how < 250 ? how : XAC_TREE_KEY_MAX - how % 4u;

        if (stage->shape.is_fixed)
                len = 8;
        memset(stage->key, how & 32 ? 'k' : 0, len);
        if (how % 16 == 15)
                fuzz_bytes(stage->input, stage->key, len);
        stage->key[len - 1] = fuzz_u8(stage->input);
        if (len > 6)
                stage->key[len - 2 - how % 5u] = (unsigned char)(fuzz_u8(stage->input) & 0x83);
        return (struct bpnode_key){ stage->key, len };
}

/* A value that lies in the leaf, or what stands there in its place. */
static struct bpnode_record read_record(struct stage *stage, struct bpnode_key key)
{
        struct bpnode_record record = { .key = key, .value = stage->value + 1 };
        uint8_t how = fuzz_u8(stage->input);

        record.value_len = stage->shape.is_fixed ? VALUE_BYTES
                           : how < 240           ? how / 4u
                                                 : fuzz_u16(stage->input) % VALUE_MAX;
        if (!bpnode_is_inline(&stage->shape, key.len, record.value_len)) {
                record.is_overflow = true;
                record.value_len = sizeof(struct bpnode_overflow);
        }
        memset(stage->value + 1, how, record.value_len);
        stage->value[0] = record.is_overflow;
        return record;
}

/* ---- against the model ---- */

static void check_leaf_record(const struct stage *stage, const struct bpnode *node, unsigned i,
                              const struct sorted_record *expected)
{
        struct bpnode_record record = bpnode_record_at(&stage->shape, node, i);

        fuzz_check(record.key.len == expected->key_len &&
                   memcmp(record.key.bytes, expected->bytes, expected->key_len) == 0);
        fuzz_check(record.value_len + 1 == expected->value_len && record.is_overflow == sorted_value(expected)[0]);
        fuzz_check(memcmp(record.value, sorted_value(expected) + 1, record.value_len) == 0);
}

static void check_child(const struct stage *stage, const struct bpnode *node, unsigned i,
                        const struct sorted_record *expected)
{
        struct bpnode_key key = bpnode_key_at(&stage->shape, node, i);
        page_no child = bpnode_child(&stage->shape, node, i);

        fuzz_check(key.len == expected->key_len && memcmp(key.bytes, expected->bytes, expected->key_len) == 0);
        fuzz_check(memcmp(&child, sorted_value(expected), sizeof(child)) == 0);
}

/* The node holds the model's records from `from` on; inner ones have one more before them. Returns where they end. */
static size_t check_node(const struct stage *stage, const struct bpnode *node, size_t from)
{
        const struct bpnode_key none = { NULL, 0 };
        unsigned first = stage->level ? 1 : 0;

        fuzz_check(bpnode_fault(&stage->shape, node, stage->level, none, none) == NULL);
        fuzz_check(bpnode_is_of(&stage->shape, node, stage->level));
        fuzz_check(bpnode_used(&stage->shape, node) + bpnode_room(&stage->shape, node) ==
                   bpnode_capacity(&stage->shape));
        fuzz_check(from + node->count - first <= stage->model.count);
        for (unsigned i = first; i < node->count; i++, from++) {
                if (stage->level)
                        check_child(stage, node, i, stage->model.records[from]);
                else
                        check_leaf_record(stage, node, i, stage->model.records[from]);
        }
        return from;
}

/* ---- leaves ---- */

/* Both halves are right; one of them goes on, or both are emptied a little and merged. */
static void take_halves(struct stage *stage, struct bpnode *right, struct bpnode_key separator)
{
        uint8_t how = fuzz_u8(stage->input) % 4;
        size_t middle = check_node(stage, stage->node, 0);
        struct bpnode *other = right;

        if (how >= 2) {
                for (unsigned i = 1; i < stage->node->count; i++) {
                        bpnode_remove(&stage->shape, stage->node, i);
                        sorted_delete(&stage->model, stage->model.records[i]->bytes, stage->model.records[i]->key_len);
                        middle--;
                }
                if (bpnode_used(&stage->shape, right) <= bpnode_room(&stage->shape, stage->node)) {
                        bpnode_merge(&stage->shape, stage->node, right, separator);
                        middle = stage->model.count;
                }
        } else if (how == 1) {
                other = stage->node;
                stage->node = right;
        }
        while (how == 1 && middle-- > 0)
                sorted_delete(&stage->model, stage->model.records[0]->bytes, stage->model.records[0]->key_len);
        while (how != 1 && stage->model.count > middle) {
                const struct sorted_record *last = stage->model.records[stage->model.count - 1];

                sorted_delete(&stage->model, last->bytes, last->key_len);
        }
        free(other);
}

static void split_leaf(struct stage *stage, unsigned i, const struct bpnode_record *record)
{
        struct bpnode *right = new_page(stage);
        struct bpnode_split split;

        bpnode_split_leaf(&stage->shape, stage->node, right, i, record, &split);
        bpnode_insert(&stage->shape, split.is_right ? right : stage->node, split.i, record);
        struct bpnode_key separator = { split.separator, split.separator_len }, none = { NULL, 0 };
        fuzz_check(bpnode_fault(&stage->shape, stage->node, 0, none, separator) == NULL);
        fuzz_check(bpnode_fault(&stage->shape, right, 0, separator, none) == NULL);
        fuzz_check(check_node(stage, right, check_node(stage, stage->node, 0)) == stage->model.count);
        take_halves(stage, right, separator);
}

static void put(struct stage *stage)
{
        struct bpnode_key key = read_key(stage);
        struct bpnode_record record = read_record(stage, key);
        bool is_equal, is_known;
        size_t room = bpnode_room(&stage->shape, stage->node);
        unsigned i = bpnode_find(&stage->shape, stage->node, key, &is_equal);

        fuzz_check(i == sorted_find(&stage->model, key.bytes, key.len, &is_known) && is_equal == is_known);
        if (is_equal) {
                struct bpnode_record old = bpnode_record_at(&stage->shape, stage->node, i);
                room += bpnode_leaf_bytes(&stage->shape, key.len, old.value_len);
        }
        sorted_put(&stage->model, key.bytes, key.len, stage->value, record.value_len + 1);
        if (bpnode_leaf_bytes(&stage->shape, key.len, record.value_len) > room) {
                if (is_equal)
                        bpnode_remove(&stage->shape, stage->node, i);
                split_leaf(stage, i, &record);
        } else if (is_equal) {
                bpnode_replace(&stage->shape, stage->node, i, &record);
        } else {
                bpnode_insert(&stage->shape, stage->node, i, &record);
        }
}

static void remove_some(struct stage *stage)
{
        struct bpnode_key key = read_key(stage);
        bool is_equal;
        unsigned i = bpnode_find(&stage->shape, stage->node, key, &is_equal);

        for (uint8_t count = fuzz_u8(stage->input) % 8 + 1; count-- > 0 && i < stage->node->count;) {
                const struct sorted_record *record = stage->model.records[i];

                bpnode_remove(&stage->shape, stage->node, i);
                sorted_delete(&stage->model, record->bytes, record->key_len);
        }
}

/* ---- inner nodes ---- */

static void split_inner(struct stage *stage, unsigned i, struct bpnode_key key, page_no child)
{
        static const struct bpnode_key none = { NULL, 0 };
        struct bpnode *right = new_page(stage);
        struct bpnode_split split;
        struct bpnode_key empty = { "", 0 };

        bpnode_split_inner(&stage->shape, stage->node, right, i, key, &split);
        bool is_new = split.is_right && split.i == 0; /* it is the separator itself */
        bpnode_insert_child(&stage->shape, split.is_right ? right : stage->node, split.i, is_new ? empty : key, child);
        struct bpnode_key separator = { split.separator, split.separator_len };
        fuzz_check(bpnode_fault(&stage->shape, stage->node, stage->level, none, separator) == NULL);
        fuzz_check(bpnode_fault(&stage->shape, right, stage->level, separator, none) == NULL);
        size_t middle = check_node(stage, stage->node, 0);
        const struct sorted_record *between = stage->model.records[middle];
        page_no child_between = bpnode_child(&stage->shape, right, 0);
        fuzz_check(between->key_len == separator.len && memcmp(between->bytes, separator.bytes, separator.len) == 0);
        fuzz_check(memcmp(&child_between, sorted_value(between), sizeof(child_between)) == 0);
        fuzz_check(check_node(stage, right, middle + 1) == stage->model.count);
        bool is_merged = fuzz_u8(stage->input) % 2;
        while (is_merged && stage->node->count > 2) {
                const struct sorted_record *last = stage->model.records[stage->node->count - 2];

                bpnode_remove(&stage->shape, stage->node, stage->node->count - 1u);
                sorted_delete(&stage->model, last->bytes, last->key_len);
        }
        is_merged = is_merged &&
                    bpnode_used(&stage->shape, right) + separator.len + 8 <= bpnode_room(&stage->shape, stage->node);
        if (is_merged)
                bpnode_merge(&stage->shape, stage->node, right, separator);
        while (!is_merged && stage->model.count + 1 > stage->node->count) {
                const struct sorted_record *last = stage->model.records[stage->model.count - 1];

                sorted_delete(&stage->model, last->bytes, last->key_len);
        }
        free(right);
}

static void put_child(struct stage *stage)
{
        struct bpnode_key key = read_key(stage);
        page_no child = fuzz_u32(stage->input);
        bool is_equal;
        unsigned i = bpnode_find(&stage->shape, stage->node, key, &is_equal);

        unsigned on_way = bpnode_find_child(&stage->shape, stage->node, key);
        fuzz_check(i >= 1 && on_way == (is_equal ? i : i - 1));
        sorted_put(&stage->model, key.bytes, key.len, &child, sizeof(child));
        if (is_equal)
                bpnode_set_child(&stage->shape, stage->node, i, child);
        else if (bpnode_inner_bytes(&stage->shape, key.len) <= bpnode_room(&stage->shape, stage->node))
                bpnode_insert_child(&stage->shape, stage->node, i, key, child);
        else
                split_inner(stage, i, key, child);
}

/* The first is never the last one, and has no key. */
static void remove_child(struct stage *stage)
{
        unsigned i = fuzz_u8(stage->input);
        const struct sorted_record *record;

        if (stage->node->count < 2)
                return;
        i %= stage->node->count;
        record = stage->model.records[i ? i - 1 : 0];
        if (!i)
                memcpy(&stage->first_child, sorted_value(record), sizeof(stage->first_child));
        bpnode_remove(&stage->shape, stage->node, i);
        sorted_delete(&stage->model, record->bytes, record->key_len);
}

/* ---- a node ---- */

static void make(struct stage *stage)
{
        const struct bpnode_key empty = { "", 0 };

        bpnode_init(&stage->shape, stage->node, stage->level);
        if (stage->level)
                bpnode_insert_child(&stage->shape, stage->node, 0, empty, stage->first_child);
        for (unsigned i = 0; i < CHANGES_MAX && stage->input->left; i++) {
                uint8_t what = fuzz_u8(stage->input) % 8;

                if (stage->level)
                        what < 7 ? put_child(stage) : remove_child(stage);
                else
                        what < 6 ? put(stage) : remove_some(stage);
                if (i % 8 == 0)
                        fuzz_check(check_node(stage, stage->node, 0) == stage->model.count);
        }
        fuzz_check(check_node(stage, stage->node, 0) == stage->model.count);
        if (stage->level)
                fuzz_check(bpnode_child(&stage->shape, stage->node, 0) == stage->first_child);
}

static void take_as_they_come(struct stage *stage)
{
        memset(stage->node, 0, stage->shape.page_bytes);
        fuzz_bytes(stage->input, stage->node, stage->shape.page_bytes);
        stage->node->kind = stage->level ? PAGE_IS_INNER : PAGE_IS_LEAF;
        stage->node->level = stage->level;
        stage->node->tree_id = TREE_ID;
}

/* Everything in it, byte by byte: a sum, so that the compiler reads it. */
static unsigned read_all(const struct stage *stage)
{
        unsigned sum = 0;

        for (unsigned i = 0; i < stage->node->count; i++) {
                struct bpnode_key key = bpnode_key_at(&stage->shape, stage->node, i);
                struct bpnode_record record = { .value_len = 0 };

                if (stage->level)
                        sum += bpnode_child(&stage->shape, stage->node, i);
                else
                        record = bpnode_record_at(&stage->shape, stage->node, i);
                for (size_t at = 0; at < key.len; at++)
                        sum += ((const unsigned char *)key.bytes)[at];
                for (size_t at = 0; at < record.value_len; at++)
                        sum += ((const unsigned char *)record.value)[at];
        }
        return sum;
}

static void damage(struct stage *stage)
{
        static volatile unsigned sink;
        const struct bpnode_key none = { NULL, 0 };
        unsigned char first_bytes[4096];
        size_t len = 0;

        while (stage->input->left && len++ < 16)
                fuzz_damage(stage->input, (unsigned char *)stage->node, stage->shape.page_bytes);
        memcpy(first_bytes, stage->node, sizeof(first_bytes));
        if (bpnode_fault(&stage->shape, stage->node, stage->level, none, none))
                return;
        fuzz_check(memcmp(first_bytes, stage->node, sizeof(first_bytes)) == 0);
        sink += read_all(stage);
        for (unsigned i = stage->level ? 1 : 0; i < stage->node->count; i++) {
                struct bpnode_key key = bpnode_key_at(&stage->shape, stage->node, i);
                bool is_equal;

                fuzz_check(bpnode_find(&stage->shape, stage->node, key, &is_equal) == i && is_equal);
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t byte_len)
{
        struct fuzz_input input = { bytes, byte_len };
        uint8_t how = fuzz_u8(&input);
        struct stage stage = { .input = &input, .level = how >> 1 & 1 };

        stage.shape = (struct bpnode_shape){ .page_bytes = how & 8 ? 16384 : 4096,
                                             .tree_id = TREE_ID,
                                             .is_fixed = how & 4,
                                             .value_bytes = how & 4 ? VALUE_BYTES : 0,
                                             .compare = (how & 20) == 16 ? sorted_compare : NULL };
        stage.node = new_page(&stage);
        if ((how & 0x60) == 0x60)
                take_as_they_come(&stage);
        else
                make(&stage);
        if (how & 1 || (how & 0x60) == 0x60)
                damage(&stage);
        free(stage.node);
        sorted_clear(&stage.model);
        return 0;
}
