/* SPDX-License-Identifier: MIT */
#ifndef LABS_RECOVERY_ACTS_H
#define LABS_RECOVERY_ACTS_H

/* What the tests let the answer do, in a process of its own (labs/grader/host.h). The disk is theirs: it gets a copy,
 * and what it has written and synced comes back. */

#include <stdbool.h>
#include <stdint.h>

#include "labs/recovery/log.h"

enum act {
        ACT_CALL,    /* struct call; comes back: struct called, with so many events as there are */
        ACT_RECOVER, /* int: so many disks, in the shared memory; comes back: struct recovered[] */
};

struct call {
        bool is_recovery; /* log_recover(); else log_checkpoint() */
        bool is_guarded;  /* one that crashes or goes round and round says so, instead of ending the process */
        struct log log;
        uint8_t sector[DISK_SECTORS][SECTOR_BYTES];
};

struct called {
        int signal; /* that ended it; 0: none */
        struct log log;
        int count;
        struct event event[EVENTS_MOST];
};

enum { DISKS_TOGETHER = 512 };

struct recovered {
        int signal;
        int64_t page[PAGES][PAGE_WORDS];
};

/* ------------------------------------------------------------------ the same, for tests */

/* What the answer does to the log and its disk. */
void answer_recover(struct log *log);
void answer_checkpoint(struct log *log);

/* Returns the signal that ended it; 0: none. */
int answer_recover_guarded(struct log *log);

/* Recovers from `count` disks, at most DISKS_TOGETHER, in a process that may write nothing; is_fresh: in one that has
 * seen no other disk. */
void answer_recover_all(int count, uint8_t (*disks)[DISK_SECTORS][SECTOR_BYTES], struct recovered *recovered,
                        bool is_fresh);

#endif
