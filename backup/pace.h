/* SPDX-License-Identifier: MIT */
#ifndef BACKUP_PACE_H
#define BACKUP_PACE_H

/*
 * How fast a backup goes. It reads and writes in small steps, and between two of them it may sleep.
 *
 * With a rate it keeps to that. Without one it looks whether others commit: while they do it sleeps seven times as long
 * as a step took. Disk and processors are theirs for seven eighths of the time then, and a commit waits for one step at
 * most. While nobody commits it goes as fast as it can.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PACE_HEEDLESS UINT64_MAX /* the rate of who does not care for others */

enum { PACE_STEP_BYTES = 256 << 10 };

struct pace {
        uint64_t bytes_per_second;      /* 0: as others leave it room */
        uint64_t (*commits)(void *arg); /* grows with every commit; NULL: there are no others */
        void *arg;

        uint64_t begun_ns;
        uint64_t bytes;     /* in all steps so far */
        uint64_t seen;      /* commits, */
        uint64_t rested_ns; /* and the time, when the last step began */
        uint64_t rests_until_ns;
};

void pace_begin(struct pace *pace);
/* A step is done, in which so many bytes were read or written. Then rest, as long as pace_rest() is true: it sleeps a
 * little, so that one may be asked to end meanwhile. */
void pace_step(struct pace *pace, uint64_t bytes);
bool pace_rest(struct pace *pace);

#endif
