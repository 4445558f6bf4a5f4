/* SPDX-License-Identifier: MIT */
#ifndef HEAP_SLAB_H
#define HEAP_SLAB_H

/*
 * A slab: one page of objects of one size class, as bytes. Knows no arena.
 *
 *      | kind | class | free objects | named objects | owner | bitmap, 1 = free | object 0 | object 1 | ... |
 *
 * The owner is the participant that allocates here; 0: nobody does, as when there is nothing free. It is a hint for all
 * others, but a rule for taking: only the owner takes objects.
 */

#include <stdbool.h>
#include <stdint.h>

#include "heap/size_class.h"

struct slab {
        uint8_t kind; /* PAGE_IS_SLAB */
        uint8_t size_class;
        uint16_t free_count;
        uint16_t named_count; /* of its objects that are roots; 0 in older heaps */
        uint16_t zero;
        uint64_t owner; /* its xac_self() */
        uint64_t free[];
};

/* All objects are free. */
void slab_make(struct slab *slab, uint32_t size_class, const struct size_class *class, uint64_t owner);
/* Takes a free object. Returns where it begins on the page; 0: there is none, whatever is counted, or what is
 * marked as free is none. */
uint32_t slab_take(struct slab *slab, const struct size_class *class);

/* Does an object of the class begin there on the page? Then its number. */
static inline bool slab_finds(const struct size_class *class, uint32_t at, uint32_t *number)
{
        if (at < class->first)
                return false;
        *number = (at - class->first) / class->size;
        return *number < class->count && (at - class->first) % class->size == 0;
}

static inline bool slab_is_free(const struct slab *slab, uint32_t number)
{
        return slab->free[number / 64] >> number % 64 & 1;
}

static inline void slab_give_back(struct slab *slab, uint32_t number)
{
        slab->free[number / 64] |= UINT64_C(1) << number % 64;
        slab->free_count++;
}

/* Is what stands on the page a slab of that class, in which the numbers agree? */
bool slab_is_sound(const struct slab *slab, uint32_t size_class, const struct size_class *class);

#endif
