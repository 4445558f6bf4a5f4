/* SPDX-License-Identifier: MIT */
#include "libxac/care/archive_place.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <xac/xac.h>

#include "backup/backup_index.h"
#include "base/say.h"
#include "base/sys.h"
#include "recovery/archive_marker.h"

enum { AWAY_LINKS = 8 };

/* Codes do not tell an error of the archive from one of the environment. */
int archive_place_refuse(const struct xac_env *env, int err, const char *archive, const char *why)
{
        say(stderr, "libxac: %s: archive %s: %s\n", env->identity.path, archive, why);
        return err;
}

const char *archive_place_why(int err)
{
        return err == -ENOENT   ? "it is not there: mount it, or make the directory"
               : err == -ENOSPC ? "no space left there"
                                : xac_strerror(err);
}

/* ---- A directory that is not there ---- */

static char *follow_away(const char *above, const char *target, int links);

/* Where a path leads whose directory is not there: by malloc; NULL: not even that can be told. */
static char *away_path(const char *path, int links)
{
        char target[CONTROL_PATH_BYTES], above[CONTROL_PATH_BYTES];
        const char *const slash = strrchr(path, '/');
        const char *const name = slash ? slash + 1 : path;
        char *parent, *whole = NULL;
        const ssize_t target_len = readlink(path, target, sizeof(target) - 1);
        if (!links || strlen(path) >= sizeof(above) || !*name || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
                return NULL;
        snprintf(above, sizeof(above), "%.*s", slash ? (int)(slash - path) + (slash == path) : 1, slash ? path : ".");
        if (target_len > 0) {
                target[target_len] = '\0';
                return follow_away(above, target, links);
        }
        parent = realpath(above, NULL);
        if (!parent && slash && slash != path)
                parent = away_path(above, links);
        if (parent && asprintf(&whole, "%s%s%s", parent, strcmp(parent, "/") ? "/" : "", name) < 0)
                whole = NULL;
        free(parent);
        return whole;
}

/* A symbolic link in `above` that leads nowhere. */
static char *follow_away(const char *above, const char *target, int links)
{
        char *next = NULL, *path;
        if (asprintf(&next, "%s%s%s", target[0] == '/' ? "" : above, target[0] == '/' ? "" : "/", target) < 0)
                return NULL;
        path = away_path(next, links - 1);
        free(next);
        return path;
}

char *archive_place_away(const char *path)
{
        return away_path(path, AWAY_LINKS);
}

/* ---- Which archive it is ---- */

bool archive_place_may_be_own;

/* Parts of a log have no business among files of which each is part of a whole. */
static int check_place(const struct xac_env *env, int directory)
{
        static const char *const taken[] = { MANIFEST_NAME, BACKUP_INDEX_NAME };
        const struct shared_identity *identity = &env->identity;
        struct stat st;
        int err = sys_stat(directory, &st);
        if (err)
                return archive_place_refuse(env, err, identity->archive, xac_strerror(err));
        const bool is_own = st.st_dev == identity->device && st.st_ino == identity->inode;
        if (is_own && archive_place_may_be_own)
                return 0;
        if (is_own)
                return archive_place_refuse(env, -EINVAL, identity->archive,
                                            "it is the environment itself: name a directory of its own");
        for (size_t i = 0; i < sizeof(taken) / sizeof(*taken); i++)
                if (!sys_stat_at(directory, taken[i], &st))
                        return archive_place_refuse(env, -EEXIST, identity->archive,
                                                    "an environment or a backup is there: name a directory of its own");
        return 0;
}

/* Does the manifest remember this one? A copy of the environment remembers that of another. */
static bool is_remembered(const struct shared_identity *identity, const struct manifest_archive *remembered)
{
        return remembered->device == identity->device && remembered->inode == identity->inode &&
               strcmp(remembered->path, identity->archive) == 0;
}

/* There is no marker. An archive of before there were markers has parts, or a lock file at least. */
static int check_unmarked(const struct xac_env *env, const struct manifest_archive *remembered, int directory)
{
        const struct shared_identity *identity = &env->identity;
        int signs;
        if (!is_remembered(identity, remembered))
                return 0;
        signs = archive_marker_has_signs(directory);
        if (signs < 0)
                return archive_place_refuse(env, signs, identity->archive, xac_strerror(signs));
        if (signs && !archive_id_is_known(remembered->marker))
                return 0;
        return archive_place_refuse(
                env, -ENOENT, identity->archive,
                "it is not mounted, or not the archive of before: mount it, or name another directory, or run "
                "'xac archive --new' on the environment to begin a new one there");
}

static int check_marked(struct xac_env *env, const struct manifest *manifest, const struct archive_marker *marker)
{
        struct shared_identity *identity = &env->identity;
        const struct manifest_archive *remembered = &manifest->archive;
        if (memcmp(marker->uuid, manifest->uuid, sizeof(marker->uuid)) != 0)
                return archive_place_refuse(env, -EEXIST, identity->archive,
                                            "of another environment: name a new directory");
        if (is_remembered(identity, remembered) && archive_id_is_known(remembered->marker) &&
            memcmp(marker->id, remembered->marker, sizeof(marker->id)) != 0)
                return archive_place_refuse(
                        env, -EEXIST, identity->archive,
                        "it is not the archive of before: mount that, or name another directory, or run 'xac "
                        "archive --new' on the environment to go on with this one");
        memcpy(identity->archive_marker, marker->id, sizeof(marker->id));
        return 0;
}

int archive_place_recognize(struct xac_env *env, const struct manifest *manifest, int directory)
{
        struct archive_marker marker;
        int err = check_place(env, directory);
        if (err)
                return err;
        err = archive_marker_read(directory, &marker);
        if (err == -ENOENT)
                return check_unmarked(env, &manifest->archive, directory);
        if (err)
                return archive_place_refuse(
                        env, err, env->identity.archive,
                        err == XAC_CORRUPT ? ARCHIVE_MARKER_NAME
                                " there is damaged: move it away, and run 'xac archive --new' on the environment"
                                           : xac_strerror(err));
        return check_marked(env, manifest, &marker);
}

/* It is durable before the manifest remembers it. Without one, as on a disk that is full, the archive is used like one
 * of before there were markers. */
void archive_place_mark(struct xac_env *env, const struct archive *archive, const struct manifest *manifest)
{
        struct archive_marker marker;
        if (archive_id_is_known(env->identity.archive_marker))
                return;
        memcpy(marker.uuid, manifest->uuid, sizeof(marker.uuid));
        if (!archive_marker_make(archive, &marker))
                memcpy(env->identity.archive_marker, marker.id, sizeof(marker.id));
}

/* ---- While it is in use ---- */

static int check_marker(const struct control *control, int directory)
{
        struct archive_marker marker;
        const int err = archive_marker_read(directory, &marker);
        if (!err && memcmp(marker.id, control->archive_marker, sizeof(marker.id)) != 0)
                return -ENOENT;
        return err;
}

/* Where an archive was unmounted, there is another directory of that name. Mounted again it may have another device
 * number: one that could not be marked has parts of this environment then. */
int archive_place_check(const struct control *control, int directory)
{
        char name[ARCHIVE_NAME_BYTES];
        struct archive_part newest;
        struct stat st;
        if (archive_id_is_known(control->archive_marker))
                return check_marker(control, directory);
        int err = sys_stat(directory, &st);
        if (err || !control->archive_inode)
                return err;
        if (st.st_dev == control->archive_device && st.st_ino == control->archive_inode)
                return 0;
        err = archive_newest(directory, &newest, name);
        if (!err && memcmp(newest.uuid, control->uuid, sizeof(newest.uuid)) != 0)
                err = -ENOENT;
        return err;
}
