/* SPDX-License-Identifier: MIT */
#include "trees/bpnode.h"

/*
 * Judges a page that may be anything. First where things lie, so that the rest reads nothing outside of
 * the page; then what they are.
 */

#include "trees/bpnode_cells.h"
#include "trees/bpnode_fixed.h"

enum { PAGE_MAX = 65536, WORD_BITS = 64 };

static const char *header_fault(const struct bpnode_shape *shape, const struct bpnode *node, uint8_t level)
{
        const size_t record_bytes = shape->is_fixed ? bpnode_fixed_stride(shape, level) : sizeof(struct bpnode_slot);

        if (node->kind != (level ? PAGE_IS_INNER : PAGE_IS_LEAF))
                return level ? "the page is no inner node" : "the page is no leaf";
        if (node->level != level)
                return "the node is on another level";
        if (node->tree_id != shape->tree_id)
                return "the node belongs to another tree";
        if (node->count > bpnode_capacity(shape) / record_bytes)
                return "more records than a page can hold";
        if (level && node->count == 0)
                return "an inner node without a child";
        if (level && shape->is_fixed && bpnode_fixed_load(node + 1))
                return "the first key of an inner node is not empty";
        return NULL;
}

/* ---- where the cells of the variable layout lie ---- */

/* Whether all bytes of a cell are its own: marks them. */
static bool claim(uint64_t *taken, size_t begin, size_t byte_len)
{
        const size_t end = begin + byte_len;

        for (size_t at = begin; at < end;) {
                const size_t in_word = at % WORD_BITS;
                const size_t count = end - at < WORD_BITS - in_word ? end - at : WORD_BITS - in_word;
                const uint64_t bits = UINT64_MAX >> (WORD_BITS - count) << in_word;

                if (taken[at / WORD_BITS] & bits)
                        return false;
                taken[at / WORD_BITS] |= bits;
                at += count;
        }
        return true;
}

static const char *lengths_fault(const struct bpnode_shape *shape, const struct bpnode *node, unsigned i)
{
        const struct bpnode_slot *slot = bpnode_slots(node) + i;
        const bool has_key = node->level == 0 || i > 0;

        if (has_key ? slot->key_len == 0 || slot->key_len > XAC_TREE_KEY_MAX : slot->key_len != 0)
                return "a key of impossible length";
        if (slot->offset < node->cells_begin ||
            slot->offset + bpnode_cell_front(node->level) + slot->key_len > shape->page_bytes)
                return "a cell outside of the page";
        if (node->level)
                return NULL;
        unsigned value_len = bpnode_cell_value(bpnode_cell(node, i));
        if (value_len & BPNODE_OVERFLOW ? value_len != (BPNODE_OVERFLOW | sizeof(struct bpnode_overflow))
                                        : !bpnode_is_inline(shape, slot->key_len, value_len))
                return "a value of impossible length";
        if (slot->offset + bpnode_cell_bytes(node, i) > shape->page_bytes)
                return "a value reaches out of the page";
        return NULL;
}

static const char *cells_fault(const struct bpnode_shape *shape, const struct bpnode *node)
{
        uint64_t taken[PAGE_MAX / WORD_BITS];
        size_t used = 0;

        memset(taken, 0, shape->page_bytes / 8);
        if (node->cells_begin > shape->page_bytes ||
            node->cells_begin < sizeof(*node) + node->count * sizeof(struct bpnode_slot))
                return "the cells begin outside of their area";
        for (unsigned i = 0; i < node->count; i++) {
                const char *fault = lengths_fault(shape, node, i);

                if (fault)
                        return fault;
                if (!claim(taken, bpnode_slots(node)[i].offset, bpnode_cell_bytes(node, i)))
                        return "two cells overlap";
                used += bpnode_cell_bytes(node, i);
        }
        if (used + node->dead_bytes != shape->page_bytes - node->cells_begin)
                return "the dead bytes are miscounted";
        return NULL;
}

/* ---- what the keys are ---- */

static const char *heads_fault(const struct bpnode_shape *shape, const struct bpnode *node)
{
        const struct bpnode_slot *slots = bpnode_slots(node);
        const unsigned first = node->level > 0;

        if (node->count > first) {
                struct bpnode_key last_key = bpnode_cell_key(node, node->count - 1U);

                if (node->prefix_len > bpnode_common(bpnode_cell_key(node, first), last_key))
                        return "the prefix is not common to all keys";
        }
        if (shape->compare && node->prefix_len)
                return "a prefix in a tree with its own comparison";
        for (unsigned i = 0; i < node->count; i++) {
                uint32_t head = shape->compare ? 0 : bpnode_head(bpnode_cell_key(node, i), node->prefix_len);

                if (slots[i].head != head)
                        return "a head is not that of its key";
        }
        return NULL;
}

/* Whether `count` keys, so far apart, ascend. Inlined for each stride that is worth a constant. */
static inline bool fixed_ascend(const unsigned char *keys, size_t stride, unsigned count)
{
        uint64_t is_not_less = 0;

        for (unsigned i = 1; i < count; i++, keys += stride)
                is_not_less |= bpnode_fixed_load(keys) >= bpnode_fixed_load(keys + stride);
        return !is_not_less;
}

static bool keys_ascend(const struct bpnode_shape *shape, const struct bpnode *node, unsigned first)
{
        if (shape->is_fixed) {
                const size_t stride = bpnode_fixed_stride(shape, node->level);
                const unsigned char *keys = bpnode_fixed_at(shape, node, first);
                const unsigned count = node->count - first;

                return stride == 16 ? fixed_ascend(keys, 16, count) : fixed_ascend(keys, stride, count);
        }
        for (unsigned i = first + 1; i < node->count; i++)
                if (bpnode_compare(shape, bpnode_key_at(shape, node, i - 1), bpnode_key_at(shape, node, i)) >= 0)
                        return false;
        return true;
}

static const char *order_fault(const struct bpnode_shape *shape, const struct bpnode *node, struct bpnode_key low,
                               struct bpnode_key high)
{
        const unsigned first = node->level > 0;

        if (!keys_ascend(shape, node, first))
                return "keys out of order";
        if (node->count <= first)
                return NULL;
        if (low.bytes && bpnode_compare(shape, low, bpnode_key_at(shape, node, first)) > 0)
                return "a key below the node's bounds";
        if (high.bytes && bpnode_compare(shape, bpnode_key_at(shape, node, node->count - 1U), high) >= 0)
                return "a key above the node's bounds";
        return NULL;
}

const char *bpnode_fault(const struct bpnode_shape *shape, const struct bpnode *node, uint8_t level,
                         struct bpnode_key low, struct bpnode_key high)
{
        const char *fault = header_fault(shape, node, level);

        if (!fault && !shape->is_fixed)
                fault = cells_fault(shape, node);
        if (!fault)
                fault = order_fault(shape, node, low, high);
        if (!fault && !shape->is_fixed)
                fault = heads_fault(shape, node);
        return fault;
}
