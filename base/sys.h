/* SPDX-License-Identifier: MIT */
#ifndef BASE_SYS_H
#define BASE_SYS_H

/*
 * Every system call that can fail, as 0 or -errno; EINTR and short transfers are handled
 * here and nowhere else, and the only hook for injected failures is here.
 *
 * Everything in this file is async-signal-safe except sys_boot_id, sys_path_of, sys_memory_bytes and what is said of
 * handles: the fault handler maps and protects pages through it.
 */

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>

enum sys_call {
        SYS_OPEN,
        SYS_STAT,
        SYS_MKDIR,
        SYS_LINK,
        SYS_RENAME,
        SYS_UNLINK,
        SYS_LIST,
        SYS_CHMOD,
        SYS_TRUNCATE,
        SYS_ALLOCATE,
        SYS_PUNCH,
        SYS_SEEK,
        SYS_PREAD,
        SYS_PWRITE,
        SYS_SYNC,
        SYS_LOCK,
        SYS_MMAP,
        SYS_MUNMAP,
        SYS_MPROTECT,
        SYS_MREMAP,
        SYS_MADVISE,
        SYS_RANDOM,
        SYS_CALL_KINDS
};

/* When set, called before each system call of this file that can fail, and before each part
 * of a transfer; a non-zero result (-errno) stands for what the call would have returned and
 * the call is not made: -EINTR is tried again like the kernel's own. `fd` is the descriptor
 * (a directory where the call takes a name, -1 where there is none), `offset` an address for
 * calls on memory. Tests set it; nothing else may. */
typedef int (*sys_failure_hook)(enum sys_call call, int fd, uint64_t offset, size_t byte_len);
extern sys_failure_hook sys_fail;

/* When set, told of each call that changes what a crash may find on the disk, or makes it
 * certain: once before it, with is_done false, and once after it, with its result. A call repeated after
 * -EINTR is told anew each time; one that sys_fail refused is told too, since it stands for one
 * that the kernel failed. Tests set it, to record a run (tests/crash); nothing else may. */
struct sys_change {
        enum sys_call call; /* OPEN (only with O_CREAT or O_TRUNC), MKDIR, LINK, RENAME, UNLINK, TRUNCATE,
                             * ALLOCATE, PUNCH, PWRITE, SYNC */
        int fd;             /* the directory where the call takes a name */
        int flags;          /* OPEN: open(2)'s; SYNC: 1 = data only */
        const char *name;
        const char *to; /* LINK, RENAME: the new name */
        uint64_t offset;
        uint64_t byte_len;
        const struct iovec *parts; /* PWRITE */
        int count;
        bool is_done;
        long result; /* 0 or -errno; OPEN: the descriptor; PWRITE: bytes moved */
};
typedef void (*sys_record_hook)(const struct sys_change *change);
extern sys_record_hook sys_record;

/* Files. Descriptors are close-on-exec, and above 2 (low_descriptors.h); symbolic links are not followed in the last
 * part of the name, but for a directory (O_DIRECTORY). `directory` is a descriptor or AT_FDCWD. */
int sys_open(int directory, const char *name, int flags, mode_t mode, int *fd);
void sys_close(int fd);
int sys_stat(int fd, struct stat *st);
int sys_stat_at(int directory, const char *name, struct stat *st);
/* The absolute path under which it is found now; empty if it is not known, or too long. Not to be relied on. */
void sys_path_of(int fd, char *path, size_t byte_len);
/* The kernel's name of an open file or directory, which no later one gets, even with the same inode number. *byte_len
 * is the room in bytes[], then what is used of it. -EOPNOTSUPP: its file system has none. */
int sys_handle_of(int fd, int32_t *type, void *bytes, uint32_t *byte_len);
/* What that name stands for in the file system of `where`, to ask for its stat only. -ESTALE: nothing any more; but
 * also whatever a root of a namespace of users may not reach. -EPERM: we are not root. */
int sys_open_handle(int where, int32_t type, const void *bytes, uint32_t byte_len, int *fd);
/* Its file system's type (linux/magic.h), and a number of its mount that no later mount gets; 0: the kernel has none.
 */
int sys_mount_of(int fd, uint64_t *type, uint64_t *mount_id);
bool sys_is_in_first_user_namespace(void);
int sys_mkdir(int directory, const char *name, mode_t mode);
int sys_link(int directory, const char *from, const char *to); /* never replaces: -EEXIST */
/* Is it on a file system that has no disk (tmpfs)? */
int sys_is_in_memory(int fd, bool *is_in_memory);
/* Bytes that its file system has in all, and that are free for us. */
int sys_space(const char *directory, uint64_t *all, uint64_t *unused);
int sys_unlink(int directory, const char *name);
int sys_rmdir(int directory, const char *name);
/* Replaces what is there; sys_rename_new never does: -EEXIST. A directory may be renamed, too. */
int sys_rename(int directory, const char *from, const char *to);
int sys_rename_new(int directory, const char *from, const char *to);
/* Calls visit for each name in the directory but `.` and `..`; ends when one returns non-zero, and
 * returns that. A name made or removed meanwhile may be seen or not. */
int sys_list(int directory, int (*visit)(void *arg, const char *name), void *arg);
int sys_chmod(int fd, mode_t mode);
/* Of POSIX, which says more than its mode. */
bool sys_has_access_list(int fd);
int sys_chown(int fd, uid_t owner, gid_t group);
int sys_chgrp(int fd, gid_t group);
int sys_truncate(int fd, uint64_t byte_len);
int sys_allocate(int fd, uint64_t offset, uint64_t byte_len);
int sys_memory_file(const char *name, uint64_t byte_len, int *fd); /* memory of nobody else, sparse */
/* The same in pages of 2 MiB that were reserved (hugetlb). */
int sys_huge_memory_file(const char *name, uint64_t byte_len, int *fd);
/* They read as zeros, and their memory or disk space is given back. -EOPNOTSUPP: the file system cannot. */
int sys_punch_hole(int fd, uint64_t offset, uint64_t byte_len);
/* Is there nothing but a hole from there on? 1, 0 (also where the file system knows no holes), or -errno. */
int sys_is_hole_from(int fd, uint64_t offset);

/* The first stretch that is no hole, from `offset` on: [*begin, *end). -ENXIO: there is none. On a file system that
 * knows no holes all is data. */
int sys_find_data(int fd, uint64_t offset, uint64_t *begin, uint64_t *end);
/* What is read from here on is to come from the disk. Of what is not yet there nothing is lost. A hint. */
void sys_drop_cache(int fd);

/* All of it, or an error; sys_read_all returns -ENODATA when the file ends before. */
int sys_read_all(int fd, void *bytes, size_t byte_len, uint64_t offset);
int sys_write_all(int fd, const void *bytes, size_t byte_len, uint64_t offset);
/* Changes the iovec array as it goes. */
int sys_write_vector_all(int fd, struct iovec *parts, int count, uint64_t offset);
/* Where a file has no places: to a pipe, a socket, a terminal. Waits where the descriptor would not. */
int sys_append_all(int fd, const void *bytes, size_t byte_len);
/* Has the kernel write those bytes now, and waits; they are no more certain for that. A hint. */
void sys_write_out(int fd, uint64_t offset, uint64_t byte_len);
int sys_sync_data(int fd); /* fdatasync */
int sys_sync(int fd);      /* fsync */

/* Open-file-description write locks on one byte: the descriptor must be open for writing. */
int sys_lock_byte(int fd, uint64_t offset, bool wait); /* -EAGAIN if held and !wait */
int sys_unlock_byte(int fd, uint64_t offset);
/* A read lock: others may have one too. Open for reading is enough. */
int sys_share_byte(int fd, uint64_t offset, bool wait);
/* 1 if another open file description holds it, 0 if none does, or -errno. */
int sys_is_byte_locked(int fd, uint64_t offset);
/* The same for any of `count` bytes. */
int sys_is_range_locked(int fd, uint64_t offset, uint64_t count);

/* Memory. */
int sys_mmap(void *addr, size_t byte_len, int prot, int flags, int fd, uint64_t offset, void **out);
int sys_munmap(void *addr, size_t byte_len);
int sys_mprotect(void *addr, size_t byte_len, int prot);
int sys_mremap(void *addr, size_t old_len, size_t new_len, void **out); /* may move it */
/* Moves mappings, with what they have in the page tables, to where something else was mapped. */
int sys_move(void *addr, size_t byte_len, void *to);
/* The same with one mapping of a file, which stays where it was, too, with empty page tables. */
int sys_move_keeping(void *addr, size_t byte_len, void *to);
int sys_madvise(void *addr, size_t byte_len, int advice);
bool sys_is_mapped(const void *addr);

/* Futexes in shared memory. Neither fails: a wait that cannot wait returns at once, as any
 * waiter must expect. timeout_ns is relative. */
void sys_futex_wait(const uint32_t *word, uint32_t expected, uint64_t timeout_ns);
/* The same as a cancellation point (pthread_cancel): the only one of the library. */
void sys_futex_wait_cancellable(const uint32_t *word, uint32_t expected, uint64_t timeout_ns);
void sys_futex_wake(const uint32_t *word, int count);

/* Facts. */
int sys_boot_id(char id[40]); /* the kernel's boot id, NUL-terminated; -ENODEV: no /proc */
int sys_random(void *bytes, size_t byte_len);
uint64_t sys_monotonic_ns(void);
uint64_t sys_wall_ns(void);   /* since 1970; may go back */
uint64_t sys_thread_ns(void); /* of a processor, that this thread has had: a system call */
/* pthread_join(3) without the cancellation point. */
void sys_join(pthread_t thread);
void sys_sleep_ns(uint64_t duration_ns); /* less than a second */
uint64_t sys_memory_bytes(void);         /* physical memory */

#endif
