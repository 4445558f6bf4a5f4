/* SPDX-License-Identifier: MIT */
#ifndef TREES_BPTREE_CHECK_H
#define TREES_BPTREE_CHECK_H

/*
 * bptree_check: looks at everything and believes nothing. No page number is followed that is not one of the
 * arena's, and no page is entered twice, so that it comes to an end whatever the bytes are; nothing of a node is
 * used before bpnode_fault has found nothing wrong with it.
 */

#include "trees/bptree.h"

struct check {
        struct page_arena *arena;
        bptree_report report;
        uint64_t pages;    /* of the arena */
        uint64_t *reached; /* a bit for each */
        int result;
};

/* XAC_CORRUPT; the first one is what the report says. */
int check_fail(struct check *check, page_no page, const char *tree, const char *what);
/* The page belongs to something: nobody has said so before. */
int check_reach(struct check *check, page_no page, const char *tree);
bool check_is_reached(const struct check *check, uint64_t page);

/* bptree_check_nodes.c: one tree, all of it; counts its records. */
int check_tree(struct check *check, const struct bptree *tree, const char *name);

#endif
