/* SPDX-License-Identifier: MIT */
#ifndef BENCH_SUPPORT_MAPPINGS_H
#define BENCH_SUPPORT_MAPPINGS_H

/*
 * Where a file is mapped into this process, as /proc/self/maps says: for what the libraries do not tell, because nobody
 * but a benchmark wants to know.
 */

#include <stddef.h>

/* Each mapping of this file, by rising addresses. Ends the program when that cannot be found out. */
void mappings_of_file(const char *path, void (*visit)(void *arg, char *begin, size_t byte_len), void *arg);

#endif
