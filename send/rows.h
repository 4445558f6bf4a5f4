/* SPDX-License-Identifier: MIT */
#ifndef SEND_ROWS_H
#define SEND_ROWS_H

/*
 * Records of fixed size side by side: those of all RECORDS frames of a response, so that a program may take them as one
 * array. Each segment that has some of them holds it; it grows, and so moves, only while the response comes in.
 */

#include <stddef.h>

struct rows {
        size_t holders;
        size_t used, room; /* bytes */
        unsigned char *bytes;
};

/* Held by the caller. NULL: no memory. */
struct rows *rows_new(void);
void rows_release(struct rows *rows); /* may be NULL */
/* Makes room for so many bytes in all. -ENOMEM: all is as it was. */
int rows_grow(struct rows *rows, size_t byte_len);
/* No more is to come: gives memory back, if there is much that is not used. */
void rows_finish(struct rows *rows);

#endif
