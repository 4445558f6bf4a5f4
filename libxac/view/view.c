/* SPDX-License-Identifier: MIT */
#include "libxac/view/view.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/invariant.h"
#include "base/sys.h"
#include "libxac/store/address.h"
#include "libxac/view/view_move.h"
#include "rewire/mappings.h"

enum { CONTENDED_TIMES = 7 }; /* shown so often without a change by others, a page is like any other */

bool view_is_contended(const struct view *view, uint64_t page_no)
{
        return view->shown[page_no].contention;
}

void view_keep_frame(struct view *view, uint64_t page_no)
{
        const struct view_change change = { page_no, 1, SLOT_HOME, VIEW_FRAMED, VIEW_BY_NOTHING };
        (void)view_move(view, &change);
}

void view_yield_frame(struct view *view, uint64_t page_no)
{
        const struct view_change change = { page_no, 1, SLOT_HOME, VIEW_READABLE, VIEW_BY_NOTHING };
        invariant(view_is_framed(view, page_no)); /* I11 */
        (void)view_move(view, &change);
}

int view_create(struct files *files, uint32_t file_no, uint64_t byte_len, int flags, struct view **out)
{
        struct view *view = calloc(1, sizeof(*view));
        if (!view)
                return -ENOMEM;
        mappings_prepare();
        view->files = files;
        view->file_no = file_no;
        view->uses = 1;
        view->reads_left = READS_IN_A_ROW;
        if (byte_len < files->reserve_bytes)
                byte_len = files->reserve_bytes;

        const int shown_flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
        void *shown;
        int err = address_take(files, file_no, flags, byte_len, &view->address);
        if (err)
                goto fail_base;
        view->base = view->address->base;
        view->reserve_bytes = view->address->byte_len;
        uint64_t words_len = (view->reserve_bytes >> files->shared->page_shift) * sizeof(struct view_page);
        err = sys_mmap(NULL, words_len, PROT_READ | PROT_WRITE, shown_flags, -1, 0, &shown);
        if (err)
                goto fail_shown;
        view->shown = shown;
        err = regions_init(&view->regions, files, file_no, view->base, view->reserve_bytes);
        if (err)
                goto fail_regions;
        view_count_mappings(view, 1);
        *out = view;
        return 0;

fail_regions:
        sys_munmap(view->shown, words_len);
fail_shown:
        address_release(view->address);
fail_base:
        free(view);
        return err;
}

void view_destroy(struct view *view)
{
        view_drop_frames(view);
        view_count_mappings(view, -(int64_t)view->mappings);
        regions_note_covered(&view->regions);
        regions_free(&view->regions);
        address_release(view->address);
        sys_munmap(view->shown, (view->reserve_bytes >> view->files->shared->page_shift) * sizeof(struct view_page));
        vector_free(&view->listed, sizeof(uint32_t));
        vector_free(&view->writable, sizeof(uint32_t));
        vector_free(&view->fleeting, sizeof(uint32_t));
        free(view);
}

/* Regions have taken the place of single pages: nothing has to be hidden. */
static int leave_m(struct view *view)
{
        const uint32_t *listed = view->listed.items;
        for (uint32_t i = 0; i < view->listed.count; i++)
                view->shown[listed[i]].in_m = 0;
        return 0;
}

int view_reset(struct view *view)
{
        int err = view_hide_regions(view);
        view->changed.count = 0;
        if (!err && view->listed.count)
                err = view->singles ? view_hide_all(view, true) : leave_m(view);
        view->is_collapsed &= err != 0;
        return err;
}

static int reserve_lists(struct view *view, uint64_t count)
{
        uint64_t room = view->listed.count + count;
        int err = vector_reserve(&view->listed, (uint32_t)room, sizeof(uint32_t));
        room = view->writable.count + count;
        if (!err)
                err = vector_reserve(&view->writable, (uint32_t)room, sizeof(uint32_t));
        room = view->fleeting.count + count;
        return err ? err : vector_reserve(&view->fleeting, (uint32_t)room, sizeof(uint32_t));
}

int view_show_run(struct view *view, uint64_t page_no, uint32_t slot, uint64_t count, enum view_state to)
{
        const struct view_change change = { page_no, count, slot, to, VIEW_BY_MAPPING };
        invariant(count && page_no + count <= view->reserve_bytes >> view->files->shared->page_shift);
        int err = reserve_lists(view, count);
        return err ? err : view_move(view, &change);
}

int view_show(struct view *view, uint64_t page_no, uint32_t slot, enum view_state to)
{
        const struct view_change change = { page_no, 1, slot, to, VIEW_BY_PROTECTION };
        bool is_same_slot = view_is_readable(view, page_no) && view_slot(view, page_no) == slot;
        if (!is_same_slot || to != VIEW_WRITABLE)
                return view_show_run(view, page_no, slot, 1, to);
        int err = reserve_lists(view, 1);
        if (!err && view_move(view, &change))
                return view_show_run(view, page_no, slot, 1, to); /* mapping it anew may collapse first */
        return err;
}

int view_show_region(struct view *view, uint64_t page_no, uint64_t snapshot)
{
        const uint32_t page_shift = view->files->shared->page_shift;
        const uint64_t no = page_no << page_shift >> REGION_SHIFT;
        int err = regions_show(&view->regions, no, snapshot, files_byte_len(view->files, view->file_no));
        if (err)
                return err;
        const uint64_t shown_len = atomic_load(&view->regions.region[no].shown_len);
        /* What was mapped page by page is mapped over. */
        const struct view_change change = { no << REGION_SHIFT >> page_shift, shown_len >> page_shift, SLOT_HOME,
                                            VIEW_HIDDEN, VIEW_BY_REGION };
        return view_move(view, &change);
}

int view_show_zeros(struct view *view, uint64_t page_no)
{
        const struct view_change change = { page_no, 1, SLOT_HOME, VIEW_STRAY, VIEW_BY_ZEROS };
        int err = reserve_lists(view, 1);
        return err ? err : view_move(view, &change);
}

/* Copies of stray pages are memory, which a veil would keep. */
static bool can_be_veiled(const struct view *view, uint64_t page_no, uint64_t count)
{
        for (uint64_t i = page_no; i < page_no + count; i++)
                if (view_slot(view, i) == SLOT_HOME || view_is_stray(view, i))
                        return false;
        return true;
}

int view_hide_run(struct view *view, uint64_t page_no, uint64_t count)
{
        const struct view_change veil = { page_no, count, SLOT_HOME, VIEW_VEILED, VIEW_BY_PROTECTION };
        const struct view_change hide = { page_no, count, SLOT_HOME, VIEW_HIDDEN, VIEW_BY_MAPPING };
        invariant(page_no + count <= view->reserve_bytes >> view->files->shared->page_shift);
        if (can_be_veiled(view, page_no, count) && !view_move(view, &veil))
                return 0;
        if (!view_move(view, &hide))
                return 0;
        int err = view_collapse(view);
        view->is_collapsed = true; /* should that fail too, the next begin insists on a reset */
        return err;
}

int view_hide(struct view *view, uint64_t page_no)
{
        return view_is_hidden(view, page_no) ? 0 : view_hide_run(view, page_no, 1);
}

/* Makes a run of writable pages read-only. */
static int protect_run(struct view *view, uint64_t page_no, uint64_t count)
{
        const struct view_change change = { page_no, count, SLOT_HOME, VIEW_READABLE, VIEW_BY_PROTECTION };
        return view_move(view, &change) ? view_collapse(view) : 0;
}

/* Stray in a frame is stray. */
static bool is_shown_as(const struct view *view, uint64_t page_no, enum view_state state)
{
        return state == VIEW_STRAY ? view_is_stray(view, page_no) : view_state(view, page_no) == state;
}

/* How many pages, from number i of the list on, are neighbours in this state. */
static uint64_t run_at(const struct view *view, uint32_t i, enum view_state state)
{
        const uint32_t *pages = view->writable.items;
        uint64_t count = 1;
        while (i + count < view->writable.count && pages[i + count] == pages[i] + count &&
               is_shown_as(view, pages[i + count], state))
                count++;
        return count;
}

/* Applies `change` to each run of pages on the writable list that still are in a state. */
static int change_writes(struct view *view, enum view_state state,
                         int (*change)(struct view *view, uint64_t page_no, uint64_t count))
{
        for (uint32_t i = 0; i < view->writable.count;) {
                uint64_t page_no = ((uint32_t *)view->writable.items)[i];
                uint64_t count = 1;
                if (is_shown_as(view, page_no, state)) {
                        count = run_at(view, i, state);
                        int err = change(view, page_no, count);
                        if (err)
                                return err;
                }
                i += (uint32_t)count; /* a collapse has emptied the list: done */
        }
        return 0;
}

/* Stray pages stay: what a doomed transaction wrote, it goes on seeing. */
int view_protect_writes(struct view *view)
{
        if (!view->writable.count)
                return 0;
        int err = change_writes(view, VIEW_WRITABLE, protect_run);
        if (err)
                return err;
        uint32_t *pages = view->writable.items;
        uint32_t kept = 0;
        for (uint32_t i = 0; i < view->writable.count; i++)
                if (view_is_stray(view, pages[i]))
                        pages[kept++] = pages[i];
        view->writable.count = kept;
        return 0;
}

int view_hide_written(struct view *view)
{
        int err = change_writes(view, VIEW_STRAY, view_hide_run);
        if (!err)
                err = change_writes(view, VIEW_WRITABLE, view_hide_run);
        if (!err)
                view->writable.count = 0;
        return err;
}

int view_hide_fleeting(struct view *view)
{
        int err = 0;
        for (uint32_t i = 0; !err && i < view->fleeting.count; i++)
                err = view_hide(view, ((uint32_t *)view->fleeting.items)[i]);
        view->fleeting.count = 0;
        return err;
}

int view_note_change(struct view *view, uint64_t page_no, uint32_t *hidden)
{
        struct view_page *page = &view->shown[page_no];
        if (!page->is_listed && !page->contention)
                return 0; /* it was never shown */
        page->contention = CONTENDED_TIMES;
        *hidden += !view_is_hidden(view, page_no);
        return view_hide(view, page_no);
}

bool view_note_change_in_region(struct view *view, uint64_t page_no)
{
        const uint32_t no = (uint32_t)(page_no << view->files->shared->page_shift >> REGION_SHIFT);
        if (view->changed.count > CHANGED_REGIONS || !regions_is_shown(&view->regions, no))
                return view->changed.count <= CHANGED_REGIONS;
        for (uint32_t i = 0; i < view->changed.count; i++)
                if (view->changed.no[i] == no)
                        return true;
        if (view->changed.count < CHANGED_REGIONS)
                view->changed.no[view->changed.count] = no;
        return ++view->changed.count <= CHANGED_REGIONS;
}

int view_hide_changed_regions(struct view *view)
{
        const uint32_t count = view->changed.count;
        int err = count > CHANGED_REGIONS ? view_hide_regions(view) : 0;
        view->changed.count = 0;
        for (uint32_t i = 0; i < count && count <= CHANGED_REGIONS && !err; i++)
                err = regions_hide_one(&view->regions, view->changed.no[i]);
        return err;
}
