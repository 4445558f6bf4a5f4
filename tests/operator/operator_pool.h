/* SPDX-License-Identifier: MIT */
#ifndef TESTS_OPERATOR_OPERATOR_POOL_H
#define TESTS_OPERATOR_OPERATOR_POOL_H

/*
 * Moments of one history: what the directories of an environment and of its archive were at rest, after a close, after
 * a death with the shared memory gone, or in the middle of work, when all of it stood still. And backups.
 *
 * All moments are of the same directory, so that an environment that is put back there still has its archive.
 */

#include "tests/operator/operator_history.h"
#include "tests/operator/operator_image.h"
#include "tests/operator/operator_session.h"
#include "tests/support/chance.h"

/* Of a session: midway, at its end, and after a backup. Each has its place, so that one that does not come about
 * (threads, times) makes no other round out of the rest. */
enum pool_place { POOL_MIDWAY, POOL_END, POOL_AFTER_BACKUP, POOL_PLACES };
enum { POOL_SESSIONS = 8, POOL_MOMENTS = POOL_SESSIONS * POOL_PLACES, POOL_BACKUPS = 6 };

struct moment {
        bool is_there;
        struct image store, archive;
        uint32_t session; /* that it is of, or the last one before */
        bool is_closed;
        uint32_t least, most; /* the commits that it may be as of */
        uint32_t pages[HISTORY_FILES];
};

struct pool_backup {
        struct image image;
        int after;        /* the one that it goes on from; -1: it is full */
        uint32_t commit;  /* as of which it is */
        uint32_t session; /* after which it was made */
};

struct pool {
        struct history history;
        struct session_record *record;
        struct session_record *kept_record; /* that of the history, while the other is of one that goes on */
        uint32_t moments, backups;
        struct moment moment[POOL_MOMENTS + 1]; /* and the one of pool_go_on() */
        struct pool_backup backup[POOL_BACKUPS];
        uint32_t last[POOL_SESSIONS + 1]; /* of each session, counted from 1: the last commit in its log */
        bool is_ahead;                    /* a clock was, for one session */
        uint32_t ahead_first, ahead_last; /* its commits */
};

struct pool *pool_new(void);
/* The same pool for the same seed, but for threads and times. False: something failed that must not (it was said). */
bool pool_make(struct pool *pool, uint64_t seed);
const struct moment *pool_draw(const struct pool *pool, struct chance *chance);

/* From the moment that is in its place a program goes on, and dies (or is closed). What it leaves is one moment more,
 * the last one, until pool_go_back(); its shared memory is left, too. NULL: something failed that must not. */
const struct moment *pool_go_on(struct pool *pool, const struct moment *from, struct chance *chance);
void pool_go_back(struct pool *pool);

#endif
