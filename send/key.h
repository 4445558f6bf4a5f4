/* SPDX-License-Identifier: MIT */
#ifndef SEND_KEY_H
#define SEND_KEY_H

/* Keys as they are sent: in the order of memcmp(), a key before its extensions. */

#include <stddef.h>
#include <string.h>

struct key {
        const void *bytes;
        size_t len;
};

static inline int key_compare(struct key a, struct key b)
{
        const size_t shorter = a.len < b.len ? a.len : b.len;
        const int order = shorter ? memcmp(a.bytes, b.bytes, shorter) : 0;
        return order ? order : (a.len > b.len) - (a.len < b.len);
}

#endif
