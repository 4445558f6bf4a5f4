/* SPDX-License-Identifier: MIT */
#include "libxac/care/strangers.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/byte_lock.h"
#include "base/say.h"
#include "base/sys.h"
#include "libxac/store/env.h"
#include "recovery/manifest.h"

static const char *const parts[] = { "control", "heads", "pool" };
enum { PARTS = sizeof(parts) / sizeof(parts[0]) };

/* Whether the name is there, and who has made it. */
static bool find_part(const struct shared_identity *identity, int part, char name[SHARED_NAME_BYTES], struct stat *st)
{
        shared_make_name(name, identity, parts[part]);
        return !sys_stat_at(AT_FDCWD, name, st);
}

/* Who has made the environment's files is no stranger to it, although the directory may be another user's. */
static bool owns_files(int directory, uid_t user)
{
        static const char *const names[] = { ENV_LOCK_FILE, MANIFEST_NAME };
        for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
                struct stat st;
                if (!sys_stat_at(directory, names[i], &st) && S_ISREG(st.st_mode) && st.st_uid == user)
                        return true;
        }
        return false;
}

static bool find_stranger(const struct shared_identity *identity, int directory, int part, char name[SHARED_NAME_BYTES],
                          struct stat *st)
{
        return find_part(identity, part, name, st) && !shared_is_trusted(st, identity) &&
               !owns_files(directory, st->st_uid);
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
                is_any |= find_stranger(&identity, directory, i, name, &st);
        return err ? err : is_any;
}

/* Caller holds byte 0 of the lock file, so nobody makes a part meanwhile. */
static int remove_all(const struct shared_identity *identity, int directory)
{
        char name[SHARED_NAME_BYTES];
        struct stat st;
        int err = 0;
        for (int i = 0; i < PARTS; i++) {
                if (!find_stranger(identity, directory, i, name, &st))
                        continue;
                int this_err = S_ISDIR(st.st_mode) ? sys_rmdir(AT_FDCWD, name) : sys_unlink(AT_FDCWD, name);
                if (this_err && this_err != -ENOENT)
                        err = this_err;
        }
        return err;
}

/* Only who may write to the environment can lock its bytes (base/byte_lock.h), so no stranger holds this up. */
static int hold(int lock_fd)
{
        int err = sys_lock_byte(lock_fd, 0, false);
        int in_use = err ? 0 : sys_is_range_locked(lock_fd, 1, BYTE_LOCK_TURN - 1);
        if (err == -EAGAIN || in_use > 0)
                return -EBUSY;
        return err ? err : in_use;
}

/* Root makes it for those whom the manifest belongs to. */
static int make_lock_file(int directory, const struct shared_identity *identity, int *lock_fd)
{
        const mode_t mode = byte_lock_mode((mode_t)identity->mode);
        struct stat st;
        int err = sys_stat_at(directory, MANIFEST_NAME, &st);
        if (!err)
                err = sys_open(directory, ENV_LOCK_FILE, O_RDWR | O_CREAT | O_EXCL, mode, lock_fd);
        if (err)
                return err;
        err = sys_chown(*lock_fd, st.st_uid, st.st_gid);
        if (!err || err == -EPERM)
                err = sys_chmod(*lock_fd, mode);
        if (err)
                sys_close(*lock_fd);
        return err;
}

/* A copy of data and manifest has no lock file. Who opens it meanwhile would make one, and then shared memory, whose
 * names nobody may take away. */
static int open_lock_file(int directory, const struct shared_identity *identity, int *lock_fd)
{
        int err = sys_open(directory, ENV_LOCK_FILE, O_RDWR, 0, lock_fd);
        if (err == -ENOENT)
                err = make_lock_file(directory, identity, lock_fd);
        return err == -EEXIST ? sys_open(directory, ENV_LOCK_FILE, O_RDWR, 0, lock_fd) : err;
}

int strangers_remove(int directory)
{
        struct shared_identity identity;
        int lock_fd;
        int err = identify(directory, &identity);
        if (!err)
                err = open_lock_file(directory, &identity, &lock_fd);
        if (err)
                return err;
        err = hold(lock_fd);
        if (!err)
                err = remove_all(&identity, directory);
        sys_close(lock_fd); /* and with it the lock */
        return err;
}
