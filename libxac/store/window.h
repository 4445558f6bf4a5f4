/* SPDX-License-Identifier: MIT */
#ifndef LIBXAC_STORE_WINDOW_H
#define LIBXAC_STORE_WINDOW_H

/*
 * The window: the range of addresses in which views lie. Its ends are constants, so that compiled code can ask by a
 * shift and a comparison whether a pointer may lead into a view.
 *
 *      WINDOW_BEGIN                  the middle                      WINDOW_END
 *      | unit | unit | unit | ...    | unit | unit | ...             |
 *        places of files               all other views
 *
 * A file has a place: some units, which are chosen when it is created, and stand in the manifest. It may become longer,
 * but never begins elsewhere (R23).
 * The first view of the file in a process lies there, so that pointers from the file into itself are right in every
 * process, and after a restart. Views of further threads, of copies of an environment, and of programs that ask for
 * no certain address (XAC_ANYWHERE) lie in the second half, or outside when that is full.
 *
 * Nothing is reserved ahead. What is mapped here was free, and what is there already stays.
 *
 * x86-64: 32 TiB from 2^45 on, which is nobody's: AddressSanitizer's shadow is below, its heap above, and programs,
 * libraries and stacks are near 2^47. Only ThreadSanitizer lets nobody map there. aarch64: 128 GiB from 2^37
 * on, so that kernels with addresses of 39 bits have it, too.
 */

#include <stdbool.h>
#include <stdint.h>

#include "recovery/manifest.h"

enum {
#if defined(__x86_64__)
        WINDOW_SHIFT = 45,
#else
        WINDOW_SHIFT = 37,
#endif
        WINDOW_UNIT_SHIFT = MANIFEST_UNIT_SHIFT,
        WINDOW_UNITS = 1 << (WINDOW_SHIFT - WINDOW_UNIT_SHIFT), /* in all; also the number of the first */
        WINDOW_PLACES = WINDOW_UNITS / 2                        /* of them, for files */
};

#define WINDOW_BEGIN      (UINT64_C(1) << WINDOW_SHIFT)
#define WINDOW_END        (UINT64_C(2) << WINDOW_SHIFT)
#define WINDOW_UNIT_BYTES (UINT64_C(1) << WINDOW_UNIT_SHIFT)

static inline bool window_contains(const void *addr)
{
        return (uint64_t)(uintptr_t)addr >> WINDOW_SHIFT == 1;
}

static inline uint64_t window_place_bytes(struct manifest_place place)
{
        return (uint64_t)place.units << WINDOW_UNIT_SHIFT;
}

static inline void *window_place_address(struct manifest_place place)
{
        return (void *)(uintptr_t)((uint64_t)place.first << WINDOW_UNIT_SHIFT); // NOLINT(performance-no-int-to-ptr)
}

/* May a file be told to lie there? */
bool window_is_place(uint64_t address);
/* A place for a file that may become so long: at `address` if that is not 0, else behind the other files of its
 * environment; the first by chance; or the next that is free. units 0: there is no room. */
struct manifest_place window_choose(const struct manifest *manifest, uint64_t byte_len, uint64_t address);

/* The same place, longer if the file may become so long and there is room behind it. */
struct manifest_place window_extend(const struct manifest *manifest, uint32_t file_no, uint64_t byte_len);

/* Views come and go under this lock, so that what is mapped in the window is known by its range (ranges.h), too. */
void window_lock(void);
void window_unlock(void);
/* Maps nothing, inaccessibly. -EEXIST: something is there; -EADDRNOTAVAIL: nothing can be, in this process; -ENOMEM. */
int window_map_at(struct manifest_place place, uint64_t byte_len, void **base);
int window_map_anywhere(uint64_t byte_len, void **base);
/* What the kernel refuses to unmap is taken over by the next that is mapped there. */
void window_unmap(void *base, uint64_t byte_len);

#endif
