/* SPDX-License-Identifier: MIT */
#include "libxac/translation.h"

#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>

#include "base/sys.h"
#include "libxac/window.h"

_Static_assert((int)XAC_WINDOW_SHIFT == (int)WINDOW_SHIFT, "compiled code and the library agree on where views lie");

enum { NEVER_USED = 0, FORGOTTEN = 1 /* units that are in no view */ };

static struct translations nothing; /* never written to */
THREAD_TLS xac_translations *xac_kept = &nothing.kept;

/* Without memory nothing is kept, and everything is asked for. */
static bool make_own(void)
{
        void *memory;
        if (translations_own() != &nothing)
                return true;
        if (sys_mmap(NULL, sizeof(nothing), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0, &memory))
                return false;
        xac_kept = memory;
        return true;
}

void translation_prepare(void)
{
        (void)make_own();
}

static bool is_of_writes(uint32_t number)
{
        return number / XAC_TRANSLATE_ENTRIES % 2 != 0;
}

static uint32_t number_of(uintptr_t unit, enum translated access)
{
        return (uint32_t)(unit % XAC_TRANSLATE_ENTRIES) + (access == TRANSLATED_WRITE ? XAC_TRANSLATE_ENTRIES : 0);
}

/* What shares an entry with others does not share this one, if it lies within 256 MiB of them. */
static uint32_t number_of_gave_way(uintptr_t unit, enum translated access)
{
        return number_of(unit ^ unit / XAC_TRANSLATE_ENTRIES, access) + 2 * XAC_TRANSLATE_ENTRIES;
}

static void set_entry(struct translations *own, uint32_t number, xac_translation kept)
{
        if (own->entries[number].unit == NEVER_USED)
                own->used[own->count++] = (uint16_t)number;
        own->entries[number] = kept;
}

static void give_way(struct translations *own, const xac_translation *before, enum translated access)
{
        set_entry(own, number_of_gave_way(before->unit, access), *before);
        own->has_given_way = true;
}

void translation_keep(const void *addr, const void *bytes, enum translated access)
{
        if (!window_contains(addr) || !make_own())
                return;
        struct translations *own = translations_own();
        const uintptr_t unit = (uintptr_t)addr >> XAC_TRANSLATE_SHIFT;
        const uint32_t number = number_of(unit, access);
        const xac_translation *before = &own->entries[number];
        if (before->unit > FORGOTTEN && before->unit != unit)
                give_way(own, before, access);
        set_entry(own, number, (xac_translation){ unit, (uintptr_t)bytes - (uintptr_t)addr });
}

void *translation_search(const void *addr, enum translated access)
{
        const uintptr_t unit = (uintptr_t)addr >> XAC_TRANSLATE_SHIFT;
        if (!window_contains(addr))
                return NULL;
        const xac_translation *entry = &translations_own()->entries[number_of_gave_way(unit, access)];
        return entry->unit == unit ? (void *)((uintptr_t)addr + entry->delta) : NULL;
}

void translations_forget(void)
{
        struct translations *own = translations_own();
        for (uint32_t i = 0; i < own->count; i++)
                own->entries[own->used[i]].unit = NEVER_USED;
        own->count = 0;
        own->has_given_way = false;
}

void translations_forget_writes(void)
{
        struct translations *own = translations_own();
        for (uint32_t i = 0; i < own->count; i++)
                if (is_of_writes(own->used[i]))
                        own->entries[own->used[i]].unit = FORGOTTEN;
}

static void forget_entry(xac_translation *entry, uintptr_t unit)
{
        if (entry->unit == unit)
                entry->unit = FORGOTTEN;
}

static void forget_unit(struct translations *own, uintptr_t unit, enum translated access)
{
        forget_entry(&own->entries[number_of(unit, access)], unit);
        if (own->has_given_way)
                forget_entry(&own->entries[number_of_gave_way(unit, access)], unit);
}

void translations_forget_page(const void *addr, uint64_t page_bytes)
{
        struct translations *own = translations_own();
        const uintptr_t first = (uintptr_t)addr >> XAC_TRANSLATE_SHIFT;
        for (uintptr_t unit = first; unit < first + (page_bytes >> XAC_TRANSLATE_SHIFT); unit++) {
                forget_unit(own, unit, TRANSLATED_READ);
                forget_unit(own, unit, TRANSLATED_WRITE);
        }
}

void translations_free(void)
{
        struct translations *own = translations_own();
        xac_kept = &nothing.kept;
        if (own != &nothing)
                sys_munmap(own, sizeof(*own));
}
