/* SPDX-License-Identifier: MIT */
#include "heap/size_class.h"

#include "heap/slab.h"

/* With as many objects of that size as there is room for. */
static struct size_class fit(uint32_t size, uint32_t page_bytes)
{
        uint32_t count = (page_bytes - (uint32_t)sizeof(struct slab)) / size, words, first;
        for (;; count--) {
                words = (count + 63) / 64;
                first = ((uint32_t)sizeof(struct slab) + words * 8 + SIZE_STEP - 1) / SIZE_STEP * SIZE_STEP;
                if (first + count * size <= page_bytes)
                        return (struct size_class){ (uint16_t)size, (uint16_t)count, (uint16_t)first, (uint16_t)words };
        }
}

/* Sizes rise; one of which as many fit as of the one before takes its place. */
void size_classes_make(struct size_classes *classes, uint32_t page_bytes)
{
        classes->count = 0;
        for (uint32_t size = SIZE_STEP; size < page_bytes / 2; size += SIZE_STEP) {
                struct size_class class = fit(size, page_bytes);
                if (class.count < 2)
                        break;
                if (!classes->count || classes->of[classes->count - 1].count != class.count)
                        classes->count++;
                classes->of[classes->count - 1] = class;
                classes->by_steps[size / SIZE_STEP] = (uint8_t)(classes->count - 1);
                classes->size_max = size;
        }
        classes->by_steps[0] = 0; /* malloc(0) is an object, too */
}
