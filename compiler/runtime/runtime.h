/* SPDX-License-Identifier: MIT */
#ifndef XACRT_RUNTIME_H
#define XACRT_RUNTIME_H

/*
 * What compiled code calls (libxacrt): translations that are not kept, accesses that may cross a page, and functions of
 * the C library on memory that may be in a view. The pass (compiler/pass.cc) puts the calls in; nobody else needs them.
 *
 * A piece is what lies in one unit of 4 KiB: one translation serves it. Memory that is in no view is one piece.
 */

#include <stddef.h>
#include <stdint.h>
#include <xac/translate.h>

#include "compiler/runtime/replaced.h"

/* Each program and library has its own: a call through the linker's stubs would not preserve what it must. */
#pragma GCC visibility push(hidden)

/* Compiled code keeps its registers over the calls in front of an access, so that all the others pay nothing for them.
 */
#if defined(__clang__)
#define XACRT_COLD __attribute__((preserve_most, cold))
#elif defined(__cppcheck__)
#define XACRT_COLD
#else
#error "the runtime of compiled code must be compiled by clang, as it is called like that"
#endif

/* A program may have its own function of that name. */
#define XACRT_WEAK __attribute__((weak))

enum { XACRT_UNIT = 1 << XAC_TRANSLATE_SHIFT };

/* Of `len` bytes there, those that are in the first piece; and in the last. */
static inline size_t xacrt_piece(const void *addr, size_t len)
{
        const size_t room = XACRT_UNIT - ((uintptr_t)addr & (XACRT_UNIT - 1));
        return xac_in_window(addr) && room < len ? room : len;
}

static inline size_t xacrt_last_piece(const void *end, size_t len)
{
        const void *last = (const char *)end - 1;
        const size_t room = ((uintptr_t)last & (XACRT_UNIT - 1)) + 1;
        return xac_in_window(last) && room < len ? room : len;
}

static inline size_t xacrt_lesser(size_t a, size_t b)
{
        return a < b ? a : b;
}

/* ---- accesses ---- */

/* What they return they put into *place: LLVM 14 to 16 preserve even the register that a result would be in. */
XACRT_COLD void xacrt_read(const void *addr, size_t len, const void **place);
XACRT_COLD void xacrt_write(void *addr, size_t len, void **place);
/* Between a view and memory of the program's own. */
XACRT_COLD void xacrt_fetch(void *to, const void *addr, size_t len);
XACRT_COLD void xacrt_store(void *addr, const void *from, size_t len);
/* Where __builtin_longjmp() may read what is in the buffer. */
void *xacrt_jump_buffer(void *buffer);
/* Elements of a vector, `size` bytes each; bit i of `mask` says whether element i takes part. */
void xacrt_fetch_masked(void *to, const void *addr, uint64_t mask, size_t size);
void xacrt_store_masked(void *addr, const void *from, uint64_t mask, size_t size);
void xacrt_gather(void *to, const void *const *addrs, uint64_t mask, size_t size);
void xacrt_scatter(void *const *addrs, const void *from, uint64_t mask, size_t size);

/* ---- the same with the size of the destination, where the compiler knows it (-D_FORTIFY_SOURCE) ---- */

void *xacrt_memcpy_chk(void *to, const void *from, size_t len, size_t room);
void *xacrt_memmove_chk(void *to, const void *from, size_t len, size_t room);
void *xacrt_mempcpy_chk(void *to, const void *from, size_t len, size_t room);
void *xacrt_memset_chk(void *to, int byte, size_t len, size_t room);
void xacrt_explicit_bzero_chk(void *to, size_t len, size_t room);
char *xacrt_strcpy_chk(char *to, const char *from, size_t room);
char *xacrt_stpcpy_chk(char *to, const char *from, size_t room);
char *xacrt_strncpy_chk(char *to, const char *from, size_t len, size_t room);
char *xacrt_stpncpy_chk(char *to, const char *from, size_t len, size_t room);
char *xacrt_strcat_chk(char *to, const char *from, size_t room);
char *xacrt_strncat_chk(char *to, const char *from, size_t len, size_t room);

#pragma GCC visibility pop

#endif
