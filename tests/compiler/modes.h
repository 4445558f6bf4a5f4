/* SPDX-License-Identifier: MIT */
#ifndef TESTS_COMPILER_MODES_H
#define TESTS_COMPILER_MODES_H

/*
 * What modes.c runs in memory and in a view that another thread shares: modes_more.c with modes_work.c or
 * modes_work.cc, compiled in a way of its own. Included by precompiled headers, too.
 */

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { MODES_AREA = 4 * 4096, MODES_NODES = 64 };

/* A list, whose links are numbers of nodes. */
struct modes_node {
        uint32_t next;
        uint32_t weight;
        double share;
        char name[24];
};

struct modes_area {
        struct modes_node nodes[MODES_NODES];
        uint64_t table[512];
        uint32_t counter;
        char text[3000];
};

#ifdef __cplusplus
extern "C" {
#endif

/* Returns something of what it saw. The same bytes give the same. */
typedef uint64_t modes_work_function(struct modes_area *area, uint64_t seed);
typedef int modes_is_same_function(const void *a, const void *b, size_t len);

uint64_t modes_work(struct modes_area *area, uint64_t seed);
/* Of another file, for optimisers of the whole program. */
int modes_is_same(const void *a, const void *b, size_t len);
uint64_t modes_more(const struct modes_node *node, char *to, size_t room);

#ifdef __cplusplus
}
#endif

#endif
