/* SPDX-License-Identifier: MIT */
#include "tools/xac/serve_moments.h"

#include <errno.h>
#include <stddef.h>

static bool may_be_shared(const struct serve_moment *moment, uint64_t now_ms)
{
        return moment->responses && now_ms - moment->opened_ms < SERVE_MOMENT_SHARED_MS;
}

static bool is_of(const struct serve_moment *moment, uint64_t sequence)
{
        return moment->snapshot && xac_snapshot_sequence(moment->snapshot) == sequence;
}

static struct serve_moment *find(struct serve_moments *moments, uint64_t sequence, uint64_t now_ms)
{
        for (unsigned i = 0; i < SERVE_MOMENTS_MAX; i++) {
                struct serve_moment *moment = &moments->moment[i];

                if (sequence ? is_of(moment, sequence) : may_be_shared(moment, now_ms))
                        return moment;
        }
        return NULL;
}

static int open_another(struct serve_moments *moments, uint64_t now_ms, struct serve_moment **opened)
{
        for (unsigned i = 0; i < SERVE_MOMENTS_MAX; i++) {
                struct serve_moment *moment = &moments->moment[i];

                if (moment->snapshot)
                        continue;
                *opened = moment;
                moment->opened_ms = now_ms;
                return xac_snapshot_open(moments->env, 0, &moment->snapshot);
        }
        return -EMFILE;
}

int serve_moments_take(struct serve_moments *moments, uint64_t sequence, uint64_t now_ms, struct serve_moment **taken)
{
        struct serve_moment *moment = find(moments, sequence, now_ms);
        int err = 0;

        if (!moment)
                err = sequence ? -ESTALE : open_another(moments, now_ms, &moment);
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
        xac_snapshot_close(moment->snapshot);
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

const struct serve_moment *serve_moments_oldest(const struct serve_moments *moments)
{
        const struct serve_moment *oldest = NULL;

        for (unsigned i = 0; i < SERVE_MOMENTS_MAX; i++) {
                const struct serve_moment *moment = &moments->moment[i];

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
