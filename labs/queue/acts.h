/* SPDX-License-Identifier: MIT */
#ifndef LABS_QUEUE_ACTS_H
#define LABS_QUEUE_ACTS_H

/* What the tests let the answer do, in a process of its own (labs/grader/host.h). The first one opens the queue. */

enum act {
        ACT_WATCH, /* enum watch */
        ACT_PUT,   /* long, the task; comes back: int */
        ACT_TAKE,  /* comes back: struct taken */
        ACT_DONE,  /* long, the task; comes back: int */
        ACT_SHUT,  /* comes back: int */
        ACT_CLOSE,
};

/* What happens at each access from now on. */
enum watch { WATCH_NONE, WATCH_STEPS, WATCH_STUMBLE, WATCH_COUNT };

struct taken {
        int err;
        long number;
};

#endif
