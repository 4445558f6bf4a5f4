/* SPDX-License-Identifier: MIT */
#ifndef LIBXAC_GROUND_PAGE_ID_H
#define LIBXAC_GROUND_PAGE_ID_H

/*
 * Names of pages and versions, each packed into one word.
 *
 *      page id      | file number : 36 | page number in the file : 28 |
 *      version word | sequence, modulo 2^40 : 40 | slot : 24 |
 *
 * A version word says which commit made a version and where its content is. Slot 0 is home.
 * Words are compared modulo their width (I9); full sequences live in slot
 * descriptors and participant rows.
 */

#include <stdbool.h>
#include <stdint.h>

#include "recovery/page_name.h"

enum { PAGE_NO_BITS = PAGE_NAME_BITS, SLOT_BITS = 24, SEQUENCE_BITS = 40, SLOT_HOME = 0, PAGE_BYTES_MAX = 65536 };

#define FILE_PAGES_MAX (UINT64_C(1) << PAGE_NO_BITS)
#define SLOT_MASK      ((UINT64_C(1) << SLOT_BITS) - 1)
#define SEQUENCE_MASK  ((UINT64_C(1) << SEQUENCE_BITS) - 1)

static inline uint64_t page_id(uint32_t file_no, uint64_t page_no)
{
        return (uint64_t)file_no << PAGE_NO_BITS | page_no;
}

static inline uint32_t page_id_file(uint64_t page)
{
        return (uint32_t)(page >> PAGE_NO_BITS);
}

static inline uint64_t page_id_no(uint64_t page)
{
        return page & (FILE_PAGES_MAX - 1);
}

static inline uint64_t version_word(uint64_t sequence, uint32_t slot)
{
        return sequence << SLOT_BITS | slot;
}

static inline uint32_t version_slot(uint64_t word)
{
        return (uint32_t)(word & SLOT_MASK);
}

/* Is the version as old as the snapshot, or older? Right while the two are less than half
 * the packed width apart. */
static inline bool version_is_seen_by(uint64_t word, uint64_t snapshot)
{
        uint64_t behind = (snapshot << SLOT_BITS) - (word & ~SLOT_MASK);
        return (int64_t)behind >= 0 || !word; /* 0: home as it has been since the environment was opened */
}

/* Is it the version that the commit with this (full) sequence made? */
static inline bool version_is_of(uint64_t word, uint64_t sequence)
{
        return word >> SLOT_BITS == (sequence & SEQUENCE_MASK);
}

#endif
