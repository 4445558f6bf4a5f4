/* SPDX-License-Identifier: MIT */

/* mem... of <string.h>, piece by piece. Memory of the program's own is left to the C library, whole. */

#include "compiler/runtime/runtime.h"

#include <string.h>

/* To write a page for the first time gives it another place: the destination is asked for first. */
static void copy_piece(char *to, const char *from, size_t len)
{
        char *out = xac_for_write(to);
        memmove(out, xac_for_read(from), len);
}

static void copy_upwards(char *to, const char *from, size_t len)
{
        while (len) {
                const size_t piece = xacrt_piece(to, xacrt_piece(from, len));
                copy_piece(to, from, piece);
                to += piece;
                from += piece;
                len -= piece;
        }
}

static void copy_downwards(char *to, const char *from, size_t len)
{
        while (len) {
                const size_t piece = xacrt_last_piece(to + len, xacrt_last_piece(from + len, len));
                len -= piece;
                copy_piece(to + len, from + len, piece);
        }
}

XACRT_WEAK void *xacrt_memmove(void *to, const void *from, size_t len)
{
        if (!xac_in_window(to) && !xac_in_window(from))
                return memmove(to, from, len);
        if ((uintptr_t)to - (uintptr_t)from < len)
                copy_downwards(to, from, len);
        else
                copy_upwards(to, from, len);
        return to;
}

XACRT_WEAK void *xacrt_memcpy(void *to, const void *from, size_t len)
{
        if (!xac_in_window(to) && !xac_in_window(from))
                return memcpy(to, from, len);
        copy_upwards(to, from, len);
        return to;
}

XACRT_WEAK void *xacrt_mempcpy(void *to, const void *from, size_t len)
{
        return (char *)xacrt_memcpy(to, from, len) + len;
}

XACRT_WEAK void *xacrt_memccpy(void *to, const void *from, int byte, size_t len)
{
        if (!xac_in_window(to) && !xac_in_window(from))
                return memccpy(to, from, byte, len);
        const char *found = xacrt_memchr(from, byte, len);
        const size_t copied = found ? (size_t)(found - (const char *)from) + 1 : len;
        xacrt_memcpy(to, from, copied);
        return found ? (char *)to + copied : NULL;
}

XACRT_WEAK void xacrt_bcopy(const void *from, void *to, size_t len)
{
        xacrt_memmove(to, from, len);
}

XACRT_WEAK void *xacrt_memset(void *to, int byte, size_t len)
{
        if (!xac_in_window(to))
                return memset(to, byte, len);
        for (char *at = to; len;) {
                const size_t piece = xacrt_piece(at, len);
                memset(xac_for_write(at), byte, piece);
                at += piece;
                len -= piece;
        }
        return to;
}

XACRT_WEAK void xacrt_bzero(void *to, size_t len)
{
        xacrt_memset(to, 0, len);
}

/* Also of what is never read again. */
XACRT_WEAK void xacrt_explicit_bzero(void *to, size_t len)
{
        xacrt_memset(to, 0, len);
        __asm__ volatile("" ::"r"(to) : "memory");
}

XACRT_WEAK int xacrt_memcmp(const void *a, const void *b, size_t len)
{
        if (!xac_in_window(a) && !xac_in_window(b))
                return memcmp(a, b, len);
        const char *left = a, *right = b;
        while (len) {
                const size_t piece = xacrt_piece(left, xacrt_piece(right, len));
                const int order = memcmp(xac_for_read(left), xac_for_read(right), piece);
                if (order)
                        return order;
                left += piece;
                right += piece;
                len -= piece;
        }
        return 0;
}

XACRT_WEAK int xacrt_bcmp(const void *a, const void *b, size_t len)
{
        return xacrt_memcmp(a, b, len);
}

XACRT_WEAK void *xacrt_memchr(const void *bytes, int byte, size_t len)
{
        if (!xac_in_window(bytes))
                return memchr(bytes, byte, len);
        const char *at = bytes;
        while (len) {
                const size_t piece = xacrt_piece(at, len);
                const char *seen = xac_for_read(at);
                const char *found = memchr(seen, byte, piece);
                if (found)
                        return (char *)(uintptr_t)at + (found - seen);
                at += piece;
                len -= piece;
        }
        return NULL;
}

XACRT_WEAK void *xacrt_memrchr(const void *bytes, int byte, size_t len)
{
        if (!xac_in_window(bytes))
                return memrchr(bytes, byte, len);
        const char *begin = bytes;
        while (len) {
                const size_t piece = xacrt_last_piece(begin + len, len);
                len -= piece;
                const char *seen = xac_for_read(begin + len);
                const char *found = memrchr(seen, byte, piece);
                if (found)
                        return (char *)(uintptr_t)begin + len + (found - seen);
        }
        return NULL;
}

XACRT_WEAK void *xacrt_rawmemchr(const void *bytes, int byte)
{
        if (!xac_in_window(bytes))
                return rawmemchr(bytes, byte);
        return xacrt_memchr(bytes, byte, SIZE_MAX);
}
