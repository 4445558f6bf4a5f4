/* SPDX-License-Identifier: MIT */
#include "libxac/care/snapshot.h"

#include <errno.h>
#include <stdlib.h>

#include "libxac/ground/handlers.h"
#include "libxac/ground/participant.h"
#include "libxac/process/registry.h"
#include "libxac/store/lending.h"
#include "libxac/store/takeover.h"
#include "libxac/version/version.h"
#include "libxac/view/snapshot_map.h"
#include "rewire/mappings.h"

struct xac_snapshot {
        struct xac_env *env;
        struct participant self;
        uint64_t sequence;
        int flags;
        uint32_t users; /* [env->mutex] what the program has open in it, which a close would leave dangling */
        struct snapshot_map *by_file[FILES_MAX]; /* [env->mutex] */
        struct xac_snapshot *next;               /* [env->mutex] of the environment's */
};

/* ---- rows ---- */

/* A row; one that a dead process left will do. */
static int join(struct xac_snapshot *snapshot)
{
        struct shared *shared = &snapshot->env->shared;
        int err = participant_join_with(&snapshot->self, shared, NULL);
        if (err != XAC_LIMIT)
                return err;
        takeover_dead(shared, control_owner_of_process(shared->process_no));
        return participant_join_with(&snapshot->self, shared, NULL);
}

static int begin(struct xac_snapshot *snapshot, uint64_t sequence)
{
        struct participant *self = &snapshot->self;
        if (sequence) {
                snapshot->sequence = sequence;
                return participant_join_snapshot(self, sequence);
        }
        snapshot->sequence = snapshot->flags & XAC_DURABLE ? participant_begin_durable(self) : participant_begin(self);
        participant_hold(self);
        return 0;
}

/* ---- open and close ---- */

static void list(struct xac_snapshot *snapshot)
{
        struct xac_env *env = snapshot->env;
        pthread_mutex_lock(&env->mutex);
        snapshot->next = env->snapshots;
        env->snapshots = snapshot;
        pthread_mutex_unlock(&env->mutex);
}

static void unlist_locked(const struct xac_snapshot *snapshot)
{
        struct xac_snapshot **link = &snapshot->env->snapshots;
        while (*link != snapshot)
                link = &(*link)->next;
        *link = snapshot->next;
}

/* sequence 0: the newest. */
static int open_as(struct xac_env *env, int flags, uint64_t sequence, xac_snapshot **out)
{
        if (env_is_forked(env))
                return XAC_FORKED;
        struct xac_snapshot *snapshot = calloc(1, sizeof(*snapshot));
        if (!snapshot)
                return -ENOMEM;
        registry_hold(env);
        snapshot->env = env;
        snapshot->flags = flags;
        int err = join(snapshot);
        if (err)
                goto fail_join;
        err = begin(snapshot, sequence);
        if (!err)
                err = files_check_rest(&env->files);
        if (err)
                goto fail_begin;
        handlers_look();
        mappings_prepare();
        list(snapshot);
        *out = snapshot;
        return 0;

fail_begin:
        participant_leave_with(&snapshot->self);
fail_join:
        free(snapshot);
        registry_release(env);
        return err;
}

int snapshot_open(struct xac_env *env, int flags, xac_snapshot **out)
{
        if (flags & ~XAC_DURABLE || (flags && !shared_is_durable(&env->shared)))
                return -EINVAL;
        return open_as(env, flags, 0, out);
}

int snapshot_open_at(struct xac_env *env, uint64_t sequence, xac_snapshot **out)
{
        return sequence ? open_as(env, 0, sequence, out) : -EINVAL;
}

int snapshot_refresh(const xac_snapshot *older, xac_snapshot **out)
{
        return open_as(older->env, older->flags, 0, out); /* its maps share what others show (snapshot_map_file) */
}

static void shelve_maps(struct xac_snapshot *snapshot)
{
        struct xac_env *env = snapshot->env;
        pthread_mutex_lock(&env->mutex);
        unlist_locked(snapshot);
        for (uint32_t i = 0; i < FILES_MAX; i++)
                if (snapshot->by_file[i])
                        snapshot_map_shelve_locked(snapshot->by_file[i]);
        pthread_mutex_unlock(&env->mutex);
}

/* By how much. */
static int count_user(xac_snapshot *snapshot, int change)
{
        struct xac_env *env = snapshot->env;
        if (env_is_forked(env))
                return XAC_FORKED;
        pthread_mutex_lock(&env->mutex);
        int err = change < 0 && !snapshot->users ? -EINVAL : 0;
        if (!err)
                snapshot->users += (uint32_t)change;
        pthread_mutex_unlock(&env->mutex);
        return err;
}

static bool is_used(const struct xac_snapshot *snapshot)
{
        pthread_mutex_lock(&snapshot->env->mutex);
        const bool is_any = snapshot->users != 0;
        pthread_mutex_unlock(&snapshot->env->mutex);
        return is_any;
}

int snapshot_retain(xac_snapshot *snapshot)
{
        return count_user(snapshot, 1);
}

int snapshot_release(xac_snapshot *snapshot)
{
        return count_user(snapshot, -1);
}

int snapshot_check(const xac_snapshot *snapshot)
{
        const struct xac_env *env = snapshot->env;
        if (env_is_forked(env))
                return XAC_FORKED;
        const int err = files_check_rest(&env->files);
        return err ? err : env->files.at_rest != NULL;
}

int snapshot_close(xac_snapshot *snapshot)
{
        struct xac_env *env = snapshot->env;
        if (env_is_forked(env)) {
                if (!snapshot->users)   /* else an arena still points to it */
                        free(snapshot); /* the maps are the parent's, and gone here */
                return XAC_FORKED;
        }
        if (is_used(snapshot))
                return -EBUSY;
        const int stale = files_check_rest(&env->files);
        shelve_maps(snapshot); /* nothing is shown any more that the row's end lets others change */
        participant_leave_with(&snapshot->self);
        free(snapshot);
        int err = registry_release(env);
        return stale ? stale : err;
}

/* ---- maps ---- */

/* What the newest snapshot shows of the file, of those that are no newer than ours. */
static const struct snapshot_map *find_older_locked(const struct xac_snapshot *snapshot, uint32_t file_no)
{
        const struct snapshot_map *found = NULL;
        for (const struct xac_snapshot *other = snapshot->env->snapshots; other; other = other->next) {
                const struct snapshot_map *map = other->by_file[file_no];
                if (map && map->sequence <= snapshot->sequence && (!found || map->sequence > found->sequence))
                        found = map;
        }
        return found;
}

static int map_file_locked(struct xac_snapshot *snapshot, uint32_t file_no)
{
        struct snapshot_map **map = &snapshot->by_file[file_no];
        if (*map)
                return 0;
        return snapshot_map_take_locked(snapshot->env, file_no, snapshot->sequence,
                                        find_older_locked(snapshot, file_no), map);
}

int snapshot_map_file(xac_snapshot *snapshot, const char *file, const void **base, size_t *byte_len)
{
        uint32_t file_no;
        struct xac_env *env = snapshot->env;
        if (env_is_forked(env))
                return XAC_FORKED;
        int err = files_open(&env->files, file, 0, &file_no);
        if (err)
                return err;
        pthread_mutex_lock(&env->mutex);
        err = map_file_locked(snapshot, file_no);
        const struct snapshot_map *map = snapshot->by_file[file_no];
        pthread_mutex_unlock(&env->mutex);
        if (err)
                return err;
        *base = map->regions.base;
        if (byte_len)
                *byte_len = map->file_len;
        return 0;
}

uint64_t snapshot_sequence(const xac_snapshot *snapshot)
{
        return snapshot->sequence;
}

/* ---- pages ---- */

int snapshot_find_file(xac_snapshot *snapshot, const char *file, xac_snapshot_file *found)
{
        struct xac_env *env = snapshot->env;
        if (env_is_forked(env))
                return XAC_FORKED;
        *found = (xac_snapshot_file){ .page_bytes = env->shared.control->page_bytes };
        int err = files_open(&env->files, file, 0, &found->number);
        if (!err)
                found->pages = files_byte_len(&env->files, found->number) >> env->shared.page_shift;
        return err;
}

const char *snapshot_page(const xac_snapshot *snapshot, uint32_t file_no, uint64_t page_no)
{
        struct xac_env *env = snapshot->env;
        const uint64_t page = page_id(file_no, page_no);
        uint64_t word = version_visible(&env->shared, page, snapshot->sequence);
        return files_version_bytes(&env->files, page, version_slot(word));
}

int snapshot_lend(xac_snapshot *snapshot, const void *page)
{
        struct xac_env *env = snapshot->env;
        return env_is_forked(env) ? XAC_FORKED : lending_lend(&env->shared, page);
}

void snapshot_take_back(xac_snapshot *snapshot, const void *page)
{
        if (!env_is_forked(snapshot->env)) /* a child has borrowed nothing */
                lending_take_back(&snapshot->env->shared, page);
}
