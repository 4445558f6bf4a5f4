/* SPDX-License-Identifier: MIT */
#include "libxac/view/touch.h"

#include <errno.h>
#include <xac/xac.h>

#include "base/hook.h"
#include "libxac/ground/probe.h"
#include "libxac/store/home.h"
#include "libxac/store/takeover.h"
#include "libxac/txn/tracing.h"
#include "libxac/version/version.h"
#include "libxac/view/frames.h"
#include "libxac/view/translation.h"

enum {
        HOME_RUN = 16, /* pages mapped around a fault where all are at home */
        /* Faults of a read-only transaction in a region, the last of which shows all of it: */
        SINGLES_READER = 3, /* in the view of a thread that only reads, lately */
        SINGLES_MIXED = 32  /* in others */
};

bool touch_uses_page(void *arg, uint64_t page)
{
        struct txn *txn = arg;
        struct view *view = txn->views->by_file[page_id_file(page)];
        if (view && page_id_no(page) < view->reserve_bytes >> view->files->shared->page_shift &&
            !view_is_hidden(view, page_id_no(page)))
                return true;
        return txn_pages_find(&txn->pages, page) != NULL;
}

/* What the dead hold is room, too (P6). */
bool touch_make_room(struct txn *txn)
{
        struct home_writer writer = { .self = txn->self,
                                      .files = txn->files,
                                      .is_in_use = touch_uses_page,
                                      .in_use_arg = txn,
                                      .may_wait = true };
        if (txn->state == TXN_DOOMED || frames_drop(txn))
                return false;
        takeover_dead(txn->self->shared, txn->self->owner);
        return !home_checkpoint(&writer);
}

void touch_forget(const struct txn *txn, const struct view *view, uint64_t page_no)
{
        const struct shared *shared = view->files->shared;
        if (txn->is_translated)
                translations_forget_page(view->base + (page_no << shared->page_shift), shared->page_bytes);
}

int touch_write_page(struct txn *txn, uint64_t page, uint32_t frame, struct page_entry **entry)
{
        if (txn->is_translated)
                touch_forget(txn, txn->views->by_file[page_id_file(page)], page_id_no(page));
        int err = txn_pages_write(&txn->pages, page, txn->depth, frame, entry);
        if (err != XAC_FULL || !touch_make_room(txn))
                return err;
        return txn_pages_write(&txn->pages, page, txn->depth, 0, entry);
}

/* The same where the view will show it: in the page's frame, if it has one. */
static int write_in_view(struct txn *txn, struct view *view, uint64_t page_no, struct page_entry **entry)
{
        uint32_t frame = view_is_framed(view, page_no) ? view_slot(view, page_no) : 0;
        int err = touch_write_page(txn, page_id(view->file_no, page_no), frame, entry);
        if (!err && view_is_framed(view, page_no) && (*entry)->slot == frame &&
            !hook_has_bug(HOOK_BUG_FRAME_NOT_YIELDED))
                view_yield_frame(view, page_no);
        return err;
}

/* The slot a page shows to this transaction when it is read. In an exact attempt that makes it a
 * member of the read set. */
static int slot_to_read(struct txn *txn, struct view *view, uint64_t page, uint32_t *slot)
{
        struct page_entry *entry = txn_pages_find(&txn->pages, page);
        if (!entry && view->is_exact) {
                int err = txn_pages_read(&txn->pages, page, &entry);
                if (err)
                        return err;
        }
        if (entry)
                *slot = entry->slot ? entry->slot : entry->visible_slot;
        else
                *slot = version_slot(version_visible(txn->self->shared, page, txn->pages.snapshot));
        return 0;
}

static bool is_hidden_home_page(struct txn *txn, struct view *view, uint64_t page_no)
{
        uint64_t page = page_id(view->file_no, page_no);
        return view_is_in_file(view, page_no) && view_is_hidden(view, page_no) && !txn_pages_find(&txn->pages, page) &&
               version_slot(version_newest(txn->self->shared, page)) == SLOT_HOME;
}

/* Pages at home are shown several at once: whoever reads one reads its neighbours. Not so where pages are read singly:
 * the neighbours would be read by the kernel's way. */
static int show_home_run(struct txn *txn, struct view *view, uint64_t page_no)
{
        uint64_t first = page_no;
        uint64_t end = page_no + 1;
        if (files_read_singly(view->files)) {
                read_ahead_fetch(view->files, page_id(view->file_no, page_no));
                return view_show(view, page_no, SLOT_HOME, VIEW_READABLE);
        }
        while (first % HOME_RUN && is_hidden_home_page(txn, view, first - 1))
                first--;
        while (end % HOME_RUN && is_hidden_home_page(txn, view, end))
                end++;
        return view_show_run(view, first, SLOT_HOME, end - first, VIEW_READABLE);
}

/* Who has touched some pages of a region one by one, or comes from a neighbour, reads on: all of it is shown at once.
 * For who reads a page here and there that would be too much. Where transactions that write come between, they lose
 * what is shown by regions, so more touches are needed. */
static bool is_scanning(const struct txn *txn, struct view *view, uint64_t page_no)
{
        const struct regions *regions = &view->regions;
        const uint64_t no = page_no << view->files->shared->page_shift >> REGION_SHIFT;
        struct region *region = &regions->region[no];
        const uint32_t attempt = (uint32_t)txn->begun * SINGLES_MIXED;
        const uint32_t enough = view->reads_left ? SINGLES_MIXED : SINGLES_READER;
        if (!txn->is_read_only || txn->state == TXN_DOOMED || view->is_exact || !regions->chunks)
                return false;
        if ((no && regions_is_shown(regions, no - 1)) ||
            (no + 1 < regions_count(regions) && regions_is_shown(regions, no + 1)))
                return true;
        region->singles = region->singles - attempt < SINGLES_MIXED ? region->singles + 1 : attempt + 1;
        return region->singles - attempt >= enough;
}

static int show_for_read(struct txn *txn, struct view *view, uint64_t page_no)
{
        uint32_t slot;
        if (view_is_in_region(view, page_no))
                return 0;
        if (is_scanning(txn, view, page_no) && !view_show_region(view, page_no, txn->pages.snapshot))
                return 0;
        uint64_t page = page_id(view->file_no, page_no);
        int err = slot_to_read(txn, view, page, &slot);
        if (err)
                return err;
        if (slot == SLOT_HOME && !view->is_exact)
                return show_home_run(txn, view, page_no);
        return view_show(view, page_no, slot, VIEW_READABLE);
}

static int show_for_write(struct txn *txn, struct view *view, uint64_t page_no)
{
        struct page_entry *entry;
        if (txn->flags & XAC_RDONLY)
                return XAC_WROTE;
        int err = write_in_view(txn, view, page_no, &entry);
        return err ? err : view_show(view, page_no, entry->slot, VIEW_WRITABLE);
}

/* A private copy of what the page shows, so that the program can go on harmlessly. */
static enum touch_outcome show_stray(struct txn *txn, struct view *view, uint64_t page_no)
{
        uint64_t page = page_id(view->file_no, page_no);
        struct page_entry *entry = txn_pages_find(&txn->pages, page);
        uint32_t slot;
        touch_forget(txn, view, page_no);
        if (!view_is_hidden(view, page_no))
                slot = view_slot(view, page_no);
        else if (entry)
                slot = entry->slot ? entry->slot : entry->visible_slot;
        else
                slot = version_slot(txn_is_open(txn) ? version_visible(txn->self->shared, page, txn->pages.snapshot)
                                                     : version_newest(txn->self->shared, page));
        if (!view_show(view, page_no, slot, VIEW_STRAY))
                return TOUCH_DONE;
        /* Perhaps the view's lists cannot grow. Nothing will be validated any more: they may be emptied. */
        bool is_shown = !view_reset(view) && !view_show(view, page_no, slot, VIEW_STRAY);
        return is_shown ? TOUCH_DONE : TOUCH_STUCK;
}

/* Between transactions: harmless, and undefined (RESTRICTIONS.md). */
static enum touch_outcome fault_outside(struct txn *txn, struct view *view, uint64_t page_no)
{
        return txn->is_strict ? TOUCH_OUTSIDE : show_stray(txn, view, page_no);
}

static bool is_write(const struct view *view, uint64_t page_no, enum touch_access access)
{
        if (access != TOUCH_UNKNOWN)
                return access == TOUCH_WRITE;
        return view_is_readable(view, page_no) || view_is_in_region(view, page_no);
}

static enum touch_outcome show_touched(struct txn *txn, struct view *view, uint64_t page_no, bool is_writing)
{
        participant_count(is_writing ? &txn->self->row->write_faults : &txn->self->row->read_faults);
        views_announce(txn->views);
        int err = is_writing ? show_for_write(txn, view, page_no) : show_for_read(txn, view, page_no);
        if (!err)
                return TOUCH_DONE;
        txn_doom(txn, err);
        return show_stray(txn, view, page_no);
}

static enum touch_outcome show_traced(struct txn *txn, struct view *view, uint64_t page_no, bool is_writing)
{
        const uint64_t begin_ticks = tracing_ticks(txn->self);
        const uint64_t page = page_id(view->file_no, page_no);
        const bool was_touched = txn_pages_find(&txn->pages, page) != NULL;
        enum touch_outcome outcome = show_touched(txn, view, page_no, is_writing);
        tracing_fault(txn, page, is_writing, was_touched, begin_ticks);
        return outcome;
}

enum touch_outcome touch_fault(struct txn *txn, struct view *view, const void *addr, enum touch_access access)
{
        uint64_t page_no = view_page_no(view, addr);
        if (!view_is_in_file(view, page_no))
                return TOUCH_BEYOND;
        if (view_state(view, page_no) >= VIEW_WRITABLE)
                return TOUCH_STUCK;
        if (!view_may_show(view))
                return TOUCH_COMMON;
        if (!txn_is_open(txn))
                return fault_outside(txn, view, page_no);

        bool is_writing = is_write(view, page_no, access);
        PROBE2(fault, page_no, is_writing);
        return tracing_is_on(txn->self) ? show_traced(txn, view, page_no, is_writing)
                                        : show_touched(txn, view, page_no, is_writing);
}

/* Writes pages from `end` backwards, as slots are handed out in descending order, and maps those that lie
 * in consecutive slots at once. Returns how many, or an error. */
static int64_t show_written_run(struct txn *txn, struct view *view, uint64_t first, uint64_t end)
{
        uint32_t slot = 0;
        int64_t count = 0;
        for (uint64_t page_no = end; page_no-- > first; count++) {
                struct page_entry *entry;
                int err = write_in_view(txn, view, page_no, &entry);
                if (err)
                        return err;
                if (count && entry->slot + 1 != slot)
                        break;
                slot = entry->slot;
        }
        int err;
        if (count == 1)
                err = view_show(view, end - 1, slot, VIEW_WRITABLE);
        else
                err = view_show_run(view, end - (uint64_t)count, slot, (uint64_t)count, VIEW_WRITABLE);
        return err ? err : count;
}

/* One page, or an error. */
static int64_t show_hidden(struct txn *txn, struct view *view, uint64_t page_no)
{
        int err = show_for_read(txn, view, page_no);
        return err ? err : 1;
}

static int touch_each(struct txn *txn, struct view *view, uint64_t first, uint64_t end, enum touch_access access)
{
        while (end > first) {
                int64_t shown = 1;
                if (access == TOUCH_WRITE && view_state(view, end - 1) < VIEW_WRITABLE)
                        shown = show_written_run(txn, view, first, end);
                else if (view_is_hidden(view, end - 1))
                        shown = show_hidden(txn, view, end - 1);
                if (shown < 0)
                        return (int)shown;
                end -= (uint64_t)shown;
        }
        return 0;
}

int touch_range(struct txn *txn, const void *addr, size_t byte_len, enum touch_access access)
{
        if (!txn_is_open(txn))
                return XAC_NOTXN;
        struct view *view = views_find(txn->views, addr);
        if (!view)
                return XAC_NOVIEW;
        if (!byte_len)
                return 0;
        const char *last = (const char *)addr + byte_len - 1;
        if (last < (const char *)addr || !view_contains(view, last) || !view_is_in_file(view, view_page_no(view, last)))
                return -EINVAL;
        if (access == TOUCH_WRITE && txn->flags & XAC_RDONLY)
                return XAC_WROTE;
        if (!view_may_show(view))
                return -EBUSY;
        views_announce(txn->views);
        int err = touch_each(txn, view, view_page_no(view, addr), view_page_no(view, last) + 1, access);
        if (err)
                txn_doom(txn, err);
        return err;
}
