/* SPDX-License-Identifier: MIT */
#ifndef LIBXAC_TXN_CONFLICT_H
#define LIBXAC_TXN_CONFLICT_H

/*
 * May this transaction commit? A pure function of its sets and of what is published: it changes
 * nothing.
 *
 * Pages of the exact set were read in the version visible to the snapshot; if their newest
 * version is still that, nobody changed them. What else was read the mapper says; views that are not exact count all
 * of M as read.
 */

#include <stdbool.h>
#include <stdint.h>

#include "libxac/txn/txn.h"

struct conflict {
        bool is_lost;
        bool is_coarse; /* lost perhaps only: the mapper does not know whether the page was read */
        uint64_t page;  /* the first that was found changed */
};

/* Looks at what others committed after `after` (no older than the snapshot) up to `until`. With
 * writes_only (snapshot isolation) only pages that were written count. */
struct conflict conflict_find(const struct txn *txn, bool writes_only, uint64_t after, uint64_t until);

#endif
