/* SPDX-License-Identifier: MIT */
#include "trees/veb.h"

/*
 * The arithmetic against a tree that is laid out by recursion, as the definition says; and how many blocks a walk
 * touches.
 */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/chance.h"
#include "tests/support/check.h"
#include "tests/support/isolate.h"

enum { HEIGHT_ALL = 20 /* up to that every node is looked at */ };

/* Lays the tree of this height below `root` out from *next on. */
static void lay_out(uint32_t *places, uint32_t root, unsigned height, uint32_t *next)
{
        if (height == 1) {
                places[root] = (*next)++;
                return;
        }
        const unsigned top = height / 2;
        lay_out(places, root, top, next);
        for (uint32_t i = 0; i < UINT32_C(1) << top; i++)
                lay_out(places, (root << top) + i, height - top, next);
}

static uint32_t *reference(unsigned height)
{
        uint32_t *places = calloc(UINT64_C(1) << height, sizeof(*places));
        uint32_t next = 0;
        check(places != NULL);
        lay_out(places, 1, height, &next);
        check_equal(next, (UINT32_C(1) << height) - 1);
        return places;
}

static void every_node_is_where_recursion_puts_it(void)
{
        for (unsigned height = 1; height <= HEIGHT_ALL; height++) {
                uint32_t *places = reference(height);
                for (uint32_t node = 1; node < UINT32_C(1) << height; node++)
                        check_equal(veb_place(height, node), places[node]);
                free(places);
        }
}

static void the_drawing_is_right(void)
{
        static const uint32_t drawn[] = { 1, 2, 3, 4, 8, 9, 5, 10, 11, 6, 12, 13, 7, 14, 15 };
        for (uint32_t i = 0; i < sizeof(drawn) / sizeof(drawn[0]); i++)
                check_equal(veb_place(4, drawn[i]), i);
}

/* The same rule for one node: which half, which bottom tree. */
static uint64_t place_by_halves(unsigned height, uint64_t path, unsigned depth)
{
        const unsigned top = height / 2;
        if (height == 1)
                return 0;
        if (depth < top)
                return place_by_halves(top, path, depth);
        const unsigned below = height - top, left = depth - top;
        return (UINT64_C(1) << top) - 1 + (path >> left) * ((UINT64_C(1) << below) - 1) +
               place_by_halves(below, path & ((UINT64_C(1) << left) - 1), left);
}

static void nodes_of_large_trees_are_too(void)
{
        struct chance chance = { chance_seed() };
        for (unsigned height = HEIGHT_ALL + 1; height <= VEB_HEIGHT_MAX; height++) {
                for (int i = 0; i < 20000; i++) {
                        unsigned depth = (unsigned)chance_below(&chance, height);
                        uint64_t path = chance_below(&chance, UINT64_C(1) << depth);
                        check_equal(veb_place(height, (uint32_t)((UINT64_C(1) << depth) + path)),
                                    place_by_halves(height, path, depth));
                }
        }
}

static uint32_t gap_number; /* of the last node in order */

static void walk_in_order(unsigned height, uint32_t node)
{
        if (node >> height)
                return;
        walk_in_order(height, 2 * node);
        check_equal(veb_node_of_gap(height, ++gap_number), node);
        walk_in_order(height, 2 * node + 1);
}

static void gaps_are_in_order(void)
{
        for (unsigned height = 1; height <= 18; height++) {
                gap_number = 0;
                walk_in_order(height, 1);
                check_equal(gap_number, (UINT32_C(1) << height) - 1);
        }
        check_equal(veb_node_of_gap(31, UINT32_C(1) << 30), 1);
        check_equal(veb_node_of_gap(31, (UINT32_C(1) << 31) - 1), (UINT32_C(1) << 31) - 1);
}

static void the_tables_are_right(void)
{
        for (unsigned height = 1; height <= VEB_TABLE_HEIGHT; height++)
                for (uint32_t node = 1; node < UINT32_C(1) << height; node++)
                        check_equal(veb_table[(UINT32_C(1) << height) + node], veb_place(height, node));
        for (uint32_t gap = 1; gap < VEB_TABLE_NODES; gap++)
                check_equal(veb_gap_table[gap], veb_place(VEB_TABLE_HEIGHT, veb_node_of_gap(VEB_TABLE_HEIGHT, gap)));
}

/* ---- blocks ---- */

/* How many different blocks of so many nodes a walk touches that ends in this leaf; the array begins somewhere in a
 * block. */
static unsigned blocks_of_walk(unsigned height, uint32_t leaf, uint32_t block_nodes, uint32_t begin)
{
        uint32_t seen[VEB_HEIGHT_MAX];
        unsigned count = 0;
        for (uint32_t node = leaf; node; node /= 2) {
                uint32_t block = (veb_place(height, node) + begin) / block_nodes;
                unsigned i = 0;
                while (i < count && seen[i] != block)
                        i++;
                if (i == count)
                        seen[count++] = block;
        }
        return count;
}

/* H. Prokop: at most 4 log_B N, wherever the blocks begin: the subtrees of at most B nodes that are
 * recursed into have more than sqrt(B), so that a walk passes 2 log_B N of them, and each lies in two blocks. */
static void a_walk_touches_few_blocks(void)
{
        static const uint32_t sizes[] = { 4, 8, 64, 512, 4096 };
        static const unsigned heights[] = { 9, 14, 20, 26 };
        enum { WALKS = 4000 };
        struct chance chance = { chance_seed() };
        for (unsigned h = 0; h < 4; h++) {
                for (unsigned s = 0; s < 5; s++) {
                        const unsigned height = heights[h];
                        const double bound = 4 * height / log2(sizes[s]);
                        unsigned most = 0;
                        uint64_t sum = 0;
                        for (int i = 0; i < WALKS; i++) {
                                uint32_t leaf = (UINT32_C(1) << (height - 1)) +
                                                (uint32_t)chance_below(&chance, UINT32_C(1) << (height - 1));
                                unsigned blocks = blocks_of_walk(height, leaf, sizes[s],
                                                                 (uint32_t)chance_below(&chance, sizes[s]));
                                sum += blocks;
                                most = blocks > most ? blocks : most;
                        }
                        printf("height %2u, %4u nodes in a block: %5.2f blocks on the average, %2u at most; bound "
                               "%4.1f\n",
                               height, sizes[s], (double)sum / WALKS, most, bound);
                        fflush(stdout);
                        check(most <= bound);
                }
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_test(the_drawing_is_right),         isolated_test(every_node_is_where_recursion_puts_it),
                isolated_test(nodes_of_large_trees_are_too), isolated_test(gaps_are_in_order),
                isolated_test(the_tables_are_right),         isolated_test(a_walk_touches_few_blocks),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
