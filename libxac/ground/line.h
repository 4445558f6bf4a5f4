/* SPDX-License-Identifier: MIT */
#ifndef LIBXAC_GROUND_LINE_H
#define LIBXAC_GROUND_LINE_H

/* A line on standard error, without stdio: from within the fault handler, too. Texts are written as base/safe_text.h
 * says. A line that is longer than its room is written in pieces. */

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/safe_text.h"

struct line {
        char text[1024];
        size_t len;
};

static inline void line_flush(struct line *line)
{
        while (syscall(SYS_write, STDERR_FILENO, line->text, line->len) < 0 && errno == EINTR)
                ;
        line->len = 0;
}

static inline void line_add(struct line *line, const char *text)
{
        const char *const end = text + strlen(text);
        while (text < end) {
                if (line->len >= sizeof(line->text) - SAFE_TEXT_MAX - 1)
                        line_flush(line);
                line->len += safe_text_next(&text, end, line->text + line->len);
        }
}

static inline void line_add_in_base(struct line *line, uint64_t number, unsigned base)
{
        char digits[24];
        size_t i = sizeof(digits);
        digits[--i] = '\0';
        do {
                digits[--i] = "0123456789abcdef"[number % base];
        } while (number /= base);
        line_add(line, digits + i);
}

static inline void line_add_hex(struct line *line, uint64_t number)
{
        line_add(line, "0x");
        line_add_in_base(line, number, 16);
}

static inline void line_add_number(struct line *line, uint64_t number)
{
        line_add_in_base(line, number, 10);
}

static inline void line_print(struct line *line)
{
        line->text[line->len++] = '\n';
        line_flush(line);
}

#endif
