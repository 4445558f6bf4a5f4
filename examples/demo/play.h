/* SPDX-License-Identifier: MIT */
#ifndef EXAMPLES_DEMO_PLAY_H
#define EXAMPLES_DEMO_PLAY_H

/*
 * The plot that the demos have in common. Workers work, an auditor looks on. Half-way the machine goes down: all of
 * them are killed, and the shared memory is removed. Then the environment is opened again and held to what was
 * acknowledged (each worker writes that into the plain file DIRECTORY.acks), and new workers go on where the
 * old ones were. While they work the parent has the environment not open: all it knows are the acknowledgements.
 *
 * Interrupted, it stops its children, leaves the environment properly and says so in its exit status.
 */

#include "examples/demo/children.h"
#include "examples/demo/crash.h"

struct play {
        const char *program;   /* who complains */
        const char *directory; /* of the environment, which exists */
        const char *unit;      /* what is counted: "words" */
        uint64_t all;          /* how many there are */
        void *demo;
        /* Held to what was acknowledged; workers may have done more, of which they are told here (acks_note).
         * Exit status. */
        int (*reopen)(void *demo, const struct acks *acks);
        /* The last one to leave: exit status. `seconds` were spent at work; not `is_complete`: only leaves. */
        int (*finish)(void *demo, double seconds, int is_complete);
        struct children children; /* job, demo and workers are given */
        int acks_fd;
};

/* Prints what has gone wrong, and returns EXIT_FAILURE. */
int play_complain(const char *who, const char *what, int err);
double play_now(void);

/* The file of acknowledgements and the shared figures. 0 or a negative number. */
int play_prepare(struct play *play);
/* The exit status. */
int play_run(struct play *play);

#endif
