/* SPDX-License-Identifier: MIT */
#include "tests/support/check.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <xac/xac.h>

void check_failed(const char *file, int line, const char *format, ...)
{
        char text[512];
        va_list arguments;

        va_start(arguments, format);
        vsnprintf(text, sizeof(text), format, arguments);
        va_end(arguments);
        dprintf(STDERR_FILENO, "%s:%d: [process %d] %s\n", file, line, (int)getpid(), text);
        _exit(1);
}

void check_equal_at(const char *file, int line, const char *what, long long actual, long long expected)
{
        if (actual != expected)
                check_failed(file, line, "%s is %lld, not %lld", what, actual, expected);
}

void check_code_at(const char *file, int line, const char *what, int actual, int expected)
{
        if (actual != expected)
                check_failed(file, line, "%s is %d (%s), not %d (%s)", what, actual, xac_strerror(actual), expected,
                             xac_strerror(expected));
}

void check_map_fails_at(const char *file, int line, const char *what, const void *actual, int expected)
{
        int error = errno;

        if (actual != MAP_FAILED)
                check_failed(file, line, "%s succeeded, errno %d (%s) was expected", what, expected,
                             strerror(expected));
        if (error != expected)
                check_failed(file, line, "%s: errno %d (%s), not %d (%s)", what, error, strerror(error), expected,
                             strerror(expected));
}
