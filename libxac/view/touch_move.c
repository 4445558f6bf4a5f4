/* SPDX-License-Identifier: MIT */

/* Pages that a transaction moves (xac_page_move). */

#include "libxac/view/touch.h"

#include <errno.h>
#include <xac/xac.h>

#include "libxac/view/translation.h"

static bool is_range_in_file(const struct view *view, uint64_t page_no, uint64_t count)
{
        uint64_t reserved = view->reserve_bytes >> view->files->shared->page_shift;
        return count <= reserved - page_no && view_is_in_file(view, page_no + count - 1);
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
        struct view *view = views_find(txn->views, to);
        struct view *from_view = views_find(txn->views, from);
        if (!view || !from_view)
                return XAC_NOVIEW;
        if (view != from_view || !is_page_aligned(view, to) || !is_page_aligned(view, from))
                return -EINVAL;
        if (count && !(is_range_in_file(view, view_page_no(view, to), count) &&
                       is_range_in_file(view, view_page_no(view, from), count)))
                return -EINVAL;
        if (txn->flags & XAC_RDONLY)
                return XAC_WROTE;
        return txn->doom;
}

/* Hides pages that are moved, so that the next touch finds what they are then. They leave M: from now on they are in
 * the exact read set, or the transaction is doomed. */
static int hide_moved(struct view *view, uint64_t page_no, uint64_t count)
{
        for (uint64_t i = 0; i < count; i++)
                if (!view_is_hidden(view, page_no + i))
                        return view_hide_run(view, page_no, count);
        return 0;
}

static int move_pages(struct txn *txn, uint64_t to, uint64_t from, uint64_t count)
{
        int err = txn_pages_move(&txn->pages, to, from, count, txn->depth);
        if (err != XAC_FULL || !touch_make_room(txn))
                return err;
        return txn_pages_move(&txn->pages, to, from, count, txn->depth);
}

int touch_move(struct txn *txn, const void *to, const void *from, size_t pages)
{
        int err = check_move(txn, to, from, pages);
        if (err || to == from || !pages)
                return err;
        struct view *view = views_find(txn->views, to);
        uint64_t to_no = view_page_no(view, to);
        uint64_t from_no = view_page_no(view, from);
        if (txn->is_translated)
                translations_forget();
        err = hide_moved(view, to_no, pages);
        if (!err)
                err = hide_moved(view, from_no, pages);
        if (!err)
                err = move_pages(txn, page_id(view->file_no, to_no), page_id(view->file_no, from_no), pages);
        if (err)
                txn_doom(txn, err);
        return err;
}
