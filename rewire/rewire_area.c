/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/sys.h"
#include "rewire/mappings.h"
#include "rewire/rewire_pool.h"
#include "rewire/wire.h"

enum { NOTHING = 0 }; /* of a place: else its page, and 1 */

/* What each place shows is kept here, too: so the kernel's mappings are known, and who asks need not ask it. */
struct xac_rewire_area {
        xac_rewire_pool *pool;
        const struct memory *memory;
        char *reserved; /* addresses, */
        char *bytes;    /* of which these are aligned */
        uint64_t pages;
        uint32_t *shows;
        uint8_t *prot;
        int map_flags;
        int map_prot;
        uint64_t mappings;
};

/* ---- mappings, counted ---- */

static bool joins(const xac_rewire_area *area, uint64_t at, uint64_t next)
{
        if (area->shows[at] == NOTHING || area->shows[next] == NOTHING)
                return area->shows[at] == area->shows[next];
        return area->shows[at] + 1 == area->shows[next] && area->prot[at] == area->prot[next];
}

/* Where a mapping ends and another begins, within and at both ends of a range. */
static uint64_t edges(const xac_rewire_area *area, uint64_t at, uint64_t count)
{
        uint64_t n = 0;
        const uint64_t end = at + count < area->pages ? at + count : area->pages - 1;
        for (uint64_t i = at ? at : 1; i <= end; i++)
                n += !joins(area, i - 1, i);
        return n;
}

static void count_mappings(xac_rewire_area *area, int64_t more)
{
        area->mappings += (uint64_t)more;
        mappings_count(more);
}

/* Would so many more be too many? A call that ends with fewer may need two in its middle. */
static bool is_refused(int64_t more)
{
        return more > 0 && mappings_would_be_scarce((uint64_t)more + 2);
}

static void note(xac_rewire_area *area, uint64_t at, uint64_t count, uint64_t page, int prot)
{
        for (uint64_t i = 0; i < count; i++) {
                area->shows[at + i] = page == XAC_REWIRE_NONE ? NOTHING : (uint32_t)(page + i) + 1;
                area->prot[at + i] = (uint8_t)prot;
        }
}

static bool is_within(uint64_t pages, uint64_t at, uint64_t count)
{
        return count && at < pages && count <= pages - at;
}

static char *place(const xac_rewire_area *area, uint64_t at)
{
        return area->bytes + (at << area->memory->page_shift);
}

static uint64_t bytes_of(const xac_rewire_area *area, uint64_t count)
{
        return count << area->memory->page_shift;
}

/* ---- areas ---- */

int xac_rewire_area_create(xac_rewire_pool *pool, uint64_t pages, int flags, xac_rewire_area **area)
{
        const struct memory *memory = xac_rewire_pool_memory(pool);
        void *reserved;
        if (!pages || pages > UINT32_MAX || flags & ~(XAC_REWIRE_READ_ONLY | XAC_REWIRE_PRIVATE))
                return -EINVAL;
        xac_rewire_area *self = calloc(1, sizeof(*self));
        if (!self)
                return -ENOMEM;
        *self = (xac_rewire_area){ .pool = pool, .memory = memory, .pages = pages };
        self->map_flags = (flags & XAC_REWIRE_PRIVATE ? MAP_PRIVATE : MAP_SHARED) | MAP_NORESERVE;
        self->map_prot = flags & XAC_REWIRE_READ_ONLY ? PROT_READ : PROT_READ | PROT_WRITE;
        self->shows = calloc(pages, sizeof(*self->shows));
        self->prot = calloc(pages, sizeof(*self->prot));
        int err = self->shows && self->prot ? 0 : -ENOMEM;
        if (!err)
                err = sys_mmap(NULL, bytes_of(self, pages) + HUGE_BYTES, PROT_NONE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0, &reserved);
        if (err) {
                free(self->shows);
                free(self->prot);
                free(self);
                return err;
        }
        mappings_prepare();
        self->reserved = reserved;
        self->bytes = self->reserved + (-(uintptr_t)reserved & (HUGE_BYTES - 1));
        count_mappings(self, 1);
        xac_rewire_pool_count_area(pool, 1);
        *area = self;
        return 0;
}

void xac_rewire_area_destroy(xac_rewire_area *area)
{
        if (!area)
                return;
        sys_munmap(area->reserved, bytes_of(area, area->pages) + HUGE_BYTES);
        count_mappings(area, -(int64_t)area->mappings);
        xac_rewire_pool_count_area(area->pool, -1);
        free(area->shows);
        free(area->prot);
        free(area);
}

void *xac_rewire_area_address(const xac_rewire_area *area)
{
        return area->bytes;
}

/* ---- mapping ---- */

/* One call; what is shown there is one mapping, or joins its neighbours. */
static int map_with(xac_rewire_area *area, uint64_t at, uint64_t page, uint64_t count, int prot)
{
        const int64_t before = (int64_t)edges(area, at, count);
        int err = wire_run(place(area, at), bytes_of(area, count), prot, area->map_flags, area->memory->fd,
                           page << area->memory->page_shift);
        if (err)
                return err;
        note(area, at, count, page, prot);
        count_mappings(area, (int64_t)edges(area, at, count) - before);
        return 0;
}

static int map_one(xac_rewire_area *area, uint64_t at, uint64_t page, uint64_t count)
{
        return map_with(area, at, page, count, area->map_prot);
}

int xac_rewire_area_map(xac_rewire_area *area, uint64_t at, uint64_t page, uint64_t count)
{
        if (!is_within(area->pages, at, count) || !is_within(xac_rewire_pool_max_pages(area->pool), page, count))
                return -EINVAL;
        if (is_refused(2 - (int64_t)edges(area, at, count)))
                return -EMLINK;
        return map_one(area, at, page, count);
}

int xac_rewire_area_map_touched(xac_rewire_area *area, uint64_t at, uint64_t page, uint64_t count)
{
        if (!is_within(area->pages, at, count) || !is_within(xac_rewire_pool_max_pages(area->pool), page, count) ||
            area->map_flags & MAP_PRIVATE || !(area->map_prot & PROT_WRITE))
                return -EINVAL;
        const int64_t before = (int64_t)edges(area, at, count);
        if (is_refused(2 - before))
                return -EMLINK;
        int err = sys_move_keeping(memory_bytes(area->memory, page), bytes_of(area, count), place(area, at));
        if (err)
                return err;
        note(area, at, count, page, area->map_prot);
        count_mappings(area, (int64_t)edges(area, at, count) - before);
        return 0;
}

static uint64_t run_of(const uint64_t *pages, uint64_t count)
{
        uint64_t run = 1;
        while (run < count && pages[run] == pages[run - 1] + 1)
                run++;
        return run;
}

/* Edges that a range will have at most. */
static int64_t edges_of_list(const uint64_t *pages, uint64_t count)
{
        int64_t n = 2;
        for (uint64_t i = 1; i < count; i++)
                n += pages[i] != pages[i - 1] + 1;
        return n;
}

int xac_rewire_area_map_each(xac_rewire_area *area, uint64_t at, const uint64_t *pages, uint64_t count)
{
        const uint64_t max_pages = xac_rewire_pool_max_pages(area->pool);
        if (!is_within(area->pages, at, count))
                return -EINVAL;
        for (uint64_t i = 0; i < count; i++)
                if (pages[i] >= max_pages)
                        return -EINVAL;
        if (is_refused(edges_of_list(pages, count) - (int64_t)edges(area, at, count)))
                return -EMLINK;
        for (uint64_t i = 0; i < count;) {
                const uint64_t run = run_of(pages + i, count - i);
                int err = map_one(area, at + i, pages[i], run);
                if (err)
                        return err;
                i += run;
        }
        return 0;
}

int xac_rewire_area_unmap(xac_rewire_area *area, uint64_t at, uint64_t count)
{
        if (!is_within(area->pages, at, count))
                return -EINVAL;
        const int64_t before = (int64_t)edges(area, at, count);
        if (is_refused(2 - before))
                return -EMLINK;
        int err = wire_nothing(place(area, at), bytes_of(area, count));
        if (err)
                return err;
        note(area, at, count, XAC_REWIRE_NONE, PROT_NONE);
        count_mappings(area, (int64_t)edges(area, at, count) - before);
        return 0;
}

/* A run of places that show neighbours, or nothing, as one mapping. */
static uint64_t run_at(const xac_rewire_area *area, uint64_t at, uint64_t count)
{
        uint64_t run = 1;
        while (run < count && joins(area, at + run - 1, at + run))
                run++;
        return run;
}

int xac_rewire_area_protect(xac_rewire_area *area, uint64_t at, uint64_t count, int prot)
{
        if (!is_within(area->pages, at, count) || prot & ~(PROT_READ | PROT_WRITE))
                return -EINVAL;
        for (uint64_t i = 0; i < count; i++)
                if (area->shows[at + i] == NOTHING)
                        return -EINVAL;
        const int64_t before = (int64_t)edges(area, at, count);
        if (is_refused(2))
                return -EMLINK;
        int err = sys_mprotect(place(area, at), bytes_of(area, count), prot);
        if (err)
                return err;
        for (uint64_t i = 0; i < count; i++)
                area->prot[at + i] = (uint8_t)prot;
        count_mappings(area, (int64_t)edges(area, at, count) - before);
        return 0;
}

#ifdef MADV_POPULATE_WRITE
/* To read is enough where nothing is copied on a write: the kernel does several pages at once then. 0: neither. */
static int populate_advice(const xac_rewire_area *area, uint64_t at)
{
        if (area->shows[at] == NOTHING || area->prot[at] == PROT_NONE)
                return 0;
        return area->map_flags & MAP_PRIVATE && area->prot[at] & PROT_WRITE ? MADV_POPULATE_WRITE : MADV_POPULATE_READ;
}
#endif

/* One call for all that want the same, of however many mappings. */
int xac_rewire_area_populate(xac_rewire_area *area, uint64_t at, uint64_t count)
{
        if (!is_within(area->pages, at, count))
                return -EINVAL;
#ifdef MADV_POPULATE_WRITE
        const uint64_t end = at + count;
        for (uint64_t first = at, next; first < end; first = next) {
                const int advice = populate_advice(area, first);
                for (next = first + 1; next < end && populate_advice(area, next) == advice; next++)
                        ;
                int err = advice ? sys_madvise(place(area, first), bytes_of(area, next - first), advice) : 0;
                if (err)
                        return err;
        }
#endif
        return 0;
}

/* ---- moving ---- */

/* One mapping with its page tables. What was there shows the same as before, with empty page tables: so nothing is lost
 * if the next one fails, nor are the addresses to somebody else's mapping. */
static int move_run(xac_rewire_area *from, uint64_t at, xac_rewire_area *to, uint64_t where, uint64_t run)
{
        const int64_t before = (int64_t)edges(to, where, run);
        int err = sys_move_keeping(place(from, at), bytes_of(from, run), place(to, where));
        if (err)
                return err;
        note(to, where, run, from->shows[at] - 1, from->prot[at]);
        count_mappings(to, (int64_t)edges(to, where, run) - before);
        return 0;
}

static bool do_overlap(uint64_t one, uint64_t other, uint64_t count)
{
        return one < other + count && other < one + count;
}

int xac_rewire_area_move(xac_rewire_area *from, uint64_t at, xac_rewire_area *to, uint64_t where, uint64_t count)
{
        if (!is_within(from->pages, at, count) || !is_within(to->pages, where, count) || from->pool != to->pool ||
            (from == to && do_overlap(at, where, count)))
                return -EINVAL;
        if (is_refused((int64_t)edges(from, at, count) + 4))
                return -EMLINK;
        for (uint64_t i = 0; i < count;) {
                const uint64_t run = run_at(from, at + i, count - i);
                int err = from->shows[at + i] == NOTHING ? xac_rewire_area_unmap(to, where + i, run)
                                                         : move_run(from, at + i, to, where + i, run);
                if (err)
                        return err;
                i += run;
        }
        return xac_rewire_area_unmap(from, at, count);
}

/* ---- swapping ---- */

/* What a run of places shows, and may be done there. */
struct run {
        uint64_t at, count;
        uint32_t shows;
        uint8_t prot;
};

static struct run run_from(const xac_rewire_area *area, uint64_t at, uint64_t count)
{
        return (struct run){ at, count, area->shows[at], area->prot[at] };
}

/* What a run shows, at another place. */
static int show_run(xac_rewire_area *area, uint64_t at, const struct run *run)
{
        return run->shows == NOTHING ? xac_rewire_area_unmap(area, at, run->count)
                                     : map_with(area, at, run->shows - 1, run->count, run->prot);
}

static int swap_shared(xac_rewire_area *area, const struct run *one, const struct run *other)
{
        int err = show_run(area, one->at, other);
        if (err)
                return err;
        err = show_run(area, other->at, one);
        if (err)
                (void)show_run(area, one->at, one);
        return err;
}

/* From addresses of the area, or beside it, to some of the area, with what was written there. */
static int carry(xac_rewire_area *area, char *from, const struct run *run, uint64_t to)
{
        if (run->shows == NOTHING)
                return xac_rewire_area_unmap(area, to, run->count);
        const int64_t before = (int64_t)edges(area, to, run->count);
        int err = sys_move_keeping(from, bytes_of(area, run->count), place(area, to));
        if (err)
                return err;
        note(area, to, run->count, run->shows - 1, run->prot);
        count_mappings(area, (int64_t)edges(area, to, run->count) - before);
        return 0;
}

/* What was written to one is nowhere else: it goes along, by way of addresses that nobody uses. */
static int swap_private(xac_rewire_area *area, const struct run *one, const struct run *other)
{
        const size_t byte_len = bytes_of(area, one->count);
        void *spare;
        int err = sys_mmap(NULL, byte_len, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0, &spare);
        if (err)
                return err;
        if (one->shows != NOTHING)
                err = sys_move_keeping(place(area, one->at), byte_len, spare);
        if (err)
                goto out;
        err = carry(area, place(area, other->at), other, one->at);
        if (err) {
                (void)carry(area, spare, one, one->at);
                goto out;
        }
        err = carry(area, spare, one, other->at);
        if (err && !carry(area, place(area, one->at), other, other->at))
                (void)carry(area, spare, one, one->at);
out:
        sys_munmap(spare, byte_len);
        return err;
}

static int swap_run(xac_rewire_area *area, uint64_t at, uint64_t with, uint64_t count)
{
        const struct run one = run_from(area, at, count), other = run_from(area, with, count);
        if (one.shows == NOTHING && other.shows == NOTHING)
                return 0;
        return area->map_flags & MAP_PRIVATE ? swap_private(area, &one, &other) : swap_shared(area, &one, &other);
}

/* The most mappings more that there may be in the middle: four ends of two runs, and what is beside the area. */
enum { SWAP_MAPPINGS = 6 };

/* Run by run, so that what is in pieces is nowhere twice. What neighbours in the file may be two mappings of the
 * kernel's where it was written to: such a run goes page by page (-EFAULT). */
int xac_rewire_area_swap(xac_rewire_area *area, uint64_t at, uint64_t with, uint64_t count)
{
        if (!is_within(area->pages, at, count) || !is_within(area->pages, with, count) || do_overlap(at, with, count))
                return -EINVAL;
        if (is_refused(SWAP_MAPPINGS))
                return -EMLINK;
        for (uint64_t i = 0; i < count;) {
                const uint64_t one = run_at(area, at + i, count - i), other = run_at(area, with + i, count - i);
                uint64_t run = one < other ? one : other;
                int err = swap_run(area, at + i, with + i, run);
                if (err == -EFAULT && run > 1)
                        err = swap_run(area, at + i, with + i, run = 1);
                if (err)
                        return err;
                i += run;
        }
        return 0;
}

/* ---- questions ---- */

uint64_t xac_rewire_area_page(const xac_rewire_area *area, uint64_t at)
{
        return at < area->pages && area->shows[at] != NOTHING ? area->shows[at] - 1 : XAC_REWIRE_NONE;
}

uint64_t xac_rewire_area_mappings(const xac_rewire_area *area)
{
        return area->mappings;
}
