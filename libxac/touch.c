/* SPDX-License-Identifier: MIT */
#include "libxac/touch.h"

#include <errno.h>
#include <xac/xac.h>

#include "libxac/checkpoint.h"
#include "libxac/frames.h"
#include "libxac/version.h"

enum { HOME_RUN = 16 /* pages mapped around a fault where all are at home */ };

static bool is_in_file(const struct view *view, uint64_t page_no)
{
        return page_no << view->files->shared->page_shift < files_byte_len(view->files, view->file_no);
}

bool touch_uses_page(void *arg, uint64_t page)
{
        struct txn *txn = arg;
        struct view *view = txn->views.by_file[page_id_file(page)];
        if (view && page_id_no(page) < view->reserve_bytes >> view->files->shared->page_shift &&
            view_shows(view, page_id_no(page)) != VIEW_HIDDEN)
                return true;
        return txn_pages_find(&txn->pages, page) != NULL;
}

/* A full pool is first answered by giving up frames and bringing pages home, but not for what is lost already. */
static bool make_room(struct txn *txn)
{
        struct home_writer writer = { .self = txn->self,
                                      .files = txn->files,
                                      .is_in_use = touch_uses_page,
                                      .in_use_arg = txn,
                                      .may_wait = true };
        return txn->state != TXN_DOOMED && !frames_drop(txn) && !checkpoint_run(&writer);
}

/* A private version at the present level. */
static int write_page(struct txn *txn, uint64_t page, uint32_t frame, struct page_entry **entry)
{
        int err = txn_pages_write(&txn->pages, page, txn->depth, frame, entry);
        if (err != XAC_FULL || !make_room(txn))
                return err;
        return txn_pages_write(&txn->pages, page, txn->depth, 0, entry);
}

/* The same where the view will show it: in the page's frame, if it has one. */
static int write_in_view(struct txn *txn, struct view *view, uint64_t page_no, struct page_entry **entry)
{
        uint32_t frame = view_is_framed(view, page_no) ? view_slot(view, page_no) : 0;
        int err = write_page(txn, page_id(view->file_no, page_no), frame, entry);
        if (!err && view_is_framed(view, page_no) && (*entry)->slot == frame)
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
        return is_in_file(view, page_no) && view_shows(view, page_no) == VIEW_HIDDEN &&
               !txn_pages_find(&txn->pages, page) && version_slot(version_newest(txn->self->shared, page)) == SLOT_HOME;
}

/* Pages at home are shown several at once: whoever reads one reads its neighbours. */
static int show_home_run(struct txn *txn, struct view *view, uint64_t page_no)
{
        uint64_t first = page_no;
        uint64_t end = page_no + 1;
        while (first % HOME_RUN && is_hidden_home_page(txn, view, first - 1))
                first--;
        while (end % HOME_RUN && is_hidden_home_page(txn, view, end))
                end++;
        return view_show_run(view, first, SLOT_HOME, end - first, VIEW_READABLE);
}

static int show_for_read(struct txn *txn, struct view *view, uint64_t page_no)
{
        uint32_t slot;
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
                return XAC_READONLY;
        int err = write_in_view(txn, view, page_no, &entry);
        return err ? err : view_show(view, page_no, entry->slot, VIEW_WRITABLE);
}

/* A private copy of what the page shows, so that the program can go on harmlessly. */
static enum touch_outcome show_stray(struct txn *txn, struct view *view, uint64_t page_no)
{
        uint64_t page = page_id(view->file_no, page_no);
        struct page_entry *entry = txn_pages_find(&txn->pages, page);
        uint32_t slot;
        if (view_shows(view, page_no) != VIEW_HIDDEN)
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
        return view_shows(view, page_no) == VIEW_READABLE;
}

enum touch_outcome touch_fault(struct txn *txn, struct view *view, const void *addr, enum touch_access access)
{
        uint64_t page_no = view_page_no(view, addr);
        if (!is_in_file(view, page_no))
                return TOUCH_BEYOND;
        if (view_shows(view, page_no) >= VIEW_WRITABLE)
                return TOUCH_STUCK;
        if (!txn_is_open(txn))
                return fault_outside(txn, view, page_no);

        bool is_writing = is_write(view, page_no, access);
        participant_count(is_writing ? &txn->self->row->write_faults : &txn->self->row->read_faults);
        views_announce(&txn->views);
        int err = is_writing ? show_for_write(txn, view, page_no) : show_for_read(txn, view, page_no);
        if (!err)
                return TOUCH_DONE;
        txn_doom(txn, err);
        return show_stray(txn, view, page_no);
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
                if (access == TOUCH_WRITE && view_shows(view, end - 1) < VIEW_WRITABLE)
                        shown = show_written_run(txn, view, first, end);
                else if (view_shows(view, end - 1) == VIEW_HIDDEN)
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
        struct view *view = views_find(&txn->views, addr);
        if (!view)
                return XAC_NOVIEW;
        if (!byte_len)
                return 0;
        const char *last = (const char *)addr + byte_len - 1;
        if (last < (const char *)addr || !view_contains(view, last) || !is_in_file(view, view_page_no(view, last)))
                return -EINVAL;
        if (access == TOUCH_WRITE && txn->flags & XAC_RDONLY)
                return XAC_READONLY;
        views_announce(&txn->views);
        int err = touch_each(txn, view, view_page_no(view, addr), view_page_no(view, last) + 1, access);
        if (err)
                txn_doom(txn, err);
        return err;
}

/* The view and page that an address names, for declared access. */
static struct view *find_page(struct txn *txn, const void *addr, uint64_t *page_no)
{
        struct view *view = views_find(&txn->views, addr);
        if (!view)
                return NULL;
        *page_no = view_page_no(view, addr);
        return is_in_file(view, *page_no) ? view : NULL;
}

static char *byte_at(const struct page_entry *entry, const struct view *view, const void *addr)
{
        uint64_t offset = (uint64_t)((const char *)addr - view->base);
        return entry->bytes + (offset & (view->files->shared->page_bytes - 1));
}

/* What a doomed transaction has in a stray copy stands nowhere else, and the view itself is the pointer to it. */
static bool is_stray(const struct txn *txn, const struct view *view, uint64_t page_no)
{
        return txn->state == TXN_DOOMED && view && view_shows(view, page_no) == VIEW_STRAY;
}

/* Where nothing will ever be validated, nothing has to be noted. */
static const char *look_at(const struct txn *txn, const struct view *view, uint64_t page_no, const void *addr)
{
        uint64_t page = page_id(view->file_no, page_no);
        uint64_t word = version_visible(txn->self->shared, page, txn->pages.snapshot);
        uint64_t offset = (uint64_t)((const char *)addr - view->base);
        return files_version_bytes(txn->files, page, version_slot(word)) +
               (offset & (view->files->shared->page_bytes - 1));
}

const void *touch_page_read(struct txn *txn, const void *addr)
{
        uint64_t page_no = 0;
        struct page_entry *entry;
        if (!txn_is_open(txn))
                return NULL;
        struct view *view = find_page(txn, addr, &page_no);
        if (is_stray(txn, view, page_no))
                return addr;
        if (view && txn->is_read_only)
                return look_at(txn, view, page_no, addr);
        int err = view ? txn_pages_read(&txn->pages, page_id(view->file_no, page_no), &entry) : XAC_NOVIEW;
        if (!err)
                return byte_at(entry, view, addr);
        txn_doom(txn, err);
        return NULL;
}

/* Plain and declared access agree: where the view shows another slot, it shows nothing now. */
static int hide_if_different(struct view *view, uint64_t page_no, const struct page_entry *entry)
{
        return view_slot(view, page_no) == entry->slot ? 0 : view_hide(view, page_no);
}

void *touch_page_write(struct txn *txn, void *addr)
{
        uint64_t page_no = 0;
        struct page_entry *entry;
        if (!txn_is_open(txn))
                return NULL;
        struct view *view = find_page(txn, addr, &page_no);
        int err = view ? 0 : XAC_NOVIEW;
        if (!err && txn->flags & XAC_RDONLY)
                err = XAC_READONLY;
        if (!err && is_stray(txn, view, page_no))
                return addr;
        if (!err)
                err = write_page(txn, page_id(view->file_no, page_no), 0, &entry);
        if (!err)
                err = hide_if_different(view, page_no, entry);
        if (!err)
                return byte_at(entry, view, addr);
        txn_doom(txn, err);
        return NULL;
}

static bool is_range_in_file(const struct view *view, uint64_t page_no, uint64_t count)
{
        uint64_t reserved = view->reserve_bytes >> view->files->shared->page_shift;
        return count <= reserved - page_no && is_in_file(view, page_no + count - 1);
}

static bool is_page_aligned(const struct view *view, const void *addr)
{
        return ((uint64_t)((const char *)addr - view->base) & (view->files->shared->page_bytes - 1)) == 0;
}

/* May the pages be moved? What is refused here leaves the transaction as it was. */
static int check_move(struct txn *txn, const void *to, const void *from, uint64_t count)
{
        if (!txn_is_open(txn))
                return XAC_NOTXN;
        struct view *view = views_find(&txn->views, to);
        struct view *from_view = views_find(&txn->views, from);
        if (!view || !from_view)
                return XAC_NOVIEW;
        if (view != from_view || !is_page_aligned(view, to) || !is_page_aligned(view, from))
                return -EINVAL;
        if (count && !(is_range_in_file(view, view_page_no(view, to), count) &&
                       is_range_in_file(view, view_page_no(view, from), count)))
                return -EINVAL;
        if (txn->flags & XAC_RDONLY)
                return XAC_READONLY;
        return txn->doom;
}

/* Hides pages that are moved, so that the next touch finds what they are then. They leave M: from now on they are in
 * the exact read set, or the transaction is doomed. */
static int hide_moved(struct view *view, uint64_t page_no, uint64_t count)
{
        for (uint64_t i = 0; i < count; i++)
                if (view_shows(view, page_no + i) != VIEW_HIDDEN)
                        return view_hide_run(view, page_no, count);
        return 0;
}

static int move_pages(struct txn *txn, uint64_t to, uint64_t from, uint64_t count)
{
        int err = txn_pages_move(&txn->pages, to, from, count, txn->depth);
        if (err != XAC_FULL || !make_room(txn))
                return err;
        return txn_pages_move(&txn->pages, to, from, count, txn->depth);
}

int touch_move(struct txn *txn, const void *to, const void *from, size_t pages)
{
        int err = check_move(txn, to, from, pages);
        if (err || to == from || !pages)
                return err;
        struct view *view = views_find(&txn->views, to);
        uint64_t to_no = view_page_no(view, to);
        uint64_t from_no = view_page_no(view, from);
        err = hide_moved(view, to_no, pages);
        if (!err)
                err = hide_moved(view, from_no, pages);
        if (!err)
                err = move_pages(txn, page_id(view->file_no, to_no), page_id(view->file_no, from_no), pages);
        if (err)
                txn_doom(txn, err);
        return err;
}
