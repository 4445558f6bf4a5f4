/* SPDX-License-Identifier: MIT */
#include "tests/compiler/mixes.h"

#include <string.h>

int mixes_is_same(const void *a, const void *b, size_t len)
{
        return memcmp(a, b, len) == 0;
}

/* As library functions do, more than once to the same place. */
void mixes_write(void *to, const void *from, size_t len)
{
        memset(to, 0, len);
        memmove(to, from, len);
}
