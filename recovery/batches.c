/* SPDX-License-Identifier: MIT */
#include "recovery/batches.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "base/heap_sort.h"
#include "base/search.h"
#include "base/sys.h"

static uint32_t find(const uint64_t *pages, uint32_t count, uint64_t page)
{
        return search_first(pages, count, sizeof(pages[0]), page);
}

static bool is_at(const uint64_t *pages, uint32_t count, uint32_t index, uint64_t page)
{
        return index < count && pages[index] == page;
}

bool batches_have(const uint64_t *pages, uint32_t count, uint64_t page)
{
        return is_at(pages, count, find(pages, count, page), page);
}

/* ---- The moves as a graph: from each page to those that must not go later ---- */

struct node {
        uint32_t edges_end; /* those of a page begin where those of the page before end */
        uint32_t next_edge; /* the walk goes on there */
        uint32_t number;    /* in the order in which the walk came; 0: it has not yet */
        uint32_t lowest;    /* number that can be reached from here, of those on the stack */
        uint32_t caller;    /* from which the walk came */
        bool is_open;       /* on the stack: its cluster is not complete */
};

struct graph {
        const struct batches_wanted *wanted;
        struct batches *batches;
        struct node *nodes;
        uint32_t *edges;
        uint32_t *stack;
        uint32_t stack_count;
        uint32_t numbers;
        uint64_t byte_len; /* of all that memory */
        void *memory;
};

static int graph_allocate(struct graph *graph)
{
        const struct batches_wanted *wanted = graph->wanted;
        uint64_t nodes_len = (uint64_t)wanted->count * sizeof(struct node);
        uint64_t edges_len = (uint64_t)wanted->move_count * sizeof(uint32_t);

        graph->byte_len = nodes_len + edges_len + (uint64_t)wanted->count * sizeof(uint32_t);
        int err = sys_mmap(NULL, graph->byte_len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0,
                           &graph->memory);
        if (err)
                return -ENOMEM;
        graph->nodes = graph->memory;
        graph->edges = (uint32_t *)(void *)((char *)graph->memory + nodes_len);
        graph->stack = (uint32_t *)(void *)((char *)graph->memory + nodes_len + edges_len);
        return 0;
}

/* The indices of both pages of a move. */
static bool find_ends(const struct batches_wanted *wanted, const struct batches_move *move, uint32_t *source,
                      uint32_t *target)
{
        *source = find(wanted->pages, wanted->count, move->source);
        *target = find(wanted->pages, wanted->count, move->target);
        return is_at(wanted->pages, wanted->count, *source, move->source) &&
               is_at(wanted->pages, wanted->count, *target, move->target);
}

static void graph_build(struct graph *graph)
{
        const struct batches_wanted *wanted = graph->wanted;
        uint32_t source, target, begin = 0;

        for (uint32_t i = 0; i < wanted->move_count; i++)
                if (find_ends(wanted, &wanted->moves[i], &source, &target))
                        graph->nodes[source].edges_end++; /* a count, so far */
        for (uint32_t i = 0; i < wanted->count; i++) {
                struct node *node = &graph->nodes[i];
                uint32_t count = node->edges_end;

                node->edges_end = begin;
                node->next_edge = begin;
                begin += count;
        }
        for (uint32_t i = 0; i < wanted->move_count; i++)
                if (find_ends(wanted, &wanted->moves[i], &source, &target))
                        graph->edges[graph->nodes[source].edges_end++] = target;
}

/* ---- The walk ---- */

static void order_push(struct batches *batches, uint32_t page)
{
        ((uint32_t *)batches->order.items)[batches->order.count++] = page;
}

static void cluster_close(struct batches *batches)
{
        ((uint32_t *)batches->ends.items)[batches->ends.count++] = batches->order.count;
}

static void walk_into(struct graph *graph, uint32_t page, uint32_t caller)
{
        struct node *node = &graph->nodes[page];

        node->number = ++graph->numbers;
        node->lowest = node->number;
        node->caller = caller;
        node->is_open = true;
        graph->stack[graph->stack_count++] = page;
}

/* All that is on the stack from this page on is its cluster. */
static void take_cluster(struct graph *graph, uint32_t page)
{
        uint32_t member;

        do {
                member = graph->stack[--graph->stack_count];
                graph->nodes[member].is_open = false;
                order_push(graph->batches, member);
        } while (member != page);
        cluster_close(graph->batches);
}

static void lower(struct node *node, uint32_t number)
{
        if (number < node->lowest)
                node->lowest = number;
}

/* Emits the clusters of all that can be reached from a page, itself last; without recursion, as stacks may be small. */
static void walk_from(struct graph *graph, uint32_t root)
{
        uint32_t page = root;

        if (graph->nodes[root].number)
                return;
        walk_into(graph, root, UINT32_MAX);
        while (page != UINT32_MAX) {
                struct node *node = &graph->nodes[page];

                if (node->next_edge < node->edges_end) {
                        uint32_t to = graph->edges[node->next_edge++];
                        const struct node *there = &graph->nodes[to];

                        if (!there->number) {
                                walk_into(graph, to, page);
                                page = to;
                        } else if (there->is_open) {
                                lower(node, there->number);
                        }
                        continue;
                }
                if (node->lowest == node->number)
                        take_cluster(graph, page);
                if (node->caller != UINT32_MAX)
                        lower(&graph->nodes[node->caller], node->lowest);
                page = node->caller;
        }
}

/* Those that must go with the first batch, and what they need, become one cluster. */
static void walk_first(struct graph *graph)
{
        const struct batches_wanted *wanted = graph->wanted;

        for (uint32_t i = 0; i < wanted->first_count; i++) {
                uint32_t page = find(wanted->pages, wanted->count, wanted->first[i]);

                if (is_at(wanted->pages, wanted->count, page, wanted->first[i]))
                        walk_from(graph, page);
        }
        graph->batches->ends.count = 0;
        if (graph->batches->order.count)
                cluster_close(graph->batches);
}

int batches_plan(struct batches *batches, const struct batches_wanted *wanted)
{
        struct graph graph = { .wanted = wanted, .batches = batches };

        *batches = (struct batches){ 0 };
        if (!wanted->count)
                return 0;
        int err = vector_reserve(&batches->order, wanted->count, sizeof(uint32_t));
        if (!err)
                err = vector_reserve(&batches->ends, wanted->count, sizeof(uint32_t));
        if (!err)
                err = vector_reserve(&batches->batch, wanted->count, sizeof(uint32_t));
        if (!err)
                err = graph_allocate(&graph);
        if (err)
                return err;
        graph_build(&graph);
        walk_first(&graph);
        for (uint32_t page = 0; page < wanted->count; page++)
                walk_from(&graph, page);
        sys_munmap(graph.memory, graph.byte_len);
        return 0;
}

void batches_free(struct batches *batches)
{
        vector_free(&batches->order, sizeof(uint32_t));
        vector_free(&batches->ends, sizeof(uint32_t));
        vector_free(&batches->batch, sizeof(uint32_t));
}

/* ---- Batches ---- */

bool batches_are_done(const struct batches *batches)
{
        return batches->cluster == batches->ends.count;
}

static bool is_less(const void *arg, uint32_t a, uint32_t b)
{
        (void)arg;
        return a < b;
}

uint32_t batches_next(struct batches *batches, uint32_t limit, const uint32_t **pages)
{
        const uint32_t *ends = batches->ends.items;
        uint32_t begin = batches->cluster ? ends[batches->cluster - 1] : 0;
        uint32_t *batch = batches->batch.items;
        uint32_t end = begin;

        batches->batch_cluster = batches->cluster;
        while (!batches_are_done(batches) && (end == begin || ends[batches->cluster] - begin <= limit))
                end = ends[batches->cluster++];
        if (end == begin)
                return 0;
        memcpy(batch, (const uint32_t *)batches->order.items + begin, (end - begin) * sizeof(uint32_t));
        heap_sort(batch, end - begin, is_less, NULL);
        *pages = batch;
        return end - begin;
}

void batches_again(struct batches *batches)
{
        batches->cluster = batches->batch_cluster;
}

/* ---- Lists ---- */

/* Number i of those that are added. */
static uint64_t added(const uint64_t *pages, const uint32_t *indices, uint32_t i)
{
        return pages[indices ? indices[i] : i];
}

int batches_list_add(struct vector *list, const uint64_t *pages, const uint32_t *indices, uint32_t count)
{
        uint32_t old = list->count, end = old + count;
        int err = vector_reserve(list, end, sizeof(uint64_t));

        if (err)
                return err;
        uint64_t *items = list->items;
        list->count = end;
        while (count) { /* from behind, so that nothing is overwritten that is still to be moved */
                uint64_t page = added(pages, indices, count - 1);

                if (old && items[old - 1] > page) {
                        items[--end] = items[--old];
                } else {
                        items[--end] = page;
                        count--;
                }
        }
        for (uint32_t i = end = 0; i < list->count; i++)
                if (!end || items[i] != items[end - 1])
                        items[end++] = items[i];
        list->count = end;
        return 0;
}
