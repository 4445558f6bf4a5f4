/* SPDX-License-Identifier: MIT */
#ifndef BENCH_PAPERS_ANKER_HTAP_SNAPSHOTS_H
#define BENCH_PAPERS_ANKER_HTAP_SNAPSHOTS_H

/*
 * The snapshot that queries share. It is refreshed by the first query that comes after so many commits, as in the
 * paper: without queries there are no snapshots. Who came before goes on with the one he has; the last one closes it.
 */

#include <pthread.h>
#include <stdint.h>

#include <xac/xac.h>

#include "bench/papers/anker/htap/tables.h"

struct shared_snapshot {
        xac_snapshot *snapshot;
        const int32_t *column[COLUMNS];
        uint64_t after, until; /* commits: it has all up to the first, and none behind the second */
        int users;             /* and one while it is the newest */
};

struct snapshots {
        pthread_mutex_t lock;
        xac_env *env;
        const struct tables *tables;
        struct shared_snapshot *newest;
        uint64_t refreshes, refresh_ns, longest_ns;
};

void snapshots_open(struct snapshots *snapshots, xac_env *env, const struct tables *tables);
void snapshots_close(struct snapshots *snapshots);

/* A snapshot that has all commits but the last `refresh_commits` at most. `newest` counts commits. */
int snapshots_take(struct snapshots *snapshots, const _Atomic uint64_t *newest, uint64_t refresh_commits,
                   struct shared_snapshot **taken);
void snapshots_leave(struct snapshots *snapshots, struct shared_snapshot *snapshot);

#endif
