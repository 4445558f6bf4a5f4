/* SPDX-License-Identifier: MIT */

/*
 * Calls of the system that are given addresses in a view return EFAULT. A program's own buffers are what they are: so
 * these calls are led here (-Wl,--wrap=read and so on), and go by a buffer on the stack. fread() and fwrite() are among
 * them because the C library hands large buffers on, and fopen() because it hands on the path. Compiled by xac-cc:
 * memcpy() then knows views.
 */

#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>

#include <xac/translate.h>

enum { PIECE_BYTES = 65536 };

/* The linker's names; weak, as a program exchanges some of them. NOLINTBEGIN(bugprone-reserved-identifier) */
#pragma weak __real_read
#pragma weak __real_write
#pragma weak __real_pread
#pragma weak __real_pwrite
#pragma weak __real_fread
#pragma weak __real_fwrite
#pragma weak __real_open
#pragma weak __real_fopen
#pragma weak __real_stat
#pragma weak __real_lstat
#pragma weak __real_access
#pragma weak __real_unlink
ssize_t __real_read(int fd, void *buffer, size_t byte_len);
ssize_t __real_write(int fd, const void *buffer, size_t byte_len);
ssize_t __real_pread(int fd, void *buffer, size_t byte_len, off_t place);
ssize_t __real_pwrite(int fd, const void *buffer, size_t byte_len, off_t place);
size_t __real_fread(void *buffer, size_t size, size_t number, FILE *file);
size_t __real_fwrite(const void *buffer, size_t size, size_t number, FILE *file);
ssize_t __wrap_read(int fd, void *buffer, size_t byte_len);
ssize_t __wrap_write(int fd, const void *buffer, size_t byte_len);
ssize_t __wrap_pread(int fd, void *buffer, size_t byte_len, off_t place);
ssize_t __wrap_pwrite(int fd, const void *buffer, size_t byte_len, off_t place);
size_t __wrap_fread(void *buffer, size_t size, size_t number, FILE *file);
size_t __wrap_fwrite(const void *buffer, size_t size, size_t number, FILE *file);
int __real_open(const char *path, int flags, ...);
FILE *__real_fopen(const char *path, const char *mode);
int __real_stat(const char *path, struct stat *found);
int __real_lstat(const char *path, struct stat *found);
int __real_access(const char *path, int mode);
int __real_unlink(const char *path);
int __wrap_open(const char *path, int flags, ...);
FILE *__wrap_fopen(const char *path, const char *mode);
int __wrap_stat(const char *path, struct stat *found);
int __wrap_lstat(const char *path, struct stat *found);
int __wrap_access(const char *path, int mode);
int __wrap_unlink(const char *path);

static size_t piece_of(size_t byte_len)
{
        return byte_len < PIECE_BYTES ? byte_len : PIECE_BYTES;
}

/* These four may do less than they are asked to: one piece. */
ssize_t __wrap_read(int fd, void *buffer, size_t byte_len)
{
        char piece[PIECE_BYTES];

        if (!xac_in_window(buffer))
                return __real_read(fd, buffer, byte_len);
        const ssize_t done = __real_read(fd, piece, piece_of(byte_len));
        if (done > 0)
                memcpy(buffer, piece, (size_t)done);
        return done;
}

ssize_t __wrap_write(int fd, const void *buffer, size_t byte_len)
{
        char piece[PIECE_BYTES];

        if (!xac_in_window(buffer))
                return __real_write(fd, buffer, byte_len);
        memcpy(piece, buffer, piece_of(byte_len));
        return __real_write(fd, piece, piece_of(byte_len));
}

ssize_t __wrap_pread(int fd, void *buffer, size_t byte_len, off_t place)
{
        char piece[PIECE_BYTES];

        if (!xac_in_window(buffer))
                return __real_pread(fd, buffer, byte_len, place);
        const ssize_t done = __real_pread(fd, piece, piece_of(byte_len), place);
        if (done > 0)
                memcpy(buffer, piece, (size_t)done);
        return done;
}

ssize_t __wrap_pwrite(int fd, const void *buffer, size_t byte_len, off_t place)
{
        char piece[PIECE_BYTES];

        if (!xac_in_window(buffer))
                return __real_pwrite(fd, buffer, byte_len, place);
        memcpy(piece, buffer, piece_of(byte_len));
        return __real_pwrite(fd, piece, piece_of(byte_len), place);
}

size_t __wrap_fread(void *buffer, size_t size, size_t number, FILE *file)
{
        char piece[PIECE_BYTES];
        size_t done = 0;

        if (!xac_in_window(buffer) || !size)
                return __real_fread(buffer, size, number, file);
        while (done < size * number) {
                const size_t asked = piece_of(size * number - done);
                const size_t got = __real_fread(piece, 1, asked, file);
                memcpy((char *)buffer + done, piece, got);
                done += got;
                if (got < asked)
                        break;
        }
        return done / size;
}

size_t __wrap_fwrite(const void *buffer, size_t size, size_t number, FILE *file)
{
        char piece[PIECE_BYTES];
        size_t done = 0;

        if (!xac_in_window(buffer) || !size)
                return __real_fwrite(buffer, size, number, file);
        while (done < size * number) {
                const size_t asked = piece_of(size * number - done);
                memcpy(piece, (const char *)buffer + done, asked);
                const size_t put = __real_fwrite(piece, 1, asked, file);
                done += put;
                if (put < asked)
                        break;
        }
        return done / size;
}

/* ---- paths ---- */

/* One letter more than a path may have, so that the system is the one to refuse it. */
struct path {
        char text[PATH_MAX + 1];
};

static const char *outside(const char *path, struct path *copy)
{
        if (!xac_in_window(path))
                return path;
        if (!memccpy(copy->text, path, '\0', PATH_MAX))
                copy->text[PATH_MAX] = '\0';
        return copy->text;
}

int __wrap_open(const char *path, int flags, ...)
{
        struct path copy;
        mode_t mode = 0;
        va_list more;

        va_start(more, flags);
        if (flags & (O_CREAT | O_TMPFILE))
                mode = va_arg(more, mode_t);
        va_end(more);
        return __real_open(outside(path, &copy), flags, mode);
}

FILE *__wrap_fopen(const char *path, const char *mode)
{
        struct path copy;

        return __real_fopen(outside(path, &copy), mode);
}

int __wrap_stat(const char *path, struct stat *found)
{
        struct path copy;
        struct stat known;
        const int err = __real_stat(outside(path, &copy), &known);

        if (!err)
                *found = known;
        return err;
}

int __wrap_lstat(const char *path, struct stat *found)
{
        struct path copy;
        struct stat known;
        const int err = __real_lstat(outside(path, &copy), &known);

        if (!err)
                *found = known;
        return err;
}

int __wrap_access(const char *path, int mode)
{
        struct path copy;

        return __real_access(outside(path, &copy), mode);
}

int __wrap_unlink(const char *path)
{
        struct path copy;

        return __real_unlink(outside(path, &copy));
}
/* NOLINTEND(bugprone-reserved-identifier) */
