/* SPDX-License-Identifier: MIT */

/* `make show`: what your log writes and syncs, in which order, and how many disks a power cut may leave. */

#include <stdio.h>

#include "labs/recovery/engine.h"

int main(void)
{
        struct tally tally;
        printf("The log is opened, two commits, a checkpoint, a commit:\n");
        engine_tell("aAscas");
        engine_judge("aAscas", NULL, ENGINE_EVERYWHERE, &tally);
        printf("The power fails at %llu places, and leaves %llu different disks: all are recovered rightly.\n",
               (unsigned long long)tally.cuts, (unsigned long long)tally.images);
        return 0;
}
