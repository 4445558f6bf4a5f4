/* SPDX-License-Identifier: MIT */
#include "trees/bpnode.h"

#include "trees/bpnode_cells.h"
#include "trees/bpnode_fixed.h"

static int compare_bytes(struct bpnode_key a, struct bpnode_key b, size_t equal)
{
        size_t shorter = a.len < b.len ? a.len : b.len;
        int order = shorter > equal ? memcmp((const unsigned char *)a.bytes + equal,
                                             (const unsigned char *)b.bytes + equal, shorter - equal)
                                    : 0;

        return order ? order : (a.len > b.len) - (a.len < b.len);
}

int bpnode_compare(const struct bpnode_shape *shape, struct bpnode_key a, struct bpnode_key b)
{
        if (shape->compare)
                return shape->compare(shape->compare_arg, a.bytes, a.len, b.bytes, b.len);
        return compare_bytes(a, b, 0);
}

/* ---- variable layout ---- */

/* The first slot in [at, end) with a head that is not less. With branches, so that the processor goes on
 * with a guess, as far as to the cell, while it waits for a slot (bpnode_fixed.c has the figures). */
static unsigned find_head(const struct bpnode_slot *slots, unsigned at, unsigned end, uint32_t head)
{
        while (at < end) {
                unsigned middle = at + (end - at) / 2;

                if (slots[middle].head < head) {
                        __asm__ volatile(""); /* or else the compiler makes a conditional move of it */
                        at = middle + 1;
                } else {
                        end = middle;
                }
        }
        return at;
}

/* The slots that most nodes have at most, before it is known how many these are. */
static void fetch_slots(const struct bpnode *node)
{
        enum { CACHE_LINE = 64, LINES = 5 };

        for (size_t i = 1; i <= LINES; i++)
                __builtin_prefetch((const char *)node + i * CACHE_LINE);
}

/* The first record in [at, end) that is not less; all have the same head, and `equal` bytes in common
 * with the key. */
static unsigned find_among(const struct bpnode *node, unsigned at, unsigned end, struct bpnode_key key, size_t equal,
                           bool *is_equal)
{
        while (at < end) {
                unsigned middle = at + (end - at) / 2;
                int order = compare_bytes(bpnode_cell_key(node, middle), key, equal);

                if (order == 0) {
                        *is_equal = true;
                        return middle;
                }
                if (order < 0)
                        at = middle + 1;
                else
                        end = middle;
        }
        return at;
}

/* Where the key stands to what all keys of the node begin with; looks at the cell at i, which is
 * the one that is looked at anyway if the key is there. */
static int compare_prefix(const struct bpnode *node, unsigned i, struct bpnode_key key)
{
        struct bpnode_key begin = { key.bytes, key.len < node->prefix_len ? key.len : node->prefix_len };
        struct bpnode_key prefix = { bpnode_cell_key(node, i).bytes, node->prefix_len };

        return compare_bytes(begin, prefix, 0);
}

static unsigned find_by_heads(const struct bpnode *node, struct bpnode_key key, bool *is_equal)
{
        fetch_slots(node);
        const struct bpnode_slot *slots = bpnode_slots(node);
        const unsigned first = bpnode_cells_empty(node);
        const unsigned count = node->count;
        const uint32_t head = bpnode_head(key, node->prefix_len);

        if (first == count)
                return count;
        /* As if the key had the prefix; if it has not, the first cell looked at says so. */
        unsigned at = find_head(slots, first, count, head);
        if (node->prefix_len) {
                int order = compare_prefix(node, at < count ? at : count - 1, key);

                if (order)
                        return order < 0 ? first : count;
        }
        if (at == count || slots[at].head != head)
                return at;
        unsigned end = at + 1;
        if (end < count && slots[end].head == head)
                end = head == UINT32_MAX ? count : find_head(slots, end, count, head + 1);
        return find_among(node, at, end, key, node->prefix_len, is_equal);
}

static unsigned find_by_callback(const struct bpnode_shape *shape, const struct bpnode *node, struct bpnode_key key,
                                 bool *is_equal)
{
        unsigned at = bpnode_cells_empty(node);
        unsigned end = node->count;

        while (at < end) {
                unsigned middle = at + (end - at) / 2;
                int order = bpnode_compare(shape, bpnode_cell_key(node, middle), key);

                if (order == 0) {
                        *is_equal = true;
                        return middle;
                }
                if (order < 0)
                        at = middle + 1;
                else
                        end = middle;
        }
        return at;
}

/* ---- both ---- */

unsigned bpnode_find(const struct bpnode_shape *shape, const struct bpnode *node, struct bpnode_key key, bool *is_equal)
{
        *is_equal = false;
        if (shape->is_fixed)
                return bpnode_fixed_find(shape, node, key.bytes, is_equal);
        if (shape->compare)
                return find_by_callback(shape, node, key, is_equal);
        return find_by_heads(node, key, is_equal);
}

unsigned bpnode_find_child(const struct bpnode_shape *shape, const struct bpnode *node, struct bpnode_key key)
{
        bool is_equal = false;

        if (shape->is_fixed)
                return bpnode_fixed_find_child(node, key.bytes);
        unsigned at =
                shape->compare ? find_by_callback(shape, node, key, &is_equal) : find_by_heads(node, key, &is_equal);
        return at - (!is_equal && at > 0);
}
