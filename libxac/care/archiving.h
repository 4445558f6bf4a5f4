/* SPDX-License-Identifier: MIT */
#ifndef LIBXAC_CARE_ARCHIVING_H
#define LIBXAC_CARE_ARCHIVING_H

/*
 * The archive of an environment that is in use (xac_options.archive): a thread of each process copies segments of the
 * log there when they are full and durable, whichever thread comes first; whoever closes the environment as the last
 * copies the rest.
 *
 * R33  A segment is recycled only when the archive has it, on disk: checkpoints recycle up to log_table.held, which
 *      moves when a part's file and its name are synced. What a session that did not end in a close has left is
 *      archived by the next open, after recovery has decided what it is and before the log is given up: so the
 *      archive never has what the environment does not, and lacks nothing silently (archive_line.h).
 *
 * Committers never wait for the archive. While it takes nothing the log grows, up to archive_held_bytes; then commits
 * get -ENOSPC, or the oldest half of what is held is dropped, and remains a gap.
 *
 * The archive's lock is the process's, and guards nothing half-done: a part that is there already is found to be so.
 */

#include "libxac/store/env.h"

/* Makes the archive's path absolute. -ENOENT, -ENOTDIR, -ENAMETOOLONG; -EINVAL with XAC_VOLATILE. */
int archiving_identify(struct xac_env *env, const xac_options *options);
/* Others have the environment open: -EINVAL, detached, if they have another archive, or none while we want one. */
int archiving_check_joined(struct xac_env *env);

/* After recovery, and before the log begins anew: archives what the last session has left. -EEXIST: the archive is of
 * another environment, or of another history. Other failures count only without XAC_ARCHIVE_DROP. */
int archiving_catch_up(struct xac_env *env, const struct manifest *manifest);
/* The session that begins is to be archived. */
void archiving_begin(struct xac_env *env, const struct manifest *manifest);

/* Without the thread (-EAGAIN) the archive waits for another process, or for the close. */
void archiving_start(struct xac_env *env);
void archiving_stop(struct xac_env *env);
/* Wakes the thread if there is something to do. Now and then, by the background thread (duty.h). */
void archiving_call(struct xac_env *env);

/* Everything up to the log's end, by the last to close. */
int archiving_finish(struct xac_env *env);

#endif
