/* SPDX-License-Identifier: MIT */
#ifndef LIBXAC_VERSION_VERSION_H
#define LIBXAC_VERSION_VERSION_H

/*
 * The versions of a page: a head word that names the newest, and from there a chain through
 * the slot descriptors to older ones and at last home.
 *
 *      head ──> slot, sequence 30 ──> slot, sequence 20 ──> home
 *
 * A page without a head is at home and always was. Heads get memory in chunks of
 * HEADS_PER_CHUNK when a page there is first written.
 */

#include <stddef.h>
#include <stdint.h>

#include "libxac/ground/shared.h"

/* Where a page's head stands among its file's: in the same block of 512, but scattered there (by an odd
 * factor), so that neighbours and pages a power of two apart, which different participants tend to
 * write at the same time, stand on different cache lines. */
static inline uint64_t version_head_index(uint64_t page_no)
{
        return (page_no & ~UINT64_C(511)) | (page_no * 357 & 511);
}

/* Do the heads around this page have memory? File numbers are the high bits of page ids. */
static inline _Atomic uint8_t *version_chunk_mark(struct shared *shared, uint64_t page)
{
        return &shared->chunk_marks[page / HEADS_PER_CHUNK];
}

/* The page's head, which may be absent (then the page is home as ever). */
static inline _Atomic uint64_t *version_head(struct shared *shared, uint64_t page)
{
        if (!atomic_load_explicit(version_chunk_mark(shared, page), memory_order_acquire))
                return NULL;
        _Atomic uint64_t *heads = atomic_load_explicit(&shared->heads[page_id_file(page)], memory_order_acquire);
        return heads ? heads + version_head_index(page_id_no(page)) : NULL;
}

/* Makes sure the head exists and is mapped here. -ENOSPC, -ENOMEM. */
int version_prepare(struct shared *shared, uint64_t page);

/* The slow half of version_visible: from a head that is too new. */
uint64_t version_walk(struct shared *shared, _Atomic uint64_t *head, uint64_t snapshot);

/* The word of the version visible to a snapshot that the caller has published. */
static inline uint64_t version_visible(struct shared *shared, uint64_t page, uint64_t snapshot)
{
        _Atomic uint64_t *head = version_head(shared, page);
        if (!head)
                return 0;
        uint64_t word = atomic_load_explicit(head, memory_order_acquire);
        return version_is_seen_by(word, snapshot) ? word : version_walk(shared, head, snapshot);
}

/* The page's newest version word; 0 where there is no head. */
static inline uint64_t version_newest(struct shared *shared, uint64_t page)
{
        _Atomic uint64_t *head = version_head(shared, page);
        return head ? atomic_load_explicit(head, memory_order_acquire) : 0;
}

/* The commit whose version the slot holds, if that is one of (after, until] and the version what a snapshot `until`
 * sees, which the caller has pinned; else 0. The tag is asked twice: between the looks the slot may have been used for
 * a newer commit, which is in no sense pinned. */
uint64_t version_seen_in_slot(const struct shared *shared, uint32_t no, uint64_t after, uint64_t until);

/* Has home taken the place of that version, which the slot holds as long as the caller looks? 1, 0, or -ENOMEM: the
 * heads cannot be mapped. */
int version_is_home(struct shared *shared, uint32_t no, uint64_t tag);

/* Takes a superseded slot out of its page's chain, where something newer still links to it.
 * Caller holds the commit lock. -ENOMEM: the heads cannot be mapped. */
int version_unlink_locked(struct shared *shared, uint32_t no);

#endif
