/* SPDX-License-Identifier: MIT */
#ifndef LIBXAC_CARE_ARCHIVE_PLACE_H
#define LIBXAC_CARE_ARCHIVE_PLACE_H

/*
 * Which directory the archive of an environment is (archiving.h).
 *
 * R40. An archive may be a disk of its own. Where that is not mounted there is another directory of the same name, and
 * what is written there is lost to who looks for it on the disk. So the archive has a marker
 * (recovery/archive_marker.h), the manifest remembers its id and its path, and each time before something is written
 * the marker is read.
 *      1. The marker is durable before the manifest remembers it: else none of that id might ever be there.
 *      2. A directory of the remembered path that has no marker, or another one, is refused. Another path is somebody's
 *         choice: a new archive begins.
 *      3. Who remembers none takes a marker of its own uuid: somebody died after 1. Without a marker it takes what
 *         looks like an archive, of before there were markers, and marks it.
 */

#include <stdbool.h>

#include "libxac/ground/control.h"
#include "libxac/store/env.h"
#include "recovery/archive.h"

/* One line on standard error, as codes do not tell an error of the archive from one of the environment; err. */
int archive_place_refuse(const struct xac_env *env, int err, const char *archive, const char *why);
/* -errno in words that say what to do. */
const char *archive_place_why(int err);

/* Where a path leads whose directory is not there: by malloc; NULL: not even that can be told. */
char *archive_place_away(const char *path);

/* Is the directory the archive to go on with? Told, if it is not. */
int archive_place_recognize(struct xac_env *env, const struct manifest *manifest, int directory);
/* For tests alone, which record the writes to one directory: the environment itself will do. */
extern bool archive_place_may_be_own;
/* Marks it, if it has no marker. */
void archive_place_mark(struct xac_env *env, const struct archive *archive, const struct manifest *manifest);
/* Is it the one that it was when the environment was opened? 0; -ENOENT; -errno. */
int archive_place_check(const struct control *control, int directory);

#endif
