/* SPDX-License-Identifier: MIT */
#include "tools/xac/opening.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/sys.h"
#include "recovery/adopt.h"
#include "recovery/archive_format.h"
#include "recovery/manifest.h"
#include "tools/xac/place.h"

enum {
        XAC_ERRORS = -5000, /* and below: not of a system call */
        REFUSED = 1         /* a complaint was made */
};

/* Who opens it may have to make a piece of its log, or recover it. */
static bool is_others(const struct opening *opening, uid_t *owner)
{
        struct stat st;

        if (opening->is_forced || geteuid() != 0 || stat(opening->path, &st) || st.st_uid == 0)
                return false;
        *owner = st.st_uid;
        return true;
}

/* Of a copy it is not: that lies in another directory. */
static bool find_archive(const char *path, struct manifest_archive *archive)
{
        static struct manifest manifest;
        struct stat st;
        int directory;

        if (sys_open(AT_FDCWD, path, O_RDONLY | O_DIRECTORY, 0, &directory))
                return false;
        bool is_found = !manifest_read(directory, &manifest) && !sys_stat(directory, &st);
        sys_close(directory);
        *archive = manifest.archive;
        return is_found && archive->path[0] && !archive->is_left && archive->device == st.st_dev &&
               archive->inode == st.st_ino;
}

/* Who has it open meanwhile is the one to keep its archive. */
static bool is_in_use(const struct opening *opening)
{
        static struct place place;

        if (place_open(&place, opening->path) != TOOL_DONE)
                return false;
        const bool is_used = place_is_in_use(&place) == 1;
        place_close(&place);
        return is_used;
}

/* What the archive does not have yet would be given up. */
static bool may_go_without(const struct opening *opening, const struct manifest_archive *archive, const char *why)
{
        if (!opening->is_forced && !is_in_use(opening)) {
                tool_complain("%s: with its archive %s: %s; without it, log that it lacks would be given up: correct "
                              "that, or go on without it by --force",
                              opening->path, archive->path, why);
                return false;
        }
        tool_complain("%s: going on without its archive %s: %s", opening->path, archive->path, why);
        return true;
}

static int find_part(void *arg, const char *name)
{
        (void)arg;
        return strncmp(name, ARCHIVE_PREFIX, strlen(ARCHIVE_PREFIX)) == 0;
}

bool opening_is_archive(const char *path)
{
        int directory;

        if (sys_open(AT_FDCWD, path, O_RDONLY | O_DIRECTORY, 0, &directory))
                return false;
        const bool is_used = sys_list(directory, find_part, NULL) == 1;
        sys_close(directory);
        return is_used;
}

static int open_with(const struct manifest_archive *archive, const char *path, int flags, xac_env **env)
{
        const xac_options options = { .archive = archive->path,
                                      .archive_held_bytes = archive->held_bytes,
                                      .archive_flags = archive->flags };

        return xac_open(path, flags, &options, env);
}

static int open_as_it_is(const struct opening *opening, xac_env **env)
{
        static struct manifest_archive archive;
        const char *path = opening->path;
        const int flags = opening->may_adopt ? 0 : XAC_UNCHANGED;
        int err;

        if (find_archive(path, &archive)) {
                err = opening_is_archive(archive.path) ? open_with(&archive, path, flags, env) : -ENOENT;
                if (!err || err <= XAC_ERRORS)
                        return err;
                if (!may_go_without(opening, &archive, err == -ENOENT ? "it cannot be reached" : tool_explain(err)))
                        return REFUSED;
        }
        err = xac_open(path, flags, NULL, env);
        return err == -EINVAL && opening->may_be_volatile ? xac_open(path, flags | XAC_VOLATILE, NULL, env) : err;
}

/* It was refused because others have changed it, or may have. */
static bool is_changed(const struct opening *opening)
{
        static struct place place;
        uint32_t file_no = 0;

        if (place_open_with_manifest(&place, opening->path) != TOOL_DONE)
                return false;
        const bool is_at_rest = place.manifest.is_clean && place.manifest.buffer < 0;
        const int err = adopt_find_changed(place.directory, &place.manifest, 0, &file_no);
        const bool is_found = is_at_rest && !err && file_no < place.manifest.file_count;
        place_close(&place);
        return is_found;
}

/* At rest it can be read by whoever may read its files, and nothing is made in it. */
static int open_to_read(const struct opening *opening, xac_env **env)
{
        if (opening->writes)
                return -EACCES;
        return xac_open(opening->path, XAC_RDONLY | (opening->may_adopt ? 0 : XAC_UNCHANGED), NULL, env);
}

/* This user, and here. */
static bool may_only_read(const struct opening *opening)
{
        char name[PATH_MAX];

        if (snprintf(name, sizeof(name), "%s/" PLACE_LOCK_FILE, opening->path) >= (int)sizeof(name))
                return false;
        return faccessat(AT_FDCWD, name, W_OK, AT_EACCESS) && (errno == EACCES || errno == EROFS);
}

static enum tool_exit judge_opened(const struct opening *opening, int err)
{
        if (!err)
                return TOOL_DONE;
        if (err == REFUSED)
                return TOOL_FAILED;
        if (err == XAC_CORRUPT && !opening->may_adopt && is_changed(opening)) {
                tool_complain("%s: not as it was closed: changed by others, damaged, or of another moment: 'xac check' "
                              "says what; to take it as it is, open it once with a program",
                              opening->path);
                return TOOL_CHANGED;
        }
        if (err == XAC_CORRUPT && !opening->may_adopt)
                tool_complain("%s: damaged, or not as it was closed: 'xac check' says where; to take what others "
                              "have changed as it is, open it once with a program",
                              opening->path);
        else if (err == -ENOENT && access(opening->path, F_OK) == 0)
                tool_complain("%s is no environment: it has no " MANIFEST_NAME, opening->path);
        else
                tool_complain("%s: %s%s", opening->path, tool_explain(err),
                              err == -EINVAL ? " (programs have it open with XAC_VOLATILE?)" : "");
        return TOOL_FAILED;
}

/* Root takes part in nobody's environment. At rest it may read it, and the owner's opens wait meanwhile. */
static enum tool_exit open_of_another(const struct opening *opening, uid_t owner, xac_env **env)
{
        const int err = opening->stays || is_in_use(opening) ? -EACCES : open_to_read(opening, env);

        if (err != -EACCES && err != -EBUSY && err != -EUCLEAN)
                return judge_opened(opening, err);
        tool_complain("%s belongs to user %u, who could not open files that root makes in it: run 'xac %s' as that "
                      "user, or with --force",
                      opening->path, (unsigned)owner, opening->command);
        return TOOL_FAILED;
}

enum tool_exit opening_open(const struct opening *opening, xac_env **env)
{
        uid_t owner;
        if (is_others(opening, &owner))
                return open_of_another(opening, owner, env);
        int err = may_only_read(opening) ? open_to_read(opening, env) : open_as_it_is(opening, env);
        if (err == -EACCES || err == -EROFS) /* it has no lock file */
                err = open_to_read(opening, env);
        return judge_opened(opening, err);
}
