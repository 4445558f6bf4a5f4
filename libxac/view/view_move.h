/* SPDX-License-Identifier: MIT */
#ifndef LIBXAC_VIEW_VIEW_MOVE_H
#define LIBXAC_VIEW_VIEW_MOVE_H

/*
 * The only way from state to state of a view's pages, and the only caller of mmap and mprotect for single pages. Builds
 * for tests hold each move against this diagram:
 *
 *      HIDDEN, VEILED ─────────────── read ───────> READABLE ── kept at a commit ──> FRAMED ── yielded ──> READABLE
 *      HIDDEN, VEILED, READABLE ───── written ────> WRITABLE ── protected ──> READABLE
 *      HIDDEN, VEILED, READABLE ───── stray write ─> STRAY
 *      FRAMED ─────────────────────── stray write ─> STRAY_FRAMED
 *      READABLE, FRAMED, WRITABLE ─── hidden ─────> VEILED       while its slot stays mapped
 *      all ────────────────────────── hidden ─────> HIDDEN       nothing is mapped, or a region
 *
 * A page may stay in its state and show another slot; a framed page that does so is READABLE, a stray one STRAY. A
 * stray write is that of a doomed transaction, or of none. A framed page becomes writable only after the view has
 * yielded the frame to the transaction.
 */

#include "libxac/view/view.h"

enum view_way {
        VIEW_BY_MAPPING,    /* slots, home, or nothing; the mappings may join or part */
        VIEW_BY_ZEROS,      /* new memory */
        VIEW_BY_REGION,     /* its mapping is there already */
        VIEW_BY_PROTECTION, /* the slots stay */
        VIEW_BY_NOTHING     /* who has the slot changes, and nothing else */
};

struct view_change {
        uint64_t page_no;
        uint64_t count;
        uint32_t slot; /* the first one's: where slots are consecutive; SLOT_HOME: all are at home, or nowhere */
        enum view_state to;
        enum view_way way;
};

/* The lists of the view have room for what is shown. 0 or an error of the kernel's: then no page has moved, unless all
 * have been hidden by a collapse. What is hidden leaves M. */
int view_move(struct view *view, const struct view_change *change);
/* Hides all that is listed, by one system call. M and the list stay, or, in a reset, become empty. */
int view_hide_all(struct view *view, bool is_reset);

/* Before the view is unmapped. */
void view_drop_frames(struct view *view);
void view_count_mappings(struct view *view, int64_t more);

#endif
