/* SPDX-License-Identifier: MIT */

/* Functions that end the program rather than write behind the object that the compiler knows (-D_FORTIFY_SOURCE). */

#include "compiler/runtime/runtime.h"

#include <stdlib.h>

extern void __chk_fail(void) __attribute__((noreturn)); // NOLINT(bugprone-reserved-identifier): the C library's

static void check(size_t len, size_t room)
{
        if (len > room)
                __chk_fail();
}

XACRT_WEAK void *xacrt_memcpy_chk(void *to, const void *from, size_t len, size_t room)
{
        check(len, room);
        return xacrt_memcpy(to, from, len);
}

XACRT_WEAK void *xacrt_memmove_chk(void *to, const void *from, size_t len, size_t room)
{
        check(len, room);
        return xacrt_memmove(to, from, len);
}

XACRT_WEAK void *xacrt_mempcpy_chk(void *to, const void *from, size_t len, size_t room)
{
        check(len, room);
        return xacrt_mempcpy(to, from, len);
}

XACRT_WEAK void *xacrt_memset_chk(void *to, int byte, size_t len, size_t room)
{
        check(len, room);
        return xacrt_memset(to, byte, len);
}

XACRT_WEAK void xacrt_explicit_bzero_chk(void *to, size_t len, size_t room)
{
        check(len, room);
        xacrt_explicit_bzero(to, len);
}

XACRT_WEAK char *xacrt_strcpy_chk(char *to, const char *from, size_t room)
{
        check(xacrt_strlen(from) + 1, room);
        return xacrt_strcpy(to, from);
}

XACRT_WEAK char *xacrt_stpcpy_chk(char *to, const char *from, size_t room)
{
        check(xacrt_strlen(from) + 1, room);
        return xacrt_stpcpy(to, from);
}

XACRT_WEAK char *xacrt_strncpy_chk(char *to, const char *from, size_t len, size_t room)
{
        check(len, room);
        return xacrt_strncpy(to, from, len);
}

XACRT_WEAK char *xacrt_stpncpy_chk(char *to, const char *from, size_t len, size_t room)
{
        check(len, room);
        return xacrt_stpncpy(to, from, len);
}

XACRT_WEAK char *xacrt_strcat_chk(char *to, const char *from, size_t room)
{
        check(xacrt_strlen(to) + xacrt_strlen(from) + 1, room);
        return xacrt_strcat(to, from);
}

XACRT_WEAK char *xacrt_strncat_chk(char *to, const char *from, size_t len, size_t room)
{
        check(xacrt_strlen(to) + xacrt_strnlen(from, len) + 1, room);
        return xacrt_strncat(to, from, len);
}
