/* SPDX-License-Identifier: MIT */
#ifndef LIBXAC_VIEW_TRANSLATION_H
#define LIBXAC_VIEW_TRANSLATION_H

/*
 * What a thread keeps of its translations (<xac/translate.h>), over all environments, and what of that is forgotten
 * when (R24).
 *
 * Declared access says which slot an address leads to. Code that a compiler has made asks that before each access, so
 * the answer is kept. It is wrong as soon as the page has another slot: whoever gives it one forgets it here. A
 * transaction that was never asked (txn->is_translated) has nothing to forget.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <xac/translate.h>

#include "libxac/ground/thread_local.h"
#include "libxac/view/second_table.h"

enum { TRANSLATION_ENTRIES = 2 * XAC_TRANSLATE_ENTRIES /* of reads, and of writes */ };

/* The public part comes first, as xac_kept leads to it. */
struct translations {
        union {
                struct xac_translations kept;
                xac_translation entries[TRANSLATION_ENTRIES];
        };
        uint32_t count; /* of entries that are in use, or were since all was forgotten */
        uint16_t used[TRANSLATION_ENTRIES];
        uint8_t marks[TRANSLATION_ENTRIES]; /* of each entry: has any given way there? Is what it has there, too? */
        struct second_table second;         /* what others have driven out of them */
        _Atomic bool is_busy;               /* it is being changed: a signal handler that comes by finds nothing */
};

static inline struct translations *translations_own(void)
{
        return (struct translations *)xac_kept;
}

enum translated { TRANSLATED_READ, TRANSLATED_WRITE };

/* Marks of an entry: the second table may have what stood there before; it has what stands there now. */
enum { GAVE_WAY = 1, HAS_TWIN = 2 };

/* Of the entry of a unit. */
static inline uint32_t translation_number(uintptr_t unit, enum translated access)
{
        return (uint32_t)(unit % XAC_TRANSLATE_ENTRIES) + (access == TRANSLATED_WRITE ? XAC_TRANSLATE_ENTRIES : 0);
}

/* The thread maps a view. From here on xac_kept stays what it is, so that compiled code may load it once. */
void translation_prepare(void);

/* `bytes` is where `addr` leads. What was kept in its entry before gives way to the second table. Without memory
 * nothing is kept. */
void translation_keep(const void *addr, const void *bytes, enum translated access);

/* NULL: it has not given way. If it has, it comes back to where compiled code looks. */
void *translation_bring_back(const void *addr, enum translated access);

/* A signal handler has interrupted translation_bring_back(). */
static inline bool translation_is_busy(void)
{
        return atomic_load_explicit(&translations_own()->is_busy, memory_order_relaxed);
}

static inline void *translation_find(const void *addr, enum translated access)
{
        const struct translations *own = translations_own();
        const uint32_t number = translation_number((uintptr_t)addr >> XAC_TRANSLATE_SHIFT, access);
        if (!own->second.taken || !(own->marks[number] & GAVE_WAY) || translation_is_busy())
                return NULL;
        return translation_bring_back(addr, access);
}

/* Everything; what may be written, as a level begins, which is to have slots of its own; a page, which gets another
 * slot. */
void translations_forget(void);
void translations_forget_writes(void);
void translations_forget_page(const void *addr, uint64_t page_bytes);

/* The thread ends. */
void translations_free(void);

#endif
