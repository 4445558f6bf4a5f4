/* SPDX-License-Identifier: MIT */
#ifndef LIBXAC_STORE_ENV_H
#define LIBXAC_STORE_ENV_H

/*
 * An open environment: the directory, this process's attachment to the shared memory, and the
 * threads of this process that use it. One object per directory and process, counted. Made by
 * open.c, left by close.c, listed in registry.c.
 */

#include <pthread.h>
#include <stdbool.h>
#include <xac/xac.h>

#include "libxac/ground/shared.h"
#include "libxac/store/chunks.h"
#include "libxac/store/files.h"

#define ENV_LOCK_FILE "xac.lock"

struct thread;
struct snapshot_map;
struct recorder;
struct trace;
struct at_rest;

struct xac_env {
        struct shared shared;
        struct files files;
        struct shared_identity identity;
        int directory;
        int flags;
        struct at_rest *at_rest; /* as which it is open (reading.h); NULL: it is not */
        uint32_t opens;          /* by the program, */
        uint32_t holds;          /* and by its snapshots (registry.h) */
        int (*close_last)(struct xac_env *env);
        volatile uint32_t *fork_guard; /* on a page that the kernel wipes in a forked child */
        void (*progress)(void *arg, const char *what, uint64_t done, uint64_t total);
        void *progress_arg;
        struct chunks chunks;  /* memory for readers' copies */
        pthread_mutex_t mutex; /* of the following lists */
        struct thread *threads;
        struct xac_snapshot *snapshots; /* open ones */
        struct snapshot_map *shelf;     /* maps of closed ones, to be used again */
        pthread_t duty_thread;          /* duty.c */
        bool has_duty_thread;
        _Atomic bool duty_stops;
        _Atomic uint32_t duty_runs; /* futex word: the thread has begun */
        pthread_t archive_thread;   /* archiving.c */
        bool has_archive_thread;
        _Atomic bool archive_stops;
        _Atomic uint32_t archive_calls; /* futex word: how often the thread was called */
        int archive_err;                /* of the last close */
        struct snapshots *duty_seen;    /* its room for looks at all rows */
        struct recorder *duty_recorder; /* its track (tracing.h) */
        struct trace *trace;            /* NULL: none */
        struct xac_env *next;
};

static inline bool env_is_forked(const struct xac_env *env)
{
        return !*env->fork_guard;
}

#endif
