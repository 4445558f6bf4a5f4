/* SPDX-License-Identifier: MIT */
#include "libxac/retry.h"

#include <errno.h>
#include <sched.h>

#include "base/sys.h"
#include "libxac/commit.h"
#include "libxac/unended.h"

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

/* A level that the body may leave by a C++ exception, pthread_exit or cancellation: then it is undone on the way. */
struct attempt {
        struct thread *thread;
        uint32_t outer_depth;
        bool is_left; /* in good order */
};

static void undo_if_thrown(struct attempt *attempt)
{
        struct thread *thread = attempt->thread;
        if (attempt->is_left)
                return;
        thread->is_in_library = true;
        txn_abort_to(&thread->txn, attempt->outer_depth);
        thread->is_in_library = false;
}

static int end_attempt(struct attempt *attempt, int result, const void *body)
{
        struct txn *txn = &attempt->thread->txn;
        attempt->is_left = true;
        if (result == -ECANCELED && txn->doom)
                result = txn->doom; /* a call has told the body that the transaction is lost: this is why */
        if (!result && txn->depth <= attempt->outer_depth + 1)
                return txn_end(txn);
        if (!result) {
                unended_tell_of_body(txn, body);
                result = XAC_UNENDED;
        }
        txn_abort_to(txn, attempt->outer_depth);
        return result;
}

static int run_once(struct thread *thread, int flags, int (*body)(void *arg), void *arg)
{
        const uint32_t outer_depth = thread->txn.depth;
        int err = txn_begin(&thread->txn, flags);
        if (err)
                return err;
        thread->txn.from = (const void *)(uintptr_t)body;
        __attribute__((cleanup(undo_if_thrown))) struct attempt attempt = { thread, outer_depth, false };
        int result = run_body(thread, body, arg);
        return end_attempt(&attempt, result, (const void *)(uintptr_t)body);
}

static void admit_others(struct participant **self)
{
        commit_admit_others(*self);
}

static int run_exclusively(struct thread *thread, int flags, int (*body)(void *arg), void *arg)
{
        int err = commit_exclude_others(&thread->self);
        if (err)
                return err;
        __attribute__((cleanup(admit_others))) struct participant *self = &thread->self;
        (void)self;
        return run_once(thread, flags, body, arg);
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
