/* SPDX-License-Identifier: MIT */
#ifndef LABS_GRADER_ACCESS_H
#define LABS_GRADER_ACCESS_H

/*
 * A function of the grader that is called before each access of the answer to some memory.
 *
 * The Makefile of a lab asks for it with `ACCESS = yes`. The answer is then compiled with -fsanitize=thread, which puts
 * a call before each load and store, but not linked with the sanitizer: access.c stands in for it. So the answer is
 * plain C and the grader can stop it between any two accesses. Not seen: variables that stay in registers, and what
 * memcpy() and other functions of the C library touch.
 */

#include <stdbool.h>
#include <stddef.h>

typedef void access_hook(const void *addr, size_t byte_len, bool is_write);

/* Of this process, from now on; a hook of NULL ends it. Set while no other thread runs. */
void access_watch(const void *start, size_t byte_len, access_hook *hook);

#endif
