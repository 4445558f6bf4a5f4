/* SPDX-License-Identifier: MIT */

/*
 * Calls of the system that are given addresses in a view return EFAULT. A program's own buffers are what they are: so
 * these calls are led here (-Wl,--wrap=read and so on), and go by a buffer on the stack. fread() and fwrite() are among
 * them because the C library hands large buffers on. Compiled by xac-cc: memcpy() then knows views.
 */

#include <stdio.h>
#include <string.h>
#include <sys/types.h>

#include <xac/translate.h>

enum { PIECE_BYTES = 65536 };

/* The linker's names; weak, as a program exchanges some of them. NOLINTBEGIN(bugprone-reserved-identifier) */
#pragma weak __real_read
#pragma weak __real_write
#pragma weak __real_fread
#pragma weak __real_fwrite
ssize_t __real_read(int fd, void *buffer, size_t byte_len);
ssize_t __real_write(int fd, const void *buffer, size_t byte_len);
size_t __real_fread(void *buffer, size_t size, size_t number, FILE *file);
size_t __real_fwrite(const void *buffer, size_t size, size_t number, FILE *file);
ssize_t __wrap_read(int fd, void *buffer, size_t byte_len);
ssize_t __wrap_write(int fd, const void *buffer, size_t byte_len);
size_t __wrap_fread(void *buffer, size_t size, size_t number, FILE *file);
size_t __wrap_fwrite(const void *buffer, size_t size, size_t number, FILE *file);

static size_t piece_of(size_t byte_len)
{
        return byte_len < PIECE_BYTES ? byte_len : PIECE_BYTES;
}

/* Both may do less than they are asked to: one piece. */
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
/* NOLINTEND(bugprone-reserved-identifier) */
