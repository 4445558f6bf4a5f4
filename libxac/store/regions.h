/* SPDX-License-Identifier: MIT */
#ifndef LIBXAC_STORE_REGIONS_H
#define LIBXAC_STORE_REGIONS_H

/*
 * A file as of one sequence, at one range of addresses, for readers: a mapping for each region of 2 MiB instead of one
 * for each page. What its pages show is decided at the first touch of a region, not before.
 *
 *      region    all pages visible are at home    the file itself, one mapping for neighbours together
 *                some are in the pool             a chunk (chunks.h), into which all visible versions were copied
 *
 * A chunk remembers as of which sequence it is right. To bring it to a later one, only pages whose visible version is
 * newer than that are copied. To an earlier one, all are.
 *
 * regions_hide makes all inaccessible by one call, so that the next touch of each is noticed. What the page tables have
 * is kept where that is cheaper than to have it filled again: chunks that are huge pages are veiled (mprotect). In
 * views, what shows the file itself is moved to the parking range (mremap), from where a region comes back at its next
 * touch. What is moved away leaves a hole for a moment. So the parking range is in the window, like the view itself,
 * where nobody maps but by the window's lock; snapshots' maps, which are not, do without.
 *
 * No slot of the pool is mapped here. So what is shown stays right when pages go home and their slots are used again
 * (R14); only what is copied while a snapshot is published counts.
 *
 * The caller has published the snapshot. regions_show may be called by several threads at once, each region is locked
 * by itself; all else is for the range's only user.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "libxac/store/chunks.h"
#include "libxac/store/files.h"

enum { REGION_SHIFT = CHUNK_SHIFT };
#define REGION_BYTES CHUNK_BYTES

struct region {
        uint64_t as_of;             /* the chunk is right as of this sequence; 0: not yet */
        uint32_t chunk;             /* 0: none */
        uint32_t filled_len;        /* so many bytes of the chunk are the region's: the file may have grown since */
        _Atomic uint32_t lock;      /* a futex word: 0 free, 1 taken, 2 and somebody waits */
        _Atomic uint32_t shown_len; /* so many bytes are mapped and readable */
        uint32_t parked_len;        /* so many bytes of the file are mapped in the parking range */
        uint32_t veiled_len;        /* so many bytes of the chunk are mapped in place, and inaccessible */
        bool is_counted;            /* among the process's mappings */
        uint32_t singles;           /* of a view: pages shown one by one, and in which attempt (touch.c) */
};

struct regions {
        char *base;
        uint64_t byte_len;
        struct files *files;
        uint32_t file_no;
        struct chunks *chunks;
        struct region *region;
        char *park;             /* as long, inaccessible, in the window; NULL: none yet */
        _Atomic uint32_t shown; /* how many are */
        _Atomic uint32_t hand;  /* where the last chunk was taken away */
        _Atomic uint32_t held;  /* regions that have a chunk */
        /* Takes a chunk away from another range, that somebody here may have one. False: there is none at present.
         * NULL: this range can do without (a view shows single pages). */
        bool (*take_from_others)(const struct regions *regions);
};

/* -ENOMEM. The addresses are the caller's, mapped inaccessibly. */
int regions_init(struct regions *regions, struct files *files, uint32_t file_no, char *base, uint64_t byte_len);
void regions_free(struct regions *regions);

static inline uint64_t regions_count(const struct regions *regions)
{
        return (regions->byte_len + REGION_BYTES - 1) >> REGION_SHIFT;
}

/* The region of an address. */
static inline uint64_t regions_no(const struct regions *regions, const void *addr)
{
        return (uint64_t)((const char *)addr - regions->base) >> REGION_SHIFT;
}

static inline bool regions_is_shown(const struct regions *regions, uint64_t no)
{
        return atomic_load_explicit(&regions->region[no].shown_len, memory_order_acquire) != 0;
}

/* The same once nobody else is changing it. */
bool regions_is_shown_for_sure(struct regions *regions, uint64_t no);

/* Its region may be shown, but have been shorter. */
static inline bool regions_is_byte_shown(const struct regions *regions, uint64_t offset)
{
        const struct region *region = &regions->region[offset >> REGION_SHIFT];
        return (offset & (REGION_BYTES - 1)) < atomic_load_explicit(&region->shown_len, memory_order_acquire);
}

/* Takes the chunk of one of its regions, but this one, which will be shown anew when it is touched again. False: none
 * has one, or all that have are in use. By any thread. */
bool regions_take_chunk(struct regions *regions, uint64_t except);
#define REGIONS_ALL UINT64_MAX /* except none */

/* Shows a region as of a published sequence; file_len: how long the file is, as far as the caller cares. XAC_FULL:
 * there is no memory for a chunk; -ENOMEM: no mapping; XAC_CORRUPT, ...: home could not be read. Then it is not shown.
 */
int regions_show(struct regions *regions, uint64_t no, uint64_t sequence, uint64_t file_len);

/* Nothing is shown any more. -ENOMEM: all still is. Not for the fault handler. */
int regions_hide_shown(struct regions *regions);
static inline int regions_hide(struct regions *regions)
{
        return atomic_load_explicit(&regions->shown, memory_order_relaxed) ? regions_hide_shown(regions) : 0;
}
/* The same for one region. */
int regions_hide_one(struct regions *regions, uint64_t no);
/* In the fault handler. */
int regions_cover_one(struct regions *regions, uint64_t no);
/* The caller has mapped nothing over all of it. */
void regions_note_covered(struct regions *regions);
/* Chunks and what is parked go, too: nothing is remembered. What is shown must have been hidden. */
void regions_forget(struct regions *regions);
/* What another one shows as of a sequence that is no later than ours, this one need not copy again. */
void regions_share(struct regions *regions, const struct regions *older);

#endif
