/* SPDX-License-Identifier: MIT */
#include "libxac/view/snapshot_map.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <xac/xac.h>

#include "base/sys.h"
#include "libxac/ground/thread_local.h"
#include "libxac/store/ranges.h"
#include "libxac/store/window.h"

enum {
        MAPS_MAX = 4096,
        SHELVED_PER_FILE = 2, /* the snapshot that is refreshed, and the one before: they take turns */
        WRITE_TRIES = 16      /* faults of one address that is shown: then it is not another thread that showed it */
};

#define TAKER_NS UINT64_C(20000)       /* who takes a chunk away is soon done */
#define SHELF_NS UINT64_C(10000000000) /* what nobody uses for so long gives its memory back */

/* Maps are used again, and never freed: the handler may look at the table while one goes. */
static struct snapshot_map *spare; /* under the window's lock, which no fork leaves taken */

/* ---- where they are ---- */

/* An entry is taken while its map is not NULL, and counts while its base is not 0. */
static struct {
        _Atomic(struct snapshot_map *) map;
        _Atomic uintptr_t base;
        _Atomic uintptr_t end;
} maps[MAPS_MAX];
static _Atomic uint32_t maps_used; /* none behind it was ever listed */

static int list_map(struct snapshot_map *map)
{
        for (uint32_t i = 0; i < MAPS_MAX; i++) {
                struct snapshot_map *none = NULL;
                if (!atomic_compare_exchange_strong(&maps[i].map, &none, map))
                        continue;
                atomic_store(&maps[i].end, (uintptr_t)map->regions.base + map->regions.byte_len);
                atomic_store(&maps[i].base, (uintptr_t)map->regions.base);
                uint32_t used = atomic_load(&maps_used);
                while (used <= i && !atomic_compare_exchange_weak(&maps_used, &used, i + 1))
                        ;
                return 0;
        }
        return XAC_LIMIT;
}

static void unlist_map(const struct snapshot_map *map)
{
        for (uint32_t i = 0; i < atomic_load(&maps_used); i++)
                if (atomic_load(&maps[i].map) == map) {
                        atomic_store(&maps[i].base, 0);
                        atomic_store(&maps[i].map, NULL);
                }
}

struct snapshot_map *snapshot_map_find(const void *addr)
{
        for (uint32_t i = 0; i < atomic_load(&maps_used); i++) {
                const uintptr_t base = atomic_load(&maps[i].base);
                const uintptr_t end = atomic_load(&maps[i].end);
                struct snapshot_map *map = atomic_load(&maps[i].map);
                if (base && (uintptr_t)addr >= base && (uintptr_t)addr < end && atomic_load(&maps[i].base) == base)
                        return map; /* which the program keeps open, as it touches it */
        }
        return NULL;
}

int snapshot_map_replace_lost_page(const char *addr)
{
        int reason = 0;
        for (uint32_t i = 0; i < atomic_load(&maps_used) && !reason; i++) {
                struct snapshot_map *map = atomic_load(&maps[i].map);
                if (map)
                        reason = files_replace_lost_page(&map->env->files, addr);
        }
        return reason;
}

/* The threads that were looking for chunks are the parent's. */
void snapshot_map_forget_in_child(void)
{
        for (uint32_t i = 0; i < atomic_load(&maps_used); i++) {
                atomic_store(&maps[i].base, 0);
                atomic_store(&maps[i].map, NULL);
        }
        for (struct snapshot_map *map = spare; map; map = map->next)
                atomic_store(&map->takers, 0);
}

/* ---- lending ---- */

static _Atomic uint32_t hand; /* where a chunk was last taken */

/* The map may go on the shelf, and be another one's, between the look at the table and this. */
static bool take_from(struct snapshot_map *map, const struct regions *regions)
{
        bool is_taken = false;
        atomic_fetch_add(&map->takers, 1);
        if (atomic_load(&map->is_lending) && map->regions.chunks == regions->chunks)
                is_taken = regions_take_chunk(&map->regions, REGIONS_ALL);
        atomic_fetch_sub(&map->takers, 1);
        return is_taken;
}

/* Waits for nobody: it is the fault handler's, which holds its own region's lock. */
static bool take_from_others(const struct regions *regions)
{
        const uint32_t used = atomic_load(&maps_used);
        for (uint32_t tries = 0; tries < used; tries++) {
                const uint32_t i = atomic_fetch_add_explicit(&hand, 1, memory_order_relaxed) % used;
                struct snapshot_map *map = atomic_load(&maps[i].map);
                if (map && &map->regions != regions && take_from(map, regions))
                        return true;
        }
        return false;
}

static void stop_lending(struct snapshot_map *map)
{
        atomic_store(&map->is_lending, false);
        while (atomic_load(&map->takers))
                sys_sleep_ns(TAKER_NS);
}

/* ---- coming and going ---- */

/* Addresses outside of the window, so that compiled code reads without asking. Aligned, as huge pages are; room for the
 * file to grow a little. */
static int reserve(uint64_t file_len, char **base, uint64_t *byte_len)
{
        void *reserved;
        *byte_len = (file_len + file_len / 4 + 2 * REGION_BYTES) & ~(REGION_BYTES - 1);
        int err = sys_mmap(NULL, *byte_len + REGION_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
                           0, &reserved);
        if (err)
                return err;
        const uint64_t before = -(uintptr_t)reserved & (REGION_BYTES - 1);
        *base = (char *)reserved + before;
        if (before)
                sys_munmap(reserved, before);
        sys_munmap(*base + *byte_len, REGION_BYTES - before);
        return 0;
}

static struct snapshot_map *allocate(void)
{
        window_lock();
        struct snapshot_map *map = spare;
        if (map)
                spare = map->next;
        window_unlock();
        return map ? map : calloc(1, sizeof(*map));
}

static void set_aside(struct snapshot_map *map)
{
        window_lock();
        map->next = spare;
        spare = map;
        window_unlock();
}

static int create(struct xac_env *env, uint32_t file_no, struct snapshot_map **out)
{
        char *base;
        uint64_t byte_len;
        struct snapshot_map *map = allocate();
        if (!map)
                return -ENOMEM;
        map->env = env;
        int err = reserve(files_byte_len(&env->files, file_no), &base, &byte_len);
        if (err)
                goto fail_reserve;
        err = regions_init(&map->regions, &env->files, file_no, base, byte_len);
        if (err)
                goto fail_regions;
        map->regions.take_from_others = take_from_others;
        err = ranges_add(base, byte_len, env->files.shared->control->file[file_no].name);
        if (err)
                goto fail_range;
        err = list_map(map);
        if (err)
                goto fail_list;
        *out = map;
        return 0;

fail_list:
        ranges_remove(base);
fail_range:
        regions_free(&map->regions);
fail_regions:
        sys_munmap(base, byte_len);
fail_reserve:
        set_aside(map);
        return err;
}

static void destroy(struct snapshot_map *map)
{
        unlist_map(map);
        ranges_remove(map->regions.base);
        regions_note_covered(&map->regions);
        regions_free(&map->regions);
        sys_munmap(map->regions.base, map->regions.byte_len);
        set_aside(map);
}

static struct snapshot_map *take_from_shelf_locked(struct xac_env *env, uint32_t file_no)
{
        struct snapshot_map **link = &env->shelf;
        while (*link && (*link)->regions.file_no != file_no)
                link = &(*link)->next;
        struct snapshot_map *map = *link;
        if (map)
                *link = map->next;
        return map;
}

int snapshot_map_take_locked(struct xac_env *env, uint32_t file_no, uint64_t sequence, const struct snapshot_map *older,
                             struct snapshot_map **out)
{
        struct snapshot_map *map = take_from_shelf_locked(env, file_no);
        if (map && map->regions.byte_len < files_byte_len(&env->files, file_no)) {
                destroy(map);
                map = NULL;
        }
        int err = map ? 0 : create(env, file_no, &map);
        if (err)
                return err;
        map->sequence = sequence;
        map->file_len = files_byte_len(&env->files, file_no);
        if (map->file_len > map->regions.byte_len) /* it has grown just now */
                map->file_len = map->regions.byte_len;
        if (older)
                regions_share(&map->regions, &older->regions);
        atomic_store(&map->is_lending, true);
        *out = map;
        return 0;
}

void snapshot_map_shelve_locked(struct snapshot_map *map)
{
        struct xac_env *env = map->env;
        uint32_t others = 0;
        stop_lending(map);
        for (const struct snapshot_map *other = env->shelf; other; other = other->next)
                others += other->regions.file_no == map->regions.file_no;
        if (others >= SHELVED_PER_FILE || regions_hide(&map->regions)) {
                destroy(map);
                return;
        }
        map->file_len = 0; /* a pointer that was kept meets the end of the file */
        map->shelved_ns = sys_monotonic_ns();
        map->next = env->shelf;
        env->shelf = map;
}

void snapshot_map_clear_shelf_locked(struct xac_env *env)
{
        for (struct snapshot_map *map; (map = env->shelf);) {
                env->shelf = map->next;
                destroy(map);
        }
}

static void empty_shelf(struct xac_env *env, uint64_t before_ns)
{
        pthread_mutex_lock(&env->mutex);
        for (struct snapshot_map *map = env->shelf; map; map = map->next)
                if (map->shelved_ns <= before_ns) {
                        regions_forget(&map->regions);
                        map->shelved_ns = UINT64_MAX; /* nothing is left */
                }
        pthread_mutex_unlock(&env->mutex);
}

void snapshot_map_empty_shelf(void *env)
{
        empty_shelf(env, UINT64_MAX - 1);
}

void snapshot_map_tidy_shelf(struct xac_env *env)
{
        empty_shelf(env, sys_monotonic_ns() - SHELF_NS);
        chunks_trim(&env->chunks, SHELF_NS);
}

/* ---- faults ---- */

static THREAD_TLS struct {
        const void *addr;
        uint32_t count;
} repeated; /* faults of this thread at an address that is shown */

/* The access is a read if another thread has shown the region since; if not, it faults again and again. */
static bool is_write(const void *addr, enum touch_access access)
{
        if (access != TOUCH_UNKNOWN)
                return access == TOUCH_WRITE;
        repeated.count = repeated.addr == addr ? repeated.count + 1 : 1;
        repeated.addr = addr;
        return repeated.count > WRITE_TRIES;
}

static int show(struct snapshot_map *map, uint64_t no)
{
        return regions_show(&map->regions, no, map->sequence, map->file_len);
}

const char *snapshot_map_touch(struct snapshot_map *map, const void *addr, enum touch_access access)
{
        const uint64_t no = regions_no(&map->regions, addr);
        if ((uint64_t)((const char *)addr - map->regions.base) >= map->file_len)
                return map->file_len ? "beyond the end of the file as of the snapshot" : "the snapshot is closed";
        /* Another thread may be taking the region's chunk away just now. */
        if (access == TOUCH_WRITE || regions_is_shown_for_sure(&map->regions, no))
                return is_write(addr, access) ? "a snapshot is read-only" : NULL;
        repeated.count = 0;
        switch (show(map, no)) {
        case 0:
                return NULL;
        case XAC_FULL:
                return "no memory for copies (xac_options.scan_bytes)";
        case -ENOMEM:
                return "no mapping could be made for it (out of memory or mappings)";
        default:
                return "its data file cannot be read; somebody else has cut it, perhaps";
        }
}

int snapshot_map_advise(struct snapshot_map *map, const void *addr, size_t byte_len)
{
        const uint64_t offset = (uint64_t)((const char *)addr - map->regions.base);
        const uint64_t first = offset >> REGION_SHIFT;
        const uint64_t end = (offset + byte_len + REGION_BYTES - 1) >> REGION_SHIFT;
        if (offset > map->file_len || byte_len > map->file_len - offset)
                return -EINVAL;
        int err = 0;
        for (uint64_t no = first; no < end && byte_len && !err; no++)
                err = show(map, no);
        for (uint64_t no = first; no < end && byte_len && !err; no++)
                if (!regions_is_shown(&map->regions, no))
                        err = -ENOMEM; /* the copy of a later one has taken its place */
        return err == XAC_FULL ? -ENOMEM : err;
}
