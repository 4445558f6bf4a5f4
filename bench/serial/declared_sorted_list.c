/* SPDX-License-Identifier: MIT */
#include "bench/serial/declared.h"

/*
 * The list of sorted_list.h, laid out as there: 64 nodes are a page, none lies on two. A walk over some hundred nodes
 * stays within 16 pages, so that each page is asked for once, and where it lies is kept.
 */

#include <string.h>

#include "bench/serial/sorted_list.h"

enum { PAGE = 4096, PAGES = sizeof(struct sorted_list) / PAGE + 1 };

_Static_assert(PAGE % sizeof(struct list_node) == 0, "no node lies on two pages");

struct walk {
        const struct seat *seat;
        const char *page[PAGES]; /* NULL: not asked for yet */
};

static struct sorted_list *list_of(const struct seat *seat)
{
        return (struct sorted_list *)(void *)seat->bytes;
}

static const void *look(struct walk *walk, const void *addr)
{
        const size_t at = (size_t)((const char *)addr - walk->seat->bytes);
        const char **page = &walk->page[at / PAGE];

        if (!*page)
                *page = declared_look(walk->seat, walk->seat->bytes + at / PAGE * PAGE);
        return *page ? *page + at % PAGE : NULL;
}

/* What the search ends at, as addresses in the view: the node, or NULL, and the link to it. */
struct place {
        struct list_node **link, *node;
        const struct list_node *here; /* the node, where it can be read */
};

/* Returns whether the transaction goes on. */
static bool find(const struct seat *seat, uint64_t key, struct place *place)
{
        struct walk walk = { .seat = seat };
        struct list_node *const *first = look(&walk, &list_of(seat)->first);

        if (!first)
                return false;
        place->link = &list_of(seat)->first;
        for (place->node = *first; place->node; place->node = place->here->next) {
                place->here = look(&walk, place->node);
                if (!place->here)
                        return false;
                if (place->here->key >= key)
                        break;
                place->link = &place->node->next;
        }
        return true;
}

static bool is_at(const struct place *place, uint64_t key)
{
        return place->node && place->here->key == key;
}

static int get(void *memory, uint64_t key, uint64_t *value)
{
        struct place place;
        if (!find(memory, key, &place))
                return -1;
        if (!is_at(&place, key))
                return 0;
        memcpy(value, &place.here->value, sizeof(place.here->value));
        return 1;
}

static int replace(const struct seat *seat, struct list_node *at, const uint64_t *value)
{
        struct list_node *node = declared_change(seat, at);
        if (!node)
                return -1;
        memcpy(&node->value, value, sizeof(node->value));
        return 0;
}

/* `free` and `count` are neighbours on one page. */
static struct list_node **change_free(const struct seat *seat)
{
        return declared_change(seat, &list_of(seat)->free);
}

static size_t *count_beside(struct list_node **free)
{
        return (size_t *)(void *)((char *)free + offsetof(struct sorted_list, count) -
                                  offsetof(struct sorted_list, free));
}

static int add(const struct seat *seat, const struct place *place, uint64_t key, const uint64_t *value)
{
        struct list_node **free = change_free(seat);
        if (!free)
                return -1;
        struct list_node *taken = *free;
        if (!taken)
                return 0;
        struct list_node *node = declared_change(seat, taken), **link = declared_change(seat, place->link);
        if (!node || !link)
                return -1;
        *free = node->next;
        node->key = key;
        memcpy(&node->value, value, sizeof(node->value));
        node->next = place->node;
        *link = taken;
        ++*count_beside(free);
        return 1;
}

static int put(void *memory, uint64_t key, const uint64_t *value)
{
        struct place place;
        if (!find(memory, key, &place))
                return -1;
        return is_at(&place, key) ? replace(memory, place.node, value) : add(memory, &place, key, value);
}

static int erase(void *memory, uint64_t key)
{
        const struct seat *seat = memory;
        struct place place;
        if (!find(seat, key, &place))
                return -1;
        if (!is_at(&place, key))
                return 0;
        struct list_node **free = change_free(seat), **link = declared_change(seat, place.link);
        struct list_node *node = declared_change(seat, place.node);
        if (!free || !link || !node)
                return -1;
        *link = node->next;
        node->next = *free;
        *free = place.node;
        --*count_beside(free);
        return 1;
}

static void make(void *memory)
{
        const struct seat *seat = memory;
        structures_plain[SORTED_LIST].make(seat->bytes);
}

static const char *check(void *memory, struct content *content)
{
        const struct seat *seat = memory;
        return structures_plain[SORTED_LIST].check(seat->bytes, content);
}

const struct structure declared_sorted_list = {
        .name = "sorted-list",
        .byte_len = sizeof(struct sorted_list),
        .make = make,
        .get = get,
        .put = put,
        .erase = erase,
        .check = check,
};
