/* SPDX-License-Identifier: MIT */
#include "libxac/view/view_mapper.h"

#include "base/hook.h"
#include "libxac/ground/handlers.h"
#include "libxac/ground/page_id.h"
#include "libxac/txn/txn.h"
#include "libxac/view/frames.h"
#include "libxac/view/translation.h"
#include "libxac/view/view_sync.h"

enum { EXACT_MAX = 8 /* after a view's M was too coarse, so many commits are exact, at most */ };

static struct view *view_of(const struct txn *txn, uint64_t page)
{
        return txn->views->by_file[page_id_file(page)];
}

static __attribute__((noinline)) int begin_announced(struct txn *txn, uint64_t snapshot, bool is_read_only)
{
        int err = frames_give_way(txn);
        return err ? err : views_begin(txn->views, snapshot, is_read_only);
}

/* Where no page is shown it saves no registers. */
static int begin(struct txn *txn, uint64_t snapshot, bool is_read_only)
{
        if (txn->views->is_announced)
                return begin_announced(txn, snapshot, is_read_only);
        return views_begin(txn->views, snapshot, is_read_only);
}

static int begin_inner(struct txn *txn)
{
        int err = views_protect_writes(txn->views);
        if (!err && txn->is_translated)
                translations_forget_writes();
        return err;
}

static void end_inner(struct txn *txn)
{
        if (txn->is_translated)
                translations_forget();
}

static int seal(struct txn *txn)
{
        int err = views_protect_writes(txn->views);
        if (!err && txn->views->is_announced)
                frames_keep(txn);
        return err;
}

/* ---- Others' commits ---- */

static bool find_changed(const struct txn *txn, uint64_t after, uint64_t until, uint64_t *page)
{
        return views_find_changed(txn->views, after, until, page) != NULL;
}

/* The retry is exact, and more of what follows the sooner M is too coarse again. */
static void was_coarse(struct txn *txn, uint64_t page)
{
        struct view *view = view_of(txn, page);
        view->exact_left = view->exact_span ? view->exact_span : 1;
        view->exact_span = 2 * view->exact_left < EXACT_MAX ? 2 * view->exact_left : EXACT_MAX;
}

static void note_exactness(struct view *view)
{
        if (view->exact_left)
                view->exact_left--;
        else
                view->exact_span /= 2;
}

/* Pages shown in views are right as of this commit too, if M was validated. */
static void committed(struct txn *txn, uint64_t sequence)
{
        struct views *views = txn->views;
        if (!(txn->flags & XAC_SNAPSHOT_ISOLATION))
                views->synced = sequence;
        views_note_newest(views, sequence);
        for (uint32_t i = 0, left = views->count; left; i++) {
                struct view *view = views->by_file[i];
                if (!view)
                        continue;
                note_exactness(view);
                left--;
        }
}

/* ---- What is undone ---- */

static int hide(struct txn *txn, uint64_t page, uint32_t slot)
{
        struct view *view = view_of(txn, page);
        uint64_t page_no = page_id_no(page);
        if (!view || view_is_hidden(view, page_no) || view_slot(view, page_no) != slot)
                return 0;
        return view_hide(view, page_no);
}

/* A frame, too: the commit that failed left it there. */
static bool shows_private(const struct txn *txn, const struct page_entry *entry)
{
        const struct view *view = view_of(txn, entry->page);
        uint64_t page_no = page_id_no(entry->page);
        if (!view || view_is_hidden(view, page_no))
                return false;
        return view_slot(view, page_no) == entry->slot ||
               (view_is_framed(view, page_no) && !hook_has_bug(HOOK_BUG_LOST_FRAME_SHOWN));
}

/* Neighbours at once; also pages that are protected by now. */
static void hide_private(struct txn *txn)
{
        for (uint32_t i = 0; i < txn->pages.writes.count;) {
                const struct page_entry *first = txn_pages_write_at(&txn->pages, i);
                uint32_t count = 0;
                while (i + count < txn->pages.writes.count &&
                       txn_pages_write_at(&txn->pages, i + count)->page == first->page + count &&
                       shows_private(txn, txn_pages_write_at(&txn->pages, i + count)))
                        count++;
                if (count)
                        view_hide_run(view_of(txn, first->page), page_id_no(first->page), count);
                i += count ? count : 1;
        }
}

static void undo(struct txn *txn)
{
        hide_private(txn);
        views_hide_writes(txn->views); /* stray pages */
}

static void end(struct txn *txn)
{
        if (txn->is_translated)
                translations_forget();
        if (txn->is_strict) {
                views_reset(txn->views);
                handlers_watch(1);
        }
}

const struct txn_mapper view_mapper = {
        .begin = begin,
        .begin_inner = begin_inner,
        .end_inner = end_inner,
        .seal = seal,
        .find_changed = find_changed,
        .was_coarse = was_coarse,
        .committed = committed,
        .hide = hide,
        .undo = undo,
        .end = end,
};
