/* SPDX-License-Identifier: MIT */

#include "labs/queue/acts.h"

#include <string.h>

#include "labs/grader/environment.h"
#include "labs/grader/host.h"
#include "labs/grader/stops.h"
#include "labs/queue/queue.h"

static struct queue *view;
static xac_env *env;

static void open_queue(void)
{
        if (view == NULL)
                view = environment_open("queue.xac", sizeof(*view), XAC_NOSYNC | XAC_STRICT, &env);
}

static size_t give_back(int err, void *out)
{
        memcpy(out, &err, sizeof(err));
        return sizeof(err);
}

static size_t act_watch(const void *in, size_t in_len, void *out, size_t out_most)
{
        enum watch watch;
        (void)in_len;
        (void)out;
        (void)out_most;
        memcpy(&watch, in, sizeof(watch));
        open_queue();
        if (watch == WATCH_STEPS)
                stops_watch(view, sizeof(*view), false);
        else if (watch == WATCH_STUMBLE)
                stops_stumble(view, sizeof(*view));
        else if (watch == WATCH_COUNT)
                stops_count(view, sizeof(*view));
        else
                stops_watch(NULL, 0, false);
        return 0;
}

static size_t act_put(const void *in, size_t in_len, void *out, size_t out_most)
{
        (void)in_len;
        (void)out_most;
        open_queue();
        return give_back(queue_put(env, view, *(const long *)in), out);
}

static size_t act_take(const void *in, size_t in_len, void *out, size_t out_most)
{
        struct taken taken = { 0, -1 };
        (void)in;
        (void)in_len;
        (void)out_most;
        open_queue();
        taken.err = queue_take(env, view, &taken.number);
        memcpy(out, &taken, sizeof(taken));
        return sizeof(taken);
}

static size_t act_done(const void *in, size_t in_len, void *out, size_t out_most)
{
        (void)in_len;
        (void)out_most;
        open_queue();
        return give_back(queue_done(env, view, *(const long *)in), out);
}

static size_t act_shut(const void *in, size_t in_len, void *out, size_t out_most)
{
        (void)in;
        (void)in_len;
        (void)out_most;
        open_queue();
        return give_back(queue_close(env, view), out);
}

static size_t act_close(const void *in, size_t in_len, void *out, size_t out_most)
{
        (void)in;
        (void)in_len;
        (void)out;
        (void)out_most;
        if (view != NULL)
                environment_close(env);
        view = NULL;
        return 0;
}

host_act *const host_acts[] = {
        [ACT_WATCH] = act_watch,
        [ACT_PUT] = act_put,
        [ACT_TAKE] = act_take,
        [ACT_DONE] = act_done,
        [ACT_SHUT] = act_shut,
        [ACT_CLOSE] = act_close,
        NULL,
};
