/* SPDX-License-Identifier: MIT */

#include "labs/versions/acts.h"

#include <sched.h>
#include <string.h>
#include <time.h>

#include "labs/grader/access.h"
#include "labs/grader/grader.h"
#include "labs/grader/host.h"
#include "labs/grader/stops.h"

enum { STAND_TURNS = 200 };

static struct shared *shared(void)
{
        return host_memory(sizeof(struct shared));
}

static void watch(bool is_stepped)
{
        if (is_stepped)
                stops_watch(&shared()->store, sizeof(struct store), true);
}

static void unwatch(bool is_stepped)
{
        if (is_stepped)
                stops_watch(NULL, 0, false);
}

static size_t act_visible(const void *in, size_t in_len, void *out, size_t out_most)
{
        const struct visible *visible = in;
        (void)in_len;
        (void)out_most;
        watch(visible->is_stepped);
        int slot = version_visible(&shared()->store, visible->page, visible->snapshot);
        unwatch(visible->is_stepped);
        memcpy(out, &slot, sizeof(slot));
        return sizeof(slot);
}

static size_t act_reclaim(const void *in, size_t in_len, void *out, size_t out_most)
{
        const bool *is_stepped = in;
        (void)in_len;
        (void)out_most;
        watch(*is_stepped);
        int count = store_reclaim(&shared()->store);
        unwatch(*is_stepped);
        memcpy(out, &count, sizeof(count));
        return sizeof(count);
}

static size_t act_take(const void *in, size_t in_len, void *out, size_t out_most)
{
        const struct take *take = in;
        (void)in_len;
        (void)out_most;
        watch(take->is_stepped);
        long snapshot = snapshot_take(&shared()->store, take->reader);
        unwatch(take->is_stepped);
        memcpy(out, &snapshot, sizeof(snapshot));
        return sizeof(snapshot);
}

/* ------------------------------------------------------------------ crews */

static struct stumble role;

/* A reader stands until the writer has committed some times more; for a moment at most, should it stand, too. */
static void stand_for(long commits)
{
        const struct store *store = &shared()->store;
        long last = store->last_commit + commits;
        for (int turns = 0; turns < STAND_TURNS && store->last_commit < last; turns++)
                nanosleep(&(struct timespec){ 0, 10000 }, NULL);
}

static void stumble(const void *addr, size_t byte_len, bool is_write)
{
        (void)addr;
        (void)byte_len;
        (void)is_write;
        if (role.is_writer && role.is_steady)
                return;
        uint32_t chance = grader_random(24);
        if (chance == 0 && role.is_writer)
                nanosleep(&(struct timespec){ 0, 20000 + grader_random(60000) }, NULL);
        else if (chance == 0)
                stand_for(1 + grader_random(20));
        else if (chance == 1)
                sched_yield();
}

static size_t act_stumble(const void *in, size_t in_len, void *out, size_t out_most)
{
        (void)in_len;
        (void)out;
        (void)out_most;
        memcpy(&role, in, sizeof(role));
        access_watch(&shared()->store, sizeof(struct store), stumble);
        return 0;
}

static size_t act_read(const void *in, size_t in_len, void *out, size_t out_most)
{
        int reader;
        struct reading *reading = out;
        (void)in_len;
        (void)out_most;
        memcpy(&reader, in, sizeof(reader));
        reading->snapshot = snapshot_take(&shared()->store, reader);
        for (int page = 0; page < PAGES; page++)
                reading->slot[page] = version_visible(&shared()->store, page, reading->snapshot);
        return sizeof(*reading);
}

host_act *const host_acts[] = {
        [ACT_VISIBLE] = act_visible, [ACT_RECLAIM] = act_reclaim, [ACT_TAKE] = act_take,
        [ACT_STUMBLE] = act_stumble, [ACT_READ] = act_read,       NULL,
};
