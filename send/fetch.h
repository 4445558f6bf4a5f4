/* SPDX-License-Identifier: MIT */
#ifndef SEND_FETCH_H
#define SEND_FETCH_H

/* Who goes through pages, one after the other, finds none of them in a cache: each is fetched while the one before it
 * is read, so that its lines come side by side. */

#include <stddef.h>

enum { FETCH_LINE = 64 };

static inline void fetch_bytes(const void *bytes, size_t byte_len)
{
        for (size_t at = 0; at < byte_len; at += FETCH_LINE)
                __builtin_prefetch((const char *)bytes + at);
        __asm__ volatile(""); /* or else GCC takes who calls this for a function without effects, and leaves it out */
}

#endif
