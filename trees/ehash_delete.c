/* SPDX-License-Identifier: MIT */
#include "trees/ehash.h"

#include "trees/overflow.h"

/*
 * A bucket that is less than a quarter full is merged with the one beside it, which is of the same size, when both fill
 * half a page at most. An empty one goes (E3), and nodes below the root that lead nowhere go with it. Nodes keep their
 * bits.
 */

struct removal {
        struct ehash *table;
        struct bpnode_key key;
        int result;
};

int ehash_free_page(const struct ehash *table, page_no page)
{
        unsigned char *bytes = arena_write(table->arena, page);
        if (!bytes)
                return ARENA_LOST;
        *bytes = PAGE_FRESH;
        return page_alloc_free(table->arena, page);
}

static int set_slots(const struct ehash *table, const struct ehash_way *way, unsigned first, page_no page)
{
        struct ehash_node *node;
        int err = ehash_write_node(table, way->nodes[way->level], &node);
        if (err)
                return err;
        for (unsigned i = first; i < first + way->count; i++)
                node->slot[i] = page;
        return 0;
}

static bool leads_nowhere(const struct ehash_node *node)
{
        for (unsigned i = 0; i < 1U << node->bits; i++)
                if (node->slot[i])
                        return false;
        return true;
}

/* The last node of the way may have become superfluous, and then the one above it. */
static int drop_nodes(const struct ehash *table, uint64_t hash, struct ehash_way *way)
{
        for (; way->level; way->level--) {
                const struct ehash_node *node;
                struct ehash_node *above;
                int err = ehash_node(table, way->nodes[way->level], way->level, &node);
                if (err)
                        return err;
                if (!leads_nowhere(node))
                        return 0;
                err = ehash_write_node(table, way->nodes[way->level - 1], &above);
                if (err)
                        return err;
                above->slot[hash << (way->level - 1) * EHASH_NODE_BITS >> (64 - EHASH_NODE_BITS)] = PAGE_NONE;
                err = ehash_free_page(table, way->nodes[way->level]);
                if (err)
                        return err;
        }
        return 0;
}

static int drop_bucket(struct ehash *table, struct ehash_way *way)
{
        int err = set_slots(table, way, way->first, PAGE_NONE);
        if (!err)
                err = ehash_free_page(table, way->page);
        way->page = PAGE_NONE;
        ehash_learn(table, way);
        ehash_count(table, -1);
        return err ? err : drop_nodes(table, way->begin, way);
}

/* Whether the slots on the other side of the last bit are one bucket, of the same size. */
static int find_buddy(const struct ehash *table, const struct ehash_way *way, page_no *page,
                      const struct bpnode **buddy)
{
        const struct ehash_node *node;
        *page = PAGE_NONE;
        int err = ehash_node(table, way->nodes[way->level], way->level, &node);
        if (err || way->count == 1U << way->bits)
                return err;
        const unsigned first = way->first ^ way->count;
        const page_no found = node->slot[first];
        for (unsigned i = first; i < first + way->count; i++)
                if (node->slot[i] != found)
                        return 0;
        err = found ? page_alloc_reach(table->arena, found) : 0;
        if (err || !found)
                return err;
        *buddy = arena_read(table->arena, found);
        if (!*buddy)
                return ARENA_LOST;
        if (bpnode_is_of(&table->shape, *buddy, 0) && found != way->page)
                *page = found;
        return 0;
}

/* All records go into the bucket that has 0 as its last bit. */
static int merge(struct ehash *table, struct ehash_way *way, page_no buddy)
{
        const bool is_right = (way->first & way->count) != 0;
        const page_no left = is_right ? buddy : way->page, right = is_right ? way->page : buddy;
        const unsigned first = is_right ? way->first : way->first ^ way->count;
        const struct bpnode_key none = { 0 };
        struct bpnode *merged;
        int err = ehash_write_bucket(table, left, &merged);
        if (err)
                return err;
        const struct bpnode *from = arena_read(table->arena, right);
        if (!from)
                return ARENA_LOST;
        bpnode_merge(&table->shape, merged, from, none);
        err = set_slots(table, way, first, left);
        if (!err)
                err = ehash_free_page(table, right);
        way->first &= ~way->count;
        way->count *= 2;
        way->page = left;
        ehash_learn(table, way);
        ehash_count(table, -1);
        return err;
}

static int tidy(struct ehash *table, struct ehash_way *way, const struct bpnode *leaf)
{
        const struct bpnode *buddy;
        page_no page;
        const size_t left = bpnode_used(&table->shape, leaf);
        if (!leaf->count)
                return drop_bucket(table, way);
        if (left >= bpnode_capacity(&table->shape) / 4)
                return 0;
        int err = find_buddy(table, way, &page, &buddy);
        if (err || !page || left + bpnode_used(&table->shape, buddy) > bpnode_capacity(&table->shape) / 2)
                return err;
        return merge(table, way, page);
}

/* What the change needs to know; -ENOENT. */
static int look(const struct ehash *table, struct bpnode_key key, struct ehash_way *way, unsigned *i,
                struct bpnode_overflow *chain)
{
        bool is_equal = false;
        *chain = (struct bpnode_overflow){ 0 };
        int err = ehash_find(table, ehash_front(key.bytes), way);
        if (err)
                return err;
        if (way->leaf)
                *i = bpnode_find(&table->shape, way->leaf, key, &is_equal);
        if (!is_equal)
                return -ENOENT;
        struct bpnode_record record = bpnode_record_at(&table->shape, way->leaf, *i);
        if (!record.is_overflow)
                return 0;
        *chain = overflow_of(record.value);
        return overflow_probe(table->arena, table->shape.tree_id, *chain);
}

static int remove_body(void *arg)
{
        struct removal *removal = arg;
        struct ehash *table = removal->table;
        struct ehash_way way;
        struct bpnode_overflow chain;
        unsigned i = 0;
        removal->result = 0;
        int err = look(table, removal->key, &way, &i, &chain);
        if (err)
                return tree_settle(&removal->result, err);
        err = tree_cursors_before_change(&table->handle);
        if (err)
                return err;
        struct bpnode *leaf;
        err = ehash_write_bucket(table, way.page, &leaf);
        if (err)
                return err;
        bpnode_remove(&table->shape, leaf, i);
        err = chain.byte_len ? overflow_free(table->arena, table->shape.tree_id, chain) : 0;
        return err ? err : tidy(table, &way, leaf);
}

int ehash_remove_key(struct ehash *table, struct bpnode_key key)
{
        struct removal removal = { table, key, 0 };
        int err = remove_body(&removal);
        return err ? err : removal.result;
}

int ehash_delete(struct xac_tree *handle, const void *key, size_t key_len)
{
        struct ehash *table = handle->tree;
        struct ehash_key stored;
        if (!ehash_takes_key(table, key_len))
                return -EINVAL;
        int err = ehash_enter(table);
        if (err)
                return err;
        ehash_key_make(&table->shape, table->seed, key, key_len, &stored);
        struct removal removal = { table, ehash_stored(&stored), 0 };
        err = arena_run(table->arena, 0, remove_body, &removal);
        return err ? err : removal.result;
}
