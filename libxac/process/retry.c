/* SPDX-License-Identifier: MIT */
#include "libxac/process/retry.h"

#include <errno.h>
#include <xac/xac.h>

#include "libxac/process/unended.h"
#include "libxac/store/env.h"

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
        if (env_is_forked(thread->env)) { /* the transaction is the parent's */
                thread->is_in_library = false;
                return;
        }
        thread->is_in_library = true;
        txn_abort_to(&thread->txn, attempt->outer_depth);
        thread->is_in_library = false;
}

static int end_attempt(struct attempt *attempt, int result, const void *body)
{
        struct txn *txn = &attempt->thread->txn;
        attempt->is_left = true;
        if (env_is_forked(attempt->thread->env)) /* the body has forked: the transaction is the parent's */
                return XAC_FORKED;
        if (result == -ECANCELED && txn->doom)
                result = txn->doom; /* a call has told the body that the transaction is lost: this is why */
        if (!result && txn->depth <= attempt->outer_depth) /* the body has ended it; what is outside is the caller's */
                return txn->is_last_kept ? 0 : XAC_NOTXN;
        if (!result && txn->depth == attempt->outer_depth + 1)
                return txn_end(txn);
        if (!result) {
                unended_tell_of_body(txn, body);
                result = XAC_UNENDED;
        }
        if (files_check_rest(txn->files) == -ESTALE)
                result = -ESTALE; /* what the body complains of may be the work of who writes (R41) */
        txn_abort_for(txn, attempt->outer_depth, result);
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

/* A reader that asks for another attempt waits for something, and nobody for it (P3). */
int retry_run(struct thread *thread, int flags, int (*body)(void *arg), void *arg)
{
        struct txn *txn = &thread->txn;
        const bool is_nested = txn_is_open(txn);
        int err = run_once(thread, flags, body, arg);
        if (is_nested)
                return err; /* the outermost level decides; a wait may have ended it, too */
        for (uint32_t asked = 1; err == XAC_CONFLICT; asked++) {
                if (flags & XAC_RDONLY)
                        patience_back_off(&txn->patience, asked);
                err = run_once(thread, flags, body, arg);
        }
        return err;
}
