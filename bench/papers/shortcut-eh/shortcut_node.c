/* SPDX-License-Identifier: MIT */
#include "bench/papers/shortcut-eh/shortcut_node.h"

#include <errno.h>
#include <stdlib.h>

#include "bench/support/page_order.h"
#include "bench/support/scratch.h"

/* ---- leaves ---- */

static uint64_t leaves_of_page(const struct node_way *way)
{
        return way->page_bytes / SMALL_PAGE;
}

static void order_pages(struct node *node, uint64_t first, uint64_t seed)
{
        struct page_order order;

        node->page = malloc(node->count * sizeof(*node->page));
        must(node->page ? 0 : -ENOMEM, "memory");
        page_order_make(&order, node->count, seed);
        for (uint64_t i = 0; i < node->count; i++)
                node->page[i] = first + (node->way.is_scattered ? page_order_take(&order) : i);
        page_order_free(&order);
}

const uint64_t *node_leaf(const struct node *node, uint64_t leaf)
{
        const uint64_t each = leaves_of_page(&node->way);
        const uint64_t *words = xac_rewire_pool_page(node->pool, node->page[leaf / each]);

        return words + (leaf % each << LEAF_WORDS_SHIFT);
}

static void fill(const struct node *node)
{
        const uint64_t words = node->leaves << LEAF_WORDS_SHIFT;
        const uint64_t each = node->way.page_bytes / sizeof(uint64_t);

        for (uint64_t i = 0; i < node->count; i++) {
                uint64_t *word = xac_rewire_pool_page(node->pool, node->page[i]);
                for (uint64_t w = 0; w < each && i * each + w < words; w++)
                        word[w] = node_word(i * each + w);
        }
}

void node_prepare(struct node *node, const struct node_way *way, uint64_t slots, uint64_t leaves, uint64_t seed)
{
        const uint64_t each = leaves_of_page(way);
        uint64_t first;

        *node = (struct node){ .way = *way, .slots = slots, .leaves = leaves, .count = (leaves + each - 1) / each };
        const xac_rewire_pool_options options = { .page_bytes = way->page_bytes,
                                                  .max_bytes = node->count * way->page_bytes };
        must(xac_rewire_pool_create(&options, &node->pool), "xac_rewire_pool_create");
        must(xac_rewire_pool_take(node->pool, node->count, &first), "xac_rewire_pool_take");
        order_pages(node, first, seed);
        fill(node);
}

void node_free(struct node *node)
{
        xac_rewire_area_destroy(node->area);
        must(xac_rewire_pool_destroy(node->pool), "xac_rewire_pool_destroy");
        free(node->directory);
        free(node->page);
}

/* ---- slots ---- */

void node_point(struct node *node)
{
        node->directory = malloc(node->slots * sizeof(*node->directory));
        must(node->directory ? 0 : -ENOMEM, "memory");
        for (uint64_t slot = 0; slot < node->slots; slot++)
                node->directory[slot] = node_leaf(node, slot & (node->leaves - 1));
}

bool node_can_map(const struct node_way *way, uint64_t slots, uint64_t leaves)
{
        return slots == leaves || leaves >= leaves_of_page(way);
}

int node_map(struct node *node)
{
        const uint64_t repeats = node->slots / node->leaves;
        int err;

        must(xac_rewire_area_create(node->pool, repeats * node->count, 0, &node->area), "xac_rewire_area_create");
        node->flat = xac_rewire_area_address(node->area);
        for (uint64_t i = 0; i < repeats; i++) {
                err = xac_rewire_area_map_each(node->area, i * node->count, node->page, node->count);
                if (err)
                        return err;
        }
        return xac_rewire_area_populate(node->area, 0, repeats * node->count);
}

/* ---- lookups; each is compiled for each path ---- */

static inline uint64_t look_up(const struct node *node, enum node_path path, uint64_t key, int shift)
{
        const uint64_t slot = key >> shift, word = key & (LEAF_WORDS - 1);

        if (path == NODE_POINTERS)
                return node->directory[slot][word];
        if (path == NODE_SHORTCUT)
                return node->flat[(slot << LEAF_WORDS_SHIFT) + word];
        return node_word(((slot & (node->leaves - 1)) << LEAF_WORDS_SHIFT) + word);
}

static inline uint64_t sum_independent(const struct node *node, enum node_path path, uint64_t lookups, uint64_t random)
{
        const int shift = node_shift(node);
        uint64_t sum = 0;

        for (uint64_t i = 0; i < lookups; i++)
                sum += look_up(node, path, measure_random(&random), shift);
        return sum;
}

/* The number of the lookup is added, lest they come to a place again and go round from there. */
static inline uint64_t sum_dependent(const struct node *node, enum node_path path, uint64_t lookups, uint64_t key)
{
        const int shift = node_shift(node);
        uint64_t sum = 0;

        for (uint64_t i = 0, more = 0; i < lookups; i++, more += UINT64_C(0xd1342543de82ef95)) {
                const uint64_t word = look_up(node, path, key, shift);
                sum += word;
                key = word + more;
        }
        return sum;
}

uint64_t node_sum(const struct node *node, enum node_path path, bool is_dependent, uint64_t lookups, uint64_t seed)
{
        switch (path) {
        case NODE_POINTERS:
                return is_dependent ? sum_dependent(node, NODE_POINTERS, lookups, seed)
                                    : sum_independent(node, NODE_POINTERS, lookups, seed);
        case NODE_SHORTCUT:
                return is_dependent ? sum_dependent(node, NODE_SHORTCUT, lookups, seed)
                                    : sum_independent(node, NODE_SHORTCUT, lookups, seed);
        default:
                return is_dependent ? sum_dependent(node, NODE_EXPECTED, lookups, seed)
                                    : sum_independent(node, NODE_EXPECTED, lookups, seed);
        }
}
