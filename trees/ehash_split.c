/* SPDX-License-Identifier: MIT */
#include "trees/ehash.h"

/*
 * A bucket is split by the next bit of its records' hash values:
 *
 *      before   | A A |                | 000.. 001.. 010.. 011.. |
 *      after    | A B |                | 000.. 001.. |  and  | 010.. 011.. |
 *
 * Where a bucket has one slot only, the node is doubled first; where that has all the bits it may have, the slot gets a
 * node of its own. A half without records has no bucket (E3).
 */

/* The records from `first` on to before `end` whose next bit is 0. */
static unsigned count_zeros(const struct ehash *table, const struct bpnode *leaf, unsigned first, unsigned end,
                            unsigned depth)
{
        unsigned i = first;
        while (i < end && !(ehash_front(bpnode_key_at(&table->shape, leaf, i).bytes) << depth >> 63))
                i++;
        return i - first;
}

/* ---- what is needed ---- */

struct plan {
        unsigned level, bits, count; /* as in a way */
        unsigned depth;
        unsigned first, end; /* records that are in the same bucket with the new one still */
        uint32_t pages;
};

static size_t used(const struct ehash *table, const struct bpnode *leaf, const struct plan *plan)
{
        size_t bytes = 0;
        for (unsigned i = plan->first; i < plan->end; i++) {
                struct bpnode_record record = bpnode_record_at(&table->shape, leaf, i);
                bytes += leaf_bytes(&table->shape, &record);
        }
        return bytes;
}

/* As ehash_split() will do it. */
static int plan_step(const struct ehash *table, const struct bpnode *leaf, uint64_t hash, struct plan *plan)
{
        if (plan->count == 1) {
                if (plan->bits < EHASH_NODE_BITS) {
                        plan->bits++;
                } else {
                        if (++plan->level == EHASH_LEVELS)
                                return -ENOSPC;
                        plan->bits = 1;
                        plan->pages++;
                }
                plan->count = 2;
        }
        const unsigned cut = plan->first + count_zeros(table, leaf, plan->first, plan->end, plan->depth);
        plan->pages += cut > plan->first && cut < plan->end;
        if (hash << plan->depth >> 63)
                plan->first = cut;
        else
                plan->end = cut;
        plan->count /= 2;
        plan->depth++;
        return 0;
}

int ehash_split_reserve(const struct ehash *table, const struct ehash_way *way, uint64_t hash, size_t bytes,
                        struct page_reserve *reserve)
{
        struct plan plan = { .level = way->level,
                             .bits = way->bits,
                             .count = way->count,
                             .depth = ehash_way_depth(way),
                             .end = way->leaf ? way->leaf->count : 0 };
        while (way->leaf && used(table, way->leaf, &plan) + bytes > bpnode_capacity(&table->shape)) {
                int err = plan_step(table, way->leaf, hash, &plan);
                if (err)
                        return err;
        }
        plan.pages += plan.first == plan.end;
        return plan.pages > ALLOC_RESERVE_MAX ? -ENOSPC : page_alloc_reserve(table->arena, reserve, plan.pages);
}

/* ---- the change ---- */

static void set_slots(struct ehash_node *node, unsigned first, unsigned count, page_no page)
{
        for (unsigned i = first; i < first + count; i++)
                node->slot[i] = page;
}

static void double_node(struct ehash_node *node, struct ehash_way *way)
{
        for (size_t i = (size_t)1 << node->bits; i-- > 0;)
                node->slot[2 * i + 1] = node->slot[2 * i] = node->slot[i];
        way->bits = ++node->bits;
        way->first *= 2;
        way->count = 2;
}

/* The slot leads to a node of its own, and that to the bucket. */
static int add_node(const struct ehash *table, struct ehash_node **node, struct ehash_way *way,
                    struct page_reserve *reserve)
{
        const page_no page = page_alloc_take(reserve);
        struct ehash_node *below = arena_write(table->arena, page);
        if (!below)
                return ARENA_LOST;
        memset(below, 0, table->arena->page_bytes);
        below->kind = PAGE_IS_DIRECTORY;
        below->level = (uint8_t)(way->level + 1);
        below->bits = 1;
        below->tree_id = table->shape.tree_id;
        set_slots(below, 0, 2, way->page);
        (*node)->slot[way->first] = page;
        way->nodes[++way->level] = page;
        way->bits = 1;
        way->first = 0;
        way->count = 2;
        *node = below;
        return 0;
}

/* What of the bucket has 1 as its next bit goes into another one. */
static int cut_bucket(struct ehash *table, const struct ehash_way *way, struct bpnode *leaf, page_no half[2],
                      struct page_reserve *reserve)
{
        const unsigned zeros = count_zeros(table, leaf, 0, leaf->count, ehash_way_depth(way));
        half[0] = zeros ? way->page : PAGE_NONE;
        half[1] = zeros < leaf->count ? way->page : PAGE_NONE;
        if (!half[0] || !half[1])
                return 0;
        half[1] = page_alloc_take(reserve);
        struct bpnode *ones = arena_write(table->arena, half[1]);
        if (!ones)
                return ARENA_LOST;
        bpnode_cut(&table->shape, leaf, zeros, ones);
        ehash_count(table, 1);
        return 0;
}

/* The half where the hash value belongs. */
static void enter_half(struct ehash_way *way, unsigned bit, page_no page)
{
        const uint64_t place = UINT64_C(1) << (63 - ehash_way_depth(way));
        way->count /= 2;
        if (bit) {
                way->first += way->count;
                way->begin |= place;
        } else {
                way->end &= ~place;
        }
        way->page = page;
}

static int split_once(struct ehash *table, struct ehash_way *way, uint64_t hash, struct bpnode *leaf,
                      struct page_reserve *reserve)
{
        struct ehash_node *node;
        page_no half[2];
        int err = ehash_write_node(table, way->nodes[way->level], &node);
        if (!err && way->count == 1) {
                if (node->bits < EHASH_NODE_BITS)
                        double_node(node, way);
                else
                        err = add_node(table, &node, way, reserve);
        }
        if (!err)
                err = cut_bucket(table, way, leaf, half, reserve);
        if (err)
                return err;
        set_slots(node, way->first, way->count / 2, half[0]);
        set_slots(node, way->first + way->count / 2, way->count / 2, half[1]);
        const unsigned bit = (unsigned)(hash << ehash_way_depth(way) >> 63);
        struct ehash_way other = *way;
        enter_half(&other, !bit, half[!bit]);
        ehash_learn(table, &other);
        enter_half(way, bit, half[bit]);
        return 0;
}

/* Slots that have no bucket get one. */
static int add_bucket(struct ehash *table, struct ehash_way *way, struct page_reserve *reserve)
{
        struct ehash_node *node;
        int err = ehash_write_node(table, way->nodes[way->level], &node);
        if (err)
                return err;
        way->page = page_alloc_take(reserve);
        struct bpnode *leaf = arena_write(table->arena, way->page);
        if (!leaf)
                return ARENA_LOST;
        bpnode_init(&table->shape, leaf, 0);
        set_slots(node, way->first, way->count, way->page);
        ehash_count(table, 1);
        return 0;
}

int ehash_split(struct ehash *table, struct ehash_way *way, uint64_t hash, const struct bpnode_record *record,
                struct page_reserve *reserve)
{
        const struct bpnode_shape *shape = &table->shape;
        for (;;) {
                bool is_equal;
                struct bpnode *leaf;
                int err = way->page ? 0 : add_bucket(table, way, reserve);
                if (!err)
                        err = ehash_write_bucket(table, way->page, &leaf);
                if (err)
                        return err;
                if (bpnode_room(shape, leaf) >= leaf_bytes(shape, record)) {
                        bpnode_insert(shape, leaf, bpnode_find(shape, leaf, record->key, &is_equal), record);
                        ehash_learn(table, way);
                        return 0;
                }
                err = split_once(table, way, hash, leaf, reserve);
                if (err)
                        return err;
        }
}
