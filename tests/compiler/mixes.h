/* SPDX-License-Identifier: MIT */
#ifndef TESTS_COMPILER_MIXES_H
#define TESTS_COMPILER_MIXES_H

#include <stddef.h>
#include <stdint.h>

typedef uint64_t mixes_word __attribute__((aligned(1)));

/* By code that the pass has not seen. */
int mixes_is_same(const void *a, const void *b, size_t len);
void mixes_write(void *to, const void *from, size_t len);

#endif
