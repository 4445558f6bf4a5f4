/* SPDX-License-Identifier: MIT */
#include "base/say.h"

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/safe_text.h"

enum { SPEC_BYTES = 64, NUMBER_BYTES = 512, LINE_BYTES = 1024, SHORTENED_LEAST = 32 };

static const char dots[] = "...";

/* ---- Where it goes ---- */

struct sink {
        char *text; /* NULL: what is put is only counted */
        size_t room, len;
        FILE *to; /* what is full is written there, in one go; NULL: nowhere */
        /* Without `to`: */
        size_t all;                  /* bytes that were put so far */
        size_t omit_begin, omit_end; /* of all that is put, what is left out */
        const char *mark;            /* stands there in its place; NULL: it does already, or nothing does */
};

static void flush(struct sink *sink)
{
        int before;

        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before); /* our callers may hold locks */
        if (sink->len)
                (void)fwrite(sink->text, 1, sink->len, sink->to); /* uncancelled */
        pthread_setcancelstate(before, NULL);
        sink->len = 0;
}

static void put_in_stream(struct sink *sink, const char *bytes, size_t byte_len)
{
        while (byte_len) {
                const size_t room = sink->room - sink->len;
                const size_t len = byte_len < room ? byte_len : room;

                memcpy(sink->text + sink->len, bytes, len);
                sink->len += len;
                bytes += len;
                byte_len -= len;
                if (byte_len)
                        flush(sink);
        }
}

/* Somebody may change a string between two looks at it: so there is room, or nothing is put. */
static void keep_byte(struct sink *sink, char byte)
{
        if (sink->len < sink->room)
                sink->text[sink->len++] = byte;
}

/* What is as short as a character may be one: no part of it stays alone. */
static void put_in_text(struct sink *sink, const char *bytes, size_t byte_len)
{
        const bool is_one = byte_len <= SAFE_TEXT_MAX;

        for (size_t i = 0; sink->text && i < byte_len; i++) {
                const size_t first = sink->all + (is_one ? 0 : i);
                const size_t last = sink->all + (is_one ? byte_len - 1 : i);

                if (last < sink->omit_begin || first >= sink->omit_end) {
                        keep_byte(sink, bytes[i]);
                        continue;
                }
                for (; sink->mark && *sink->mark; sink->mark++)
                        keep_byte(sink, *sink->mark);
        }
        sink->all += byte_len;
}

static void put(struct sink *sink, const char *bytes, size_t byte_len)
{
        if (sink->to)
                put_in_stream(sink, bytes, byte_len);
        else
                put_in_text(sink, bytes, byte_len);
}

static void pad(struct sink *sink, size_t used, size_t width)
{
        for (; used < width; used++)
                put(sink, " ", 1);
}

/* ---- One conversion ---- */

/* "%-*.*s" and its kin, as it was read; `format` has it with numbers for the stars. */
struct spec {
        char format[SPEC_BYTES];
        size_t len;
        size_t width, precision; /* SIZE_MAX: no precision */
        int is_left;
        char length; /* h, l, j, z, t, L; 'H': hh, 'q': ll; 0: none */
        char kind;
};

static void keep(struct spec *spec, const char *text, size_t byte_len)
{
        assert(spec->len + byte_len < SPEC_BYTES);
        memcpy(spec->format + spec->len, text, byte_len);
        spec->len += byte_len;
        spec->format[spec->len] = '\0';
}

/* A number, or a star: then it is an argument. */
static int read_number(struct spec *spec, const char **format, va_list *args)
{
        char digits[16];
        long number;

        if (**format == '*') {
                number = va_arg(*args, int);
                ++*format;
        } else {
                char *end;

                number = strtol(*format, &end, 10); /* no digits: 0 */
                if (end == *format)
                        return 0;
                *format = end;
        }
        const int len = snprintf(digits, sizeof(digits), "%ld", number);

        keep(spec, digits, (size_t)len);
        return (int)number;
}

static void read_length(struct spec *spec, const char **format)
{
        const char *const first = *format;
        const size_t len = strspn(first, "hljztLq");

        spec->length = len ? first[0] : '\0';
        if (len == 2)
                spec->length = first[0] == 'h' ? 'H' : 'q';
        keep(spec, first, len);
        *format += len;
}

static void read_spec(struct spec *spec, const char **format, va_list *args)
{
        const size_t flags = strspn(*format + 1, "-+ #0'");

        *spec = (struct spec){ .precision = SIZE_MAX };
        keep(spec, *format, 1 + flags);
        spec->is_left = memchr(spec->format, '-', spec->len) != NULL;
        *format += 1 + flags;
        int number = read_number(spec, format, args);
        spec->is_left |= number < 0;
        spec->width = (size_t)abs(number);
        if (**format == '.') {
                const size_t before = spec->len;

                keep(spec, *format, 1);
                ++*format;
                number = read_number(spec, format, args);
                spec->precision = number < 0 ? SIZE_MAX : (size_t)number;
                spec->len = number < 0 ? before : spec->len;
        }
        read_length(spec, format);
        spec->kind = **format;
        keep(spec, *format, 1);
        ++*format;
}

static size_t safe_len(const char *text, const char *end)
{
        char written[SAFE_TEXT_MAX];
        size_t len = 0;

        while (text < end)
                len += safe_text_next(&text, end, written);
        return len;
}

static void put_padded(struct sink *sink, const struct spec *spec, const char *text, const char *end)
{
        const size_t len = spec->width ? safe_len(text, end) : 0;
        char written[SAFE_TEXT_MAX];

        if (!spec->is_left)
                pad(sink, len, spec->width);
        for (const char *at = text; at < end;) {
                const size_t written_len = safe_text_next(&at, end, written);

                put(sink, written, written_len);
        }
        if (spec->is_left)
                pad(sink, len, spec->width);
}

static void put_string(struct sink *sink, const struct spec *spec, const char *text)
{
        const char *const given = text ? text : "(null)";

        put_padded(sink, spec, given, given + strnlen(given, spec->precision));
}

static void put_character(struct sink *sink, const struct spec *spec, char character)
{
        put_padded(sink, spec, &character, &character + 1);
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral" /* the caller's format was checked */

/* All of these are passed as a long here, signed or not. */
_Static_assert(sizeof(long) == sizeof(long long) && sizeof(long) == sizeof(intmax_t) &&
                       sizeof(long) == sizeof(size_t) && sizeof(long) == sizeof(ptrdiff_t),
               "LP64");

static int print_integer(const struct spec *spec, char *number, va_list *args)
{
        if (spec->length && strchr("lqjzt", spec->length))
                return snprintf(number, NUMBER_BYTES, spec->format, va_arg(*args, long));
        return snprintf(number, NUMBER_BYTES, spec->format, va_arg(*args, int));
}

static int print_floating(const struct spec *spec, char *number, va_list *args)
{
        if (spec->length == 'L')
                return snprintf(number, NUMBER_BYTES, spec->format, va_arg(*args, long double));
        return snprintf(number, NUMBER_BYTES, spec->format, va_arg(*args, double));
}

static int print_number(const struct spec *spec, char *number, va_list *args)
{
        if (strchr("diouxX", spec->kind))
                return print_integer(spec, number, args);
        if (strchr("aAeEfFgG", spec->kind))
                return print_floating(spec, number, args);
        assert(spec->kind == 'p');
        return snprintf(number, NUMBER_BYTES, spec->format, va_arg(*args, void *));
}

#pragma GCC diagnostic pop

static void put_conversion(struct sink *sink, const struct spec *spec, va_list *args)
{
        char number[NUMBER_BYTES];

        switch (spec->kind) {
        case '%':
                put(sink, "%", 1);
                return;
        case 's':
                put_string(sink, spec, va_arg(*args, const char *));
                return;
        case 'c':
                put_character(sink, spec, (char)va_arg(*args, int));
                return;
        default: {
                const int len = print_number(spec, number, args);

                put(sink, number, len < 0 ? 0 : len < NUMBER_BYTES ? (size_t)len : NUMBER_BYTES - 1);
        }
        }
}

static void put_all(struct sink *sink, const char *format, va_list *args)
{
        while (*format) {
                const size_t plain = strcspn(format, "%");
                struct spec spec;

                put(sink, format, plain);
                format += plain;
                if (!*format)
                        return;
                read_spec(&spec, &format, args);
                put_conversion(sink, &spec, args);
        }
}

/* ---- Say ---- */

void say_list(FILE *to, const char *format, va_list args)
{
        char text[LINE_BYTES];
        struct sink sink = { .text = text, .room = sizeof(text), .to = to };
        va_list own;

        va_copy(own, args);
        flockfile(to); /* lines of several threads stay whole */
        put_all(&sink, format, &own);
        flush(&sink);
        funlockfile(to);
        va_end(own);
}

void say(FILE *to, const char *format, ...)
{
        va_list args;

        va_start(args, format);
        say_list(to, format, args);
        va_end(args);
}

static size_t length_of(const char *format, va_list args)
{
        struct sink counted = { 0 };
        va_list own;

        va_copy(own, args);
        put_all(&counted, format, &own);
        va_end(own);
        return counted.all;
}

/* How a sentence begins and how it ends is worth more than the middle of a long name. */
static void shorten(struct sink *sink, size_t all)
{
        const size_t kept = sink->room - strlen(dots);

        sink->omit_begin = sink->room;
        sink->omit_end = all;
        if (all <= sink->room || sink->room < SHORTENED_LEAST)
                return;
        sink->omit_begin = kept / 2;
        sink->omit_end = all - (kept - kept / 2);
        sink->mark = dots;
}

void say_text_list(char *text, size_t byte_len, const char *format, va_list args)
{
        struct sink sink = { .text = text, .room = byte_len - 1 };
        va_list own;

        assert(byte_len);
        shorten(&sink, length_of(format, args));
        va_copy(own, args);
        put_all(&sink, format, &own);
        va_end(own);
        text[sink.len] = '\0';
}

void say_text(char *text, size_t byte_len, const char *format, ...)
{
        va_list args;

        va_start(args, format);
        say_text_list(text, byte_len, format, args);
        va_end(args);
}
