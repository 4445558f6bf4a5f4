/* SPDX-License-Identifier: MIT */
#include "trees/bptree.h"

#include <errno.h>

#include "trees/leaf.h"

/* Leaves without their tree: pages that were copied elsewhere. Whether they are leaves at all, bpnode_check.c says. */

enum { PAGE_BYTES_MIN = 4096, PAGE_BYTES_MAX = 65536 };

static inline struct bpnode_shape shape_of(const xac_tree_leaf *leaf)
{
        return (struct bpnode_shape){ .page_bytes = leaf->page_bytes,
                                      .tree_id = leaf->tree_id,
                                      .is_fixed = leaf->options.key_bytes != 0,
                                      .value_bytes = leaf->options.value_bytes,
                                      .compare = leaf->options.compare,
                                      .compare_arg = leaf->options.compare_arg };
}

static bool may_be(uint32_t page_bytes, const xac_tree_options *options)
{
        if (page_bytes < PAGE_BYTES_MIN || page_bytes > PAGE_BYTES_MAX || (page_bytes & (page_bytes - 1)) != 0)
                return false;
        if (options->key_bytes)
                return options->key_bytes == BPNODE_FIXED_KEY && options->value_bytes <= XAC_TREE_FIXED_VALUE_MAX &&
                       !options->compare;
        return !options->value_bytes;
}

int xac_tree_leaf_open(const void *page, uint32_t page_bytes, const xac_tree_options *options, xac_tree_leaf *leaf)
{
        const struct bpnode *node = page;
        const struct bpnode_key none = { NULL, 0 };
        xac_tree_leaf found = { .page = page, .page_bytes = page_bytes };
        if (options)
                found.options = *options;
        if (!may_be(page_bytes, &found.options))
                return -EINVAL;
        found.count = node->count;
        found.tree_id = node->tree_id;
        const struct bpnode_shape shape = shape_of(&found);
        if (bpnode_fault(&shape, node, 0, none, none))
                return XAC_CORRUPT;
        *leaf = found;
        return 0;
}

void xac_tree_leaf_record(const xac_tree_leaf *leaf, uint32_t index, xac_tree_record *record)
{
        const struct bpnode_shape shape = shape_of(leaf);
        const struct bpnode_record stored = bpnode_record_at(&shape, leaf->page, index);
        leaf_show(&stored, record);
}

/* ---- what two leaves have in common ---- */

static size_t common_bytes(const unsigned char *one, const unsigned char *other, size_t byte_len)
{
        enum { CHUNK = 256 };
        size_t at = 0;
        while (at + CHUNK <= byte_len && memcmp(one + at, other + at, CHUNK) == 0)
                at += CHUNK;
        while (at < byte_len && one[at] == other[at])
                at++;
        return at;
}

static uint32_t common_cells(const struct bpnode *one, uint32_t at, const struct bpnode *other, uint32_t other_at,
                             uint32_t most)
{
        enum { AHEAD = 8 };
        uint32_t count = 0;
        for (; count < most; count++) {
                if (count + AHEAD < most) { /* cells lie anywhere in a page, which is in no cache */
                        __builtin_prefetch(bpnode_cell(one, at + count + AHEAD));
                        __builtin_prefetch(bpnode_cell(other, other_at + count + AHEAD));
                }
                const unsigned char *cell = bpnode_cell(one, at + count),
                                    *beside = bpnode_cell(other, other_at + count);
                const unsigned key_len = bpnode_slots(one)[at + count].key_len, value_len = bpnode_cell_value(cell);
                if (bpnode_slots(other)[other_at + count].key_len != key_len ||
                    bpnode_cell_value(beside) != value_len || (value_len & BPNODE_OVERFLOW) != 0 ||
                    memcmp(cell, beside, bpnode_cell_front(0) + key_len + value_len) != 0)
                        break;
        }
        return count;
}

uint32_t xac_tree_leaf_common(const xac_tree_leaf *one, uint32_t at, const xac_tree_leaf *other, uint32_t other_at)
{
        const struct bpnode_shape shape = shape_of(one);
        const uint32_t left = one->count - at, other_left = other->count - other_at;
        const uint32_t most = left < other_left ? left : other_left;
        if (!shape.is_fixed)
                return common_cells(one->page, at, other->page, other_at, most);
        const size_t stride = bpnode_fixed_stride(&shape, 0);
        return (uint32_t)(common_bytes(bpnode_fixed_at(&shape, one->page, at),
                                       bpnode_fixed_at(&shape, other->page, other_at), most * stride) /
                          stride);
}

/* ---- finding ---- */

/* A key of another length than the tree's, among keys of 8 bytes: as bytes, by halving. */
static uint32_t find_odd_key(const xac_tree_leaf *leaf, const struct bpnode_shape *shape, struct bpnode_key key)
{
        uint32_t at = 0, end = leaf->count;
        while (at < end) {
                uint32_t middle = at + (end - at) / 2;
                if (bpnode_compare(shape, bpnode_key_at(shape, leaf->page, middle), key) < 0)
                        at = middle + 1;
                else
                        end = middle;
        }
        return at;
}

uint32_t xac_tree_leaf_find(const xac_tree_leaf *leaf, const void *key, size_t key_len)
{
        const struct bpnode_shape shape = shape_of(leaf);
        const struct bpnode_key wanted = { key, key_len };
        bool is_equal;
        if (!leaf->count)
                return 0;
        if (!leaf_takes_key(&shape, key_len))
                return find_odd_key(leaf, &shape, wanted);
        return bpnode_find(&shape, leaf->page, wanted, &is_equal);
}
