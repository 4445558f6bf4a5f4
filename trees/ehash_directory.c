/* SPDX-License-Identifier: MIT */
#include "trees/ehash.h"

/* The directory of a table: a tree of pages, whose slots lead to buckets. */

/* ---- nodes ---- */

int ehash_create(const struct ehash *table)
{
        struct ehash_node *root = arena_write(table->arena, table->root);
        if (!root)
                return ARENA_LOST;
        memset(root, 0, table->arena->page_bytes);
        root->kind = PAGE_IS_DIRECTORY;
        root->tree_id = table->shape.tree_id;
        root->seed = arena_random(table->arena);
        return 0;
}

static bool is_node(const struct ehash *table, const struct ehash_node *node, unsigned level)
{
        return node->kind == PAGE_IS_DIRECTORY && node->tree_id == table->shape.tree_id && node->level == level &&
               node->bits <= EHASH_NODE_BITS;
}

int ehash_node(const struct ehash *table, page_no page, unsigned level, const struct ehash_node **node)
{
        const struct ehash_node *found = arena_read(table->arena, page);
        if (!found)
                return ARENA_LOST;
        if (!is_node(table, found, level))
                return level ? XAC_CORRUPT : -ESTALE;
        *node = found;
        return 0;
}

int ehash_write_node(const struct ehash *table, page_no page, struct ehash_node **node)
{
        struct ehash_node *found = arena_write(table->arena, page);
        if (!found)
                return ARENA_LOST;
        if (!is_node(table, found, found->level))
                return XAC_CORRUPT;
        *node = found;
        return 0;
}

/* ---- finding ---- */

/* The slots that lead where slot i does: E2 says where they end. Where there is no bucket, the largest such block. */
static int find_block(const struct ehash_node *node, unsigned i, struct ehash_way *way)
{
        const page_no page = node->slot[i];
        unsigned count = 1;
        for (; count < 1U << node->bits; count *= 2) {
                const unsigned buddy = (i / count ^ 1) * count;
                unsigned same = 0;
                while (same < count && node->slot[buddy + same] == page)
                        same++;
                if (same < count) {
                        if (same && page)
                                return XAC_CORRUPT;
                        break;
                }
        }
        way->first = i / count * count;
        way->count = count;
        return 0;
}

/* So that all is known of the way but the bucket. */
static int end_way(const struct ehash_node *node, uint64_t hash, unsigned i, struct ehash_way *way)
{
        way->bits = node->bits;
        way->page = node->slot[i];
        way->leaf = NULL;
        int err = find_block(node, i, way);
        if (err)
                return err;
        const unsigned depth = ehash_way_depth(way);
        const uint64_t behind = depth ? (UINT64_C(1) << (64 - depth)) - 1 : UINT64_MAX;
        way->begin = hash & ~behind;
        way->end = hash | behind;
        return 0;
}

static unsigned slot_of(const struct ehash_node *node, unsigned level, uint64_t hash)
{
        return node->bits ? (unsigned)(hash << level * EHASH_NODE_BITS >> (64 - node->bits)) : 0;
}

int ehash_find(const struct ehash *table, uint64_t hash, struct ehash_way *way)
{
        page_no page = table->root;
        for (unsigned level = 0; level < EHASH_LEVELS; level++) {
                const struct ehash_node *node;
                int err = ehash_node(table, page, level, &node);
                if (err)
                        return err;
                const unsigned i = slot_of(node, level, hash);
                way->nodes[level] = page;
                way->level = level;
                page = node->slot[i];
                if (!page)
                        return end_way(node, hash, i, way);
                err = page_alloc_reach(table->arena, page);
                if (err)
                        return err;
                const struct bpnode *leaf = arena_read(table->arena, page);
                if (!leaf)
                        return ARENA_LOST;
                if (leaf->kind == PAGE_IS_DIRECTORY && node->bits == EHASH_NODE_BITS)
                        continue;
                if (!bpnode_is_of(&table->shape, leaf, 0) || !leaf->count)
                        return XAC_CORRUPT;
                err = end_way(node, hash, i, way);
                way->leaf = leaf;
                return err;
        }
        return XAC_CORRUPT;
}

/* ---- one after the other ---- */

static int skip_empty(const struct ehash *table, struct ehash_way *way)
{
        while (!way->page) {
                if (way->end == UINT64_MAX)
                        return -ENOENT;
                int err = ehash_find(table, way->end + 1, way);
                if (err)
                        return err;
        }
        return 0;
}

static int skip_empty_back(const struct ehash *table, struct ehash_way *way)
{
        while (!way->page) {
                if (!way->begin)
                        return -ENOENT;
                int err = ehash_find(table, way->begin - 1, way);
                if (err)
                        return err;
        }
        return 0;
}

int ehash_find_first(const struct ehash *table, struct ehash_way *way)
{
        int err = ehash_find(table, 0, way);
        return err ? err : skip_empty(table, way);
}

int ehash_find_last(const struct ehash *table, struct ehash_way *way)
{
        int err = ehash_find(table, UINT64_MAX, way);
        return err ? err : skip_empty_back(table, way);
}

int ehash_find_next(const struct ehash *table, struct ehash_way *way)
{
        struct ehash_way next;
        if (way->end == UINT64_MAX)
                return -ENOENT;
        int err = ehash_find(table, way->end + 1, &next);
        if (!err)
                err = skip_empty(table, &next);
        if (!err)
                *way = next;
        return err;
}

int ehash_find_previous(const struct ehash *table, struct ehash_way *way)
{
        struct ehash_way previous;
        if (!way->begin)
                return -ENOENT;
        int err = ehash_find(table, way->begin - 1, &previous);
        if (!err)
                err = skip_empty_back(table, &previous);
        if (!err)
                *way = previous;
        return err;
}

/* ---- all of it ---- */

struct walk {
        uint64_t pages_left; /* no table has more: the end of one whose nodes are damaged */
        const struct ehash *table;
        const struct ehash_visitor *visitor;
};

static int walk_node(struct walk *walk, page_no page, unsigned level);

/* A slot that leads somewhere, and `count` slots with it. */
static int walk_slot(struct walk *walk, const struct ehash_node *node, unsigned i, unsigned count)
{
        const struct ehash *table = walk->table;
        const page_no page = node->slot[i];
        int err = page_alloc_reach(table->arena, page);
        if (err)
                return err;
        const struct bpnode *leaf = arena_read(table->arena, page);
        if (!leaf)
                return ARENA_LOST;
        if (leaf->kind == PAGE_IS_DIRECTORY && node->bits == EHASH_NODE_BITS)
                return walk_node(walk, page, node->level + 1u);
        if (!walk->pages_left-- || !bpnode_is_of(&table->shape, leaf, 0) || !leaf->count)
                return XAC_CORRUPT;
        return walk->visitor->visit_bucket(walk->visitor->arg, page, leaf, ehash_depth(node->level, node->bits, count));
}

static int walk_node(struct walk *walk, page_no page, unsigned level)
{
        const struct ehash_node *node;
        if (level == EHASH_LEVELS || !walk->pages_left--)
                return XAC_CORRUPT;
        int err = ehash_node(walk->table, page, level, &node);
        if (!err)
                err = walk->visitor->visit_node(walk->visitor->arg, page, node);
        for (unsigned i = 0, count; !err && i < 1U << node->bits; i += count) {
                struct ehash_way way = { .count = 1 };
                err = node->slot[i] ? find_block(node, i, &way) : 0;
                count = way.count;
                if (!err && node->slot[i])
                        err = way.first == i ? walk_slot(walk, node, i, count) : XAC_CORRUPT;
        }
        return err;
}

int ehash_walk(const struct ehash *table, const struct ehash_visitor *visitor)
{
        uint32_t groups;
        int err = page_group_count(table->arena, &groups);
        if (err)
                return err;
        struct walk walk = { (uint64_t)groups * GROUP_PAGES, table, visitor };
        return walk_node(&walk, table->root, 0);
}
