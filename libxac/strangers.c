/* SPDX-License-Identifier: MIT */
#include "libxac/strangers.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/say.h"
#include "base/sys.h"
#include "libxac/env.h"
#include "recovery/manifest.h"

static const char *const parts[] = { "control", "heads", "pool" };
enum { PARTS = sizeof(parts) / sizeof(parts[0]) };

/* Whether the name is there, and who has made it. */
static bool find_part(const struct shared_identity *identity, int part, char name[SHARED_NAME_BYTES], struct stat *st)
{
        shared_make_name(name, identity, parts[part]);
        return !sys_stat_at(AT_FDCWD, name, st);
}

static bool find_stranger(const struct shared_identity *identity, int part, char name[SHARED_NAME_BYTES],
                          struct stat *st)
{
        return find_part(identity, part, name, st) && !shared_is_trusted(st, identity);
}

void strangers_tell(const struct shared_identity *identity)
{
        char name[SHARED_NAME_BYTES];
        struct stat st;
        for (int i = 0; i < PARTS; i++)
                if (find_part(identity, i, name, &st) && st.st_uid != geteuid())
                        say(stderr,
                            "libxac: %s: %s belongs to user %u (permissions %04o), and this user can neither use nor "
                            "remove it. As root, 'xac clean %s' removes it, or says why not\n",
                            identity->path, name, (unsigned)st.st_uid, (unsigned)(st.st_mode & 07777), identity->path);
}

/* As much of it as the names and trust need. */
static int identify(int directory, struct shared_identity *identity)
{
        struct manifest manifest;
        struct stat st;
        int err = sys_stat(directory, &st);
        if (!err)
                err = manifest_read(directory, &manifest);
        if (err)
                return err;
        *identity = (struct shared_identity){ .device = st.st_dev,
                                              .inode = st.st_ino,
                                              .directory_owner = st.st_uid,
                                              .directory_group = st.st_gid,
                                              .mode = manifest.mode };
        return 0;
}

int strangers_are_there(int directory)
{
        struct shared_identity identity;
        char name[SHARED_NAME_BYTES];
        struct stat st;
        int err = identify(directory, &identity);
        bool is_any = false;
        for (int i = 0; i < PARTS && !err; i++)
                is_any |= find_stranger(&identity, i, name, &st);
        return err ? err : is_any;
}

/* Caller holds byte 0 of the lock file: until its name is free nobody else can have it. */
static int remove_all(const struct shared_identity *identity)
{
        char name[SHARED_NAME_BYTES];
        struct stat st;
        int err = 0;
        for (int i = 0; i < PARTS; i++) {
                if (!find_stranger(identity, i, name, &st))
                        continue;
                int this_err = S_ISDIR(st.st_mode) ? sys_rmdir(AT_FDCWD, name) : sys_unlink(AT_FDCWD, name);
                if (this_err && this_err != -ENOENT)
                        err = this_err;
        }
        return err;
}

int strangers_remove(int directory)
{
        struct shared_identity identity;
        int lock_fd;
        int err = sys_open(directory, ENV_LOCK_FILE, O_RDWR, 0, &lock_fd);
        if (err)
                return err;
        err = sys_lock_byte(lock_fd, 0, false);
        if (err == -EAGAIN)
                err = -EBUSY;
        if (!err)
                err = identify(directory, &identity);
        if (!err)
                err = remove_all(&identity);
        sys_close(lock_fd); /* and with it the lock */
        return err;
}
