/* SPDX-License-Identifier: MIT */
#include "trees/arena_check.h"
#include "trees/ehash.h"

struct check_table {
        const struct check_tree *of;
        struct ehash table;
};

static int fail(const struct check_table *check, page_no page, const char *what)
{
        return check_fail(check->of->check, page, check->of->name, what);
}

/* E1: each record's hash value is that of its key. */
static bool are_hashed(const struct ehash *table, const struct bpnode *leaf)
{
        for (unsigned i = 0; !table->shape.is_fixed && i < leaf->count; i++) {
                struct bpnode_key key = bpnode_key_at(&table->shape, leaf, i);
                if (key.len <= EHASH_FRONT)
                        return false;
                const unsigned char *bytes = key.bytes;
                if (ehash_of_bytes(table->seed, bytes + EHASH_FRONT, key.len - EHASH_FRONT) != ehash_front(bytes))
                        return false;
        }
        return true;
}

static int check_bucket(const struct check_table *check, page_no page, uint64_t begin, unsigned depth)
{
        const struct bpnode_shape *shape = &check->table.shape;
        unsigned char low[EHASH_FRONT], high[EHASH_FRONT];
        const uint64_t end = depth ? begin + (UINT64_C(1) << (64 - depth)) : 0;
        const struct bpnode *leaf = arena_read(check->table.arena, page);
        if (!leaf)
                return ARENA_LOST;
        ehash_store_front(low, begin);
        ehash_store_front(high, end);
        const struct bpnode_key from = { low, sizeof(low) }, to = { end ? high : NULL, sizeof(high) };
        const char *fault = bpnode_fault(shape, leaf, 0, from, to);
        if (!fault && !leaf->count)
                fault = "an empty bucket"; /* E3 */
        if (!fault && !are_hashed(&check->table, leaf))
                fault = "a hash value is not that of its key";
        return fault ? fail(check, page, fault) : check_leaf(check->of, shape, page, leaf);
}

static int check_directory(const struct check_table *check, page_no page, unsigned level, uint64_t begin);

/* E2: how many slots from i on name the same page; 0: not as many as there may be. */
static unsigned count_slots(const struct ehash_node *node, unsigned i)
{
        const unsigned all = 1U << node->bits;
        unsigned count = 1;
        while (i + count < all && node->slot[i + count] == node->slot[i])
                count++;
        if (!node->slot[i])
                return count;
        return count & (count - 1) || i % count ? 0 : count;
}

static int check_slots(const struct check_table *check, page_no at, const struct ehash_node *node, unsigned i,
                       unsigned count, uint64_t begin)
{
        const page_no page = node->slot[i];
        const unsigned depth = node->level * EHASH_NODE_BITS + node->bits;
        const uint64_t first = depth ? begin + ((uint64_t)i << (64 - depth)) : begin;
        if (!count)
                return fail(check, at, "slots of a bucket that are no aligned power of two");
        if (!page)
                return 0;
        int err = check_reach(check->of->check, page, check->of->name);
        if (err)
                return err;
        const uint8_t *kind = arena_read(check->table.arena, page);
        if (!kind)
                return ARENA_LOST;
        if (*kind != PAGE_IS_DIRECTORY)
                return check_bucket(check, page, first, depth - (unsigned)__builtin_ctz(count));
        if (node->bits != EHASH_NODE_BITS || count != 1 || node->level + 1u == EHASH_LEVELS) /* E4 */
                return fail(check, at, "a node below one that has bits left, or too far down");
        return check_directory(check, page, node->level + 1u, first);
}

/* The page is reached already. */
static int check_directory(const struct check_table *check, page_no page, unsigned level, uint64_t begin)
{
        const struct ehash_node *node;
        int err = ehash_node(&check->table, page, level, &node);
        if (err == -ESTALE || err == XAC_CORRUPT)
                return fail(check, page, "the page is no node of the table's directory");
        for (unsigned i = 0, count; !err && i < 1U << node->bits; i += count) {
                count = count_slots(node, i);
                err = check_slots(check, page, node, i, count, begin);
        }
        return err;
}

int check_ehash(const struct check_tree *tree)
{
        struct check_table check = { .of = tree };
        ehash_init(tree->check->arena, &tree->record, &check.table);
        int err = check_reach(tree->check, check.table.root, tree->name);
        if (!err)
                err = ehash_read_seed(&check.table);
        if (err == -ESTALE)
                return fail(&check, check.table.root, "the page is no node of the table's directory");
        return err ? err : check_directory(&check, check.table.root, 0, 0);
}
