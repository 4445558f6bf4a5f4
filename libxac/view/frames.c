/* SPDX-License-Identifier: MIT */
#include "libxac/view/frames.h"

#include "base/hook.h"
#include "libxac/store/pool.h"
#include "libxac/store/pool_memory.h"
#include "libxac/view/view_sync.h"

enum { POOL_PART = 16 /* so much of the pool may be frames */ };

static uint32_t count(const struct participant *self)
{
        return atomic_load_explicit(&self->row->frames, memory_order_relaxed);
}

static bool has_room(const struct participant *self)
{
        const struct control *control = self->shared->control;
        uint32_t participants = atomic_load_explicit(&control->rows_used, memory_order_relaxed);
        return count(self) < control->pool_slots / POOL_PART / participants && !pool_is_nearly_full(self->shared);
}

/* Did this participant write the version that is displaced? */
static bool is_written_again(const struct participant *self, const struct page_entry *entry)
{
        return entry->visible_slot != SLOT_HOME && slot_owner(&self->shared->slots[entry->visible_slot]) == self->owner;
}

/* Views that hide all before the next attempt, and pages that others change, would lose it. */
static bool is_worth_it(const struct txn *txn, const struct page_entry *entry)
{
        const struct view *view = txn->views->by_file[page_id_file(entry->page)];
        uint64_t page_no = page_id_no(entry->page);
        return view && !view->is_exact && view_is_readable(view, page_no) && view_slot(view, page_no) == entry->slot &&
               !view_is_contended(view, page_no) && !shared_is_alias(txn->self->shared, entry->slot) &&
               is_written_again(txn->self, entry);
}

void frames_keep(struct txn *txn)
{
        if (txn->is_strict)
                return; /* nothing is shown for long */
        for (uint32_t i = 0; i < txn->pages.writes.count; i++) {
                struct page_entry *entry = txn_pages_write_at(&txn->pages, i);
                if (!is_worth_it(txn, entry) || !has_room(txn->self))
                        continue;
                if (!txn_pages_copy_out(&txn->pages, entry))
                        return;
                view_keep_frame(txn->views->by_file[page_id_file(entry->page)], page_id_no(entry->page));
                hook_step(HOOK_FRAME_KEPT);
        }
}

int frames_drop(struct txn *txn)
{
        return count(txn->self) ? views_collapse(txn->views) : 0;
}

int frames_give_way(struct txn *txn)
{
        return count(txn->self) && pool_is_nearly_full(txn->self->shared) ? frames_drop(txn) : 0;
}
