/* SPDX-License-Identifier: MIT */
#ifndef TOOLS_XAC_SERVE_MOMENTS_H
#define TOOLS_XAC_SERVE_MOMENTS_H

/*
 * The moments whose snapshots `xac serve` has open. Responses share them: writers have to keep versions of pages for
 * each, and a snapshot for each client would fill the pool.
 *
 *      requests     a  b   c          d e                       f
 *      moments      |--a b c-----     |--d e-------             |--f---
 *                   |<100 ms>|        |<100 ms>|
 *
 * A response shares a moment that is less than 100 ms old and of which another response is being sent; else it gets a
 * new one. So a client that comes alone sees the newest commit. A moment is closed when no response and no base needs
 * it. There are 8 at most. The server gives one up where there are 8, where it gets too old, and where the pool is
 * nearly full: one that is a base alone, or else that of clients who take nothing. It ends in turns of a few clients;
 * nobody comes to it meanwhile, and who needs another one while there are 8 waits.
 */

#include <stdbool.h>
#include <stdint.h>

#include <xac/xac.h>

enum {
        SERVE_MOMENTS_MAX = 8,
        SERVE_MOMENT_SHARED_MS = 100, /* so long do new responses share it */
        SERVE_MOMENT_AGE_MS = 60000   /* so old does it get */
};

struct serve_moment {
        xac_snapshot *snapshot; /* NULL: this place is free */
        uint64_t opened_ms;     /* or when it was still the newest commit */
        uint64_t newest_ms;     /* when it was known to be that; 0: never */
        unsigned responses;     /* that are being sent */
        unsigned bases;         /* of the next responses to those who asked for pages */
        bool is_ending;         /* it is being given up: nobody comes to it */
        bool *is_stale;         /* of all moments */
};

struct serve_moments {
        xac_env *env;
        bool is_stale; /* it was opened at rest, and somebody has opened it for writing: no moment is to be had any more
                        */
        struct serve_moment moment[SERVE_MOMENTS_MAX];
};

/* For a response: a moment of that commit, if there is one, or another process has a snapshot of it open; 0: one that
 * may be shared and is not older than `least`, or a new one. -ESTALE; -EMFILE: there are 8; and what
 * xac_snapshot_open() says. */
int serve_moments_take(struct serve_moments *moments, uint64_t sequence, uint64_t least, uint64_t now_ms,
                       struct serve_moment **taken);
/* The response is sent, and is a base from now on; or nothing any more. NULL: nothing happens. */
void serve_moment_keep(struct serve_moment *moment);
void serve_moment_leave(struct serve_moment *moment);
/* The base is none any more. */
void serve_moment_forget(struct serve_moment *moment);

/* The oldest one; NULL: there is none. */
struct serve_moment *serve_moments_oldest(struct serve_moments *moments);
bool serve_moments_are_all_used(const struct serve_moments *moments);

#endif
