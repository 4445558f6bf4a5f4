/* SPDX-License-Identifier: MIT */
#include "libxac/store/options.h"

#include <errno.h>
#include <unistd.h>

#include "base/sys.h"
#include "libxac/ground/page_id.h"
#include "libxac/store/window.h"
#include "recovery/double_write.h"

#define GIB               (UINT64_C(1) << 30)
#define LOG_BYTES_DEFAULT (GIB / 4)
#define HELD_LOGS         16         /* times log_bytes, while the archive takes nothing */
#define RESERVE_DEFAULT   (16 * GIB) /* a thousand threads with several views each still fit */

enum {
        PAGE_BYTES_DEFAULT = 4096,
        PARTICIPANTS_DEFAULT = 1024,
        MODE_DEFAULT = 0600,
        LOG_PARTS = 64,
        LOG_SEGMENT_DEFAULT_MAX = 16 << 20,
        LOG_RING_PAGES_MIN = 16,
        SCAN_BYTES_MIN = 16 << 20
};

int options_check_flags(int flags)
{
        const int known =
                XAC_CREATE | XAC_EXCL | XAC_NOSYNC | XAC_VOLATILE | XAC_TRACK | XAC_STRICT | XAC_UNCHANGED | XAC_RDONLY;
        if (flags & XAC_RDONLY && flags & (XAC_CREATE | XAC_VOLATILE))
                return -EINVAL;
        return flags & ~known || (flags & XAC_EXCL && !(flags & XAC_CREATE)) ? -EINVAL : 0;
}

static bool is_power_of_two(uint64_t n)
{
        return n && !(n & (n - 1));
}

static uint32_t page_bytes_min(void)
{
        return (uint32_t)sysconf(_SC_PAGESIZE);
}

int options_check_page_bytes(uint32_t page_bytes)
{
        bool is_right = is_power_of_two(page_bytes) && page_bytes >= page_bytes_min() && page_bytes <= PAGE_BYTES_MAX;
        return is_right ? 0 : -EINVAL;
}

/* What a program sets that was built for a later version. */
static bool is_any_reserved_set(const xac_options *options)
{
        uint64_t any = 0;
        for (size_t i = 0; i < sizeof(options->reserved) / sizeof(options->reserved[0]); i++)
                any |= options->reserved[i];
        return any != 0;
}

int options_check(const xac_options *options)
{
        if (is_any_reserved_set(options))
                return -EINVAL;
        if (options->archive_flags & ~(uint32_t)(XAC_ARCHIVE_DROP | XAC_ARCHIVE_PLAIN))
                return -EINVAL;
        if (options->address && !window_is_place(options->address))
                return -EINVAL;
        if (options->max_participants > PARTICIPANTS_MAX || options->mode & ~0777U)
                return -EINVAL;
        return options->page_bytes ? options_check_page_bytes(options->page_bytes) : 0;
}

uint32_t options_mode(const xac_options *options)
{
        return options->mode ? options->mode : MODE_DEFAULT;
}

uint64_t options_reserve_bytes(const xac_options *options, uint32_t page_bytes)
{
        uint64_t reserve = options->reserve_bytes ? options->reserve_bytes : RESERVE_DEFAULT;
        return (reserve + page_bytes - 1) / page_bytes * page_bytes;
}

/* An eighth of the machine's memory, at most 4 GiB. */
uint64_t options_scan_bytes(const xac_options *options)
{
        const uint64_t part = sys_memory_bytes() / 8;
        if (options->scan_bytes)
                return options->scan_bytes < SCAN_BYTES_MIN ? SCAN_BYTES_MIN : options->scan_bytes;
        return part < 4 * GIB ? part : 4 * GIB;
}

static uint64_t log_bytes(const xac_options *options)
{
        return options->log_bytes ? options->log_bytes : LOG_BYTES_DEFAULT;
}

/* Small steps for the log to grow and shrink by, but not so small that each commit makes a file. */
static uint64_t segment_bytes(const xac_options *options)
{
        uint64_t part = log_round_up(log_bytes(options) / LOG_PARTS);
        if (part < LOG_SEGMENT_MIN)
                return LOG_SEGMENT_MIN;
        return part < LOG_SEGMENT_DEFAULT_MAX ? part : LOG_SEGMENT_DEFAULT_MAX;
}

void options_fill_manifest(const xac_options *options, struct manifest *manifest)
{
        manifest->page_bytes = options->page_bytes;
        if (!manifest->page_bytes)
                manifest->page_bytes = page_bytes_min() > PAGE_BYTES_DEFAULT ? page_bytes_min() : PAGE_BYTES_DEFAULT;
        manifest->max_participants = options->max_participants;
        if (manifest->max_participants < PARTICIPANTS_DEFAULT)
                manifest->max_participants = PARTICIPANTS_DEFAULT;
        manifest->segment_bytes = segment_bytes(options);
}

/* Half of the machine's memory, at most 4 GiB. */
static uint64_t default_pool_bytes(void)
{
        uint64_t half = sys_memory_bytes() / 2;
        return half < 4 * GIB ? half : 4 * GIB;
}

static uint32_t pool_slots(uint64_t pool_bytes, uint32_t page_bytes)
{
        uint64_t slots = (pool_bytes + page_bytes - 1) / page_bytes + 1; /* slot 0 is home */
        if (slots < POOL_SLOTS_MIN)
                slots = POOL_SLOTS_MIN;
        return slots > SLOT_MASK ? (uint32_t)SLOT_MASK : (uint32_t)slots;
}

/* A power of two, about a segment; room for several entries, which no record cuts in two. */
static uint64_t log_ring_bytes(const struct manifest *manifest)
{
        uint64_t ring = (uint64_t)LOG_RING_PAGES_MIN * manifest->page_bytes;
        while (2 * ring <= manifest->segment_bytes && 2 * ring <= LOG_RING_MAX)
                ring *= 2;
        return ring;
}

void options_fill_identity(const xac_options *options, const struct manifest *manifest,
                           struct shared_identity *identity)
{
        uint64_t pool_bytes = options->pool_bytes ? options->pool_bytes : default_pool_bytes();
        identity->has_pool_default = !options->pool_bytes;
        identity->pool_slots = pool_slots(pool_bytes, manifest->page_bytes);
        identity->log_bytes = log_bytes(options);
        identity->area_bytes = options->area_bytes ? options->area_bytes : DOUBLE_WRITE_BYTES_DEFAULT;
        identity->archive_held =
                options->archive_held_bytes ? options->archive_held_bytes : HELD_LOGS * identity->log_bytes;
        if (identity->archive_held > MANIFEST_HELD_MAX)
                identity->archive_held = MANIFEST_HELD_MAX;
        identity->archive_is_packed = !(options->archive_flags & XAC_ARCHIVE_PLAIN);
        identity->archive_may_drop = options->archive_flags & XAC_ARCHIVE_DROP;
        identity->log_ring_bytes = identity->is_volatile ? 0 : log_ring_bytes(manifest);
}

/* What is there before the first slot. */
static uint64_t fixed_bytes(const struct shared_identity *identity)
{
        return control_layout(identity->max_participants, identity->pool_slots, identity->log_ring_bytes).slots;
}

/* By default a quarter of what /dev/shm has left stays for heads, rings, aliases and others, and three quarters of
 * what the control group leaves for the page cache, where pages at home are, for what the program has itself, and for
 * copies that regions show. */
static uint64_t default_room(uint64_t unused)
{
        struct allowance allowance;
        allowance_begin(&allowance);
        const uint64_t quarter = allowance_now(&allowance) / 4;
        return unused / 4 * 3 < quarter ? unused / 4 * 3 : quarter;
}

/*
 * A ceiling that cannot be reached does harm: pages go home when the pool is nearly full, and it would never be. Who
 * has asked for more than there is in all gets what there is in all; his control group holds the pool as it grows
 * (R44).
 */
void options_fit_pool(struct shared_identity *identity)
{
        uint64_t all, unused;
        if (sys_space(SHARED_DIRECTORY, &all, &unused) || !all) /* without a limit it has size 0 */
                all = unused = UINT64_MAX;
        uint64_t room = identity->has_pool_default ? default_room(unused) : all;
        uint64_t fixed = fixed_bytes(identity);
        uint64_t slots = room > fixed ? (room - fixed) / (identity->page_bytes + sizeof(struct slot)) : 0;
        if (slots < POOL_SLOTS_MIN)
                slots = POOL_SLOTS_MIN;
        if (slots < identity->pool_slots)
                identity->pool_slots = (uint32_t)slots;
}
