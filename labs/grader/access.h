/* SPDX-License-Identifier: MIT */
#ifndef LABS_GRADER_ACCESS_H
#define LABS_GRADER_ACCESS_H

/*
 * A function of the grader that is called before each access of the answer to some memory.
 *
 * The Makefile of a lab asks for it with `ACCESS = yes`. The answer is then compiled with -fsanitize=thread, which puts
 * a call before each load and store, but not linked with the sanitizer: access.c stands in for it. So the answer is
 * plain C and the grader can stop it between any two accesses. memcpy(), memmove() and memset() go word by word, too
 * (-Wl,--wrap). Not seen: variables that stay in registers, and what other functions of the C library touch.
 */

#include <stdbool.h>
#include <stddef.h>

typedef void access_hook(const void *addr, size_t byte_len, bool is_write);

/* Of this process, from now on; a hook of NULL ends it. Set while no other thread runs. Of an access to many bytes each
 * word is a call. A struct that is copied is copied behind the last of them, so that no stop tears it. */
void access_watch(const void *start, size_t byte_len, access_hook *hook);

/* Called before that one, once for each access to any memory, however long it is: what the rules of a lab forbid is
 * grader_fail(). NULL: no more rules. Returns the one before it. */
access_hook *access_judge(access_hook *judge);

#endif
