/* SPDX-License-Identifier: MIT */
#ifndef TREES_ARENA_CHECK_H
#define TREES_ARENA_CHECK_H

/*
 * xac_tree_check: looks at everything in an arena and believes nothing. No page number is followed that is not one of
 * the arena's, and no page is entered twice, so that it comes to an end whatever the bytes are; nothing of a node is
 * used before bpnode_fault has found nothing wrong with it.
 */

#include "trees/bpnode.h"
#include "trees/bptree_catalog.h"

struct check {
        struct xac_arena *arena;
        xac_tree_report report;
        uint64_t pages;    /* of the arena */
        uint64_t *reached; /* a bit for each */
        int result;
};

/* XAC_CORRUPT; the first one is what the report says. */
int check_fail(struct check *check, page_no page, const char *tree, const char *what);
/* The page belongs to something: nobody has said so before. */
int check_reach(struct check *check, page_no page, const char *tree);
bool check_is_reached(const struct check *check, uint64_t page);

/* A tree that is to be checked. */
struct check_tree {
        struct check *check;
        const char *name;
        struct catalog_record record;
        xac_tree_compare compare;
        void *compare_arg;
        bool is_ordered; /* false: the comparison stands for one that is not known, and says that every order is right
                          */
};

/* A leaf whose bytes are right (bpnode_fault): its records are counted, their overflow pages reached. */
int check_leaf(const struct check_tree *tree, const struct bpnode_shape *shape, page_no page,
               const struct bpnode *leaf);

/* arena_check_bptree.c, arena_check_cobtree.c, arena_check_ehash.c: a tree, all of it; counts its records. */
int check_bptree(const struct check_tree *tree);
int check_cobtree(const struct check_tree *tree);
int check_ehash(const struct check_tree *tree);

#endif
