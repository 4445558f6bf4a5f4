/* SPDX-License-Identifier: MIT */

/* The other file: an optimiser of the whole program takes it into the first. */

#include "tests/compiler/modes.h"

uint64_t modes_more(const struct modes_node *node, char *to, size_t room)
{
        const size_t len = strlen(node->name);
        if (len >= room || memchr(node->name, 'Q', len))
                return 0;
        memcpy(to, node->name, len);
        return (uint64_t)strcmp(to, node->name) + (uint64_t)to[len] + node->next;
}

int modes_is_same(const void *a, const void *b, size_t len)
{
        return memcmp(a, b, len) == 0;
}
