/* SPDX-License-Identifier: MIT */
#include "base/invariant.h"

#ifdef XAC_INVARIANTS

#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static void put(const char *text)
{
        (void)!syscall(SYS_write, STDERR_FILENO, text, strlen(text));
}

static void put_number(int number)
{
        char digits[12], *first = digits + sizeof(digits) - 1;

        *first = '\0';
        do
                *--first = (char)('0' + number % 10);
        while (number /= 10);
        put(first);
}

void invariant_broken(const char *condition, const char *file, int line)
{
        put("libxac: ");
        put(file);
        put(":");
        put_number(line);
        put(": this must hold: ");
        put(condition);
        put("\n");
        abort();
}

#endif
