/* SPDX-License-Identifier: MIT */
#include "bench/papers/anker/htap/snapshots.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "bench/support/measure.h"

void snapshots_open(struct snapshots *snapshots, xac_env *env, const struct tables *tables)
{
        *snapshots = (struct snapshots){ .lock = PTHREAD_MUTEX_INITIALIZER, .env = env, .tables = tables };
}

static void close_shared(struct shared_snapshot *shared)
{
        if (shared->snapshot)
                xac_snapshot_close(shared->snapshot);
        free(shared);
}

static void leave_locked(struct shared_snapshot *shared)
{
        if (shared && --shared->users == 0)
                close_shared(shared);
}

void snapshots_close(struct snapshots *snapshots)
{
        leave_locked(snapshots->newest);
        pthread_mutex_destroy(&snapshots->lock);
}

static int map_columns(const struct tables *tables, struct shared_snapshot *shared)
{
        for (int c = 0; c < COLUMNS; c++) {
                if (!tables->column[c])
                        continue;
                shared->column[c] = xac_snapshot_map(shared->snapshot, column_spec[c].name, NULL);
                if (shared->column[c] == MAP_FAILED)
                        return -errno;
        }
        return 0;
}

static int make_shared(struct snapshots *snapshots, const _Atomic uint64_t *newest, struct shared_snapshot **made)
{
        struct shared_snapshot *shared = calloc(1, sizeof(*shared));
        int err;
        if (!shared)
                return -ENOMEM;
        shared->users = 1;
        shared->after = atomic_load(newest);
        if (snapshots->newest)
                err = xac_snapshot_refresh(snapshots->newest->snapshot, &shared->snapshot);
        else
                err = xac_snapshot_open(snapshots->env, 0, &shared->snapshot);
        shared->until = atomic_load(newest) + 1; /* one may be visible and not yet counted */
        if (!err)
                err = map_columns(snapshots->tables, shared);
        if (err)
                close_shared(shared);
        else
                *made = shared;
        return err;
}

static int refresh_locked(struct snapshots *snapshots, const _Atomic uint64_t *newest)
{
        struct shared_snapshot *fresh;
        const uint64_t start_ns = measure_now_ns();
        const int err = make_shared(snapshots, newest, &fresh);
        if (err)
                return err;
        leave_locked(snapshots->newest);
        snapshots->newest = fresh;
        const uint64_t took_ns = measure_now_ns() - start_ns;
        snapshots->refreshes++;
        snapshots->refresh_ns += took_ns;
        snapshots->longest_ns = took_ns > snapshots->longest_ns ? took_ns : snapshots->longest_ns;
        return 0;
}

int snapshots_take(struct snapshots *snapshots, const _Atomic uint64_t *newest, uint64_t refresh_commits,
                   struct shared_snapshot **taken)
{
        int err = 0;

        pthread_mutex_lock(&snapshots->lock);
        if (!snapshots->newest || atomic_load(newest) - snapshots->newest->after >= refresh_commits)
                err = refresh_locked(snapshots, newest);
        if (!err) {
                *taken = snapshots->newest;
                snapshots->newest->users++;
        }
        pthread_mutex_unlock(&snapshots->lock);
        return err;
}

void snapshots_leave(struct snapshots *snapshots, struct shared_snapshot *snapshot)
{
        pthread_mutex_lock(&snapshots->lock);
        leave_locked(snapshot);
        pthread_mutex_unlock(&snapshots->lock);
}
