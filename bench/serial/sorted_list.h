/* SPDX-License-Identifier: MIT */
#ifndef BENCH_SERIAL_SORTED_LIST_H
#define BENCH_SERIAL_SORTED_LIST_H

/*
 * A linked list by rising keys. Nodes that are not in it are in another list, from which new ones are taken.
 */

#include <stddef.h>
#include <stdint.h>

enum { SORTED_LIST_NODES = 1024, SORTED_LIST_WORDS = 6 };

struct list_value {
        uint64_t word[SORTED_LIST_WORDS];
};

struct list_node {
        uint64_t key;
        struct list_node *next;
        struct list_value value;
};

struct sorted_list {
        struct list_node node[SORTED_LIST_NODES];
        struct list_node *first, *free;
        size_t count;
};

static inline void sorted_list_make(struct sorted_list *list)
{
        list->first = list->free = NULL;
        list->count = 0;
        for (size_t n = SORTED_LIST_NODES; n-- > 0;) {
                list->node[n].next = list->free;
                list->free = &list->node[n];
        }
}

/* What leads to the key's node, or to where it would be. */
static inline struct list_node **sorted_list_find(struct sorted_list *list, uint64_t key)
{
        struct list_node **link = &list->first;
        while (*link && (*link)->key < key)
                link = &(*link)->next;
        return link;
}

/* Returns whether the key is there. */
static inline int sorted_list_get(struct sorted_list *list, uint64_t key, struct list_value *value)
{
        const struct list_node *node = *sorted_list_find(list, key);
        if (!node || node->key != key)
                return 0;
        *value = node->value;
        return 1;
}

/* Returns whether there is a node more than before. */
static inline int sorted_list_put(struct sorted_list *list, uint64_t key, const struct list_value *value)
{
        struct list_node **link = sorted_list_find(list, key);
        struct list_node *node = *link;

        if (node && node->key == key) {
                node->value = *value;
                return 0;
        }
        if (!list->free)
                return 0;
        node = list->free;
        list->free = node->next;
        node->key = key;
        node->value = *value;
        node->next = *link;
        *link = node;
        list->count++;
        return 1;
}

/* Returns whether the key was there. */
static inline int sorted_list_erase(struct sorted_list *list, uint64_t key)
{
        struct list_node **link = sorted_list_find(list, key);
        struct list_node *node = *link;

        if (!node || node->key != key)
                return 0;
        *link = node->next;
        node->next = list->free;
        list->free = node;
        list->count--;
        return 1;
}

#endif
