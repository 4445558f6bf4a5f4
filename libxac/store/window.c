/* SPDX-License-Identifier: MIT */
#include "libxac/store/window.h"

#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>

#include "base/checksum.h"
#include "base/sys.h"

enum {
        VIEW_FLAGS = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
        FIRST = WINDOW_UNITS, /* numbers of units count from address 0 */
        MIDDLE = FIRST + WINDOW_PLACES,
        END = 2 * WINDOW_UNITS
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static uint32_t turn; /* [mutex] where the last view without a place has been put */

/* ---- mappings of nothing ---- */

void window_lock(void)
{
        pthread_mutex_lock(&mutex);
}

void window_unlock(void)
{
        pthread_mutex_unlock(&mutex);
}

/* ThreadSanitizer has no shadow for the window, and ends a program that maps there. */
extern void __tsan_init(void) __attribute__((weak)); // NOLINT(bugprone-reserved-identifier)

/* There, or not at all. */
static int map_free(void *address, uint64_t byte_len)
{
        void *base;
        if (__tsan_init)
                return -EADDRNOTAVAIL;
        int err = sys_mmap(address, byte_len, PROT_NONE, VIEW_FLAGS | MAP_FIXED_NOREPLACE, -1, 0, &base);
        if (err || base == address)
                return err;
        sys_munmap(base, byte_len); /* an old kernel takes it for a hint */
        return -EADDRNOTAVAIL;
}

/* [mutex] What could not be unmapped. */
static struct left {
        void *base;
        uint64_t byte_len;
} left[MANIFEST_FILES];

static int take_left(void *base, uint64_t byte_len)
{
        for (int i = 0; i < MANIFEST_FILES; i++) {
                if (left[i].base != base || left[i].byte_len < byte_len)
                        continue;
                int err = sys_mmap(base, left[i].byte_len, PROT_NONE, VIEW_FLAGS | MAP_FIXED, -1, 0, &base);
                if (!err)
                        left[i].base = NULL;
                return err;
        }
        return -EEXIST;
}

static int map_own(void *base, uint64_t byte_len)
{
        int err = map_free(base, byte_len);
        return err == -EEXIST ? take_left(base, byte_len) : err;
}

void window_unmap(void *base, uint64_t byte_len)
{
        if (!sys_munmap(base, byte_len))
                return;
        for (int i = 0; i < MANIFEST_FILES; i++)
                if (!left[i].base) {
                        left[i] = (struct left){ base, byte_len };
                        return;
                }
}

static bool is_taken_here(uint32_t first, uint32_t units)
{
        void *base = window_place_address((struct manifest_place){ first, units });
        const uint64_t byte_len = (uint64_t)units << WINDOW_UNIT_SHIFT;
        window_lock();
        int err = map_own(base, byte_len);
        if (!err)
                window_unmap(base, byte_len);
        window_unlock();
        return err == -EEXIST;
}

/* ---- places ---- */

static uint32_t units_of(uint64_t byte_len)
{
        uint64_t units = (byte_len >> WINDOW_UNIT_SHIFT) + !!(byte_len & (WINDOW_UNIT_BYTES - 1));
        return units <= WINDOW_PLACES ? (uint32_t)units : WINDOW_PLACES + 1;
}

static bool do_overlap(struct manifest_place one, struct manifest_place other)
{
        return one.first < other.first + other.units && other.first < one.first + one.units;
}

bool window_is_place(uint64_t address)
{
        uint64_t unit = address >> WINDOW_UNIT_SHIFT;
        return !(address & (WINDOW_UNIT_BYTES - 1)) && unit >= FIRST && unit < MIDDLE;
}

/* Where to look next if something is in the way there: a file of the environment, or, to spare programs that open
 * several environments the trouble, what this process has mapped. 0: nothing is. */
static uint32_t next_behind(const struct manifest *manifest, uint32_t first, uint32_t units)
{
        if (first + units > MIDDLE)
                return FIRST;
        for (uint32_t i = 0; i < manifest->file_count; i++) {
                struct manifest_place other = manifest->file_place[i];
                if (do_overlap((struct manifest_place){ first, units }, other))
                        return other.first + other.units;
        }
        return is_taken_here(first, units) ? first + 1 : 0;
}

/* Where to begin: environments that meet in one process should not have drawn the same. */
static uint32_t begin_of_search(const struct manifest *manifest, uint64_t address)
{
        if (address)
                return (uint32_t)(address >> WINDOW_UNIT_SHIFT);
        for (uint32_t i = manifest->file_count; i--;)
                if (manifest->file_place[i].units)
                        return manifest->file_place[i].first + manifest->file_place[i].units;
        return FIRST + checksum_crc32c(0, manifest->uuid, sizeof(manifest->uuid)) % WINDOW_PLACES;
}

struct manifest_place window_choose(const struct manifest *manifest, uint64_t byte_len, uint64_t address)
{
        const uint32_t units = units_of(byte_len);
        uint32_t first = begin_of_search(manifest, address);
        bool has_wrapped = false;
        for (;;) {
                uint32_t next = next_behind(manifest, first, units);
                if (!next)
                        return (struct manifest_place){ first, units };
                if (next <= first) {
                        if (has_wrapped)
                                return (struct manifest_place){ 0, 0 };
                        has_wrapped = true;
                }
                first = next;
        }
}

struct manifest_place window_extend(const struct manifest *manifest, uint32_t file_no, uint64_t byte_len)
{
        const struct manifest_place place = manifest->file_place[file_no];
        const struct manifest_place longer = { place.first, units_of(byte_len) };
        if (longer.units <= place.units || place.first + longer.units > MIDDLE)
                return place;
        for (uint32_t i = 0; i < manifest->file_count; i++)
                if (i != file_no && do_overlap(longer, manifest->file_place[i]))
                        return place;
        return longer;
}

/* ---- views ---- */

int window_map_at(struct manifest_place place, uint64_t byte_len, void **base)
{
        void *elsewhere;
        *base = window_place_address(place);
        if (!window_contains(*base)) /* chosen on a machine of another kind */
                return -EADDRNOTAVAIL;
        int err = map_own(*base, byte_len);
        if (!err || err == -EEXIST || err == -EADDRNOTAVAIL)
                return err;
        /* Addresses that this machine does not have are "out of memory", too. */
        err = sys_mmap(NULL, byte_len, PROT_NONE, VIEW_FLAGS, -1, 0, &elsewhere);
        if (err)
                return err;
        sys_munmap(elsewhere, byte_len);
        return -EADDRNOTAVAIL;
}

int window_map_anywhere(uint64_t byte_len, void **base)
{
        enum { TRIES = 64 };
        const uint32_t units = units_of(byte_len);
        for (int i = 0; i < TRIES && units <= WINDOW_PLACES; i++) {
                uint32_t first = turn + units <= END - MIDDLE ? turn : 0;
                turn = first + units;
                *base = window_place_address((struct manifest_place){ MIDDLE + first, units });
                int err = map_free(*base, byte_len);
                if (!err)
                        return 0;
                if (err != -EEXIST)
                        break;
        }
        return sys_mmap(NULL, byte_len, PROT_NONE, VIEW_FLAGS, -1, 0, base);
}
