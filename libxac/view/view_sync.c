/* SPDX-License-Identifier: MIT */
#include "libxac/view/view_sync.h"

#include <string.h>

#include "base/hook.h"
#include "libxac/ground/handlers.h"
#include "libxac/ground/ring.h"
#include "libxac/version/version.h"
#include "rewire/mappings.h"

enum { HIDE_MAX = 64 /* with more changed pages one system call that hides all is cheaper */ };
#define NOBODY UINT32_MAX /* no row has this number */

void views_init(struct views *views, struct participant *self, bool is_tracking)
{
        memset(views, 0, sizeof(*views));
        views->self = self;
        views->is_tracking = is_tracking;
}

void views_add(struct views *views, struct view *view)
{
        view->is_exact = views->is_tracking;
        view->peers = views->by_file;
        view->self = views->self;
        views->by_file[view->file_no] = view;
        views->count++;
}

void views_announce(struct views *views)
{
        if (views->is_announced)
                return;
        views->reliable_from = ring_join(views->self->shared, views->self->row);
        views->is_announced = true;
}

void views_remove(struct views *views, struct view *view)
{
        views->by_file[view->file_no] = NULL;
        views->recent = NULL;
        views->count--;
        if (views->count || !views->is_announced)
                return;
        ring_leave(views->self->shared, views->self->row);
        views->is_announced = false;
}

struct view *views_search(struct views *views, const void *addr)
{
        uint32_t left = views->count;
        for (uint32_t i = 0; left; i++) {
                struct view *view = views->by_file[i];
                if (!view)
                        continue;
                if (view_contains(view, addr)) {
                        views->recent = view;
                        return view;
                }
                left--;
        }
        return NULL;
}

/* Calls `change` on each view; the first error ends it. */
static int for_each(struct views *views, int (*change)(struct view *view))
{
        uint32_t left = views->count;
        for (uint32_t i = 0; left; i++) {
                if (!views->by_file[i])
                        continue;
                int err = change(views->by_file[i]);
                if (err)
                        return err;
                left--;
        }
        return 0;
}

int views_protect_writes(struct views *views)
{
        return for_each(views, view_protect_writes);
}

int views_hide_writes(struct views *views)
{
        return for_each(views, view_hide_writes);
}

int views_collapse(struct views *views)
{
        return for_each(views, view_collapse);
}

int views_reset(struct views *views)
{
        return for_each(views, view_reset);
}

/* What others changed since the views were in step. */
struct hiding {
        struct views *views;
        uint32_t count;
};

static bool hide_changed(void *arg, uint64_t page)
{
        struct hiding *hiding = arg;
        struct view *view = hiding->views->by_file[page_id_file(page)];
        uint64_t page_no = page_id_no(page);
        if (!view || page_no >= view->reserve_bytes >> view->files->shared->page_shift)
                return true;
        if (!view_note_change_in_region(view, page_no) && !view->singles)
                return false; /* all of it is to be hidden */
        return !view->singles || (!view_note_change(view, page_no, &hiding->count) && hiding->count <= HIDE_MAX);
}

/* Without rings for all of the interval everything may have changed. */
static enum ring_outcome walk_rings(struct views *views, uint32_t except, uint64_t after, uint64_t until,
                                    ring_visit visit, void *arg)
{
        if (after < views->reliable_from)
                return RING_LAPPED;
        return ring_walk(views->self->shared, except, after, until, visit, arg);
}

static int catch_up(struct views *views, uint64_t snapshot)
{
        struct hiding hiding = { views, 0 };
        if (!views->is_announced)
                return 0; /* nothing is shown */
        if (hook_has_bug(HOOK_BUG_VIEW_NOT_SYNCED))
                return 0;
        uint64_t after = views->synced < snapshot ? views->synced : snapshot;
        uint64_t until = views->synced < snapshot ? snapshot : views->synced;
        /* Our own commits are shown already, but for a durable read that goes back behind them, and after it. */
        bool is_behind = snapshot < views->newest || views->synced < views->newest;
        uint32_t except = is_behind ? NOBODY : views->self->row_no;
        if (until < views->newest) /* what we committed under XAC_SNAPSHOT_ISOLATION is shown, though `synced` stayed
                                      behind it */
                until = views->newest;
        if (walk_rings(views, except, after, until, hide_changed, &hiding) == RING_DONE)
                return for_each(views, view_hide_changed_regions);
        return views_reset(views);
}

static int begin_attempt(struct view *view)
{
        int err = view_hide_writes(view); /* stray pages: written outside of any transaction */
        if (err)
                return err;
        view->is_exact = view->exact_left > 0;
        return view->is_exact || view->is_collapsed ? view_reset(view) : view_hide_contended(view);
}

/* What it reads is to be validated: so it must be known, page by page. */
static int begin_validated(struct view *view)
{
        int err = view_hide_regions(view);
        view->reads_left = READS_IN_A_ROW;
        return err ? err : begin_attempt(view);
}

/* It has read one snapshot, and nothing is validated. */
static int begin_reading(struct view *view)
{
        view->reads_left -= view->reads_left > 0;
        view_keep_contended(view);
        return begin_attempt(view);
}

static int begin_tracked(struct view *view)
{
        view->is_exact = true;
        return view_reset(view);
}

int views_begin(struct views *views, uint64_t snapshot, bool is_read_only)
{
        if (views->count) {
                handlers_begin();
                mappings_prepare();
        }
        /* R14: read after the snapshot was published. */
        uint64_t epoch = atomic_load(&views->self->shared->control->flip_epoch);
        int err = 0;
        if (epoch != views->flip_epoch)
                err = views_reset(views);
        else if (snapshot != views->synced || snapshot < views->newest)
                err = catch_up(views, snapshot);
        if (!err)
                err = for_each(views, views->is_tracking ? begin_tracked
                                      : is_read_only     ? begin_reading
                                                         : begin_validated);
        if (err)
                return err;
        views->flip_epoch = epoch;
        views->synced = snapshot;
        views_note_newest(views, snapshot);
        hook_step(HOOK_VIEW_SYNCED);
        return 0;
}

struct search {
        struct views *views;
        struct view *found;
        uint64_t page;
};

static bool stop_at_m(void *arg, uint64_t page)
{
        struct search *search = arg;
        struct view *view = search->views->by_file[page_id_file(page)];
        if (view && !view->is_exact && page_id_no(page) < view->reserve_bytes >> view->files->shared->page_shift &&
            view_in_m(view, page_id_no(page)))
                search->found = view;
        search->page = page;
        return !search->found;
}

/* R4: if a ring lapped, the heads say it. */
static bool is_any_newer(const struct view *view, uint64_t snapshot, uint64_t *page)
{
        const uint32_t *listed = view->listed.items;
        for (uint32_t i = 0; i < view->listed.count; i++) {
                *page = page_id(view->file_no, listed[i]);
                if (view_in_m(view, listed[i]) &&
                    !version_is_seen_by(version_newest(view->files->shared, *page), snapshot))
                        return true;
        }
        return false;
}

struct view *views_find_changed(struct views *views, uint64_t after, uint64_t until, uint64_t *page)
{
        struct search search = { views, NULL, 0 };
        if (!views->is_announced || after == until)
                return NULL;
        if (walk_rings(views, views->self->row_no, after, until, stop_at_m, &search) != RING_LAPPED) {
                *page = search.page;
                return search.found;
        }
        for (uint32_t i = 0; i < FILES_MAX; i++)
                if (views->by_file[i] && !views->by_file[i]->is_exact && is_any_newer(views->by_file[i], after, page))
                        return views->by_file[i];
        return NULL;
}
