/* SPDX-License-Identifier: MIT */
#ifndef SEND_PLAN_H
#define SEND_PLAN_H

/*
 * The leaves that have a range of a tree, in the order of the keys, where they lie. A long range is planned in
 * stretches, one after the other has been sent.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <xac/tree.h>

struct plan {
        xac_tree *tree;
        const void *to;
        size_t to_len;
        uint64_t max_records; /* of the whole range; 0: no limit */
        uint64_t max_bytes;   /* the same, of keys and values */
        size_t max_leaves;    /* of a stretch */
        xac_tree_leaf_view *leaves;
        size_t count, room;
        uint64_t records; /* in all stretches so far */
        uint64_t bytes;   /* of them, if there is a limit */
        bool has_more;    /* behind this stretch, from `next` on */
        bool skips_first; /* record of the stretch */
        bool is_cut;      /* a limit came first */
        size_t next_len;
        unsigned char next[XAC_TREE_KEY_MAX + 1];
};

enum { PLAN_LEAVES = 8192, PLAN_LEAVES_MIN = 16 };

/* The first stretch; `from` NULL: from the first record. 0, -ENOMEM, errors of xac_tree_scan_leaves(). */
int plan_begin(struct plan *plan, const void *from, size_t from_len);
/* The one after that, if has_more. */
int plan_go_on(struct plan *plan);
/* Bytes of memory. */
size_t plan_bytes(const struct plan *plan);
void plan_free(struct plan *plan);

#endif
