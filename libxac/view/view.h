/* SPDX-License-Identifier: MIT */
#ifndef LIBXAC_VIEW_VIEW_H
#define LIBXAC_VIEW_VIEW_H

/*
 * A view: one thread's mapping of one file, in which every page shows the version that the
 * thread's transaction sees. It is a cache of mappings: any page can be hidden and faulted in
 * again. Decides nothing: which version a
 * page shall show is said by touch.c and view_sync.c.
 *
 * What a page shows is one word per page, a struct view_page. M is the set of pages that were readable at any time in
 * this attempt (R4): a page that a collapse hides stays in M, and one that is hidden by itself is in the exact read set
 * instead. Listed pages are those a reset has to visit.
 *
 * Single pages are in one of seven states (enum view_state); view_move.h has the diagram, and the only way from state
 * to state.
 *
 * A page that others change is contended for the next few times that it is shown, and is hidden again
 * before the next attempt: otherwise M, all that is mapped, would soon meet each commit of another.
 *
 * A hidden page with a slot is veiled: the mapping of that slot is still there, inaccessible. That takes a fifth
 * of the time of mapping nothing there, and what is shown next is mapped in its place.
 *
 * A framed page shows a slot that is no version's but the view's own, its frame, with the content of the version that
 * it should show. To write it takes a change of protection, but no new mapping. Whoever writes takes the frame over; a
 * commit copies it into the slot that becomes the version, and the view keeps the frame (frames.h).
 *
 * Read-only transactions show whole regions, too (regions.h). A page is shown by its region or by itself, not both:
 * what maps a single page covers the region first, and the words of a region's pages say that they are hidden. Regions
 * are in no M: they are hidden before an attempt that is to be validated.
 *
 * I7: only pages on the list `writable` are writable, and those are in the write set of the
 * open transaction at its present level, or stray.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/vector.h"
#include "libxac/ground/participant.h"
#include "libxac/store/address.h"
#include "libxac/store/files.h"
#include "libxac/store/regions.h"

enum {
        CHANGED_REGIONS = 4, /* hidden one by one */
        READS_IN_A_ROW = 8   /* a view with so many read-only transactions since the last other one is a reader's */
};

/* In this order: what no access reaches, what may be read, what may be written. */
enum view_state {
        VIEW_HIDDEN = 0,
        VIEW_VEILED,   /* a slot is mapped there, inaccessible */
        VIEW_READABLE, /* home, or a slot */
        VIEW_FRAMED,   /* the same, and the slot is the view's own */
        VIEW_WRITABLE,
        VIEW_STRAY,       /* a private copy, thrown away at the end: of a doomed transaction, or of none */
        VIEW_STRAY_FRAMED /* the same of a frame, which is the view's still */
};

struct view_page {
        uint32_t slot : SLOT_BITS; /* SLOT_HOME: the file itself, or nothing */
        uint32_t state : 3;        /* enum view_state */
        uint32_t in_m : 1;
        uint32_t is_listed : 1;
        uint32_t contention : 3; /* how often it is contended yet */
};

_Static_assert(sizeof(struct view_page) == sizeof(uint32_t), "a word for each page");

struct view {
        char *base;
        uint64_t reserve_bytes;
        struct files *files;
        struct participant *self; /* whose frames they are; set by views_add */
        uint32_t file_no;
        uint32_t uses;           /* how often it was mapped */
        struct view_page *shown; /* for each page of the reservation; sparse */
        struct vector listed;    /* uint32_t page numbers */
        uint64_t singles;        /* how many pages are shown by themselves */
        struct vector writable;  /* uint32_t page numbers, in the order they were written */
        struct vector fleeting;  /* uint32_t page numbers: contended, to be hidden before the next attempt */
        uint64_t mappings;       /* kernel mappings it uses, at most */
        struct view **peers;     /* the views of the same thread, by file number; NULL: alone */
        bool is_collapsed;       /* pages may be in M and yet hidden, since the last reset */
        bool is_exact;           /* in this attempt every page touched is in the exact read set */
        uint32_t exact_left;     /* commits that shall be exact */
        uint32_t exact_span;     /* how many the next time */
        struct address *address; /* the range that it lies in */
        struct regions regions;
        uint32_t reads_left; /* read-only transactions in a row until it is a reader's view */
        struct {
                uint32_t count; /* more than there is room for: any may be */
                uint32_t no[CHANGED_REGIONS];
        } changed; /* regions, at this begin */
};

/* In a range of its own, or that of other threads' views: flags and errors are those of address_take. */
int view_create(struct files *files, uint32_t file_no, uint64_t byte_len, int flags, struct view **out);
void view_destroy(struct view *view);

static inline bool view_contains(const struct view *view, const void *addr)
{
        return (uint64_t)((const char *)addr - view->base) < view->reserve_bytes;
}

/* May pages be shown? If other threads have views in the same range, only declared access can tell them apart (R25). */
static inline bool view_may_show(struct view *view)
{
        return address_may_show(view->address);
}

static inline uint64_t view_page_no(const struct view *view, const void *addr)
{
        return (uint64_t)((const char *)addr - view->base) >> view->files->shared->page_shift;
}

static inline bool view_is_in_file(const struct view *view, uint64_t page_no)
{
        return page_no << view->files->shared->page_shift < files_byte_len(view->files, view->file_no);
}

static inline enum view_state view_state(const struct view *view, uint64_t page_no)
{
        return (enum view_state)view->shown[page_no].state;
}

static inline bool view_is_hidden(const struct view *view, uint64_t page_no)
{
        return view_state(view, page_no) <= VIEW_VEILED;
}

/* By itself, and not writable. */
static inline bool view_is_readable(const struct view *view, uint64_t page_no)
{
        return view_state(view, page_no) == VIEW_READABLE || view_state(view, page_no) == VIEW_FRAMED;
}

static inline bool view_is_stray(const struct view *view, uint64_t page_no)
{
        return view_state(view, page_no) >= VIEW_STRAY;
}

/* Does a page in that state show a frame, which is the view's? */
static inline bool view_has_frame(enum view_state state)
{
        return state == VIEW_FRAMED || state == VIEW_STRAY_FRAMED;
}

static inline bool view_is_framed(const struct view *view, uint64_t page_no)
{
        return view_has_frame(view_state(view, page_no));
}

static inline uint32_t view_slot(const struct view *view, uint64_t page_no)
{
        return view->shown[page_no].slot;
}

/* Is the page shown by its region? */
static inline bool view_is_in_region(const struct view *view, uint64_t page_no)
{
        return regions_is_byte_shown(&view->regions, page_no << view->files->shared->page_shift);
}

/* Each of these changes what pages show; 0 or -ENOMEM, and then nothing has changed. They
 * collapse the view and try again before they give up. */
int view_show(struct view *view, uint64_t page_no, uint32_t slot, enum view_state to);
/* `count` pages in consecutive slots, or all at home. */
int view_show_run(struct view *view, uint64_t page_no, uint32_t slot, uint64_t count, enum view_state to);
/* The region of the page, as of a snapshot that is published; nothing in it is shown by itself then. Errors are those
 * of regions_show. */
int view_show_region(struct view *view, uint64_t page_no, uint64_t snapshot);
/* Shows zeros, stray: what the file should hold there is gone. */
int view_show_zeros(struct view *view, uint64_t page_no);
/* The page leaves M: the caller knows that it is in the exact read set, or no transaction is open. */
int view_hide(struct view *view, uint64_t page_no);
int view_hide_run(struct view *view, uint64_t page_no, uint64_t count);
/* Makes every writable page read-only; stray ones stay. */
int view_protect_writes(struct view *view);
/* Hides every page that is writable or stray. */
int view_hide_written(struct view *view);
static inline int view_hide_writes(struct view *view)
{
        return view->writable.count ? view_hide_written(view) : 0;
}
/* Between attempts: hides the contended pages of the last one. */
int view_hide_fleeting(struct view *view);
static inline int view_hide_contended(struct view *view)
{
        return view->fleeting.count ? view_hide_fleeting(view) : 0;
}
/* Instead, where M does not matter: they stay. */
static inline void view_keep_contended(struct view *view)
{
        view->fleeting.count = 0;
}
/* Another one has changed a page: it is hidden, and contended. Adds 1 to `hidden` if it was shown. */
int view_note_change(struct view *view, uint64_t page_no, uint32_t *hidden);
/* The same for the region that shows it, which is hidden only by the second call: with others, if there are many
 * (false). */
bool view_note_change_in_region(struct view *view, uint64_t page_no);
int view_hide_changed_regions(struct view *view);
/* Regions: none is shown any more. */
static inline int view_hide_regions(struct view *view)
{
        return regions_hide(&view->regions);
}
/* Hides all, by one system call; M stays as it is (collapse) or becomes empty (reset). */
int view_collapse(struct view *view);
int view_reset(struct view *view);

/* Others have changed the page lately. */
bool view_is_contended(const struct view *view, uint64_t page_no);

/* Frames. */
/* The private slot that the page shows is the view's from now on. */
void view_keep_frame(struct view *view, uint64_t page_no);
/* It is the caller's. */
void view_yield_frame(struct view *view, uint64_t page_no);

/* M. */
static inline bool view_in_m(const struct view *view, uint64_t page_no)
{
        return view->shown[page_no].in_m;
}

#endif
