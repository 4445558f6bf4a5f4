/* SPDX-License-Identifier: MIT */
#ifndef LIBXAC_CONFLICT_H
#define LIBXAC_CONFLICT_H

/*
 * May this transaction commit? A pure function of its sets and of what is published: it changes
 * nothing.
 *
 * Pages of the exact set were read in the version visible to the snapshot; if their newest
 * version is still that, nobody changed them. Views that are not exact count all of M as read.
 */

#include <stdbool.h>
#include <stdint.h>

#include "libxac/txn_pages.h"
#include "libxac/view_sync.h"

struct conflict {
        bool is_lost;
        struct view *view; /* lost perhaps only, because of this view's M; NULL: lost for certain */
        uint64_t page;     /* the first that was found changed */
};

/* Looks at what others committed after `after` (no older than the snapshot) up to `until`. With
 * writes_only (snapshot isolation) only pages that were written count. */
struct conflict conflict_find(struct txn_pages *pages, struct views *views, bool writes_only, uint64_t after,
                              uint64_t until);

#endif
