/* SPDX-License-Identifier: MIT */
#include "libxac/txn/conflict.h"

#include "base/invariant.h"
#include "libxac/version/version.h"

static bool is_changed(const struct txn_pages *pages, const struct page_entry *entry)
{
        return !version_is_seen_by(version_newest(pages->self->shared, entry->page), pages->snapshot);
}

static bool is_any_write_changed(const struct txn_pages *pages, uint64_t *page)
{
        for (uint32_t i = 0; i < pages->writes.count; i++) {
                const struct page_entry *entry = txn_pages_write_at(pages, i);
                if (is_changed(pages, entry)) {
                        *page = entry->page;
                        return true;
                }
        }
        return false;
}

static bool is_any_entry_changed(const struct txn_pages *pages, uint64_t *page)
{
        for (uint32_t i = 0; i < pages->entries.count; i++) {
                const struct page_entry *entry = txn_pages_entry(pages, i);
                if (is_changed(pages, entry)) {
                        *page = entry->page;
                        return true;
                }
        }
        return false;
}

struct conflict conflict_find(const struct txn *txn, bool writes_only, uint64_t after, uint64_t until)
{
        const struct txn_pages *pages = &txn->pages;
        invariant(pages->snapshot <= after && after <= until);
        struct conflict conflict = { .is_lost = false };
        if (after == until)
                return conflict;
        if (writes_only) {
                conflict.is_lost = is_any_write_changed(pages, &conflict.page);
                return conflict;
        }
        conflict.is_lost = is_any_entry_changed(pages, &conflict.page);
        if (!conflict.is_lost)
                conflict.is_lost = conflict.is_coarse = txn->mapper->find_changed(txn, after, until, &conflict.page);
        return conflict;
}
