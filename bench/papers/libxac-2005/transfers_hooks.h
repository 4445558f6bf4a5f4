/* SPDX-License-Identifier: MIT */
#ifndef BENCH_PAPERS_LIBXAC_2005_TRANSFERS_HOOKS_H
#define BENCH_PAPERS_LIBXAC_2005_TRANSFERS_HOOKS_H

/*
 * Sees every load and store that the trees make. Their sources are compiled once more for this, with -fsanitize=thread:
 * the compiler then calls a function before each access to memory, __tsan_read8() and so on. ThreadSanitizer's own
 * library is not linked; these functions are in transfers_hooks.c. What memcpy(), memcmp() and their like touch is seen
 * because the linker is told to --wrap them. Registers, the stack and prefetches are not memory in this sense.
 *
 *      trees/bpnode_find.c     slots[middle].head < head   -->   __tsan_read4(&slots[middle].head)
 *                                                          -->   touch(arg, at, 4)
 */

#include <stddef.h>
#include <stdint.h>

/* From now on: each access to the bytes from `begin` on, `at` from there; NULL: none. */
void hooks_watch(const char *begin, size_t byte_len, void (*touch)(void *arg, uint64_t at, size_t byte_len), void *arg);
/* An access that was not made by a tree, but would have been by its caller. */
void hooks_note(const void *addr, size_t byte_len);

#endif
