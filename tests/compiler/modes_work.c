/* SPDX-License-Identifier: MIT */

/* Work in C: numbers, a list, structs, texts, a loop for vectors, an atomic counter, and a function of another file. */

#include "tests/compiler/modes.h"

static void fill(struct modes_area *area, uint64_t seed)
{
        memset(area->text, (int)('a' + seed % 26), sizeof(area->text) - 1);
        for (uint32_t i = 0; i < MODES_NODES; i++) {
                struct modes_node *node = &area->nodes[i];
                node->next = (uint32_t)(i * 7 + seed) % MODES_NODES;
                node->weight += i;
                node->share = (double)i / 4;
                memcpy(node->name, "node number", 12);
                node->name[5] = (char)('A' + i % 26);
        }
        for (size_t i = 0; i < sizeof(area->table) / sizeof(*area->table); i++)
                area->table[i] = area->table[i] * 3 + i + seed;
}

static struct modes_node heavier(struct modes_node node)
{
        node.weight *= 2;
        node.share += 1;
        return node;
}

static uint64_t walk(struct modes_area *area)
{
        uint64_t sum = 0;
        uint32_t at = 1;
        for (int i = 0; i < MODES_NODES; i++) {
                area->nodes[at] = heavier(area->nodes[at]);
                sum = sum * 31 + area->nodes[at].weight + (uint64_t)area->nodes[at].share;
                sum += modes_more(&area->nodes[at], area->text + 10 * i, 12);
                at = (area->nodes[at].next + (uint32_t)i) % MODES_NODES;
        }
        return sum;
}

uint64_t modes_work(struct modes_area *area, uint64_t seed)
{
        uint64_t sum = 0;
        fill(area, seed);
        for (size_t i = 0; i < sizeof(area->table) / sizeof(*area->table); i++)
                sum += area->table[i] ^ i;
        sum += walk(area);
        return sum + __atomic_add_fetch(&area->counter, 3, __ATOMIC_SEQ_CST) + strlen(area->text);
}
