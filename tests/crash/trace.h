/* SPDX-License-Identifier: MIT */
#ifndef TESTS_CRASH_TRACE_H
#define TESTS_CRASH_TRACE_H

/*
 * What happened to the files of one directory, and what was promised about them, in one order.
 *
 * A trace lies in memory that all processes of a run share. Their events stand in one order, and
 * it is one in which they could have happened:
 *
 *      WRITE ... WRITTEN    the bytes may reach the disk, in any part, from WRITE on
 *      SYNC ... SYNCED      makes certain what was WRITTEN before SYNC
 *      FILE, LINK, RENAME, UNLINK, SIZE, EXTEND
 *                           under a lock of the trace, together with the call itself
 *
 * A process may be killed: what it was about to add is there or not, a call that it was in the middle of has not ended.
 *
 * A promise (REQUIRED) stands behind the event that made it true; a limit (ALLOWED) before the first
 * that could use it. Each is about one channel, and a value of it that only grows.
 */

#include <pthread.h>
#include <stdint.h>

enum trace_kind {
        TRACE_FILE,     /* `file` was made with the name that follows */
        TRACE_LINK,     /* two names follow: the old and the new */
        TRACE_RENAME,   /* likewise, and the new one was replaced if it was there */
        TRACE_UNLINK,   /* a name follows */
        TRACE_SIZE,     /* `file` was cut or extended to `value` bytes */
        TRACE_EXTEND,   /* `file` has at least `value` bytes now */
        TRACE_WRITE,    /* the bytes follow */
        TRACE_WRITTEN,  /* the write at place `begin` moved `value` bytes (or -errno) */
        TRACE_SYNC,     /* `file` (or the directory) is being synced */
        TRACE_SYNCED,   /* the sync at place `begin` succeeded */
        TRACE_BASE,     /* everything so far is on disk: where a crash is survived, not caused */
        TRACE_REQUIRED, /* from here on `channel` must have at least `value` */
        TRACE_ALLOWED,  /* and at most `value` */
        TRACE_KINDS
};

enum {
        TRACE_IS_DURABLE = 1, /* flag of WRITTEN: it returned when the bytes were on disk */
        TRACE_IS_UNSTABLE = 2 /* the bytes changed while they were being written */
};

struct trace_event {
        uint32_t kind;
        uint32_t flags;
        uint32_t bytes_len; /* of what follows the event */
        uint32_t channel;
        uint64_t file;   /* inode number */
        uint64_t offset; /* in the file */
        uint64_t begin;  /* the place of the event that this one ends */
        int64_t value;
        unsigned char bytes[];
};

enum { TRACE_CHANNELS = 16, TRACE_BRANCHES = 4 };

/* From commit `from` + 1 on, lane `lane` went on with another history (world.h). */
struct trace_branch {
        uint32_t lane;
        uint64_t from;
        uint64_t salt;
};

struct trace {
        uint64_t capacity;
        pthread_mutex_t adding;
        pthread_mutex_t order; /* held around calls that are told only when they are over */
        _Atomic uint64_t end;  /* beyond capacity: it did not fit, and the trace is worth nothing */
        uint32_t branch_count;
        char workload[32];
        uint64_t seed;
        uint64_t directory; /* inode number */
        struct trace_branch branches[TRACE_BRANCHES];
        _Alignas(64) unsigned char events[];
};

struct trace *trace_new(uint64_t capacity);
void trace_free(struct trace *trace);
void trace_clear(struct trace *trace);
int trace_is_full(const struct trace *trace);

/* Also if whoever held it has died. */
void trace_lock(pthread_mutex_t *mutex);

/* Adds an event with room for bytes_len bytes behind it, all zero but the kind: the caller fills in the rest before
 * anybody reads the trace. Never fails: what does not fit goes to a place of its own. */
struct trace_event *trace_add(struct trace *trace, enum trace_kind kind, uint32_t bytes_len);
uint64_t trace_place(const struct trace *trace, const struct trace_event *event);

void trace_required(struct trace *trace, uint32_t channel, uint64_t value);
void trace_allowed(struct trace *trace, uint32_t channel, uint64_t value);

/* The events in order: NULL begins, NULL ends. */
const struct trace_event *trace_next(const struct trace *trace, const struct trace_event *event);
uint64_t trace_count(const struct trace *trace);

/* The events, one line for each, for people. */
void trace_print(const struct trace *trace);

/* To a file and back; NULL if it is not one. */
void trace_save(const struct trace *trace, const char *path);
struct trace *trace_load(const char *path);

#endif
