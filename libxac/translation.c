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

static void set_entry(struct translations *own, uint32_t number, xac_translation kept)
{
        const xac_translation before = own->entries[number];
        if (before.unit == NEVER_USED)
                own->used[own->count++] = (uint16_t)number;
        else if (before.unit != FORGOTTEN && before.unit != kept.unit)
                second_table_add(&own->second, before.unit, before.delta, is_of_writes(number));
        /* A signal handler between two of these stores finds no half of it. */
        own->entries[number].unit = FORGOTTEN;
        atomic_signal_fence(memory_order_seq_cst);
        own->entries[number].delta = kept.delta;
        atomic_signal_fence(memory_order_seq_cst);
        own->entries[number].unit = kept.unit;
}

void translation_keep(const void *addr, const void *bytes, enum translated access)
{
        if (!window_contains(addr) || !make_own())
                return;
        const uintptr_t unit = (uintptr_t)addr >> XAC_TRANSLATE_SHIFT;
        const xac_translation kept = { unit, (uintptr_t)bytes - (uintptr_t)addr };
        set_entry(translations_own(), number_of(unit, access), kept);
}

/* Not within the library, where signal handlers find nothing anyway. */
static void bring_back(struct translations *own, uint32_t number, xac_translation kept)
{
        atomic_store_explicit(&own->is_busy, true, memory_order_relaxed);
        atomic_signal_fence(memory_order_seq_cst);
        set_entry(own, number, kept);
        atomic_signal_fence(memory_order_seq_cst);
        atomic_store_explicit(&own->is_busy, false, memory_order_relaxed);
}

void *translation_bring_back(const void *addr, enum translated access)
{
        struct translations *own = translations_own();
        const uintptr_t unit = (uintptr_t)addr >> XAC_TRANSLATE_SHIFT;
        if (!window_contains(addr))
                return NULL;
        const struct second_entry *entry = second_table_find(&own->second, unit, access == TRANSLATED_WRITE);
        if (!entry)
                return NULL;
        const xac_translation kept = { unit, entry->delta };
        bring_back(own, number_of(unit, access), kept);
        return (void *)((uintptr_t)addr + kept.delta);
}

void translations_forget(void)
{
        struct translations *own = translations_own();
        for (uint32_t i = 0; i < own->count; i++)
                own->entries[own->used[i]].unit = NEVER_USED;
        own->count = 0;
        if (own->second.taken)
                second_table_forget(&own->second);
}

void translations_forget_writes(void)
{
        struct translations *own = translations_own();
        for (uint32_t i = 0; i < own->count; i++)
                if (is_of_writes(own->used[i]))
                        own->entries[own->used[i]].unit = FORGOTTEN;
        if (own->second.taken)
                second_table_forget_writes(&own->second);
}

static void forget_entry(xac_translation *entry, uintptr_t unit)
{
        if (entry->unit == unit)
                entry->unit = FORGOTTEN;
}

void translations_forget_page(const void *addr, uint64_t page_bytes)
{
        struct translations *own = translations_own();
        const uintptr_t first = (uintptr_t)addr >> XAC_TRANSLATE_SHIFT;
        for (uintptr_t unit = first; unit < first + (page_bytes >> XAC_TRANSLATE_SHIFT); unit++) {
                forget_entry(&own->entries[number_of(unit, TRANSLATED_READ)], unit);
                forget_entry(&own->entries[number_of(unit, TRANSLATED_WRITE)], unit);
                if (own->second.taken)
                        second_table_forget_unit(&own->second, unit);
        }
}

void translations_free(void)
{
        struct translations *own = translations_own();
        xac_kept = &nothing.kept;
        if (own == &nothing)
                return;
        second_table_free(&own->second);
        sys_munmap(own, sizeof(*own));
}
