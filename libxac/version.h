/* SPDX-License-Identifier: MIT */
#ifndef LIBXAC_VERSION_H
#define LIBXAC_VERSION_H

/*
 * The versions of a page: a head word that names the newest, and from there a chain through
 * the slot descriptors to older ones and at last home.
 *
 *      head ──> slot, sequence 30 ──> slot, sequence 20 ──> home
 *
 * A page without a head is at home and always was. Heads get memory in chunks of
 * HEADS_PER_CHUNK when a page there is first written.
 */

#include <stdbool.h>
#include <stdint.h>

#include "libxac/shared.h"

/* The page's head, which may be absent (then the page is home as ever). */
_Atomic uint64_t *version_head(struct shared *shared, uint64_t page);
/* Makes sure the head exists and is mapped here. -ENOSPC, -ENOMEM. */
int version_prepare(struct shared *shared, uint64_t page);

/* The word of the version visible to a snapshot that the caller has published. */
uint64_t version_visible(struct shared *shared, uint64_t page, uint64_t snapshot);

/* The page's newest version word; 0 where there is no head. */
static inline uint64_t version_newest(struct shared *shared, uint64_t page)
{
        _Atomic uint64_t *head = version_head(shared, page);
        return head ? atomic_load_explicit(head, memory_order_acquire) : 0;
}

/* Takes a superseded slot out of its page's chain, where something newer still links to it.
 * Caller holds the commit lock. -ENOMEM: the heads cannot be mapped. */
int version_unlink_locked(struct shared *shared, uint32_t no);

#endif
