/* SPDX-License-Identifier: MIT */
#ifndef LABS_GRADER_STOPS_H
#define LABS_GRADER_STOPS_H

/*
 * What happens in the process of the answer at its accesses: they are noted, and it is stopped before one of them
 * (steps.h), or stumbles. For the acts of labs with `ACCESS = yes`.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The memory in which accesses of this process are steps, from now on, and whether the grader may read it at any time
 * (not so in a view of libxac: what a write has written is then not shown). NULL: no more steps. */
void stops_watch(const void *start, size_t byte_len, bool is_plain);

/* A step, too, where stops_watch() has begun, but for plain memory: a write of the byte behind the memory. For acts
 * that know when a transaction ends, whose accesses may not have been seen. */
void stops_at_end(void);

/* Before one in eight accesses of this process others may run: for crews. */
void stops_stumble(const void *start, size_t byte_len);

/* Accesses of this process are counted, for stops_counted(). */
void stops_count(const void *start, size_t byte_len);

/* By all processes, since the count was last set. */
long stops_counted(void);
void stops_set_count(long count);

/* ------------------------------------------------------------------ for the grader */

enum { STOPS_NOTES = 400 };

struct stops_note {
        char who; /* 'A' or 'B' */
        bool is_write, has_value;
        size_t offset;
        int64_t value;
};

/* In memory that a test and all its processes share. Who judges takes no number in it for granted. */
struct stops {
        atomic_long accesses;
        int count;
        struct stops_note note[STOPS_NOTES];
        int asked_at; /* so many notes there were when A last asked for a step */
};

/* What A says. */
enum { STOPS_READ = 'r', STOPS_WRITE = 'w' };

/* Accesses were more than there is room for: the later ones were not noted. */
bool stops_are_full(void);

/* Which part this process plays, or its host. */
struct stops_role {
        char who;     /* 'A' or 'B', or 0 */
        int said, go; /* A asks for each step by a byte on the one, and goes on when one comes by the other */
};

extern struct stops_role stops_role;

#endif
