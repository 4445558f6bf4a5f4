/* SPDX-License-Identifier: MIT */

/* Accesses that the code in front of them could not serve from what is kept. */

#include "compiler/runtime/runtime.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* No processor does this atomically for us: the two pages lie in different places. */
static void refuse_if_it_crosses(const void *addr, size_t len)
{
        if (xacrt_piece(addr, len) == len)
                return;
        fprintf(stderr, "xac-cc: an atomic access of %zu bytes at %p crosses a multiple of 4 KiB in a view: align it\n",
                len, addr);
        abort();
}

XACRT_COLD void xacrt_read(const void *addr, size_t len, const void **place)
{
        refuse_if_it_crosses(addr, len);
        *place = xac_translate_read(addr);
}

XACRT_COLD void xacrt_write(void *addr, size_t len, void **place)
{
        refuse_if_it_crosses(addr, len);
        *place = xac_translate_write(addr);
}

XACRT_COLD void xacrt_fetch(void *to, const void *addr, size_t len)
{
        char *out = to;
        const char *in = addr;
        while (len) {
                const size_t piece = xacrt_piece(in, len);
                memcpy(out, xac_for_read(in), piece);
                out += piece;
                in += piece;
                len -= piece;
        }
}

XACRT_COLD void xacrt_store(void *addr, const void *from, size_t len)
{
        char *out = addr;
        const char *in = from;
        while (len) {
                const size_t piece = xacrt_piece(out, len);
                memcpy(xac_for_write(out), in, piece);
                out += piece;
                in += piece;
                len -= piece;
        }
}

/* What __builtin_longjmp() reads it reads with neither the frame nor the stack of who calls it. */
void *xacrt_jump_buffer(void *buffer)
{
        static _Thread_local void *copy[5];
        if (!xac_in_window(buffer))
                return buffer;
        xacrt_fetch(copy, buffer, sizeof(copy));
        return copy;
}

void xacrt_fetch_masked(void *to, const void *addr, uint64_t mask, size_t size)
{
        for (size_t at = 0; mask; mask >>= 1, at += size)
                if (mask & 1)
                        xacrt_fetch((char *)to + at, (const char *)addr + at, size);
}

void xacrt_store_masked(void *addr, const void *from, uint64_t mask, size_t size)
{
        for (size_t at = 0; mask; mask >>= 1, at += size)
                if (mask & 1)
                        xacrt_store((char *)addr + at, (const char *)from + at, size);
}

void xacrt_gather(void *to, const void *const *addrs, uint64_t mask, size_t size)
{
        for (size_t i = 0; mask; mask >>= 1, i++)
                if (mask & 1)
                        xacrt_fetch((char *)to + i * size, addrs[i], size);
}

void xacrt_scatter(void *const *addrs, const void *from, uint64_t mask, size_t size)
{
        for (size_t i = 0; mask; mask >>= 1, i++)
                if (mask & 1)
                        xacrt_store(addrs[i], (const char *)from + i * size, size);
}
