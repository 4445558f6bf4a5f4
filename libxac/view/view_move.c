/* SPDX-License-Identifier: MIT */
#include "libxac/view/view_move.h"

#include <errno.h>
#include <sys/mman.h>

#include "base/hook.h"
#include "base/invariant.h"
#include "base/sys.h"
#include "libxac/store/pool.h"
#include "rewire/mappings.h"
#include "rewire/wire.h"

/* ---- The diagram ---- */

enum {
        TO_HIDDEN = 1 << VIEW_HIDDEN,
        TO_VEILED = 1 << VIEW_VEILED,
        TO_READABLE = 1 << VIEW_READABLE,
        TO_FRAMED = 1 << VIEW_FRAMED,
        TO_WRITABLE = 1 << VIEW_WRITABLE,
        TO_STRAY = 1 << VIEW_STRAY,
        TO_STRAY_FRAMED = 1 << VIEW_STRAY_FRAMED
};

static bool may_move(enum view_state from, enum view_state to)
{
        static const unsigned diagram[] = {
                [VIEW_HIDDEN] = TO_HIDDEN | TO_READABLE | TO_WRITABLE | TO_STRAY,
                [VIEW_VEILED] = TO_HIDDEN | TO_VEILED | TO_READABLE | TO_WRITABLE | TO_STRAY,
                [VIEW_READABLE] = TO_HIDDEN | TO_VEILED | TO_READABLE | TO_FRAMED | TO_WRITABLE | TO_STRAY,
                [VIEW_FRAMED] = TO_HIDDEN | TO_VEILED | TO_READABLE | TO_STRAY | TO_STRAY_FRAMED,
                [VIEW_WRITABLE] = TO_HIDDEN | TO_VEILED | TO_READABLE | TO_WRITABLE,
                [VIEW_STRAY] = TO_HIDDEN | TO_STRAY,
                [VIEW_STRAY_FRAMED] = TO_HIDDEN | TO_STRAY | TO_STRAY_FRAMED,
        };
        return diagram[from] >> to & 1;
}

/* Home is read-only, and what lies under a veil or is a frame is a slot. */
static bool may_show(enum view_state to, uint32_t slot)
{
        return slot != SLOT_HOME || (to != VIEW_VEILED && to != VIEW_FRAMED && to != VIEW_WRITABLE);
}

/* ---- One page's word ---- */

static void count_frames(struct view *view, uint32_t more)
{
        _Atomic uint32_t *frames = &view->self->row->frames; /* which only this thread writes */
        atomic_store_explicit(frames, atomic_load_explicit(frames, memory_order_relaxed) + more, memory_order_relaxed);
}

static void push(struct vector *pages, uint64_t page_no)
{
        invariant(pages->count < pages->capacity);
        ((uint32_t *)pages->items)[pages->count++] = (uint32_t)page_no;
}

/* The frame that a page no longer shows is free, unless it has been yielded: then it is shown like other slots. */
static void move_frame(struct view *view, const struct view_page *page, uint32_t slot, enum view_state to)
{
        if (view_has_frame((enum view_state)page->state) == view_has_frame(to))
                return;
        count_frames(view, view_has_frame(to) ? 1 : (uint32_t)-1);
        if (!view_has_frame(to) && (slot != page->slot || to == VIEW_VEILED))
                pool_give_back(view->self, page->slot);
}

static void note_shown(struct view *view, uint64_t page_no, struct view_page *page, enum view_state to)
{
        const bool was_hidden = page->state <= VIEW_VEILED;
        if (!page->is_listed)
                push(&view->listed, page_no);
        if (to >= VIEW_WRITABLE && page->state < VIEW_WRITABLE)
                push(&view->writable, page_no);
        if (page->contention && was_hidden) {
                push(&view->fleeting, page_no);
                page->contention--;
        }
        view->singles += was_hidden;
        page->in_m = page->is_listed = 1;
}

static void note_hidden(struct view *view, const struct view_page *page)
{
        const bool was_shown = page->state > VIEW_VEILED;
        invariant(!was_shown || view->singles);
        view->singles -= was_shown;
}

static void move_page(struct view *view, uint64_t page_no, uint32_t slot, enum view_state to)
{
        invariant(page_no < view->reserve_bytes >> view->files->shared->page_shift);
        struct view_page page = view->shown[page_no];
        if (to == VIEW_STRAY && view_has_frame((enum view_state)page.state) && slot == page.slot)
                to = VIEW_STRAY_FRAMED;
        if (hook_has_bug(HOOK_BUG_HOME_WRITABLE) && slot == SLOT_HOME && to >= VIEW_READABLE)
                to = VIEW_WRITABLE;
        invariant(may_move((enum view_state)page.state, to));
        invariant(may_show(to, slot));
        move_frame(view, &page, slot, to);
        if (to >= VIEW_READABLE)
                note_shown(view, page_no, &page, to);
        else
                note_hidden(view, &page);
        page.slot = slot;
        page.state = to;
        view->shown[page_no] = page;
}

void view_drop_frames(struct view *view)
{
        const uint32_t *listed = view->listed.items;
        for (uint32_t i = 0; i < view->listed.count; i++)
                if (view_is_framed(view, listed[i]))
                        move_page(view, listed[i], SLOT_HOME, VIEW_HIDDEN);
}

/* ---- What the kernel maps ---- */

static char *page_addr(const struct view *view, uint64_t page_no)
{
        return view->base + (page_no << view->files->shared->page_shift);
}

static uint64_t run_len(const struct view *view, uint64_t count)
{
        return count << view->files->shared->page_shift;
}

/* One mmap over all of it; else one mprotect, which needs no new mapping, and then what lies below is
 * replaced when a page is shown. */
static int cover_all(struct view *view)
{
        int err = wire_nothing_over_all(view->base, view->reserve_bytes);
        if (!err)
                view_count_mappings(view, 1 - (int64_t)view->mappings);
        else
                err = sys_mprotect(view->base, view->reserve_bytes, PROT_NONE);
        if (!err)
                regions_note_covered(&view->regions);
        return err;
}

/* The view of this thread that has the most mappings to give. */
static struct view *most_mapped(struct view *view)
{
        struct view *most = view;
        for (uint32_t i = 0; view->peers && i < FILES_MAX; i++)
                if (view->peers[i] && view->peers[i]->mappings > most->mappings)
                        most = view->peers[i];
        return most;
}

/* A page that is mapped by itself is not its region's any more. */
static int cover_regions(struct view *view, uint64_t offset, uint64_t byte_len)
{
        int err = 0;
        for (uint64_t no = offset >> REGION_SHIFT; no << REGION_SHIFT < offset + byte_len && !err; no++)
                err = regions_cover_one(&view->regions, no);
        return err;
}

/* Within the budget, or after a collapse, or at last on what the ballast was kept for. */
static int map_over(struct view *view, void *addr, uint64_t byte_len, int prot, int flags, int fd, uint64_t offset)
{
        if (cover_regions(view, (uint64_t)((char *)addr - view->base), byte_len))
                return -ENOMEM;
        if (mappings_are_scarce())
                view_collapse(most_mapped(view));
        int err = wire_run(addr, byte_len, prot, flags, fd, offset);
        if (err)
                (void)view_collapse(most_mapped(view));
        return err ? wire_run_surely(addr, byte_len, prot, flags, fd, offset) : 0;
}

static int prot_of(enum view_state state)
{
        if (state <= VIEW_VEILED)
                return PROT_NONE;
        return state < VIEW_WRITABLE ? PROT_READ : PROT_READ | PROT_WRITE;
}

static int map_run(struct view *view, const struct view_change *change)
{
        struct shared *shared = view->files->shared;
        const uint32_t slot = change->slot;
        int fd = slot == SLOT_HOME ? view->files->file[view->file_no].fd : shared->pool_fd;
        uint64_t offset = (slot == SLOT_HOME ? change->page_no : shared_content(shared, slot)) << shared->page_shift;
        int flags = change->to == VIEW_STRAY ? MAP_PRIVATE : MAP_SHARED;
        if (slot != SLOT_HOME)
                flags |= MAP_POPULATE; /* saves the first touch's fault; home may have to be read from disk */
        return map_over(view, page_addr(view, change->page_no), run_len(view, change->count), prot_of(change->to),
                        flags, fd, offset);
}

/* Pages of the run that are hidden already may lie in a region that is veiled. */
static int map_nothing(struct view *view, const struct view_change *change)
{
        char *addr = page_addr(view, change->page_no);
        const uint64_t byte_len = run_len(view, change->count);
        int err = cover_regions(view, (uint64_t)(addr - view->base), byte_len);
        if (!err)
                err = wire_nothing(addr, byte_len);
        return err ? sys_mprotect(addr, byte_len, PROT_NONE) : 0;
}

static int map_change(struct view *view, const struct view_change *change)
{
        char *addr = page_addr(view, change->page_no);
        const uint64_t byte_len = run_len(view, change->count);
        switch (change->way) {
        case VIEW_BY_MAPPING:
                return change->to == VIEW_HIDDEN ? map_nothing(view, change) : map_run(view, change);
        case VIEW_BY_ZEROS:
                return map_over(view, addr, byte_len, prot_of(change->to), MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        case VIEW_BY_PROTECTION:
                return sys_mprotect(addr, byte_len, prot_of(change->to));
        case VIEW_BY_REGION:
        case VIEW_BY_NOTHING:
                break;
        }
        return 0;
}

/* ---- How many mappings that takes ---- */

void view_count_mappings(struct view *view, int64_t more)
{
        view->mappings += (uint64_t)more;
        mappings_count(more);
}

/* Does the page share its kernel mapping with the one before? Pages in slots never do: they will not
 * stay a run. */
static bool is_joined(const struct view *view, uint64_t page_no)
{
        const enum view_state state = view_state(view, page_no);
        return state <= VIEW_READABLE && state == view_state(view, page_no - 1) &&
               view_slot(view, page_no) == SLOT_HOME && view_slot(view, page_no - 1) == SLOT_HOME;
}

/* Places in and around a run where one mapping ends and the next begins, at most. */
static int64_t edges_of_run(const struct view *view, uint64_t page_no, uint64_t count)
{
        uint64_t end = page_no + count;
        int64_t edges = 0;
        if (end == view->reserve_bytes >> view->files->shared->page_shift)
                end--;
        for (uint64_t i = page_no ? page_no : 1; i <= end; i++)
                edges += !is_joined(view, i);
        return edges;
}

/* Where slots stay, mappings stay as many as they are. So they do in the usual case: the page showed a slot, alone, and
 * shows another one now. */
static bool keeps_mappings(const struct view *view, const struct view_change *change)
{
        return change->way >= VIEW_BY_PROTECTION ||
               (change->count == 1 && change->slot != SLOT_HOME && view_slot(view, change->page_no) != SLOT_HOME);
}

/* ---- All of it ---- */

static uint32_t slot_of(const struct view *view, const struct view_change *change, uint64_t i)
{
        if (change->way >= VIEW_BY_PROTECTION)
                return view_slot(view, change->page_no + i);
        return change->slot == SLOT_HOME ? SLOT_HOME : change->slot + (uint32_t)i;
}

static void move_run(struct view *view, const struct view_change *change)
{
        for (uint64_t i = 0; i < change->count; i++) {
                move_page(view, change->page_no + i, slot_of(view, change, i), change->to);
                if (change->to <= VIEW_VEILED)
                        view->shown[change->page_no + i].in_m = 0;
        }
}

int view_move(struct view *view, const struct view_change *change)
{
        int err = map_change(view, change);
        if (err)
                return err;
        if (keeps_mappings(view, change)) {
                move_run(view, change);
                return 0;
        }
        int64_t edges = edges_of_run(view, change->page_no, change->count);
        move_run(view, change);
        view_count_mappings(view, edges_of_run(view, change->page_no, change->count) - edges);
        return 0;
}

int view_hide_all(struct view *view, bool is_reset)
{
        int err = cover_all(view);
        if (err)
                return err;
        const uint32_t *listed = view->listed.items;
        for (uint32_t i = 0; i < view->listed.count; i++) {
                move_page(view, listed[i], SLOT_HOME, VIEW_HIDDEN);
                if (is_reset)
                        view->shown[listed[i]].in_m = view->shown[listed[i]].is_listed = 0;
        }
        invariant(!view->singles);
        if (is_reset)
                view->listed.count = 0;
        view->writable.count = 0;
        view->fleeting.count = 0;
        return 0;
}

int view_collapse(struct view *view)
{
        int err = view_hide_all(view, false);
        view->is_collapsed |= !err;
        return err;
}
