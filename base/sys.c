/* SPDX-License-Identifier: MIT */
#include "base/sys.h"

/*
 * The one place that talks to the kernel. Each function has the same three parts: the hook
 * that tests use to make the call fail, the call, and its translation to 0 or -errno. All of
 * it is repeated while the answer is -EINTR, whoever gave that answer.
 *
 * Nothing here allocates, locks or keeps state, since the fault handler comes through here.
 * errno is changed like by any other call: the handler saves it (I8).
 *
 * Calls that may block go through syscall(2): unlike their wrappers it is no cancellation point,
 * so that a cancelled thread never ends in the middle of the library, with a lock in its hand (tools/check-forbidden).
 */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <linux/magic.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include "base/low_descriptors.h"

sys_failure_hook sys_fail;
sys_record_hook sys_record;

static int injected(enum sys_call call, int fd, uint64_t offset, size_t byte_len)
{
        sys_failure_hook hook = sys_fail;

        return hook ? hook(call, fd, offset, byte_len) : 0;
}

static int status(long result)
{
        return result < 0 ? -errno : 0;
}

/* The two tellings of one call. */
static void record_begin(struct sys_change *change)
{
        if (__builtin_expect(sys_record != NULL, 0))
                sys_record(change);
}

static void record_end(struct sys_change *change, long result)
{
        if (__builtin_expect(sys_record != NULL, 0)) {
                change->is_done = true;
                change->result = result;
                sys_record(change);
                change->is_done = false;
        }
}

/* ---- Names ---- */

static int open_once(int directory, const char *name, int flags, mode_t mode, int *fd)
{
        struct low_descriptors low;
        int err = injected(SYS_OPEN, directory, 0, 0);

        if (err)
                return err;
        low_descriptors_hold(&low);
        *fd = low_descriptors_leave((int)syscall(SYS_openat, directory, name, flags | O_CLOEXEC, mode));
        low_descriptors_release(&low);
        return status(*fd);
}

static int open_recorded(int directory, const char *name, int flags, mode_t mode, int *fd)
{
        struct sys_change change = { .call = SYS_OPEN, .fd = directory, .name = name, .flags = flags };
        int err;

        record_begin(&change);
        err = open_once(directory, name, flags, mode, fd);
        record_end(&change, err ? err : *fd);
        return err;
}

int sys_open(int directory, const char *name, int flags, mode_t mode, int *fd)
{
        int err;

        if (!(flags & O_DIRECTORY))
                flags |= O_NOFOLLOW | O_NONBLOCK | O_NOCTTY; /* a FIFO must not hold us up */
        do {
                if (flags & (O_CREAT | O_TRUNC))
                        err = open_recorded(directory, name, flags, mode, fd);
                else
                        err = open_once(directory, name, flags, mode, fd);
        } while (err == -EINTR);
        return err;
}

void sys_close(int fd)
{
        /* Not repeated: Linux has released the descriptor even when it says EINTR. */
        (void)syscall(SYS_close, fd);
}

int sys_stat_at(int directory, const char *name, struct stat *st)
{
        int err;

        do {
                err = injected(SYS_STAT, directory, 0, 0);
                if (!err)
                        err = status(fstatat(directory, name, st, AT_SYMLINK_NOFOLLOW));
        } while (err == -EINTR);
        return err;
}

int sys_is_in_memory(int fd, bool *is_in_memory)
{
        struct statfs st;
        int err;

        do {
                err = injected(SYS_STAT, fd, 0, 0);
                if (!err)
                        err = status(fstatfs(fd, &st));
        } while (err == -EINTR);
        if (!err)
                *is_in_memory = st.f_type == TMPFS_MAGIC;
        return err;
}

int sys_space(const char *directory, uint64_t *all, uint64_t *unused)
{
        struct statfs st;
        int err;

        do {
                err = injected(SYS_STAT, AT_FDCWD, 0, 0);
                if (!err)
                        err = status(statfs(directory, &st));
        } while (err == -EINTR);
        if (!err) {
                *all = (uint64_t)st.f_blocks * (uint64_t)st.f_bsize;
                *unused = (uint64_t)st.f_bavail * (uint64_t)st.f_bsize;
        }
        return err;
}

void sys_path_of(int fd, char *path, size_t byte_len)
{
        char link[40];
        ssize_t length;

        snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
        length = readlink(link, path, byte_len);
        if (length < 0 || (size_t)length == byte_len)
                length = 0;
        path[length] = '\0';
}

/* The kernel's, with room. */
union handle {
        struct file_handle head;
        char bytes[sizeof(struct file_handle) + MAX_HANDLE_SZ];
};

int sys_handle_of(int fd, int32_t *type, void *bytes, uint32_t *byte_len)
{
        union handle handle = { .head = { .handle_bytes = *byte_len } };
        int unused_mount_id;
        int err;

        if (*byte_len > MAX_HANDLE_SZ)
                return -EINVAL;
        do {
                err = injected(SYS_STAT, fd, 0, 0);
                if (!err)
                        err = status(name_to_handle_at(fd, "", &handle.head, &unused_mount_id, AT_EMPTY_PATH));
        } while (err == -EINTR);
        if (err)
                return err;
        *type = handle.head.handle_type;
        *byte_len = handle.head.handle_bytes;
        memcpy(bytes, handle.head.f_handle, handle.head.handle_bytes);
        return 0;
}

int sys_open_handle(int where, int32_t type, const void *bytes, uint32_t byte_len, int *fd)
{
        union handle handle = { .head = { .handle_bytes = byte_len, .handle_type = type } };
        struct low_descriptors low;
        int err;

        if (byte_len > MAX_HANDLE_SZ)
                return -EINVAL;
        memcpy(handle.head.f_handle, bytes, byte_len);
        do {
                err = injected(SYS_OPEN, where, 0, 0);
                if (err)
                        continue;
                low_descriptors_hold(&low);
                *fd = low_descriptors_leave(
                        (int)syscall(SYS_open_by_handle_at, where, &handle.head, O_PATH | O_CLOEXEC));
                low_descriptors_release(&low);
                err = status(*fd);
        } while (err == -EINTR);
        return err;
}

#ifndef STATX_MNT_ID_UNIQUE
#define STATX_MNT_ID_UNIQUE 0x4000U /* Linux 6.8 */
#endif

int sys_mount_of(int fd, uint64_t *type, uint64_t *mount_id)
{
        struct statfs of_all;
        struct statx of_one;
        int err;

        do {
                err = injected(SYS_STAT, fd, 0, 0);
                if (!err)
                        err = status(fstatfs(fd, &of_all));
                if (!err)
                        err = status(statx(fd, "", AT_EMPTY_PATH, STATX_MNT_ID_UNIQUE, &of_one));
        } while (err == -EINTR);
        if (err)
                return err;
        *type = (uint64_t)of_all.f_type;
        *mount_id = of_one.stx_mask & STATX_MNT_ID_UNIQUE ? of_one.stx_mnt_id : 0;
        return 0;
}

bool sys_is_in_first_user_namespace(void)
{
        static const char first[] = "user:[4026531837]"; /* PROC_USER_INIT_INO */
        char link[sizeof(first)];
        const ssize_t length = readlink("/proc/self/ns/user", link, sizeof(link));

        return length == (ssize_t)sizeof(first) - 1 && memcmp(link, first, sizeof(first) - 1) == 0;
}

int sys_mkdir(int directory, const char *name, mode_t mode)
{
        struct sys_change change = { .call = SYS_MKDIR, .fd = directory, .name = name };
        int err;

        do {
                record_begin(&change);
                err = injected(SYS_MKDIR, directory, 0, 0);
                if (!err)
                        err = status(mkdirat(directory, name, mode));
                record_end(&change, err);
        } while (err == -EINTR);
        return err;
}

int sys_link(int directory, const char *from, const char *to)
{
        struct sys_change change = { .call = SYS_LINK, .fd = directory, .name = from, .to = to };
        int err;

        do {
                record_begin(&change);
                err = injected(SYS_LINK, directory, 0, 0);
                if (!err)
                        err = status(linkat(directory, from, directory, to, 0));
                record_end(&change, err);
        } while (err == -EINTR);
        return err;
}

static int rename_by(int (*once)(int directory, const char *from, const char *to), int directory, const char *from,
                     const char *to)
{
        struct sys_change change = { .call = SYS_RENAME, .fd = directory, .name = from, .to = to };
        int err;

        do {
                record_begin(&change);
                err = injected(SYS_RENAME, directory, 0, 0);
                if (!err)
                        err = once(directory, from, to);
                record_end(&change, err);
        } while (err == -EINTR);
        return err;
}

static int rename_over(int directory, const char *from, const char *to)
{
        return status(renameat(directory, from, directory, to));
}

int sys_rename(int directory, const char *from, const char *to)
{
        return rename_by(rename_over, directory, from, to);
}

/* Some file systems (NFS) cannot refuse to replace; there rename(2) replaces a directory only by one that is empty. */
static int rename_alone(int directory, const char *from, const char *to)
{
        struct stat st;
        int err = status(renameat2(directory, from, directory, to, RENAME_NOREPLACE));

        if (err != -EINVAL && err != -ENOSYS)
                return err;
        if (fstatat(directory, to, &st, AT_SYMLINK_NOFOLLOW) == 0)
                return -EEXIST;
        return rename_over(directory, from, to);
}

int sys_rename_new(int directory, const char *from, const char *to)
{
        return rename_by(rename_alone, directory, from, to);
}

int sys_unlink(int directory, const char *name)
{
        struct sys_change change = { .call = SYS_UNLINK, .fd = directory, .name = name };
        int err;

        do {
                record_begin(&change);
                err = injected(SYS_UNLINK, directory, 0, 0);
                if (!err)
                        err = status(unlinkat(directory, name, 0));
                record_end(&change, err);
        } while (err == -EINTR);
        return err;
}

int sys_rmdir(int directory, const char *name)
{
        int err;

        do {
                err = injected(SYS_UNLINK, directory, 0, 0);
                if (!err)
                        err = status(unlinkat(directory, name, AT_REMOVEDIR));
        } while (err == -EINTR);
        return err;
}

/* `buffer` holds what the kernel wrote there: `filled` bytes of entries. */
static int list_some(const char *buffer, size_t filled, int (*visit)(void *arg, const char *name), void *arg)
{
        for (size_t at = 0; at < filled;) {
                const struct dirent64 *entry = (const void *)(buffer + at);
                const char *name = entry->d_name;
                int err = 0;

                if (name[0] != '.' || (name[1] && (name[1] != '.' || name[2])))
                        err = visit(arg, name);
                if (err)
                        return err;
                at += entry->d_reclen;
        }
        return 0;
}

static int list_open(int fd, int (*visit)(void *arg, const char *name), void *arg)
{
        _Alignas(struct dirent64) char buffer[4096] = "";
        long filled;

        do {
                int err = injected(SYS_LIST, fd, 0, sizeof(buffer));

                filled = err ? err : syscall(SYS_getdents64, fd, buffer, sizeof(buffer));
                if (!err && filled < 0)
                        filled = -errno;
                if (filled > 0) {
                        err = list_some(buffer, (size_t)filled, visit, arg);
                        if (err)
                                return err;
                }
        } while (filled > 0 || filled == -EINTR);
        return (int)filled;
}

/* Through a descriptor of its own: the place in a directory belongs to the open file. */
int sys_list(int directory, int (*visit)(void *arg, const char *name), void *arg)
{
        int fd;
        int err = sys_open(directory, ".", O_RDONLY | O_DIRECTORY, 0, &fd);

        if (err)
                return err;
        err = list_open(fd, visit, arg);
        sys_close(fd);
        return err;
}

/* ---- Files ---- */

int sys_stat(int fd, struct stat *st)
{
        int err;

        do {
                err = injected(SYS_STAT, fd, 0, 0);
                if (!err)
                        err = status(fstat(fd, st));
        } while (err == -EINTR);
        return err;
}

int sys_chmod(int fd, mode_t mode)
{
        int err;

        do {
                err = injected(SYS_CHMOD, fd, 0, 0);
                if (!err)
                        err = status(fchmod(fd, mode));
        } while (err == -EINTR);
        return err;
}

int sys_chown(int fd, uid_t owner, gid_t group)
{
        int err;

        do {
                err = injected(SYS_CHMOD, fd, 0, 0);
                if (!err)
                        err = status(fchown(fd, owner, group));
        } while (err == -EINTR);
        return err;
}

bool sys_has_access_list(int fd)
{
        return fgetxattr(fd, "system.posix_acl_access", NULL, 0) > 0 ||
               fgetxattr(fd, "system.posix_acl_default", NULL, 0) > 0;
}

int sys_chgrp(int fd, gid_t group)
{
        return sys_chown(fd, (uid_t)-1, group);
}

/* The kernel ends a process (SIGXFSZ) that makes a file longer than its limit (ulimit -f): a library asks before. */
static int limited(uint64_t end)
{
        struct rlimit limit;

        return !getrlimit(RLIMIT_FSIZE, &limit) && end > limit.rlim_cur ? -EFBIG : 0;
}

/* The same where a file may be longer already, and stay so. */
static int limited_growth(int fd, uint64_t end)
{
        struct stat st;

        return limited(end) && !fstat(fd, &st) && S_ISREG(st.st_mode) && end > (uint64_t)st.st_size ? -EFBIG : 0;
}

int sys_truncate(int fd, uint64_t byte_len)
{
        struct sys_change change = { .call = SYS_TRUNCATE, .fd = fd, .byte_len = byte_len };
        int err = limited_growth(fd, byte_len);

        if (err)
                return err;
        do {
                record_begin(&change);
                err = injected(SYS_TRUNCATE, fd, byte_len, 0);
                if (!err)
                        err = status(ftruncate(fd, (off_t)byte_len));
                record_end(&change, err);
        } while (err == -EINTR);
        return err;
}

int sys_allocate(int fd, uint64_t offset, uint64_t byte_len)
{
        struct sys_change change = { .call = SYS_ALLOCATE, .fd = fd, .offset = offset, .byte_len = byte_len };
        int err = limited_growth(fd, offset + byte_len);

        if (err)
                return err;
        do {
                record_begin(&change);
                err = injected(SYS_ALLOCATE, fd, offset, byte_len);
                if (!err)
                        err = status((int)syscall(SYS_fallocate, fd, 0, (off_t)offset, (off_t)byte_len));
                record_end(&change, err);
        } while (err == -EINTR);
        return err;
}

#ifndef MFD_HUGE_2MB
#define MFD_HUGE_2MB (21U << 26)
#endif

static int memory_file(const char *name, uint64_t byte_len, unsigned int flags, int *fd)
{
        int err = injected(SYS_OPEN, -1, 0, byte_len);
        struct low_descriptors low;

        if (!err)
                err = limited(byte_len);
        if (err)
                return err;
        low_descriptors_hold(&low);
        *fd = low_descriptors_leave(memfd_create(name, MFD_CLOEXEC | flags));
        low_descriptors_release(&low);
        if (*fd < 0)
                return -errno;
        err = status(ftruncate(*fd, (off_t)byte_len));
        if (err)
                sys_close(*fd);
        return err;
}

int sys_memory_file(const char *name, uint64_t byte_len, int *fd)
{
        return memory_file(name, byte_len, 0, fd);
}

int sys_huge_memory_file(const char *name, uint64_t byte_len, int *fd)
{
        return memory_file(name, byte_len, MFD_HUGETLB | MFD_HUGE_2MB, fd);
}

int sys_punch_hole(int fd, uint64_t offset, uint64_t byte_len)
{
        struct sys_change change = { .call = SYS_PUNCH, .fd = fd, .offset = offset, .byte_len = byte_len };
        const int mode = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
        int err;

        do {
                record_begin(&change);
                err = injected(SYS_PUNCH, fd, offset, byte_len);
                if (!err)
                        err = status((int)syscall(SYS_fallocate, fd, mode, (off_t)offset, (off_t)byte_len));
                record_end(&change, err);
        } while (err == -EINTR);
        return err;
}

int sys_is_hole_from(int fd, uint64_t offset)
{
        int err;

        do {
                err = injected(SYS_SEEK, fd, offset, 0);
                if (!err)
                        err = lseek(fd, (off_t)offset, SEEK_DATA) < 0 ? -errno : 0;
        } while (err == -EINTR);
        return err == -ENXIO ? 1 : err;
}

static int seek_to(int fd, uint64_t offset, int whence, uint64_t *found)
{
        off_t at = 0;
        int err;

        do {
                err = injected(SYS_SEEK, fd, offset, 0);
                if (!err) {
                        at = lseek(fd, (off_t)offset, whence);
                        err = at < 0 ? -errno : 0;
                }
        } while (err == -EINTR);
        *found = (uint64_t)at;
        return err;
}

int sys_find_data(int fd, uint64_t offset, uint64_t *begin, uint64_t *end)
{
        int err = seek_to(fd, offset, SEEK_DATA, begin);

        return err ? err : seek_to(fd, *begin, SEEK_HOLE, end);
}

void sys_drop_cache(int fd)
{
        (void)posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
}

void sys_write_out(int fd, uint64_t offset, uint64_t byte_len)
{
        (void)syscall(SYS_sync_file_range, fd, (off_t)offset, (off_t)byte_len,
                      SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER);
}

static int sync_by(long number, int is_data_only, int fd)
{
        struct sys_change change = { .call = SYS_SYNC, .fd = fd, .flags = is_data_only };
        int err;

        do {
                record_begin(&change);
                err = injected(SYS_SYNC, fd, 0, 0);
                if (!err)
                        err = status((int)syscall(number, fd));
                record_end(&change, err);
        } while (err == -EINTR);
        return err;
}

int sys_sync_data(int fd)
{
        return sync_by(SYS_fdatasync, 1, fd);
}

int sys_sync(int fd)
{
        return sync_by(SYS_fsync, 0, fd);
}

/* ---- Transfers ---- */

/* What one transfer moved, or -errno, never -EINTR. */
static ssize_t read_some(int fd, void *bytes, size_t byte_len, uint64_t offset)
{
        ssize_t moved;

        do {
                moved = injected(SYS_PREAD, fd, offset, byte_len);
                if (!moved) {
                        moved = syscall(SYS_pread64, fd, bytes, byte_len, (off_t)offset);
                        if (moved < 0)
                                moved = -errno;
                }
        } while (moved == -EINTR);
        return moved;
}

/* Likewise; nothing moved is an error here, for the callers would try for ever. */
static ssize_t write_some(int fd, const struct iovec *parts, int count, uint64_t offset)
{
        struct sys_change change = { .call = SYS_PWRITE, .fd = fd, .offset = offset, .parts = parts, .count = count };
        ssize_t moved;

        do {
                record_begin(&change);
                moved = injected(SYS_PWRITE, fd, offset, parts[0].iov_len);
                if (!moved) {
                        moved = syscall(SYS_pwritev, fd, parts, (long)count, (off_t)offset, 0L);
                        if (moved <= 0)
                                moved = moved ? -errno : -EIO;
                }
                record_end(&change, moved);
        } while (moved == -EINTR);
        return moved;
}

int sys_read_all(int fd, void *bytes, size_t byte_len, uint64_t offset)
{
        char *to = bytes;

        while (byte_len > 0) {
                ssize_t moved = read_some(fd, to, byte_len, offset);

                if (moved <= 0)
                        return moved ? (int)moved : -ENODATA;
                to += moved;
                byte_len -= (size_t)moved;
                offset += (uint64_t)moved;
        }
        return 0;
}

int sys_write_all(int fd, const void *bytes, size_t byte_len, uint64_t offset)
{
        struct iovec part = { .iov_base = (void *)(uintptr_t)bytes, .iov_len = byte_len };

        return sys_write_vector_all(fd, &part, 1, offset);
}

/* Drops `moved` bytes, and parts that are empty, from the front. */
static void vector_advance(struct iovec **parts, int *count, size_t moved)
{
        while (*count > 0 && moved >= (*parts)->iov_len) {
                moved -= (*parts)->iov_len;
                ++*parts;
                --*count;
        }
        if (*count > 0) {
                (*parts)->iov_base = (char *)(*parts)->iov_base + moved;
                (*parts)->iov_len -= moved;
        }
}

static uint64_t vector_end(const struct iovec *parts, int count, uint64_t offset)
{
        for (int i = 0; i < count; i++)
                offset += parts[i].iov_len;
        return offset;
}

int sys_write_vector_all(int fd, struct iovec *parts, int count, uint64_t offset)
{
        int err = limited(vector_end(parts, count, offset));

        if (err)
                return err;
        vector_advance(&parts, &count, 0);
        while (count > 0) {
                ssize_t moved = write_some(fd, parts, count < IOV_MAX ? count : IOV_MAX, offset);

                if (moved < 0)
                        return (int)moved;
                vector_advance(&parts, &count, (size_t)moved);
                offset += (uint64_t)moved;
        }
        return 0;
}

/* What one write moved, or -errno, never -EINTR; 0: there is no room now. */
static ssize_t append_some(int fd, const void *bytes, size_t byte_len)
{
        ssize_t moved;

        do {
                moved = injected(SYS_PWRITE, fd, 0, byte_len);
                if (!moved) {
                        moved = syscall(SYS_write, fd, bytes, byte_len);
                        if (moved <= 0)
                                moved = moved ? -errno : -EIO;
                }
        } while (moved == -EINTR);
        return moved == -EAGAIN ? 0 : moved;
}

/* Where a write of so many bytes ends; 0: in no file. */
static uint64_t append_end(int fd, size_t byte_len)
{
        struct stat st;
        off_t at;

        if (fstat(fd, &st) || !S_ISREG(st.st_mode))
                return 0;
        at = fcntl(fd, F_GETFL) & O_APPEND ? st.st_size : lseek(fd, 0, SEEK_CUR);
        return at < 0 ? 0 : (uint64_t)at + byte_len;
}

int sys_append_all(int fd, const void *bytes, size_t byte_len)
{
        const char *from = bytes;
        int err = limited(append_end(fd, byte_len));

        if (err)
                return err;
        while (byte_len > 0) {
                ssize_t moved = append_some(fd, from, byte_len);
                struct pollfd room = { .fd = fd, .events = POLLOUT };

                if (moved < 0)
                        return (int)moved;
                if (!moved)
                        (void)syscall(SYS_ppoll, &room, 1UL, NULL, NULL, 0L);
                from += moved;
                byte_len -= (size_t)moved;
        }
        return 0;
}

/* ---- Locks ---- */

static int lock_control(int fd, int command, short type, uint64_t offset, uint64_t count, struct flock *lock)
{
        int err;

        do {
                *lock = (struct flock){
                        .l_type = type, .l_whence = SEEK_SET, .l_start = (off_t)offset, .l_len = (off_t)count
                };
                err = injected(SYS_LOCK, fd, offset, (size_t)count);
                if (!err)
                        err = status((int)syscall(SYS_fcntl, fd, command, lock));
        } while (err == -EINTR);
        return err == -EACCES ? -EAGAIN : err;
}

int sys_lock_byte(int fd, uint64_t offset, bool wait)
{
        struct flock lock;

        return lock_control(fd, wait ? F_OFD_SETLKW : F_OFD_SETLK, F_WRLCK, offset, 1, &lock);
}

int sys_share_byte(int fd, uint64_t offset, bool wait)
{
        struct flock lock;

        return lock_control(fd, wait ? F_OFD_SETLKW : F_OFD_SETLK, F_RDLCK, offset, 1, &lock);
}

int sys_unlock_byte(int fd, uint64_t offset)
{
        struct flock lock;

        return lock_control(fd, F_OFD_SETLK, F_UNLCK, offset, 1, &lock);
}

int sys_is_range_locked(int fd, uint64_t offset, uint64_t count)
{
        struct flock lock;
        int err = lock_control(fd, F_OFD_GETLK, F_WRLCK, offset, count, &lock);

        return err ? err : lock.l_type != F_UNLCK;
}

int sys_is_byte_locked(int fd, uint64_t offset)
{
        return sys_is_range_locked(fd, offset, 1);
}

/* ---- Memory ---- */

int sys_mmap(void *addr, size_t byte_len, int prot, int flags, int fd, uint64_t offset, void **out)
{
        int err = injected(SYS_MMAP, fd, offset, byte_len);
        void *mapped;

        if (err)
                return err;
        mapped = mmap(addr, byte_len, prot, flags, fd, (off_t)offset);
        if (mapped == MAP_FAILED)
                return -errno;
        *out = mapped;
        return 0;
}

int sys_munmap(void *addr, size_t byte_len)
{
        int err = injected(SYS_MUNMAP, -1, (uintptr_t)addr, byte_len);

        return err ? err : status(munmap(addr, byte_len));
}

int sys_mprotect(void *addr, size_t byte_len, int prot)
{
        int err = injected(SYS_MPROTECT, -1, (uintptr_t)addr, byte_len);

        return err ? err : status(mprotect(addr, byte_len, prot));
}

int sys_mremap(void *addr, size_t old_len, size_t new_len, void **out)
{
        int err = injected(SYS_MREMAP, -1, (uintptr_t)addr, new_len);
        void *mapped;

        if (err)
                return err;
        mapped = mremap(addr, old_len, new_len, MREMAP_MAYMOVE);
        if (mapped == MAP_FAILED)
                return -errno;
        *out = mapped;
        return 0;
}

int sys_move(void *addr, size_t byte_len, void *to)
{
        int err = injected(SYS_MREMAP, -1, (uintptr_t)addr, byte_len);

        if (err)
                return err;
        return mremap(addr, byte_len, byte_len, MREMAP_MAYMOVE | MREMAP_FIXED, to) == MAP_FAILED ? -errno : 0;
}

int sys_move_keeping(void *addr, size_t byte_len, void *to)
{
        int err = injected(SYS_MREMAP, -1, (uintptr_t)addr, byte_len);

        if (err)
                return err;
        return mremap(addr, byte_len, byte_len, MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP, to) == MAP_FAILED
                       ? -errno
                       : 0;
}

int sys_madvise(void *addr, size_t byte_len, int advice)
{
        int err = injected(SYS_MADVISE, -1, (uintptr_t)addr, byte_len);

        return err ? err : status(madvise(addr, byte_len, advice));
}

bool sys_is_mapped(const void *addr)
{
        unsigned char is_resident;
        uintptr_t page_bytes = (uintptr_t)sysconf(_SC_PAGESIZE);

        return mincore((void *)((uintptr_t)addr & ~(page_bytes - 1)), 1, &is_resident) == 0 || errno != ENOMEM;
}

/* ---- Futexes ---- */

enum { NS_PER_SECOND = 1000000000 };

/* FUTEX_WAIT and FUTEX_WAKE without the PRIVATE flag: other processes map the word elsewhere. */
void sys_futex_wait(const uint32_t *word, uint32_t expected, uint64_t timeout_ns)
{
        struct timespec timeout = { .tv_sec = (time_t)(timeout_ns / NS_PER_SECOND),
                                    .tv_nsec = (long)(timeout_ns % NS_PER_SECOND) };

        (void)syscall(SYS_futex, word, FUTEX_WAIT, expected, &timeout, NULL, 0);
}

/* The thread may end right within the call, at any instruction: nothing is to be undone but by its callers. */
void sys_futex_wait_cancellable(const uint32_t *word, uint32_t expected, uint64_t timeout_ns)
{
        int before;

        pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &before);
        sys_futex_wait(word, expected, timeout_ns);
        pthread_setcanceltype(before, NULL);
}

void sys_futex_wake(const uint32_t *word, int count)
{
        (void)syscall(SYS_futex, word, FUTEX_WAKE, count, NULL, NULL, 0);
}

/* ---- Threads ---- */

void sys_join(pthread_t thread)
{
        int before;

        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
        pthread_join(thread, NULL); /* uncancelled */
        pthread_setcancelstate(before, NULL);
}

/* ---- Facts ---- */

int sys_boot_id(char id[40])
{
        enum { ID_LENGTH = 36 };
        int fd;
        int err = sys_open(AT_FDCWD, "/proc/sys/kernel/random/boot_id", O_RDONLY, 0, &fd);

        if (err == -ENOENT || err == -ENOTDIR)
                return -ENODEV; /* not to be taken for a file of the caller's that is not there */
        if (err)
                return err;
        err = sys_read_all(fd, id, ID_LENGTH, 0);
        id[ID_LENGTH] = '\0';
        sys_close(fd);
        return err;
}

int sys_random(void *bytes, size_t byte_len)
{
        char *to = bytes;

        while (byte_len > 0) {
                int err = injected(SYS_RANDOM, -1, 0, byte_len);
                ssize_t moved = err ? err : syscall(SYS_getrandom, to, byte_len, 0);

                if (!err)
                        err = status(moved);
                if (err == -EINTR)
                        continue;
                if (err)
                        return err;
                to += moved;
                byte_len -= (size_t)moved;
        }
        return 0;
}

void sys_sleep_ns(uint64_t duration_ns)
{
        struct timespec duration = { .tv_nsec = (long)duration_ns };

        syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &duration, NULL); /* woken early by a signal: as good */
}

uint64_t sys_monotonic_ns(void)
{
        struct timespec now;

        (void)clock_gettime(CLOCK_MONOTONIC, &now);
        return (uint64_t)now.tv_sec * NS_PER_SECOND + (uint64_t)now.tv_nsec;
}

uint64_t sys_wall_ns(void)
{
        struct timespec now;

        (void)clock_gettime(CLOCK_REALTIME, &now);
        return now.tv_sec < 0 ? 0 : (uint64_t)now.tv_sec * NS_PER_SECOND + (uint64_t)now.tv_nsec;
}

uint64_t sys_thread_ns(void)
{
        struct timespec had;

        if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &had))
                return 0;
        return (uint64_t)had.tv_sec * NS_PER_SECOND + (uint64_t)had.tv_nsec;
}

uint64_t sys_memory_bytes(void)
{
        return (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
}
