/* SPDX-License-Identifier: MIT */
#include "bench/serial/structures.h"

/*
 * The table of the four, and their checks. With -DSTRUCTURES_TABLE=structures_compiled, by a compiler that does
 * something about the accesses, it is the same once more.
 */

#include "bench/serial/lru_map.h"
#include "bench/serial/open_table.h"
#include "bench/serial/rb_tree.h"
#include "bench/serial/sorted_list.h"

#ifndef STRUCTURES_TABLE
#define STRUCTURES_TABLE structures_plain
#endif

/* struct structure's calls, of NAME_make, NAME_get and NAME_put. */
#define ADAPT(name, value_type)                                                                 \
        static void make_##name(void *memory)                                                   \
        {                                                                                       \
                name##_make(memory);                                                            \
        }                                                                                       \
        static int get_##name(void *memory, uint64_t key, uint64_t *value)                      \
        {                                                                                       \
                return name##_get(memory, key, (struct value_type *)(void *)value);             \
        }                                                                                       \
        static int put_##name(void *memory, uint64_t key, const uint64_t *value)                \
        {                                                                                       \
                return name##_put(memory, key, (const struct value_type *)(const void *)value); \
        }

#define ADAPT_ERASE(name)                                   \
        static int erase_##name(void *memory, uint64_t key) \
        {                                                   \
                return name##_erase(memory, key);           \
        }

ADAPT(lru_map, lru_value)
ADAPT(rb_tree, rb_value)
ADAPT_ERASE(rb_tree)
ADAPT(open_table, open_value)
ADAPT_ERASE(open_table)
ADAPT(sorted_list, list_value)
ADAPT_ERASE(sorted_list)

/* ---- checks ---- */

static const char *check_chains(const struct lru_map *map)
{
        size_t count = 0;

        for (size_t b = 0; b < LRU_MAP_BUCKETS; b++)
                for (const struct lru_entry *entry = map->bucket[b]; entry; entry = entry->chain)
                        if (lru_map_hash(entry->key) != b || ++count > map->count)
                                return "an entry is in the wrong chain";
        return count == map->count ? NULL : "an entry is in no chain";
}

static const char *check_lru_map(void *memory, struct content *content)
{
        const struct lru_map *map = memory;
        const struct lru_entry *newer = NULL;

        for (const struct lru_entry *entry = map->newest; entry; newer = entry, entry = entry->older) {
                if (entry->newer != newer || content->count == map->count)
                        return "the list of entries is not one";
                if (lru_map_find(map, entry->key) != entry)
                        return "an entry is not found by its key";
                if (!content_add(content, entry->key, entry->value.word, LRU_MAP_WORDS))
                        return "a value is not its key's";
        }
        if (map->oldest != newer || content->count != map->count)
                return "the list of entries is not whole";
        return check_chains(map);
}

enum { DEPTH_MAX = 64 };

struct rb_walk {
        struct content *content;
        uint64_t last_key;
        int black; /* nodes on each way down; -1: not known yet */
        const char *wrong;
};

static void check_node(struct rb_walk *walk, const struct rb_node *node, int black, int depth)
{
        if (!node) {
                if (walk->black >= 0 && walk->black != black)
                        walk->wrong = "one way down has more black nodes than another";
                walk->black = black;
                return;
        }
        if (depth == DEPTH_MAX || (node->child[0] && node->child[0]->parent != node) ||
            (node->child[1] && node->child[1]->parent != node))
                walk->wrong = "the tree is not one";
        if (node->is_red && (rb_tree_is_red(node->child[0]) || rb_tree_is_red(node->child[1])))
                walk->wrong = "a red node has a red child";
        if (!walk->wrong)
                check_node(walk, node->child[0], black + !node->is_red, depth + 1);
        if (!walk->wrong && node->key <= walk->last_key)
                walk->wrong = "the keys of the tree do not rise";
        walk->last_key = node->key;
        if (!walk->wrong && !content_add(walk->content, node->key, node->value.word, RB_TREE_WORDS))
                walk->wrong = "a value is not its key's";
        if (!walk->wrong)
                check_node(walk, node->child[1], black + !node->is_red, depth + 1);
}

static const char *check_rb_tree(void *memory, struct content *content)
{
        const struct rb_tree *tree = memory;
        struct rb_walk walk = { .content = content, .black = -1 };
        size_t unused = 0;

        if (rb_tree_is_red(tree->root) || (tree->root && tree->root->parent))
                return "the root is not one";
        check_node(&walk, tree->root, 0, 0);
        if (walk.wrong)
                return walk.wrong;
        for (const struct rb_node *node = tree->free; node && unused <= RB_TREE_NODES; node = node->child[0])
                unused++;
        return content->count == tree->count && unused + tree->count == RB_TREE_NODES ? NULL : "nodes are missing";
}

static const char *check_open_table(void *memory, struct content *content)
{
        const struct open_table *table = memory;

        for (size_t s = 0; s < OPEN_TABLE_SLOTS; s++) {
                const struct open_slot *slot = &table->slot[s];
                if (!slot->key)
                        continue;
                if (open_table_find(table, slot->key) != s)
                        return "an entry is not found by its key";
                if (!content_add(content, slot->key, slot->value.word, OPEN_TABLE_WORDS))
                        return "a value is not its key's";
        }
        return content->count == table->count ? NULL : "the count is not that of the entries";
}

static const char *check_sorted_list(void *memory, struct content *content)
{
        const struct sorted_list *list = memory;
        uint64_t last_key = 0;
        size_t unused = 0;

        for (const struct list_node *node = list->first; node; node = node->next) {
                if (node->key <= last_key)
                        return "the keys of the list do not rise";
                last_key = node->key;
                if (!content_add(content, node->key, node->value.word, SORTED_LIST_WORDS))
                        return "a value is not its key's";
        }
        for (const struct list_node *node = list->free; node && unused <= SORTED_LIST_NODES; node = node->next)
                unused++;
        return content->count == list->count && unused + list->count == SORTED_LIST_NODES ? NULL : "nodes are missing";
}

/* ---- the table ---- */

const struct structure STRUCTURES_TABLE[STRUCTURES] = {
        [LRU_MAP] = { .name = "lru-map",
                      .byte_len = sizeof(struct lru_map),
                      .keys = 30000,
                      .words = LRU_MAP_WORDS,
                      .fills = 80000,
                      .make = make_lru_map,
                      .get = get_lru_map,
                      .put = put_lru_map,
                      .check = check_lru_map },
        [RB_TREE] = { .name = "rb-tree",
                      .byte_len = sizeof(struct rb_tree),
                      .keys = 30000,
                      .words = RB_TREE_WORDS,
                      .fills = 120000,
                      .make = make_rb_tree,
                      .get = get_rb_tree,
                      .put = put_rb_tree,
                      .erase = erase_rb_tree,
                      .check = check_rb_tree },
        [OPEN_TABLE] = { .name = "open-table",
                         .byte_len = sizeof(struct open_table),
                         .keys = 30000,
                         .words = OPEN_TABLE_WORDS,
                         .fills = 120000,
                         .make = make_open_table,
                         .get = get_open_table,
                         .put = put_open_table,
                         .erase = erase_open_table,
                         .check = check_open_table },
        [SORTED_LIST] = { .name = "sorted-list",
                          .byte_len = sizeof(struct sorted_list),
                          .keys = 1000,
                          .words = SORTED_LIST_WORDS,
                          .fills = 4000,
                          .make = make_sorted_list,
                          .get = get_sorted_list,
                          .put = put_sorted_list,
                          .erase = erase_sorted_list,
                          .check = check_sorted_list },
};
