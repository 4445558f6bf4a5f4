/* SPDX-License-Identifier: MIT */
#ifndef HEAP_SIZE_CLASS_H
#define HEAP_SIZE_CLASS_H

/*
 * Size classes: how large the objects of a slab are. A class for each number of objects that fit on a page, from 2 on,
 * and each as large as that number allows, in steps of 16 bytes. So on 4 KiB no object wastes more than 15 bytes up to
 * 256, and more than a sixth above; except the largest, of which there are two or three on a page.
 */

#include <stdint.h>

enum {
        SIZE_STEP = 16,
        SIZE_CLASSES_MAX = 192,                /* of pages of 64 KiB */
        SIZE_STEPS_MAX = 65536 / 2 / SIZE_STEP /* in half a page of them */
};

struct size_class {
        uint16_t size;  /* of an object */
        uint16_t count; /* of objects on a page */
        uint16_t first; /* bytes before them: the slab's header and bitmap */
        uint16_t words; /* of the bitmap */
};

struct size_classes {
        uint32_t count;
        uint32_t size_max; /* of the last class */
        struct size_class of[SIZE_CLASSES_MAX];
        uint8_t by_steps[SIZE_STEPS_MAX + 1]; /* the class of so many steps */
};

void size_classes_make(struct size_classes *classes, uint32_t page_bytes);

/* size <= size_max */
static inline uint32_t size_class_for(const struct size_classes *classes, uint64_t size)
{
        return classes->by_steps[(size + SIZE_STEP - 1) / SIZE_STEP];
}

#endif
