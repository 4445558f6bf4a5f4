/* SPDX-License-Identifier: MIT */
#include "libxac/retry.h"

#include <sched.h>

#include "base/sys.h"
#include "libxac/commit.h"

enum {
        YIELD_LOSSES = 3, /* after so many losses it no longer retries at once */
        BACK_OFF_MIN_NS = 1 << 10,
        BACK_OFF_MAX_NS = 1 << 20
};

static uint32_t next_random(struct thread *thread)
{
        /* xorshift (Marsaglia 2003) */
        thread->random ^= thread->random << 13;
        thread->random ^= thread->random >> 17;
        thread->random ^= thread->random << 5;
        return thread->random;
}

/* Waits a random time that doubles, at most, with each loss. */
static void back_off(struct thread *thread, int losses)
{
        if (losses <= YIELD_LOSSES) {
                sched_yield();
                return;
        }
        uint64_t most = (uint64_t)BACK_OFF_MIN_NS << (losses - YIELD_LOSSES);
        sys_sleep_ns(next_random(thread) % (most < BACK_OFF_MAX_NS ? most : BACK_OFF_MAX_NS));
}

/* The body is the program's code: faults are its own there. */
static int run_body(struct thread *thread, int (*body)(void *arg), void *arg)
{
        thread->is_in_library = false;
        int result = body(arg);
        thread->is_in_library = true;
        return result;
}

static int run_once(struct thread *thread, int flags, int (*body)(void *arg), void *arg)
{
        int err = txn_begin(&thread->txn, flags);
        if (err)
                return err;
        int result = run_body(thread, body, arg);
        if (!result)
                return txn_end(&thread->txn);
        txn_abort(&thread->txn);
        return result;
}

static int run_exclusively(struct thread *thread, int flags, int (*body)(void *arg), void *arg)
{
        int err = commit_exclude_others(&thread->self);
        if (err)
                return err;
        err = run_once(thread, flags, body, arg);
        commit_admit_others(&thread->self);
        return err;
}

int retry_run(struct thread *thread, int flags, int (*body)(void *arg), void *arg)
{
        int err = run_once(thread, flags, body, arg);
        if (txn_is_open(&thread->txn))
                return err; /* nested: the outermost level decides */
        for (int losses = 1; err == XAC_CONFLICT; losses++) {
                if (losses < RETRY_LOSSES_MAX) {
                        back_off(thread, losses);
                        err = run_once(thread, flags, body, arg);
                } else {
                        err = run_exclusively(thread, flags, body, arg);
                }
        }
        return err;
}
