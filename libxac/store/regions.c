/* SPDX-License-Identifier: MIT */
#include "libxac/store/regions.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <xac/xac.h>

#include "base/sys.h"
#include "libxac/store/ranges.h"
#include "libxac/store/window.h"
#include "libxac/version/version.h"
#include "rewire/mappings.h"
#include "rewire/wire.h"

enum {
        BATCH = 16 /* pages copied together */
};
#define WAIT_NS UINT64_C(1000000)

/* ---- coming and going ---- */

int regions_init(struct regions *regions, struct files *files, uint32_t file_no, char *base, uint64_t byte_len)
{
        void *table;
        *regions =
                (struct regions){ .byte_len = byte_len, .files = files, .file_no = file_no, .chunks = files->chunks };
        regions->base = base;
        int err = sys_mmap(NULL, regions_count(regions) * sizeof(struct region), PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0, &table);
        if (!err)
                regions->region = table;
        return err;
}

void regions_free(struct regions *regions)
{
        regions_forget(regions);
        if (regions->park) {
                window_lock();
                ranges_remove(regions->park);
                window_unmap(regions->park, regions->byte_len);
                window_unlock();
        }
        sys_munmap(regions->region, regions_count(regions) * sizeof(struct region));
}

/* ---- one at a time ---- */

static void lock_region(struct region *region)
{
        uint32_t word = 0;
        if (atomic_compare_exchange_strong(&region->lock, &word, 1))
                return;
        while (atomic_exchange(&region->lock, 2))
                sys_futex_wait((const uint32_t *)&region->lock, 2, UINT64_C(1000000000));
}

static bool try_lock_region(struct region *region)
{
        uint32_t word = 0;
        return atomic_compare_exchange_strong(&region->lock, &word, 1);
}

static void unlock_region(struct region *region)
{
        if (atomic_exchange(&region->lock, 0) == 2)
                sys_futex_wake((const uint32_t *)&region->lock, INT32_MAX);
}

/* ---- what its pages are ---- */

/* The pages of one region, as far as the file goes. */
struct pages {
        struct shared *shared;
        uint64_t first;
        uint64_t count;
};

static struct pages pages_of(const struct regions *regions, uint64_t no, uint64_t file_len)
{
        struct shared *shared = regions->files->shared;
        uint64_t begin = no << REGION_SHIFT;
        uint64_t byte_len = file_len <= begin ? 0 : file_len - begin < REGION_BYTES ? file_len - begin : REGION_BYTES;
        return (struct pages){ shared, begin >> shared->page_shift, byte_len >> shared->page_shift };
}

static uint64_t page_of(const struct regions *regions, const struct pages *pages, uint64_t i)
{
        return page_id(regions->file_no, pages->first + i);
}

static bool are_all_at_home(const struct regions *regions, const struct pages *pages, uint64_t sequence)
{
        for (uint64_t i = 0; i < pages->count; i++)
                if (version_slot(version_visible(pages->shared, page_of(regions, pages, i), sequence)) != SLOT_HOME)
                        return false;
        return true;
}

/* What of a chunk is right already: so many pages, as of a sequence; 0: nothing. */
struct right {
        uint64_t as_of;
        uint64_t pages;
};

static struct right right_of(const struct region *region, const struct pages *pages)
{
        return (struct right){ region->as_of, region->filled_len >> pages->shared->page_shift };
}

/* Is the version that page i shows now another one? */
static bool is_newer(const struct right *right, uint64_t i, uint64_t word)
{
        return !right->as_of || i >= right->pages || !version_is_seen_by(word, right->as_of);
}

/* A few pages to be copied: their first bytes are asked for together, as each is elsewhere in the pool. */
struct batch {
        uint32_t count;
        const char *from[BATCH];
        char *to[BATCH];
};

static void copy_batch(struct batch *batch, uint32_t page_bytes)
{
        for (uint32_t i = 0; i < batch->count; i++)
                memcpy(batch->to[i], batch->from[i], page_bytes);
        batch->count = 0;
}

static void add_to_batch(struct batch *batch, const char *from, char *to)
{
        __builtin_prefetch(from);
        __builtin_prefetch(from + CACHE_LINE);
        batch->from[batch->count] = from;
        batch->to[batch->count++] = to;
}

static void copy_newer(const struct regions *regions, const struct pages *pages, uint64_t sequence,
                       const struct right *right, char *to)
{
        struct batch batch = { .count = 0 };
        const uint32_t page_bytes = pages->shared->page_bytes;
        for (uint64_t i = 0; i < pages->count; i++) {
                const uint64_t page = page_of(regions, pages, i);
                const uint64_t word = version_visible(pages->shared, page, sequence);
                if (is_newer(right, i, word))
                        add_to_batch(&batch, files_word_bytes(regions->files, page, word), to + i * page_bytes);
                if (batch.count == BATCH)
                        copy_batch(&batch, page_bytes);
        }
        copy_batch(&batch, page_bytes);
}

static bool is_any_newer(const struct regions *regions, const struct pages *pages, uint64_t sequence,
                         const struct right *right)
{
        for (uint64_t i = 0; i < pages->count; i++)
                if (is_newer(right, i, version_visible(pages->shared, page_of(regions, pages, i), sequence)))
                        return true;
        return false;
}

/* ---- chunks ---- */

static void drop_chunk(struct regions *regions, struct region *region)
{
        if (region->chunk) {
                chunks_give_back(regions->chunks, region->chunk);
                atomic_fetch_sub(&regions->held, 1);
        }
        region->chunk = 0;
        region->as_of = 0;
        region->veiled_len = 0;
}

static void count_mapping(struct region *region, bool is_mapped)
{
        mappings_count(is_mapped - (int64_t)region->is_counted);
        region->is_counted = is_mapped;
}

static int cover(const struct regions *regions, uint64_t no)
{
        char *at = regions->base + (no << REGION_SHIFT);
        uint64_t left = regions->byte_len - (no << REGION_SHIFT);
        return wire_nothing(at, left < REGION_BYTES ? left : REGION_BYTES);
}

static int hide_locked(struct regions *regions, uint64_t no)
{
        struct region *region = &regions->region[no];
        region->veiled_len = 0;
        if (!atomic_load(&region->shown_len))
                return 0;
        int err = cover(regions, no);
        if (err)
                return err;
        atomic_store_explicit(&region->shown_len, 0, memory_order_release);
        atomic_fetch_sub(&regions->shown, 1);
        count_mapping(region, false);
        return 0;
}

int regions_cover_one(struct regions *regions, uint64_t no)
{
        return hide_locked(regions, no);
}

bool regions_take_chunk(struct regions *regions, uint64_t except)
{
        const uint64_t count = regions_count(regions);
        for (uint64_t tries = 0; tries < count && atomic_load(&regions->held); tries++) {
                uint64_t no = atomic_fetch_add_explicit(&regions->hand, 1, memory_order_relaxed) % count;
                struct region *region = &regions->region[no];
                if (no == except || !try_lock_region(region))
                        continue;
                bool is_taken = region->chunk && !hide_locked(regions, no);
                if (is_taken)
                        drop_chunk(regions, region);
                unlock_region(region);
                if (is_taken)
                        return true;
        }
        return false;
}

/* At the limit, from another region of the same range; then beyond the limit; then from another range. 0: there is
 * none. */
static uint32_t take_chunk(struct regions *regions, uint64_t no)
{
        uint32_t chunk = chunks_take(regions->chunks, false);
        while (!chunk && regions_take_chunk(regions, no))
                chunk = chunks_take(regions->chunks, regions->take_from_others != NULL);
        if (!chunk && regions->take_from_others)
                chunk = chunks_take(regions->chunks, true);
        while (!chunk && regions->take_from_others && regions->take_from_others(regions))
                chunk = chunks_take(regions->chunks, true);
        return chunk;
}

/* Where all are in use, and none can be taken, threads are filling them, and are done soon: who waits has none itself.
 */
static uint32_t wait_for_chunk(struct regions *regions, uint64_t no)
{
        uint32_t chunk = take_chunk(regions, no);
        while (!chunk && regions->take_from_others && chunks_are_used(regions->chunks)) {
                sys_sleep_ns(WAIT_NS);
                chunk = take_chunk(regions, no);
        }
        return chunk;
}

/* A chunk of the region's own. What it had in common with others is copied, if it is still of use, and if there is a
 * second chunk at once; else as_of says that nothing is right. */
static int make_own(struct regions *regions, uint64_t no)
{
        struct region *region = &regions->region[no];
        const uint32_t old = region->chunk;
        if (old && !chunks_is_shared(regions->chunks, old))
                return 0;
        uint32_t chunk = (old && region->as_of) || !regions->take_from_others ? take_chunk(regions, no) : 0;
        if (!chunk && !regions->take_from_others)
                return XAC_FULL; /* a view does without, and shows what it showed */
        if (chunk && region->as_of)
                memcpy(chunks_bytes(regions->chunks, chunk), chunks_bytes(regions->chunks, old), REGION_BYTES);
        const uint64_t as_of = chunk ? region->as_of : 0;
        drop_chunk(regions, region);
        if (!chunk)
                chunk = wait_for_chunk(regions, no);
        if (!chunk)
                return XAC_FULL;
        atomic_fetch_add(&regions->held, 1);
        region->chunk = chunk;
        region->as_of = as_of;
        return 0;
}

/* The chunk becomes right as of the sequence. */
static int bring_up(struct regions *regions, uint64_t no, const struct pages *pages, uint64_t sequence)
{
        struct region *region = &regions->region[no];
        if (atomic_load(&regions->files->is_patched))
                files_heal(regions->files); /* what is lost still is to fault again, and not to be copied as zeros */
        const uint32_t patches = atomic_load(&regions->files->patches);
        if (region->as_of > sequence)
                region->as_of = 0;
        const struct right right = right_of(region, pages);
        if (region->chunk && !is_any_newer(regions, pages, sequence, &right))
                return 0;
        int err = make_own(regions, no);
        if (err)
                return err;
        const struct right left = right_of(region, pages);
        region->as_of = 0;
        copy_newer(regions, pages, sequence, &left, chunks_bytes(regions->chunks, region->chunk));
        if (atomic_load(&regions->files->patches) != patches)
                return atomic_load(&regions->files->patch_reason);
        region->as_of = sequence;
        region->filled_len = (uint32_t)(pages->count << pages->shared->page_shift);
        return 0;
}

/* ---- mapping ---- */

static int map(const struct regions *regions, uint64_t no, uint64_t byte_len, int fd, uint64_t offset)
{
        return wire_run_surely(regions->base + (no << REGION_SHIFT), byte_len, PROT_READ, MAP_SHARED | MAP_NORESERVE,
                               fd, offset);
}

/* Nothing is to be mapped there but by us: what was moved away left a hole. */
static int cover_parked(const struct regions *regions, uint64_t offset, uint64_t byte_len)
{
        return wire_nothing(regions->park + offset, byte_len);
}

/* User code, which has faulted, does not hold the window's lock. */
static int take_from_park(const struct regions *regions, uint64_t offset, uint64_t byte_len)
{
        window_lock();
        int err = sys_move(regions->park + offset, byte_len, regions->base + offset);
        if (!err && cover_parked(regions, offset, byte_len)) { /* then it stays there */
                err = sys_move(regions->base + offset, byte_len, regions->park + offset);
                if (!err)
                        err = -ENOMEM;
        }
        window_unlock();
        return err;
}

/* From the parking range, where it has its page tables still; else anew. */
static int map_home(const struct regions *regions, uint64_t no, uint64_t byte_len)
{
        struct region *region = &regions->region[no];
        const uint64_t offset = no << REGION_SHIFT;
        const bool is_parked = region->parked_len == byte_len;
        region->parked_len = 0;
        if (is_parked && !take_from_park(regions, offset, byte_len))
                return 0;
        return map(regions, no, byte_len, regions->files->file[regions->file_no].fd, offset);
}

static int map_chunk(const struct regions *regions, uint64_t no, uint64_t byte_len)
{
        struct region *region = &regions->region[no];
        const bool is_veiled = region->veiled_len == byte_len;
        region->veiled_len = 0;
        if (is_veiled && !sys_mprotect(regions->base + (no << REGION_SHIFT), byte_len, PROT_READ))
                return 0;
        return map(regions, no, byte_len, regions->chunks->memory.fd, (uint64_t)region->chunk << CHUNK_SHIFT);
}

bool regions_is_shown_for_sure(struct regions *regions, uint64_t no)
{
        lock_region(&regions->region[no]);
        bool is_shown = regions_is_shown(regions, no);
        unlock_region(&regions->region[no]);
        return is_shown;
}

static int show_locked(struct regions *regions, uint64_t no, uint64_t sequence, uint64_t file_len)
{
        struct region *region = &regions->region[no];
        const struct pages pages = pages_of(regions, no, file_len);
        const uint64_t byte_len = pages.count << pages.shared->page_shift;
        if (!byte_len || byte_len == atomic_load(&region->shown_len)) /* another thread was first */
                return 0;
        const bool is_home = !region->chunk && are_all_at_home(regions, &pages, sequence);
        int err = is_home ? 0 : bring_up(regions, no, &pages, sequence);
        if (err)
                return err;
        err = is_home ? map_home(regions, no, byte_len) : map_chunk(regions, no, byte_len);
        if (err)
                return err;
        if (!atomic_load(&region->shown_len))
                atomic_fetch_add(&regions->shown, 1);
        count_mapping(region, true);
        atomic_store_explicit(&region->shown_len, (uint32_t)byte_len, memory_order_release);
        return 0;
}

/* No signal handler of this thread shall wait for the lock: only faults, which may be home's, are let through. */
int regions_show(struct regions *regions, uint64_t no, uint64_t sequence, uint64_t file_len)
{
        sigset_t others, before;
        sigfillset(&others);
        sigdelset(&others, SIGSEGV);
        sigdelset(&others, SIGBUS);
        pthread_sigmask(SIG_BLOCK, &others, &before);
        lock_region(&regions->region[no]);
        int err = show_locked(regions, no, sequence, file_len);
        unlock_region(&regions->region[no]);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        return err;
}

/* ---- hiding all ---- */

static bool has_park(struct regions *regions)
{
        void *park;
        if (regions->park || !window_contains(regions->base))
                return regions->park != NULL;
        window_lock();
        int err = window_map_anywhere(regions->byte_len, &park);
        if (!err &&
            (!window_contains(park) ||
             ranges_add(park, regions->byte_len, regions->files->shared->control->file[regions->file_no].name))) {
                window_unmap(park, regions->byte_len);
                err = -ENOMEM;
        }
        window_unlock();
        regions->park = err ? NULL : park;
        return !err;
}

enum hiding { COVERED, PARKED, VEILED };

static void note_hidden(struct regions *regions, uint64_t first, uint64_t end, enum hiding hiding)
{
        uint32_t hidden = 0;
        for (uint64_t no = first; no < end; no++) {
                struct region *region = &regions->region[no];
                const uint32_t shown_len = atomic_load_explicit(&region->shown_len, memory_order_relaxed);
                region->veiled_len = hiding == VEILED ? shown_len : 0;
                region->parked_len = hiding == PARKED ? shown_len : region->parked_len;
                if (hiding == COVERED)
                        count_mapping(region, false);
                atomic_store_explicit(&region->shown_len, 0, memory_order_relaxed);
                hidden += shown_len != 0;
        }
        atomic_fetch_sub(&regions->shown, hidden);
}

/* How to hide a region that is shown. */
static enum hiding choose(const struct regions *regions, uint64_t no)
{
        const uint32_t chunk = regions->region[no].chunk;
        if (!chunk)
                return PARKED;
        return chunks_is_huge(regions->chunks, chunk) ? VEILED : COVERED;
}

static int cover_range(const struct regions *regions, uint64_t from, uint64_t byte_len)
{
        return wire_nothing_surely(regions->base + from, byte_len);
}

/* Under the window's lock, as for a moment nothing is mapped there, and somebody else's view could be. */
static int park(const struct regions *regions, uint64_t from, uint64_t byte_len)
{
        window_lock();
        int err = sys_move(regions->base + from, byte_len, regions->park + from);
        if (!err) {
                err = cover_range(regions, from, byte_len);
                if (err)
                        (void)sys_move(regions->park + from, byte_len, regions->base + from);
        }
        window_unlock();
        return err;
}

/* What cannot be parked, as a kernel before 6.17 moves one mapping only, or veiled, is unmapped. */
static int hide(struct regions *regions, uint64_t first, uint64_t end, enum hiding hiding)
{
        const uint64_t from = first << REGION_SHIFT;
        const uint64_t to = end << REGION_SHIFT < regions->byte_len ? end << REGION_SHIFT : regions->byte_len;
        if (hiding == PARKED && (!has_park(regions) || park(regions, from, to - from)))
                hiding = COVERED;
        if (hiding == VEILED && sys_mprotect(regions->base + from, to - from, PROT_NONE))
                hiding = COVERED;
        if (hiding == COVERED && cover_range(regions, from, to - from))
                return -ENOMEM;
        note_hidden(regions, first, end, hiding);
        return 0;
}

/* Neighbours of one kind together. What lies between them may be shown page by page. */
int regions_hide_shown(struct regions *regions)
{
        const uint64_t count = regions_count(regions);
        int err = 0;
        for (uint64_t no = 0, end; atomic_load_explicit(&regions->shown, memory_order_relaxed) && !err; no = end) {
                while (!regions_is_shown(regions, no))
                        no++;
                const enum hiding hiding = choose(regions, no);
                for (end = no + 1; end < count && regions_is_shown(regions, end) && choose(regions, end) == hiding;)
                        end++;
                err = hide(regions, no, end, hiding);
        }
        return err;
}

int regions_hide_one(struct regions *regions, uint64_t no)
{
        return regions_is_shown(regions, no) ? hide(regions, no, no + 1, choose(regions, no)) : 0;
}

void regions_note_covered(struct regions *regions)
{
        note_hidden(regions, 0, regions_count(regions), COVERED);
}

void regions_forget(struct regions *regions)
{
        for (uint64_t no = 0; no < regions_count(regions); no++) {
                drop_chunk(regions, &regions->region[no]);
                regions->region[no].parked_len = 0;
                count_mapping(&regions->region[no], false);
        }
        if (regions->park)
                (void)wire_nothing(regions->park, regions->byte_len);
}

void regions_share(struct regions *regions, const struct regions *older)
{
        const uint64_t count = regions_count(regions);
        for (uint64_t no = 0; no < count && no < regions_count(older); no++) {
                struct region *from = &older->region[no];
                struct region *to = &regions->region[no];
                if (to->chunk || !try_lock_region(from))
                        continue;
                if (from->chunk && from->as_of) {
                        chunks_share(regions->chunks, from->chunk);
                        atomic_fetch_add(&regions->held, 1);
                        to->chunk = from->chunk;
                        to->as_of = from->as_of;
                        to->filled_len = from->filled_len;
                }
                unlock_region(from);
        }
}
