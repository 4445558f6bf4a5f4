/* SPDX-License-Identifier: MIT */
#ifndef BASE_MEMORY_GROUP_H
#define BASE_MEMORY_GROUP_H

/*
 * The control group in which the kernel counts a process's memory, and how much memory that group may still take:
 * version 1 (memory.limit_in_bytes) and 2 (memory.max, memory.high) of control groups. The kernel ends a process whose
 * group is at its limit and has nothing to give up. Memory files count, and cannot be given up without swap; the page
 * cache of other files can be, once it is clean.
 */

#include <stdbool.h>
#include <stdint.h>

enum { MEMORY_GROUP_PATH = 1024 };

struct memory_group {
        char path[MEMORY_GROUP_PATH]; /* the directory of the group; empty: there is none */
        uint32_t top;                 /* the length of that of the hierarchy */
        bool is_unified;              /* version 2 */
};

/* What may still be taken, and the limit that says so: the group's own, or that of a group above it. Bytes. UINT64_MAX
 * of both: nothing limits it. */
struct memory_room {
        uint64_t left;
        uint64_t limit;
        uint64_t dirty; /* page cache that will be left once it is written */
};

/* The group of a process; 0: of this one. root: where /proc and /sys are looked for; "", or a folder of a test. A group
 * that cannot be found limits nothing. */
void memory_group_find(const char *root, uint32_t process, struct memory_group *group);

/* Async-signal-safe. A group that is no more limits nothing. */
void memory_group_look(const struct memory_group *group, struct memory_room *room);

#endif
