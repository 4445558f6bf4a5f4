/* SPDX-License-Identifier: MIT */
#include "tests/trees/node_model.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { EDGE = 65536 };

static const struct bpnode_key none = { NULL, 0 };

/* ---- keys and values ---- */

int model_compare_by_length(void *arg, const void *a, size_t a_len, const void *b, size_t b_len)
{
        assert_null(arg);
        if (a_len != b_len)
                return a_len > b_len ? -1 : 1;
        return -memcmp(a, b, a_len);
}

static uint32_t below(struct model_maker *maker, uint32_t bound)
{
        return (uint32_t)chance_below(maker->chance, bound);
}

static void fill_with_chance(struct model_maker *maker, unsigned char *bytes, size_t byte_len)
{
        for (size_t i = 0; i < byte_len; i++)
                bytes[i] = (unsigned char)chance_next(maker->chance);
}

void maker_start(struct model_maker *maker, struct chance *chance, enum model_keys kind)
{
        maker->chance = chance;
        maker->kind = kind;
        maker->value_max = 65536;
        maker->prefix_len = 1 + below(maker, XAC_TREE_KEY_MAX - 8);
        fill_with_chance(maker, maker->prefix, maker->prefix_len);
        fill_with_chance(maker, maker->value, sizeof(maker->value));
}

static size_t make_colliding(struct model_maker *maker, unsigned char *key)
{
        static const unsigned char letters[] = { 0, 0, 1, 255 };
        size_t len = 1 + below(maker, 8);

        for (size_t i = 0; i < len; i++)
                key[i] = letters[below(maker, sizeof(letters))];
        return len;
}

struct bpnode_key make_key(struct model_maker *maker, const struct bpnode_shape *shape)
{
        unsigned char *key = maker->key;
        size_t len = 8;

        if (shape->is_fixed && maker->kind != KEYS_COLLIDE) {
                fill_with_chance(maker, key, 8);
        } else if (shape->is_fixed) {
                memset(key, 0, 8);
                key[7] = (unsigned char)below(maker, 256);
                key[below(maker, 2)] = (unsigned char)below(maker, 2);
        } else if (maker->kind == KEYS_COLLIDE) {
                len = make_colliding(maker, key);
        } else if (maker->kind == KEYS_PREFIXED) {
                memcpy(key, maker->prefix, maker->prefix_len);
                len = maker->prefix_len + make_colliding(maker, key + maker->prefix_len);
        } else if (maker->kind == KEYS_DECIMAL) {
                for (size_t i = 0; i < len; i++)
                        key[i] = (unsigned char)('0' + below(maker, 10));
        } else {
                len = 1 + below(maker, chance_percent(maker->chance, 20) ? XAC_TREE_KEY_MAX : 20);
                fill_with_chance(maker, key, len);
        }
        return (struct bpnode_key){ key, len };
}

struct bpnode_record make_record(struct model_maker *maker, const struct bpnode_shape *shape, struct bpnode_key key)
{
        size_t len = shape->value_bytes;
        bool is_overflow = false;

        if (!shape->is_fixed) {
                size_t bound = maker->value_max;

                len = below(maker, chance_percent(maker->chance, 70) && bound > 100 ? 100 : (uint32_t)bound);
                is_overflow = !bpnode_is_inline(shape, key.len, len);
                len = is_overflow ? sizeof(struct bpnode_overflow) : len;
        }
        return (struct bpnode_record){ key, maker->value + below(maker, (uint32_t)(sizeof(maker->value) - len)), len,
                                       is_overflow };
}

/* ---- the array ---- */

struct bpnode_key model_key(const struct model *model, unsigned i)
{
        return (struct bpnode_key){ model->records[i]->bytes, model->records[i]->key_len };
}

/* The order by the words of bptree.h, not by the code that is tested. */
static int order_of(const struct model *model, struct bpnode_key a, struct bpnode_key b)
{
        if (model->shape->compare)
                return model->shape->compare(model->shape->compare_arg, a.bytes, a.len, b.bytes, b.len);
        int order = memcmp(a.bytes, b.bytes, a.len < b.len ? a.len : b.len);
        return order ? order : (int)a.len - (int)b.len;
}

unsigned model_find(const struct model *model, struct bpnode_key key, bool *is_equal)
{
        unsigned at = model->node->level > 0;
        unsigned end = model->count;

        *is_equal = false;
        while (at < end) {
                unsigned middle = (at + end) / 2;
                int order = order_of(model, model_key(model, middle), key);

                if (order < 0) {
                        at = middle + 1;
                } else {
                        *is_equal |= order == 0;
                        end = middle;
                }
        }
        return at;
}

size_t model_bytes(const struct model *model, unsigned i)
{
        const struct model_record *record = model->records[i];

        return model->node->level ? bpnode_inner_bytes(model->shape, record->key_len)
                                  : bpnode_leaf_bytes(model->shape, record->key_len, record->value_len);
}

void model_note(struct model *model, unsigned i, const struct bpnode_record *record, page_no child)
{
        struct model_record *copy = malloc(sizeof(*copy) + record->key.len + record->value_len);

        assert_non_null(copy);
        assert_true(model->count < MODEL_RECORDS_MAX);
        *copy = (struct model_record){ record->key.len, record->value_len, record->is_overflow, child };
        if (record->key.len)
                memcpy(copy->bytes, record->key.bytes, record->key.len);
        if (record->value_len)
                memcpy(copy->bytes + record->key.len, record->value, record->value_len);
        for (unsigned at = model->count++; at > i; at--)
                model->records[at] = model->records[at - 1];
        model->records[i] = copy;
}

void model_forget(struct model *model, unsigned i)
{
        free(model->records[i]);
        model->count--;
        for (unsigned at = i; at < model->count; at++)
                model->records[at] = model->records[at + 1];
}

void model_rekey(struct model *model, unsigned i, struct bpnode_key key)
{
        const struct bpnode_record record = { .key = key };
        page_no child = model->records[i]->child;

        model_forget(model, i);
        model_note(model, i, &record, child);
}

void model_move(struct model *from, unsigned first, struct model *to)
{
        for (unsigned at = first; at < from->count; at++)
                to->records[to->count++] = from->records[at];
        from->count = first;
}

/* ---- both ---- */

struct model *model_start(const struct bpnode_shape *shape, uint8_t level)
{
        struct model *model = calloc(1, sizeof(*model));
        unsigned char *memory =
                mmap(NULL, shape->page_bytes + 2 * (size_t)EDGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        assert_non_null(model);
        assert_ptr_not_equal(memory, MAP_FAILED);
        assert_int_equal(mprotect(memory + EDGE, shape->page_bytes, PROT_READ | PROT_WRITE), 0);
        memset(memory + EDGE, 0xa5, shape->page_bytes);
        model->shape = shape;
        model->node = (struct bpnode *)(memory + EDGE);
        bpnode_init(shape, model->node, level);
        if (level)
                model_insert(model, 0, &(struct bpnode_record){ .key = none }, 77);
        return model;
}

void model_end(struct model *model)
{
        while (model->count)
                model_forget(model, model->count - 1);
        munmap((unsigned char *)model->node - EDGE, model->shape->page_bytes + 2 * (size_t)EDGE);
        free(model);
}

void model_insert(struct model *model, unsigned i, const struct bpnode_record *record, page_no child)
{
        if (model->node->level)
                bpnode_insert_child(model->shape, model->node, i, record->key, child);
        else
                bpnode_insert(model->shape, model->node, i, record);
        model_note(model, i, record, child);
}

void model_remove(struct model *model, unsigned i)
{
        bpnode_remove(model->shape, model->node, i);
        model_forget(model, i);
        if (i == 0 && model->node->level && model->count)
                model_rekey(model, 0, none);
}

static void verify_record(const struct model *model, unsigned i)
{
        const struct model_record *expected = model->records[i];
        struct bpnode_key key = bpnode_key_at(model->shape, model->node, i);

        assert_int_equal(key.len, expected->key_len);
        assert_memory_equal(key.bytes, expected->bytes, key.len);
        if (model->node->level) {
                assert_int_equal(bpnode_child(model->shape, model->node, i), expected->child);
                return;
        }
        struct bpnode_record record = bpnode_record_at(model->shape, model->node, i);
        assert_ptr_equal(record.key.bytes, key.bytes);
        assert_int_equal(record.key.len, key.len);
        assert_int_equal(record.is_overflow, expected->is_overflow);
        assert_int_equal(record.value_len, expected->value_len);
        assert_memory_equal(record.value, expected->bytes + key.len, record.value_len);
}

void model_verify_within(const struct model *model, struct bpnode_key low, struct bpnode_key high)
{
        const char *fault = bpnode_fault(model->shape, model->node, model->node->level, low, high);
        size_t used = 0;

        if (fault)
                fail_msg("%s", fault);
        assert_true(bpnode_is_of(model->shape, model->node, model->node->level));
        assert_int_equal(model->node->count, model->count);
        for (unsigned i = 0; i < model->count; i++) {
                verify_record(model, i);
                used += model_bytes(model, i);
        }
        assert_int_equal(bpnode_used(model->shape, model->node), used);
        assert_int_equal(bpnode_room(model->shape, model->node), bpnode_capacity(model->shape) - used);
}

void model_verify(const struct model *model)
{
        model_verify_within(model, none, none);
}
