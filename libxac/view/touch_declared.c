/* SPDX-License-Identifier: MIT */

/* Declared access: the caller says which page it reads or writes, and gets a pointer to the version. No page fault. */

#include "libxac/view/touch.h"

#include <xac/xac.h>

#include "libxac/version/version.h"

/* The view and page that an address names. */
static struct view *find_page(struct txn *txn, const void *addr, uint64_t *page_no)
{
        struct view *view = views_find(txn->views, addr);
        if (!view)
                return NULL;
        *page_no = view_page_no(view, addr);
        return view_is_in_file(view, *page_no) ? view : NULL;
}

static char *byte_at(const struct page_entry *entry, const struct view *view, const void *addr)
{
        uint64_t offset = (uint64_t)((const char *)addr - view->base);
        return entry->bytes + (offset & (view->files->shared->page_bytes - 1));
}

/* What a doomed transaction has in a stray copy stands nowhere else, and the view itself is the pointer to it. */
static bool is_stray(const struct txn *txn, const struct view *view, uint64_t page_no)
{
        return txn->state == TXN_DOOMED && view && view_is_stray(view, page_no);
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

int touch_expect(const struct txn *txn, const void *addr, size_t byte_len)
{
        const struct view *view = views_find(txn->views, addr);
        if (!view)
                return XAC_NOVIEW;
        const char *last = (const char *)addr + (byte_len ? byte_len - 1 : 0);
        const uint64_t first_no = view_page_no(view, addr);
        if (last < (const char *)addr || !view_contains(view, last) || !view_is_in_file(view, view_page_no(view, last)))
                return -EINVAL;
        if (!files_read_singly(view->files))
                return 0;
        if (byte_len)
                read_ahead_expect(view->files, page_id(view->file_no, first_no),
                                  view_page_no(view, last) + 1 - first_no);
        return 1;
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
                err = XAC_WROTE;
        if (!err && is_stray(txn, view, page_no))
                return addr;
        if (!err)
                err = touch_write_page(txn, page_id(view->file_no, page_no), 0, &entry);
        if (!err)
                err = hide_if_different(view, page_no, entry);
        if (!err)
                return byte_at(entry, view, addr);
        txn_doom(txn, err);
        return NULL;
}
