/* SPDX-License-Identifier: MIT */
#ifndef BASE_SAY_H
#define BASE_SAY_H

/*
 * The library and its tools print for people by say() and say_text(). They work as fprintf and snprintf do, but write
 * the argument of %s and %c as safe_text.h says, because another user may have chosen that text. Newlines in
 * the format stay newlines.
 *
 * Width and precision of a string count bytes: the precision those that are read, the width those that are written.
 * A number takes 511 bytes at most. There is no %n, no %ls, no %m, and no argument by its number.
 */

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

enum {
        SAY_NAME_BYTES = 4 * 255,                      /* the longest name of a file, each byte of it as \xNN */
        SAY_SENTENCE_BYTES = 2 * SAY_NAME_BYTES + 1024 /* room for what is said of two of them */
};

void say(FILE *to, const char *format, ...) __attribute__((format(printf, 2, 3)));
void say_list(FILE *to, const char *format, va_list args) __attribute__((format(printf, 2, 0)));

/* The text ends with a NUL. Of what does not fit the middle is left out, and three dots stand there; in a room of less
 * than 32 bytes, the end. */
void say_text(char *text, size_t byte_len, const char *format, ...) __attribute__((format(printf, 3, 4)));
void say_text_list(char *text, size_t byte_len, const char *format, va_list args) __attribute__((format(printf, 3, 0)));

#endif
