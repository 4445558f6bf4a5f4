/* SPDX-License-Identifier: MIT */
#ifndef LIBXAC_TRANSLATION_H
#define LIBXAC_TRANSLATION_H

/*
 * What a thread keeps of its translations (<xac/translate.h>), over all environments, and what of that is forgotten
 * when (R24).
 *
 * Declared access says which slot an address leads to. Code that a compiler has made asks that before each access, so
 * the answer is kept. It is wrong as soon as the page has another slot: whoever gives it one forgets it here. A
 * transaction that was never asked (txn->is_translated) has nothing to forget.
 */

#include <stdbool.h>
#include <xac/translate.h>

#include "libxac/thread_local.h"

enum {
        TRANSLATION_KINDS = 4, /* of reads and of writes, where compiled code looks; the same of what gave way there */
        TRANSLATION_ENTRIES = TRANSLATION_KINDS * XAC_TRANSLATE_ENTRIES
};

/* The public part comes first, as xac_kept leads to it. */
struct translations {
        union {
                struct xac_translations kept;
                xac_translation entries[TRANSLATION_ENTRIES];
        };
        uint32_t count;     /* of entries that are in use, or were since all was forgotten */
        bool has_given_way; /* any, to where it is found by other bits of the address, too */
        uint16_t used[TRANSLATION_ENTRIES];
};

static inline struct translations *translations_own(void)
{
        return (struct translations *)xac_kept;
}

enum translated { TRANSLATED_READ, TRANSLATED_WRITE };

/* The thread maps a view. From here on xac_kept stays what it is, so that compiled code may load it once. */
void translation_prepare(void);

/* `bytes` is where `addr` leads. What was kept in its entry before gives way, and is found by translation_find() from
 * then on: pages whose addresses are a multiple of 1 MiB apart do not drive each other out. Without memory nothing is
 * kept. */
void translation_keep(const void *addr, const void *bytes, enum translated access);

/* NULL: it has not given way. Changes nothing, for a signal handler may come by. */
void *translation_search(const void *addr, enum translated access);

static inline void *translation_find(const void *addr, enum translated access)
{
        return translations_own()->has_given_way ? translation_search(addr, access) : NULL;
}

/* Everything; what may be written, as a level begins, which is to have slots of its own; a page, which gets another
 * slot. */
void translations_forget(void);
void translations_forget_writes(void);
void translations_forget_page(const void *addr, uint64_t page_bytes);

/* The thread ends. */
void translations_free(void);

#endif
