/* SPDX-License-Identifier: MIT */
#ifndef RECOVERY_STRETCH_H
#define RECOVERY_STRETCH_H

/*
 * What of a file is no hole, looked at from its beginning to its end. A file that somebody else has made may claim to
 * be longer than any disk: who reads it passes over its holes in one step each.
 */

#include <stdint.h>

/* Begin with `fd` alone. */
struct stretch {
        int fd;              /* -1: no file, which is a hole */
        uint64_t begin, end; /* the one that was found last */
};

/* The first byte from `offset` on that is in no hole; UINT64_MAX: there is none. Offsets are asked for in ascending
 * order, while nobody writes before them. Where a file system knows no holes, or does not tell, all is in none. */
uint64_t stretch_find(struct stretch *stretch, uint64_t offset);

#endif
