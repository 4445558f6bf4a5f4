/* SPDX-License-Identifier: MIT */
#include "heap/slab.h"

#include <string.h>

#include "pages/arena.h"

/* The bits of a word of the bitmap that stand for objects. */
static uint64_t bits_of_word(const struct size_class *class, uint32_t word)
{
        const uint32_t left = class->count - word * 64;
        return left < 64 ? (UINT64_C(1) << left) - 1 : UINT64_MAX;
}

void slab_make(struct slab *slab, uint32_t size_class, const struct size_class *class, uint64_t owner)
{
        slab->kind = PAGE_IS_SLAB;
        slab->size_class = (uint8_t)size_class;
        slab->free_count = class->count;
        slab->named_count = 0;
        slab->zero = 0;
        slab->owner = owner;
        for (uint32_t i = 0; i < class->words; i++)
                slab->free[i] = bits_of_word(class, i);
}

uint32_t slab_take(struct slab *slab, const struct size_class *class)
{
        uint32_t i = 0;
        while (i < class->words && !slab->free[i])
                i++;
        const uint32_t number = i < class->words ? i * 64 + (uint32_t)__builtin_ctzll(slab->free[i]) : class->count;
        if (number >= class->count)
                return 0;
        slab->free[i] &= slab->free[i] - 1;
        slab->free_count--;
        return class->first + number * class->size;
}

bool slab_is_sound(const struct slab *slab, uint32_t size_class, const struct size_class *class)
{
        uint32_t count = 0;
        if (slab->kind != PAGE_IS_SLAB || slab->size_class != size_class || slab->zero)
                return false;
        for (uint32_t i = 0; i < class->words; i++) {
                if (slab->free[i] & ~bits_of_word(class, i))
                        return false;
                count += (uint32_t)__builtin_popcountll(slab->free[i]);
        }
        return count == slab->free_count && slab->named_count <= class->count - count;
}
