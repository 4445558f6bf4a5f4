/* SPDX-License-Identifier: MIT */
#ifndef BASE_BYTE_LOCK_H
#define BASE_BYTE_LOCK_H

/*
 * The lock of a byte of a file (sys.h): who can take it, and words for who waits for it.
 *
 * A process that hangs in an open tells its user nothing. So a wait of more than a second prints one line on standard
 * error: the file's path, and the process that holds the lock. Linux lists the locks of an open file in
 * /proc/PID/fdinfo, which only root and the user of that process may read. Of a holder that cannot be found the line
 * says so.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Who may only read a file may lock it, too, against all others. So a file that is locked is readable for those alone
 * who may write to it. */
static inline mode_t byte_lock_mode(mode_t mode)
{
        return mode & ~(((mode & 0022) ^ 0022) << 1);
}

/* The same for a file that others have made. Where this user may not change it, it stays as it is. */
int byte_lock_tighten(int fd);

/* The lock file of an environment. A process that may not open it reads /proc/locks, which every user may read. */
struct byte_lock_file {
        int fd; /* -1: it may not be opened */
        dev_t device;
        ino_t inode;
};

/* Does another open file have any of `count` bytes locked (0: all up to the end)? 1, 0, or -errno. */
int byte_lock_is_held(const struct byte_lock_file *file, uint64_t offset, uint64_t count);

/* As sys_lock_byte() and sys_share_byte() with `wait`. */
int byte_lock_wait(int fd, uint64_t offset);
int byte_lock_share(int fd, uint64_t offset);
/* The same, but who must wait to have the byte alone holds another one meanwhile, and who wants to share it waits a
 * second for that one. So those who share it one after the other, and never leave it free, do not keep the other out.
 * No longer: the process that he waits for may itself be the one that opens once more. */
int byte_lock_wait_in_turn(int fd, uint64_t offset);
int byte_lock_share_in_turn(int fd, uint64_t offset);
#define BYTE_LOCK_TURN (UINT64_C(1) << 32) /* it lies behind all others */

enum { BYTE_LOCK_PROGRAM_BYTES = 17 };

struct byte_lock_holder {
        pid_t pid;
        char program[BYTE_LOCK_PROGRAM_BYTES]; /* "": unknown */
};

/* False: no process that this user may look at has that byte of the file locked. */
bool byte_lock_find_holder(int fd, uint64_t offset, struct byte_lock_holder *holder);

#endif
