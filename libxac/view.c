/* SPDX-License-Identifier: MIT */
#include "libxac/view.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/sys.h"
#include "libxac/address.h"
#include "libxac/pool.h"
#include "rewire/mappings.h"
#include "rewire/wire.h"

enum { CONTENDED_TIMES = 7 }; /* shown so often without a change by others, a page is like any other */

static void count_mappings(struct view *view, int64_t more)
{
        view->mappings += (uint64_t)more;
        mappings_count(more);
}

/* Does the page share its kernel mapping with the one before? Pages in slots never do: they will not
 * stay a run. */
static bool is_joined(const struct view *view, uint64_t page_no)
{
        enum view_shows how = view_shows(view, page_no);
        return how <= VIEW_READABLE && how == view_shows(view, page_no - 1) && view_slot(view, page_no) == SLOT_HOME &&
               view_slot(view, page_no - 1) == SLOT_HOME;
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

static char *page_addr(const struct view *view, uint64_t page_no)
{
        return view->base + (page_no << view->files->shared->page_shift);
}

static uint64_t run_len(const struct view *view, uint64_t count)
{
        return count << view->files->shared->page_shift;
}

bool view_is_contended(const struct view *view, uint64_t page_no)
{
        return view->shown[page_no].contention;
}

bool view_is_framed(const struct view *view, uint64_t page_no)
{
        return view->shown[page_no].is_framed;
}

static void count_frames(struct view *view, uint32_t more)
{
        _Atomic uint32_t *frames = &view->self->row->frames; /* which only this thread writes */
        atomic_store_explicit(frames, atomic_load_explicit(frames, memory_order_relaxed) + more, memory_order_relaxed);
}

void view_keep_frame(struct view *view, uint64_t page_no)
{
        count_frames(view, 1);
        view->shown[page_no].is_framed = 1;
}

void view_yield_frame(struct view *view, uint64_t page_no)
{
        count_frames(view, (uint32_t)-1);
        view->shown[page_no].is_framed = 0;
}

/* The page no longer shows its frame, if it had one. */
static void drop_frame(struct view *view, uint64_t page_no)
{
        if (!view_is_framed(view, page_no))
                return;
        view_yield_frame(view, page_no);
        pool_give_back(view->self, view_slot(view, page_no));
}

static void drop_frames(struct view *view)
{
        const uint32_t *listed = view->listed.items;
        for (uint32_t i = 0; i < view->listed.count; i++)
                drop_frame(view, listed[i]);
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
        count_mappings(view, 1);
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
        drop_frames(view);
        count_mappings(view, -(int64_t)view->mappings);
        regions_note_covered(&view->regions);
        regions_free(&view->regions);
        address_release(view->address);
        sys_munmap(view->shown, (view->reserve_bytes >> view->files->shared->page_shift) * sizeof(struct view_page));
        vector_free(&view->listed, sizeof(uint32_t));
        vector_free(&view->writable, sizeof(uint32_t));
        vector_free(&view->fleeting, sizeof(uint32_t));
        free(view);
}

/* One mmap over all of it; else one mprotect, which needs no new mapping, and then what lies below is
 * replaced when a page is shown. */
static int cover(struct view *view)
{
        int err = wire_nothing_over_all(view->base, view->reserve_bytes);
        if (!err)
                count_mappings(view, 1 - (int64_t)view->mappings);
        else
                err = sys_mprotect(view->base, view->reserve_bytes, PROT_NONE);
        if (!err)
                regions_note_covered(&view->regions);
        return err;
}

/* Nothing is shown there any more: only what outlives that stays. */
static struct view_page hidden_page(const struct view_page *page, bool in_m, bool is_listed)
{
        return (struct view_page){ .in_m = in_m, .is_listed = is_listed, .contention = page->contention };
}

/* One page fewer. */
static void note_hidden(struct view *view, uint64_t page_no, bool in_m, bool is_listed)
{
        struct view_page *page = &view->shown[page_no];
        view->singles -= page->how != VIEW_HIDDEN;
        *page = hidden_page(page, in_m, is_listed);
}

/* Nothing is shown any more. M and the list stay, or become empty. */
static int hide_everything(struct view *view, bool is_reset)
{
        int err = cover(view);
        if (err)
                return err;
        drop_frames(view);
        const uint32_t *listed = view->listed.items;
        for (uint32_t i = 0; i < view->listed.count; i++)
                note_hidden(view, listed[i], !is_reset && view_in_m(view, listed[i]), !is_reset);
        if (is_reset)
                view->listed.count = 0;
        view->writable.count = 0;
        view->fleeting.count = 0;
        return 0;
}

int view_collapse(struct view *view)
{
        int err = hide_everything(view, false);
        view->is_collapsed |= !err;
        return err;
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
                err = view->singles ? hide_everything(view, true) : leave_m(view);
        view->is_collapsed &= err != 0;
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

static void push(struct vector *pages, uint64_t page_no)
{
        ((uint32_t *)pages->items)[pages->count++] = (uint32_t)page_no;
}

static void note_shown(struct view *view, uint64_t page_no, uint32_t slot, enum view_shows how)
{
        if (slot != view_slot(view, page_no))
                drop_frame(view, page_no);
        struct view_page page = view->shown[page_no];
        const enum view_shows before = (enum view_shows)page.how;
        if (!page.is_listed)
                push(&view->listed, page_no);
        if (how >= VIEW_WRITABLE && before < VIEW_WRITABLE)
                push(&view->writable, page_no);
        if (page.contention && before == VIEW_HIDDEN) {
                push(&view->fleeting, page_no);
                page.contention--;
        }
        view->singles += before == VIEW_HIDDEN && how != VIEW_HIDDEN;
        page.slot = slot;
        page.how = how;
        page.in_m = page.is_listed = 1;
        view->shown[page_no] = page;
}

/* The usual case: the page showed a slot, alone, and shows another one now. No mapping more. */
static bool stays_alone(const struct view *view, uint64_t page_no, uint32_t slot, uint64_t count)
{
        return count == 1 && slot != SLOT_HOME && view_slot(view, page_no) != SLOT_HOME;
}

static void note_run(struct view *view, uint64_t page_no, uint32_t slot, uint64_t count, enum view_shows how)
{
        if (stays_alone(view, page_no, slot, count)) {
                note_shown(view, page_no, slot, how);
                return;
        }
        int64_t edges = edges_of_run(view, page_no, count);
        for (uint64_t i = 0; i < count; i++)
                note_shown(view, page_no + i, slot == SLOT_HOME ? SLOT_HOME : slot + (uint32_t)i, how);
        count_mappings(view, edges_of_run(view, page_no, count) - edges);
}

static int map_run(struct view *view, uint64_t page_no, uint32_t slot, uint64_t count, enum view_shows how)
{
        struct shared *shared = view->files->shared;
        int fd = slot == SLOT_HOME ? view->files->file[view->file_no].fd : shared->pool_fd;
        uint64_t offset = (slot == SLOT_HOME ? page_no : shared_content(shared, slot)) << shared->page_shift;
        int prot = how == VIEW_READABLE ? PROT_READ : PROT_READ | PROT_WRITE;
        int flags = how == VIEW_STRAY ? MAP_PRIVATE : MAP_SHARED;
        if (slot != SLOT_HOME)
                flags |= MAP_POPULATE; /* saves the first touch's fault; home may have to be read from disk */
        return map_over(view, page_addr(view, page_no), run_len(view, count), prot, flags, fd, offset);
}

int view_show_run(struct view *view, uint64_t page_no, uint32_t slot, uint64_t count, enum view_shows how)
{
        int err = reserve_lists(view, count);
        if (!err)
                err = map_run(view, page_no, slot, count, how);
        if (!err)
                note_run(view, page_no, slot, count, how);
        return err;
}

int view_show(struct view *view, uint64_t page_no, uint32_t slot, enum view_shows how)
{
        bool is_same_slot = view_shows(view, page_no) == VIEW_READABLE && view_slot(view, page_no) == slot;
        if (!is_same_slot || how != VIEW_WRITABLE)
                return view_show_run(view, page_no, slot, 1, how);
        int err = reserve_lists(view, 1);
        if (!err && sys_mprotect(page_addr(view, page_no), run_len(view, 1), PROT_READ | PROT_WRITE))
                return view_show_run(view, page_no, slot, 1, how); /* mapping it anew may collapse first */
        if (!err)
                note_shown(view, page_no, slot, how);
        return err;
}

/* What was mapped page by page is mapped over. */
static void forget_singles(struct view *view, uint64_t page_no, uint64_t count)
{
        int64_t edges = edges_of_run(view, page_no, count);
        for (uint64_t i = page_no; i < page_no + count; i++) {
                drop_frame(view, i);
                note_hidden(view, i, false, view->shown[i].is_listed);
        }
        count_mappings(view, edges_of_run(view, page_no, count) - edges);
}

int view_show_region(struct view *view, uint64_t page_no, uint64_t snapshot)
{
        const uint32_t page_shift = view->files->shared->page_shift;
        const uint64_t no = page_no << page_shift >> REGION_SHIFT;
        int err = regions_show(&view->regions, no, snapshot, files_byte_len(view->files, view->file_no));
        if (err)
                return err;
        const uint64_t shown_len = atomic_load(&view->regions.region[no].shown_len);
        forget_singles(view, no << REGION_SHIFT >> page_shift, shown_len >> page_shift);
        return 0;
}

int view_show_zeros(struct view *view, uint64_t page_no)
{
        int err = reserve_lists(view, 1);
        if (!err)
                err = map_over(view, page_addr(view, page_no), run_len(view, 1), PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (!err)
                note_run(view, page_no, SLOT_HOME, 1, VIEW_STRAY);
        return err;
}

/* Copies of stray pages are memory, which a veil would keep. */
static bool can_be_veiled(const struct view *view, uint64_t page_no, uint64_t count)
{
        for (uint64_t i = page_no; i < page_no + count; i++)
                if (view_slot(view, i) == SLOT_HOME || view_shows(view, i) == VIEW_STRAY)
                        return false;
        return true;
}

/* The mappings stay as many as they are: those of slots are counted one by one. */
static int veil(struct view *view, uint64_t page_no, uint64_t count)
{
        int err = sys_mprotect(page_addr(view, page_no), run_len(view, count), PROT_NONE);
        for (uint64_t i = 0; !err && i < count; i++) {
                drop_frame(view, page_no + i);
                struct view_page *page = &view->shown[page_no + i];
                const uint32_t slot = page->slot;
                note_hidden(view, page_no + i, false, page->is_listed);
                page->slot = slot;
        }
        return err;
}

int view_hide_run(struct view *view, uint64_t page_no, uint64_t count)
{
        if (can_be_veiled(view, page_no, count) && !veil(view, page_no, count))
                return 0;
        /* Pages of the run that are hidden already may lie in a region that is veiled. */
        int err = cover_regions(view, page_no << view->files->shared->page_shift, run_len(view, count));
        if (!err)
                err = wire_nothing(page_addr(view, page_no), run_len(view, count));
        if (err)
                err = sys_mprotect(page_addr(view, page_no), run_len(view, count), PROT_NONE);
        if (err) {
                err = view_collapse(view);
                view->is_collapsed = true; /* should that fail too, the next begin insists on a reset */
                return err;
        }
        int64_t edges = edges_of_run(view, page_no, count);
        for (uint64_t i = 0; i < count; i++) {
                drop_frame(view, page_no + i);
                note_hidden(view, page_no + i, false, view->shown[page_no + i].is_listed);
        }
        count_mappings(view, edges_of_run(view, page_no, count) - edges);
        return 0;
}

int view_hide(struct view *view, uint64_t page_no)
{
        return view_shows(view, page_no) == VIEW_HIDDEN ? 0 : view_hide_run(view, page_no, 1);
}

/* Makes a run of writable pages read-only. */
static int protect_run(struct view *view, uint64_t page_no, uint64_t count)
{
        if (sys_mprotect(page_addr(view, page_no), run_len(view, count), PROT_READ))
                return view_collapse(view);
        for (uint64_t i = 0; i < count; i++)
                view->shown[page_no + i].how = VIEW_READABLE;
        return 0;
}

/* How many pages, from number i of the list on, are neighbours that show the same way. */
static uint64_t run_at(const struct view *view, uint32_t i, enum view_shows how)
{
        const uint32_t *pages = view->writable.items;
        uint64_t count = 1;
        while (i + count < view->writable.count && pages[i + count] == pages[i] + count &&
               view_shows(view, pages[i + count]) == how)
                count++;
        return count;
}

/* Applies `change` to each run of pages on the writable list that still show this way. */
static int change_writes(struct view *view, enum view_shows how,
                         int (*change)(struct view *view, uint64_t page_no, uint64_t count))
{
        for (uint32_t i = 0; i < view->writable.count;) {
                uint64_t page_no = ((uint32_t *)view->writable.items)[i];
                uint64_t count = 1;
                if (view_shows(view, page_no) == how) {
                        count = run_at(view, i, how);
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
                if (view_shows(view, pages[i]) == VIEW_STRAY)
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
        *hidden += view_shows(view, page_no) != VIEW_HIDDEN;
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
