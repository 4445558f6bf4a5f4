/* SPDX-License-Identifier: MIT */
#ifndef TESTS_CRASH_LOOK_H
#define TESTS_CRASH_LOOK_H

/*
 * A life: one process that opens an image and looks at what is in it. It ends where something is wrong.
 */

#include <stdbool.h>

#include "tests/crash/workloads.h"

enum { LIFE_WRONG = 2 }; /* the status a life ends with that has told what is wrong */

/* What a life tells, in shared memory. */
struct told {
        uint64_t found[TRACE_CHANNELS];
        char text[1024];
        struct world_state state; /* scratch */
};

struct life_of_image {
        const char *directory;
        struct world world;
        struct told *told;
        struct seat_of_world seat;
        struct trace *trace; /* NULL: not recorded */
};

_Noreturn void look_leave(int status);
/* Ends the life: what is wrong has been found. */
_Noreturn void look_wrong(struct life_of_image *life, const char *format, ...) __attribute__((format(printf, 2, 3)));
void look_expect_ok(struct life_of_image *life, int code, const char *what);

/* The offline check finds no damage. False: there is no manifest. */
bool look_offline(struct life_of_image *life);
void look_open(struct life_of_image *life);
void look_close(struct life_of_image *life);
/* What is there is the world after told->found[lane] commits of each lane. */
void look_inside(struct life_of_image *life);
/* The same where the commits are deeds on trees: each tree holds what it should, and xac_tree_check finds nothing
 * (look_tree.c). */
void look_inside_trees(struct life_of_image *life);
/* And where they are deeds on a heap: its objects are those that should live, and xac_heap_check finds nothing
 * (look_heap.c). */
void look_inside_heap(struct life_of_image *life);
/* The environment is closed: its archive, and nothing before it, makes the same files (look_archive.c). */
void look_inside_archive(struct life_of_image *life);

#endif
