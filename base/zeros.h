/* SPDX-License-Identifier: MIT */
#ifndef BASE_ZEROS_H
#define BASE_ZEROS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Are they all zero? At least 8 bytes. Most that are not show it in the first of them. */
static inline bool are_zeros(const void *bytes, size_t byte_len)
{
        const char *at = bytes;
        uint64_t first;

        memcpy(&first, at, sizeof(first));
        return !first && memcmp(at, at + sizeof(first), byte_len - sizeof(first)) == 0;
}

#endif
