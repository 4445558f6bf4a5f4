/* SPDX-License-Identifier: MIT */
#ifndef TRACE_TRACE_H
#define TRACE_TRACE_H

/*
 * A process' part in a trace: a track for each thread that records, and a thread that collects, if no other process'
 * does.
 *
 *      recorder      a track, as its thread writes it
 *      rings         the shared memory, and the file's header
 *      collector     from the rings to the file
 */

#include <stdint.h>

#include "trace/recorder.h"
#include "trace/trace_format.h"

struct trace;

/* Records into a file, which is created, or goes on where it ends. -EEXIST: it is something else; -ESTALE: a trace of
 * an earlier boot; -EBUSY: another version of the library records there; -ENOMEM, -ENOSPC, other -errno. */
int trace_open(const char *path, uint64_t most_bytes, struct trace **trace);
/* When it returns, what this process has recorded is in the file, or will be by another's collector. */
void trace_close(struct trace *trace);
/* In a forked child: what it has inherited is let go. */
void trace_forget_in_child(struct trace *trace);

/* A track begins: `at` and `flags` and all that is known of it stand in *track. NULL: there is no ring left, or no
 * memory, which the trace counts. */
struct recorder *trace_track_begin(struct trace *trace, const struct trace_track *track);
void trace_track_end(struct recorder *recorder);

/* For who reads it: what was recorded up to now is in the file when this has returned, also of killed processes. */
int trace_settle(const char *path);

#endif
