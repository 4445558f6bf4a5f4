/* SPDX-License-Identifier: MIT */
#ifndef LIBXAC_PROCESS_THREAD_H
#define LIBXAC_PROCESS_THREAD_H

/*
 * A thread's use of one environment: its participation, its transaction and its views. Made when
 * the thread first calls, released when it exits or the environment is closed. Found through
 * thread-local storage, which the fault handler reads too (hence the initial-exec model).
 */

#include <stdbool.h>

#include "libxac/ground/thread_local.h"
#include "libxac/store/env.h"
#include "libxac/txn/txn.h"
#include "libxac/view/view_sync.h"

struct thread {
        struct xac_env *env; /* NULL: closed, to be freed by its thread */
        struct participant self;
        struct txn txn;
        struct views views;
        volatile bool is_in_library; /* a fault now is a bug, or a signal handler's (I8) */
        _Atomic bool is_asleep;      /* in xac_wait */
        uint32_t retains;            /* [registry lock] what it has open there, which a close would leave dangling */
        struct thread *next_in_env;
        struct thread *next_of_thread;
};

extern THREAD_TLS struct thread *thread_list;

/* What each thread needs that joins. Caller holds the registry's lock. -EAGAIN, with a line; -ENOMEM. */
int thread_prepare_locked(void);

/* The slow half of thread_of: looks further, or joins. */
int thread_find_or_join(struct xac_env *env, struct thread **thread);

/* This thread's use of the environment. XAC_FORKED, XAC_LIMIT, -ENOMEM, -ENOSPC. */
static inline int thread_of(struct xac_env *env, struct thread **thread)
{
        *thread = thread_list;
        if (*thread && (*thread)->env == env && !env_is_forked(env))
                return 0;
        return thread_find_or_join(env, thread);
}

/* This thread's view of a file; the same one again if there is one. Errors of files_open and view_create; -EBUSY: it
 * is to be shared, and the one that is there is not. */
int thread_map(struct thread *thread, const char *file, uint64_t byte_len, int flags, void **base);
/* XAC_NOVIEW; -EBUSY inside a transaction. */
int thread_unmap(struct thread *thread, const void *base);
/* Brings home what may go there now. */
int thread_checkpoint(struct thread *thread);
/* Returns once every earlier commit will outlive the machine. */
int thread_sync(struct thread *thread);

/* The view of this thread, in whichever environment, that covers an address; or NULL. */
struct view *thread_find_view(const void *addr, struct thread **thread);

/* The same, if it takes part already; else NULL. The environment may be closed by now: it is not looked at. */
struct thread *thread_find(const struct xac_env *env);

/* Undoes its transaction, releases its views, gives its row and slots back. Caller holds the
 * registry's lock. */
void thread_leave(struct thread *thread);
/* Frees this thread's closed ones. */
void thread_sweep(void);

#endif
