/* SPDX-License-Identifier: MIT */
#include "libxac/view/translation.h"

#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>

#include "base/sys.h"
#include "libxac/store/window.h"

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

/* What came from the second table is there still. */
static void give_way(struct translations *own, uint32_t number)
{
        const xac_translation before = own->entries[number];
        if (!(own->marks[number] & HAS_TWIN))
                second_table_add(&own->second, before.unit, before.delta, is_of_writes(number));
        own->marks[number] = GAVE_WAY;
}

static bool is_another(xac_translation entry, uintptr_t unit)
{
        return entry.unit > FORGOTTEN && entry.unit != unit;
}

/* Nothing that is in the entry is lost by it. */
static inline void set_entry(struct translations *own, uint32_t number, xac_translation kept)
{
        xac_translation *entry = &own->entries[number];
        if (entry->unit == NEVER_USED)
                own->used[own->count++] = (uint16_t)number;
        /* A signal handler between two of these stores finds no half of it. */
        entry->unit = FORGOTTEN;
        atomic_signal_fence(memory_order_seq_cst);
        entry->delta = kept.delta;
        atomic_signal_fence(memory_order_seq_cst);
        entry->unit = kept.unit;
}

static inline void keep(struct translations *own, uint32_t number, xac_translation kept)
{
        set_entry(own, number, kept);
        own->marks[number] &= (uint8_t)~HAS_TWIN;
}

/* The thread has no memory for it yet, or another unit has the entry. */
__attribute__((noinline)) static void keep_in_place_of(uint32_t number, xac_translation kept)
{
        if (!make_own())
                return;
        struct translations *own = translations_own();
        if (is_another(own->entries[number], kept.unit))
                give_way(own, number);
        keep(own, number, kept);
}

void translation_keep(const void *addr, const void *bytes, enum translated access)
{
        struct translations *own = translations_own();
        const uintptr_t unit = (uintptr_t)addr >> XAC_TRANSLATE_SHIFT;
        const uint32_t number = translation_number(unit, access);
        const xac_translation kept = { unit, (uintptr_t)bytes - (uintptr_t)addr };
        if (!window_contains(addr))
                return;
        if (own == &nothing || is_another(own->entries[number], unit))
                keep_in_place_of(number, kept);
        else
                keep(own, number, kept);
}

static void *bring_back(struct translations *own, const void *addr, enum translated access)
{
        const uintptr_t unit = (uintptr_t)addr >> XAC_TRANSLATE_SHIFT;
        const uint32_t number = translation_number(unit, access);
        const struct second_entry *entry = second_table_find(&own->second, unit, access == TRANSLATED_WRITE);
        if (!entry)
                return NULL;
        const xac_translation kept = { unit, entry->delta };
        if (is_another(own->entries[number], unit))
                give_way(own, number);
        set_entry(own, number, kept);
        own->marks[number] |= HAS_TWIN;
        return (void *)((uintptr_t)addr + kept.delta);
}

/* Not within the library, where signal handlers find nothing anyway. */
void *translation_bring_back(const void *addr, enum translated access)
{
        struct translations *own = translations_own();
        if (!window_contains(addr))
                return NULL;
        atomic_store_explicit(&own->is_busy, true, memory_order_relaxed);
        atomic_signal_fence(memory_order_seq_cst);
        void *bytes = bring_back(own, addr, access);
        atomic_signal_fence(memory_order_seq_cst);
        atomic_store_explicit(&own->is_busy, false, memory_order_relaxed);
        return bytes;
}

void translations_forget(void)
{
        struct translations *own = translations_own();
        for (uint32_t i = 0; i < own->count; i++)
                own->entries[own->used[i]].unit = NEVER_USED;
        own->count = 0;
        if (own->second.taken) {
                second_table_forget(&own->second);
                memset(own->marks, 0, sizeof(own->marks));
        }
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

__attribute__((noinline)) static void forget_second(struct translations *own, uintptr_t unit, uintptr_t end)
{
        for (; unit < end; unit++)
                if ((own->marks[translation_number(unit, TRANSLATED_READ)] |
                     own->marks[translation_number(unit, TRANSLATED_WRITE)]) &
                    GAVE_WAY)
                        second_table_forget_unit(&own->second, unit);
}

void translations_forget_page(const void *addr, uint64_t page_bytes)
{
        struct translations *own = translations_own();
        const uintptr_t first = (uintptr_t)addr >> XAC_TRANSLATE_SHIFT;
        const uintptr_t end = first + (page_bytes >> XAC_TRANSLATE_SHIFT);
        for (uintptr_t unit = first; unit < end; unit++) {
                forget_entry(&own->kept.of_reads[unit % XAC_TRANSLATE_ENTRIES], unit);
                forget_entry(&own->kept.of_writes[unit % XAC_TRANSLATE_ENTRIES], unit);
        }
        if (own->second.taken)
                forget_second(own, first, end);
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
