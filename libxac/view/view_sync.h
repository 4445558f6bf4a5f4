/* SPDX-License-Identifier: MIT */
#ifndef LIBXAC_VIEW_VIEW_SYNC_H
#define LIBXAC_VIEW_VIEW_SYNC_H

/*
 * The views of one thread together, kept in step with what others commit: a coherence protocol
 * in which the mapped pages are a superset of the read set, and others' commits invalidate them.
 *
 * synced: every page shown is right for a transaction that reads as of this sequence.
 */

#include <stdbool.h>

#include "libxac/ground/participant.h"
#include "libxac/view/view.h"

struct views {
        struct participant *self;
        struct view *by_file[FILES_MAX];
        struct view *recent; /* the one found last */
        uint32_t count;
        bool is_tracking;  /* XAC_TRACK: every attempt is exact */
        bool is_announced; /* others' commits leave their pages in rings for us */
        uint64_t synced;
        uint64_t newest;        /* snapshot or own commit that they were ever in step with: durable reads go back */
        uint64_t flip_epoch;    /* slots displaced before it are not shown (R14) */
        uint64_t reliable_from; /* rings are silent about commits up to here */
};

void views_init(struct views *views, struct participant *self, bool is_tracking);
void views_add(struct views *views, struct view *view);
void views_remove(struct views *views, struct view *view);
/* The view that covers an address, or NULL; mostly the one that was asked for last. */
struct view *views_search(struct views *views, const void *addr);
static inline struct view *views_find(struct views *views, const void *addr)
{
        return views->recent && view_contains(views->recent, addr) ? views->recent : views_search(views, addr);
}

/* Before the first page is shown: from here on others' commits leave their pages in rings. Until then,
 * and for declared access alone, nobody writes or reads a ring. */
void views_announce(struct views *views);

static inline void views_note_newest(struct views *views, uint64_t sequence)
{
        if (views->newest < sequence)
                views->newest = sequence;
}

/* At begin, with the snapshot published: hides what others changed, and decides which views
 * are exact in this attempt. A view that cannot be brought up to date is an error. */
int views_begin(struct views *views, uint64_t snapshot, bool is_read_only);

/* May somebody's commit in (after, until] have changed a page of M in a view that is not exact?
 * The view that it concerns, and the page; or NULL. */
struct view *views_find_changed(struct views *views, uint64_t after, uint64_t until, uint64_t *page);

/* Each for all views; see view.h. */
int views_protect_writes(struct views *views);
int views_hide_writes(struct views *views);
int views_collapse(struct views *views);
int views_reset(struct views *views);

#endif
