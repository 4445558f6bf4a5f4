/* SPDX-License-Identifier: MIT */
#ifndef XAC_TRANSLATE_H
#define XAC_TRANSLATE_H

/*
 * Translation: declared access (xac_page_read(), xac_page_write()) for code that knows an address and nothing else, as
 * compilers make it. xac-cc puts it in front of each access that may lead into a view; the functions below are for
 * those who write such code by hand.
 *
 *         const struct node *next = xac_for_read(node->next);
 *
 * Any address will do. One that leads into no view of this thread, or into a view while no transaction is open, is
 * returned as it is, and the access itself does what it would have done without us.
 *
 * Each thread keeps what it has translated, for each 4 KiB of addresses. libxac forgets what is no longer right: at the
 * end of a transaction or level, at the begin of a level, when pages move, and when a page is written for the first
 * time, by whichever way. So what these functions return may be used until the next call of any function that may do
 * one of that, for one access that crosses no multiple of 4 KiB.
 */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
        XAC_TRANSLATE_SHIFT = 12,
        XAC_TRANSLATE_ENTRIES = 256,
#if defined(__x86_64__)
        XAC_WINDOW_SHIFT = 45 /* views lie where an address >> 45 is 1 */
#else
        XAC_WINDOW_SHIFT = 37
#endif
};

typedef struct xac_translation {
        uintptr_t unit;  /* of 4 KiB; another one: not kept */
        uintptr_t delta; /* to be added to an address in it, modulo 2^64 */
} xac_translation;

/* Entry (address >> 12) % 256 is where an address would be. */
typedef struct xac_translations {
        xac_translation of_reads[XAC_TRANSLATE_ENTRIES];
        xac_translation of_writes[XAC_TRANSLATE_ENTRIES];
} xac_translations;

/* This thread's. Never NULL, and the same from the thread's first xac_mmap() to its end; only libxac writes there. */
extern __thread xac_translations *xac_kept __attribute__((tls_model("initial-exec")));

/* What is not kept. */
const void *xac_translate_read(const void *addr);
void *xac_translate_write(void *addr);

static inline int xac_in_window(const void *addr)
{
        return (uintptr_t)addr >> XAC_WINDOW_SHIFT == 1;
}

static inline const xac_translation *xac_entry_of(const xac_translation *entries, const void *addr)
{
        return &entries[((uintptr_t)addr >> XAC_TRANSLATE_SHIFT) % XAC_TRANSLATE_ENTRIES];
}

static inline const void *xac_for_read(const void *addr)
{
        if (!xac_in_window(addr))
                return addr;
        const xac_translation *entry = xac_entry_of(xac_kept->of_reads, addr);
        if (entry->unit == (uintptr_t)addr >> XAC_TRANSLATE_SHIFT)
                return (const void *)((uintptr_t)addr + entry->delta);
        return xac_translate_read(addr);
}

static inline void *xac_for_write(void *addr)
{
        if (!xac_in_window(addr))
                return addr;
        const xac_translation *entry = xac_entry_of(xac_kept->of_writes, addr);
        if (entry->unit == (uintptr_t)addr >> XAC_TRANSLATE_SHIFT)
                return (void *)((uintptr_t)addr + entry->delta);
        return xac_translate_write(addr);
}

#ifdef __cplusplus
}
#endif

#endif
