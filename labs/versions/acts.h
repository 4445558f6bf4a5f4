/* SPDX-License-Identifier: MIT */
#ifndef LABS_VERSIONS_ACTS_H
#define LABS_VERSIONS_ACTS_H

/*
 * What the tests let the answer do, in processes of its own (labs/grader/host.h). The store lies in memory that all of
 * them share; what the answer leaves there is judged.
 */

#include <stdbool.h>

#include "labs/versions/store.h"

enum act {
        ACT_VISIBLE, /* struct visible; comes back: int, the slot */
        ACT_RECLAIM, /* bool: each access is a step; comes back: int */
        ACT_TAKE,    /* struct take; comes back: long, the snapshot */
        ACT_STUMBLE, /* struct stumble: this process is one of a crew */
        ACT_READ,    /* int, the reader: takes a snapshot and looks at each page; comes back: struct reading */
        ACT_READ_ON, /* int: reader; takes a snapshot, reads, gives it back, and so on until it is killed */
};

struct shared {
        struct store store;
};

struct visible {
        int page;
        long snapshot;
        bool is_stepped;
};

struct take {
        int reader;
        bool is_stepped;
};

struct stumble {
        bool is_writer, is_steady;
};

struct reading {
        long snapshot;
        int slot[PAGES];
};

/* ------------------------------------------------------------------ the same, for tests */

int answer_visible(int page, long snapshot, bool is_stepped);
int answer_reclaim(bool is_stepped);
long answer_take(int reader, bool is_stepped);

#endif
