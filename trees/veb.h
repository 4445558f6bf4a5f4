/* SPDX-License-Identifier: MIT */
#ifndef TREES_VEB_H
#define TREES_VEB_H

/*
 * The van Emde Boas layout of a perfect binary tree (H. Prokop, 1999): the tree is cut at half its height, the top
 * half is laid out, by the same rule, and behind it all bottom trees from left to right. So a walk from the root to a
 * leaf stays in few blocks, whatever the size of a block is. Only arithmetic: knows no page and no key.
 *
 *      height 4, nodes by breadth:  1 | 2 3 | 4 5 6 7 | 8 9 10 11 12 13 14 15
 *      as they lie:                 1 2 3 | 4 8 9 | 5 10 11 | 6 12 13 | 7 14 15
 *
 * A node is named by its breadth-first number: 1 is the root, 2 n and 2 n + 1 are the children of n. In order, node
 * numbers stand for the gaps between leaves: gap g, from 1 on, lies between leaf g - 1 and leaf g.
 */

#include <stdint.h>

enum { VEB_HEIGHT_MAX = 31 };

/* Where a node of a tree of this height lies: 0 to 2^height - 2. */
uint32_t veb_place(unsigned height, uint32_t node);

/* The node that separates leaf gap - 1 from leaf gap; gap is 1 to 2^height - 1. */
uint32_t veb_node_of_gap(unsigned height, uint32_t gap);

/* The places of all nodes of trees of up to VEB_TABLE_HEIGHT levels: that of a node is at 2^height + node. For
 * searches: veb_place() costs as much as the search itself. */
enum { VEB_TABLE_HEIGHT = 9, VEB_TABLE_NODES = 1 << VEB_TABLE_HEIGHT };
extern const uint16_t veb_table[2 * VEB_TABLE_NODES];
/* The places in a tree of VEB_TABLE_HEIGHT levels, by gap; entry 0 is not used. */
extern const uint16_t veb_gap_table[VEB_TABLE_NODES];

#endif
