/* SPDX-License-Identifier: MIT */
#ifndef TREES_EHASH_SHORTCUT_H
#define TREES_EHASH_SHORTCUT_H

/*
 * The directory of an extendible hash table as addresses: an area of rewired memory (<xac/rewire.h>) that has one page
 * for each slot of the directory, and shows the slot's bucket there. A lookup computes an address in place of reading a
 * page number first; the page table takes it to the bucket.
 *
 *      directory  | 7 | 7 | 3 | 9 |         numbers of pages of the arena
 *      area       [ 7 ][ 7 ][ 3 ][ 9 ]      the pages themselves; 7 is seen twice
 *                 ^ base
 *
 * To rewire a page costs microseconds, so a thread does it, the mapper, after the fact. The owner of the table tells it
 * of each change: a request, which goes into a queue. Until the mapper has come to the last one, there is no shortcut,
 * and lookups go by the directory.
 *
 *      owner      directory changes   request n queued   wanted = n   base is NULL          ...  base is an address
 *      mapper                                            maps, fills the page table   shown = n
 *
 *      SQ1  When the directory has changed, the owner requests, and wants that, before it looks for a base again.
 *      SQ2  The mapper stores `shown` when the area is as all requests up to that one ask. `base` comes before it.
 *      SQ3  The owner takes a base only if `shown` is its last request, and uses it until the next request at most.
 *      SQ4  The mapper changes the area, or puts another in its place, only while `shown` is behind the last request.
 *
 * The mapper does not know whether an area helps: it tries it out with each whole directory that is new
 * (ehash_trial.h), and if not, there is no shortcut until the next one, and nothing to be mapped meanwhile.
 *
 * By SQ3 and SQ4 nobody looks at an area while it changes, and none is unmapped that somebody uses: from the moment of
 * a request the owner has no base, and gets one when the request is done. So an old area need not be kept for anybody
 * (docs/models/shortcut.pml).
 *
 * All functions are the owner's: one thread at a time, that of the table. A child after fork() has no mapper: it must
 * not use the table, nor stop its shortcut.
 *
 * The idea, the versions and the limit of the fan-in are those of F. M. Schuhknecht (Taking the Shortcut, CIDR 2024).
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct xac_arena;
struct ehash_mapper;

/* Slots for each bucket, up to which the shortcut is worth taking: with more, it needs more of the TLB than the
 * directory needs of the caches. */
enum { EHASH_SHORTCUT_FAN_IN_MAX = 8 };

struct ehash_shortcut {
        _Atomic uint64_t shown; /* the mapper's: requests up to this one are done */
        const char *base;       /* the mapper's, while `shown` is behind: where slot 0 is; NULL: nowhere */
        uint64_t wanted;        /* the last request, or one that will never be, if the shortcut is not to be taken */
        uint64_t requests;      /* the number of the last one */
        uint64_t buckets;
        uint32_t bits;  /* of the directory, */
        bool has_slots; /* if there is one yet */
        bool is_lost;   /* a request found no memory: the next one that counts has the whole directory */
        struct ehash_mapper *mapper;
};

enum ehash_shortcut_state {
        EHASH_SHORTCUT_NONE,   /* no directory yet */
        EHASH_SHORTCUT_BEHIND, /* the mapper is at work */
        EHASH_SHORTCUT_READY,
        EHASH_SHORTCUT_WIDE,   /* too many slots for each bucket */
        EHASH_SHORTCUT_SLOWER, /* than the directory, */
        EHASH_SHORTCUT_REFUSED /* or too many mappings, or no memory: until a directory that is set anew has better luck
                                */
};

struct ehash_shortcut_stats {
        uint32_t bits;
        uint64_t mappings; /* of the kernel's; as of the last request that was done */
        uint64_t requests;
        bool is_in_step;
        enum ehash_shortcut_state state;
};

/* Starts a mapper for an arena of xac_arena_open_rewired(). `is_tried`: there is no shortcut where it is slower than
 * the directory. -EINVAL: another kind of arena; -ENOMEM, -EAGAIN. */
int ehash_shortcut_start(struct xac_arena *arena, bool is_tried, struct ehash_shortcut **shortcut);
/* Ends the thread; requests that wait are forgotten. Before the arena is closed. NULL does nothing. */
void ehash_shortcut_stop(struct ehash_shortcut *shortcut);

/* Slots [first, first + count) of the directory lead to this page from now on. */
void ehash_shortcut_set(struct ehash_shortcut *shortcut, uint32_t first, uint32_t count, uint32_t page);
/* The directory has 2^bits slots now, as in `pages`, which is copied. Requests before it are not carried out any more.
 */
void ehash_shortcut_anew(struct ehash_shortcut *shortcut, uint32_t bits, const uint32_t *pages);
/* So many buckets have the directory's slots. */
void ehash_shortcut_note_buckets(struct ehash_shortcut *shortcut, uint64_t buckets);

/* Waits until all requests are done; for tests and measurements. False: there is no area
 * (EHASH_SHORTCUT_REFUSED, EHASH_SHORTCUT_SLOWER). */
bool ehash_shortcut_wait(struct ehash_shortcut *shortcut);
void ehash_shortcut_stat(const struct ehash_shortcut *shortcut, struct ehash_shortcut_stats *stats);

/* Where slot 0 is seen; slot n is n * 4096 bytes further. NULL: look at the directory. Good until the next request. */
static inline const char *ehash_shortcut_base(const struct ehash_shortcut *shortcut)
{
        return atomic_load_explicit(&shortcut->shown, memory_order_acquire) == shortcut->wanted ? shortcut->base : NULL;
}

#endif
