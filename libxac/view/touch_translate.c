/* SPDX-License-Identifier: MIT */

/* Compiled code: declared access that has only an address, and never fails. What it gets is kept (translation.h). */

#include "libxac/view/touch.h"

#include <xac/xac.h>

#include "libxac/version/version.h"
#include "libxac/view/translation.h"

/* Where an address leads to. */
struct target {
        struct view *view;
        uint64_t page; /* id */
        uint64_t offset;
};

static bool find_target(struct view *view, const void *addr, struct target *target)
{
        const struct shared *shared = view->files->shared;
        const uint64_t page_no = view_page_no(view, addr);
        *target = (struct target){ view, page_id(view->file_no, page_no),
                                   (uint64_t)((const char *)addr - view->base) & (shared->page_bytes - 1) };
        return view_is_in_file(view, page_no);
}

/* Has the transaction a private copy of the page, which is not to be committed? Then bytes stand where the access is to
 * go. */
static bool find_stray(const struct txn *txn, const struct target *target, const void *addr, const char **bytes)
{
        if (txn->state != TXN_DOOMED)
                return false;
        if (view_is_stray(target->view, page_id_no(target->page))) {
                *bytes = addr;
                return true;
        }
        const char *copy = strays_find(&txn->strays, target->page);
        *bytes = copy + target->offset;
        return copy != NULL;
}

/* What the transaction sees there, without noting that it looks. */
static const char *see(const struct txn *txn, const struct target *target)
{
        const struct page_entry *entry = txn_pages_find(&txn->pages, target->page);
        if (entry)
                return entry->bytes;
        uint64_t word = version_visible(txn->self->shared, target->page, txn->pages.snapshot);
        return files_version_bytes(txn->files, target->page, version_slot(word));
}

/* Where nothing will ever be validated, nothing has to be noted. */
static const char *read_page(struct txn *txn, const struct target *target)
{
        struct page_entry *entry;
        if (txn->is_read_only || txn->state == TXN_DOOMED)
                return see(txn, target);
        int err = txn_pages_read(&txn->pages, target->page, &entry);
        if (!err)
                return entry->bytes;
        txn_doom(txn, err);
        return see(txn, target);
}

const void *touch_translate_read(struct txn *txn, struct view *view, const void *addr)
{
        struct target target;
        const char *bytes;
        if (!find_target(view, addr, &target))
                return addr;
        txn->is_translated = true;
        if (!find_stray(txn, &target, addr, &bytes))
                bytes = read_page(txn, &target) + target.offset;
        translation_keep(addr, bytes, TRANSLATED_READ);
        return bytes;
}

/* The transaction cannot commit. In a view of its own the access faults, and finds that out, too; in one that others
 * may share it shows nothing (R25), also while they have not come. */
static char *write_stray(struct txn *txn, const struct target *target, char *addr)
{
        const size_t page_bytes = txn->self->shared->page_bytes;
        if (!target->view->address->is_shared)
                return addr;
        touch_forget(txn, target->view, page_id_no(target->page));
        char *copy = strays_add(&txn->strays, target->page, see(txn, target), page_bytes);
        return copy ? copy + target->offset : addr;
}

static int write_page(struct txn *txn, const struct target *target, struct page_entry **entry)
{
        const uint64_t page_no = page_id_no(target->page);
        if (txn->flags & XAC_RDONLY)
                return XAC_WROTE;
        int err = touch_write_page(txn, target->page, 0, entry);
        if (!err && view_slot(target->view, page_no) != (*entry)->slot)
                err = view_hide(target->view, page_no); /* plain and compiled code agree */
        return err;
}

void *touch_translate_write(struct txn *txn, struct view *view, void *addr)
{
        struct target target;
        const char *stray;
        struct page_entry *entry;
        if (!find_target(view, addr, &target))
                return addr;
        char *bytes = addr;
        txn->is_translated = true;
        if (find_stray(txn, &target, addr, &stray)) {
                bytes += stray - (const char *)addr;
        } else {
                int err = write_page(txn, &target, &entry);
                if (err) {
                        txn_doom(txn, err);
                        return write_stray(txn, &target, addr);
                }
                bytes = entry->bytes + target.offset;
        }
        translation_keep(addr, bytes, TRANSLATED_READ);
        translation_keep(addr, bytes, TRANSLATED_WRITE);
        return bytes;
}
