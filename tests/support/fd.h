/* SPDX-License-Identifier: MIT */
#ifndef TESTS_SUPPORT_FD_H
#define TESTS_SUPPORT_FD_H

/*
 * Which file is behind a descriptor: for hooks that are told of system calls (base/sys.h).
 */

#include <stdbool.h>

/* Does the name of the file, without its directories, begin with that? Async-signal-safe enough for a hook. */
bool fd_is_named(int fd, const char *prefix);

#endif
