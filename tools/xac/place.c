/* SPDX-License-Identifier: MIT */
#include "tools/xac/place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <xac/xac.h>

#include "backup/backup_index.h"
#include "base/byte_lock.h"
#include "base/sys.h"

/* Who may only read the environment may not open it, but its locks can be seen all the same. */
static int open_lock_file(struct place *place)
{
        struct byte_lock_file *lock = &place->lock;
        struct stat st;
        int err = sys_stat_at(place->directory, PLACE_LOCK_FILE, &st);

        place->has_lock_file = !err;
        place->may_lock = false;
        *lock = (struct byte_lock_file){ .fd = -1 };
        if (err)
                return err == -ENOENT ? 0 : err; /* a copy of data and manifest */
        lock->device = st.st_dev;
        lock->inode = st.st_ino;
        err = sys_open(place->directory, PLACE_LOCK_FILE, O_RDWR, 0, &lock->fd);
        place->may_lock = !err;
        if (err == -EROFS)
                err = sys_open(place->directory, PLACE_LOCK_FILE, O_RDONLY, 0, &lock->fd);
        if (err)
                lock->fd = -1;
        return err == -EACCES || err == -EPERM ? 0 : err;
}

enum tool_exit place_open(struct place *place, const char *path)
{
        int err = sys_open(AT_FDCWD, path, O_RDONLY | O_DIRECTORY, 0, &place->directory);

        place->path = path;
        if (err) {
                tool_complain("%s: %s", path, tool_explain(err));
                return TOOL_FAILED;
        }
        err = sys_stat(place->directory, &place->st);
        if (!err)
                err = open_lock_file(place);
        if (!err)
                return TOOL_DONE;
        tool_complain("%s/" PLACE_LOCK_FILE ": %s", path, tool_explain(err));
        sys_close(place->directory);
        return TOOL_FAILED;
}

void place_complain_of_none(const struct place *place)
{
        struct stat st;

        if (!sys_stat_at(place->directory, BACKUP_INDEX_NAME, &st))
                tool_complain("%s is a backup that goes on from another ('xac stat' says from which): 'xac restore' "
                              "puts them together",
                              place->path);
        else
                tool_complain("%s is no environment: it has no " MANIFEST_NAME, place->path);
}

static void complain_of_manifest(const struct place *place, int err)
{
        const char *path = place->path;

        if (err == -ENOENT)
                place_complain_of_none(place);
        else if (err == XAC_CORRUPT)
                tool_complain("%s/" MANIFEST_NAME " is damaged ('xac check' says how)", path);
        else
                tool_complain("%s/" MANIFEST_NAME ": %s", path, tool_explain(err));
}

enum tool_exit place_open_with_manifest(struct place *place, const char *path)
{
        enum tool_exit result = place_open(place, path);
        int err;

        if (result != TOOL_DONE)
                return result;
        err = manifest_read(place->directory, &place->manifest);
        if (!err)
                return TOOL_DONE;
        complain_of_manifest(place, err);
        place_close(place);
        return TOOL_FAILED;
}

void place_close(struct place *place)
{
        if (place->lock.fd >= 0)
                sys_close(place->lock.fd); /* and with it the lock */
        sys_close(place->directory);
}

int place_is_in_use(const struct place *place)
{
        return place->has_lock_file ? byte_lock_is_held(&place->lock, 1, BYTE_LOCK_TURN - 1) : 0;
}

/* In the order of an open: the byte first, then a look at the others. */
static int hold(struct place *place, int (*lock_byte)(int fd, uint64_t offset, bool wait))
{
        int err = 0;
        int in_use;

        if (place->may_lock)
                err = lock_byte(place->lock.fd, 0, false);
        else if (place->has_lock_file)
                err = byte_lock_is_held(&place->lock, 0, 1);
        if (err)
                return err == -EAGAIN || err > 0 ? -EBUSY : err;
        in_use = place_is_in_use(place);
        return in_use > 0 ? -EBUSY : in_use;
}

int place_hold(struct place *place)
{
        return hold(place, sys_lock_byte);
}

int place_hold_to_look(struct place *place)
{
        return hold(place, sys_share_byte);
}

int place_make_lock_file(struct place *place)
{
        int err;

        if (place->has_lock_file)
                return 0;
        err = sys_open(place->directory, PLACE_LOCK_FILE, O_RDWR | O_CREAT,
                       byte_lock_mode((mode_t)place->manifest.mode), &place->lock.fd);
        place->may_lock = place->has_lock_file = !err;
        if (err)
                place->lock.fd = -1;
        return err;
}

int place_open_log(const struct place *place, struct log_reader **reader)
{
        const struct manifest *manifest = &place->manifest;
        struct log_range range = { .segment_bytes = manifest->segment_bytes,
                                   .position = manifest->redo_position,
                                   .incarnation = manifest->incarnation };

        memcpy(range.uuid, manifest->uuid, sizeof(range.uuid));
        return log_reader_open(place->directory, &range, reader);
}

const char *place_file_name(const struct place *place, uint64_t file_no)
{
        static char unknown[40];

        if (file_no < place->manifest.file_count)
                return place->manifest.file_name[file_no];
        snprintf(unknown, sizeof(unknown), "(file %llu)", (unsigned long long)file_no);
        return unknown;
}

bool place_remembers_archive(const struct place *place)
{
        const struct manifest_archive *archive = &place->manifest.archive;

        return archive->path[0] && archive->device == place->st.st_dev && archive->inode == place->st.st_ino;
}

bool place_has_archive(const struct place *place)
{
        return place_remembers_archive(place) && !place->manifest.archive.is_left;
}
