/* SPDX-License-Identifier: MIT */
#include "tools/xac/serve_moments.h"

#include <errno.h>
#include <stddef.h>

static bool may_be_shared(const struct serve_moment *moment, uint64_t now_ms)
{
        return moment->responses && !moment->is_ending && moment->newest_ms &&
               now_ms - moment->newest_ms < SERVE_MOMENT_SHARED_MS;
}

static bool is_of(const struct serve_moment *moment, uint64_t sequence)
{
        return moment->snapshot && !moment->is_ending && xac_snapshot_sequence(moment->snapshot) == sequence;
}

/* The newest one, and none that is older than what the client has, so that nobody sees less than before. */
static struct serve_moment *find_shared(struct serve_moments *moments, uint64_t least, uint64_t now_ms)
{
        struct serve_moment *newest = NULL;

        for (unsigned i = 0; i < SERVE_MOMENTS_MAX; i++) {
                struct serve_moment *moment = &moments->moment[i];

                if (may_be_shared(moment, now_ms) && xac_snapshot_sequence(moment->snapshot) >= least &&
                    (!newest || moment->newest_ms > newest->newest_ms))
                        newest = moment;
        }
        return newest;
}

static struct serve_moment *find_of(struct serve_moments *moments, uint64_t sequence)
{
        for (unsigned i = 0; i < SERVE_MOMENTS_MAX; i++)
                if (is_of(&moments->moment[i], sequence))
                        return &moments->moment[i];
        return NULL;
}

static struct serve_moment *find_free(struct serve_moments *moments)
{
        for (unsigned i = 0; i < SERVE_MOMENTS_MAX; i++)
                if (!moments->moment[i].snapshot)
                        return &moments->moment[i];
        return NULL;
}

/* Where nothing was committed since, a moment is of that commit already: it has held nothing back until now. */
static int open_another(struct serve_moments *moments, uint64_t sequence, uint64_t now_ms, struct serve_moment **opened)
{
        struct serve_moment *place = find_free(moments);
        xac_snapshot *snapshot;
        int err = sequence ? xac_snapshot_open_at(moments->env, sequence, &snapshot)
                           : xac_snapshot_open(moments->env, 0, &snapshot);

        moments->is_stale |= !sequence && err == -ESTALE;
        if (err)
                return err;
        *opened = find_of(moments, xac_snapshot_sequence(snapshot));
        if (*opened || !place)
                xac_snapshot_close(snapshot);
        else
                *(*opened = place) = (struct serve_moment){ .snapshot = snapshot,
                                                            .opened_ms = now_ms,
                                                            .is_stale = &moments->is_stale };
        if (*opened && !sequence)
                (*opened)->opened_ms = (*opened)->newest_ms = now_ms;
        return *opened ? 0 : -EMFILE;
}

int serve_moments_take(struct serve_moments *moments, uint64_t sequence, uint64_t least, uint64_t now_ms,
                       struct serve_moment **taken)
{
        struct serve_moment *moment = sequence ? find_of(moments, sequence) : find_shared(moments, least, now_ms);
        int err = moment ? 0 : open_another(moments, sequence, now_ms, &moment);

        if (err)
                return err;
        moment->responses++;
        *taken = moment;
        return 0;
}

static void close_unused(struct serve_moment *moment)
{
        if (moment->responses || moment->bases)
                return;
        if (xac_snapshot_close(moment->snapshot) == -ESTALE)
                *moment->is_stale = true;
        *moment = (struct serve_moment){ .snapshot = NULL };
}

void serve_moment_keep(struct serve_moment *moment)
{
        moment->responses--;
        moment->bases++;
}

void serve_moment_leave(struct serve_moment *moment)
{
        if (!moment)
                return;
        moment->responses--;
        close_unused(moment);
}

void serve_moment_forget(struct serve_moment *moment)
{
        if (!moment)
                return;
        moment->bases--;
        close_unused(moment);
}

struct serve_moment *serve_moments_oldest(struct serve_moments *moments)
{
        struct serve_moment *oldest = NULL;

        for (unsigned i = 0; i < SERVE_MOMENTS_MAX; i++) {
                struct serve_moment *moment = &moments->moment[i];

                if (moment->snapshot && (!oldest || moment->opened_ms < oldest->opened_ms))
                        oldest = moment;
        }
        return oldest;
}

bool serve_moments_are_all_used(const struct serve_moments *moments)
{
        for (unsigned i = 0; i < SERVE_MOMENTS_MAX; i++)
                if (!moments->moment[i].snapshot)
                        return false;
        return true;
}
