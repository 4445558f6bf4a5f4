/* SPDX-License-Identifier: MIT */
#ifndef TESTS_LIBXAC_SNAPSHOT_STAND_H
#define TESTS_LIBXAC_SNAPSHOT_STAND_H

/*
 * What the tests of snapshots share: an environment with a stamped file (stamped.h), this thread's view of it, and its
 * snapshots.
 */

#include <sys/mman.h>

#include <xac/xac.h>

#include "tests/libxac/stamped.h"
#include "tests/support/check.h"
#include "tests/support/scratch.h"
#include "tests/support/seat.h"

struct stand {
        struct stamped stamped;
        uint64_t pool_bytes;
        uint64_t scan_bytes;
        int flags; /* of xac_open(), besides those of the seat */
        int way;
        xac_env *env;
        char *view;
        struct stamped_model model;
};

static inline void stand_open(struct stand *stand)
{
        const xac_options options = { .page_bytes = stand->stamped.page_bytes,
                                      .pool_bytes = stand->pool_bytes,
                                      .scan_bytes = stand->scan_bytes };
        const int is_shared = (stand->way & WAY_COMPILED) == WAY_COMPILED;

        check_ok(xac_open(scratch_path("env"), seat_open_flags(stand->way) | stand->flags, &options, &stand->env));
        stand->view = xac_mmap(stand->env, "stamped", stamped_byte_len(&stand->stamped), is_shared ? XAC_SHARED : 0);
        check(stand->view != MAP_FAILED);
        stand->model = stamped_model_new(&stand->stamped);
}

static inline void stand_close(struct stand *stand)
{
        stamped_model_free(&stand->model);
        check_ok(xac_close(stand->env));
}

static inline uint64_t stand_commit(struct stand *stand)
{
        uint64_t number = 0;

        check_ok(stamped_commit(&stand->stamped, stand->env, stand->view, stand->way, 0, &number));
        return number;
}

/* The number of the last one. */
static inline uint64_t stand_commits(struct stand *stand, unsigned count)
{
        uint64_t number = 0;

        for (unsigned i = 0; i < count; i++)
                number = stand_commit(stand);
        return number;
}

/* Where most of a small pool is what the view shows, a transaction may find no room before the background has made
 * some; its end makes it (R14). The number of the last one. */
static inline uint64_t stand_commits_in_a_small_pool(struct stand *stand, unsigned count)
{
        uint64_t number = 0;

        for (unsigned i = 0, tries = 0; i < count; tries++) {
                int outcome = stamped_commit(&stand->stamped, stand->env, stand->view, stand->way, 0, &number);

                check(outcome == 0 || (outcome == XAC_FULL && tries < 2 * count));
                i += outcome == 0;
        }
        return number;
}

static inline xac_stats stand_stats(struct stand *stand)
{
        xac_stats stats;

        check_ok(xac_stat(stand->env, &stats));
        return stats;
}

static inline xac_snapshot *stand_snapshot(struct stand *stand, int flags)
{
        xac_snapshot *snapshot;

        check_ok(xac_snapshot_open(stand->env, flags, &snapshot));
        return snapshot;
}

static inline const char *stand_map(const struct stand *stand, xac_snapshot *snapshot)
{
        size_t length = 0;
        const char *bytes = xac_snapshot_map(snapshot, "stamped", &length);

        check(bytes != MAP_FAILED);
        check_equal(length, stamped_byte_len(&stand->stamped));
        return bytes;
}

/* The whole file, at whose address it is, is as of that change. */
static inline void stand_check(struct stand *stand, const char *bytes, uint64_t number)
{
        check_equal(stamped_check(&stand->model, bytes), number);
}

static inline xac_snapshot *stand_refresh(xac_snapshot *snapshot)
{
        xac_snapshot *fresh;

        check_ok(xac_snapshot_refresh(snapshot, &fresh));
        return fresh;
}

#endif
