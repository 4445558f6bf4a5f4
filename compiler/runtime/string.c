/* SPDX-License-Identifier: MIT */

/* str... of <string.h> that measure, compare, copy and divide. What lies in no view is left to the C library. */

#include "compiler/runtime/runtime.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

XACRT_WEAK size_t xacrt_strnlen(const char *text, size_t len)
{
        if (!xac_in_window(text))
                return strnlen(text, len);
        const char *end = xacrt_memchr(text, '\0', len);
        return end ? (size_t)(end - text) : len;
}

XACRT_WEAK size_t xacrt_strlen(const char *text)
{
        if (!xac_in_window(text))
                return strlen(text);
        return (size_t)((const char *)xacrt_memchr(text, '\0', SIZE_MAX) - text);
}

static char byte_at(const char *addr)
{
        return *(const char *)xac_for_read(addr);
}

/* Are there no more bytes, or does the text end in these? */
static int ends_in(const char *seen, size_t len, size_t left)
{
        return len == left || memchr(seen, '\0', len);
}

static int are_elsewhere(const void *a, const void *b)
{
        return !xac_in_window(a) && !xac_in_window(b);
}

typedef int (*compare_fn)(const char *, const char *, size_t);

/* Neither is looked at beyond its end, as another page may be there, or none. */
static int compare(const char *a, const char *b, size_t len, compare_fn compare_piece)
{
        while (len) {
                const size_t piece = xacrt_piece(a, xacrt_piece(b, len));
                const char *left = xac_for_read(a), *right = xac_for_read(b);
                const int order = compare_piece(left, right, piece);
                if (order || ends_in(left, piece, len))
                        return order;
                a += piece;
                b += piece;
                len -= piece;
        }
        return 0;
}

XACRT_WEAK int xacrt_strncmp(const char *a, const char *b, size_t len)
{
        if (are_elsewhere(a, b))
                return strncmp(a, b, len);
        return compare(a, b, len, strncmp);
}

XACRT_WEAK int xacrt_strcmp(const char *a, const char *b)
{
        if (are_elsewhere(a, b))
                return strcmp(a, b);
        return compare(a, b, SIZE_MAX, strncmp);
}

XACRT_WEAK int xacrt_strncasecmp(const char *a, const char *b, size_t len)
{
        if (are_elsewhere(a, b))
                return strncasecmp(a, b, len);
        return compare(a, b, len, strncasecmp);
}

XACRT_WEAK int xacrt_strcasecmp(const char *a, const char *b)
{
        if (are_elsewhere(a, b))
                return strcasecmp(a, b);
        return compare(a, b, SIZE_MAX, strncasecmp);
}

/* Up to the end of the text, and with it, or so many bytes. Returns where the next byte goes. To write a page for the
 * first time gives it another place: the destination is asked for first. */
static char *copy_text(char *to, const char *from, size_t *left)
{
        while (*left) {
                const size_t piece = xacrt_piece(to, xacrt_piece(from, *left));
                char *out = xac_for_write(to);
                const char *end = memccpy(out, xac_for_read(from), '\0', piece);
                const size_t some = end ? (size_t)(end - out) : piece;
                to += some;
                from += some;
                *left -= some;
                if (end)
                        break;
        }
        return to;
}

XACRT_WEAK char *xacrt_stpcpy(char *to, const char *from)
{
        size_t left = SIZE_MAX;
        if (are_elsewhere(to, from))
                return stpcpy(to, from);
        return copy_text(to, from, &left) - 1;
}

XACRT_WEAK char *xacrt_strcpy(char *to, const char *from)
{
        if (are_elsewhere(to, from))
                return strcpy(to, from);
        xacrt_stpcpy(to, from);
        return to;
}

/* The rest is filled with 0. */
XACRT_WEAK char *xacrt_stpncpy(char *to, const char *from, size_t len)
{
        size_t left = len;
        if (are_elsewhere(to, from))
                return stpncpy(to, from, len);
        char *end = copy_text(to, from, &left);
        xacrt_memset(end, '\0', left);
        return end > to && *(const char *)xac_for_read(end - 1) == '\0' ? end - 1 : end;
}

XACRT_WEAK char *xacrt_strncpy(char *to, const char *from, size_t len)
{
        if (are_elsewhere(to, from))
                return strncpy(to, from, len);
        xacrt_stpncpy(to, from, len);
        return to;
}

XACRT_WEAK char *xacrt_strncat(char *to, const char *from, size_t len)
{
        if (are_elsewhere(to, from))
                return strncat(to, from, len);
        char *end = to + xacrt_strlen(to);
        const size_t text_len = xacrt_strnlen(from, len);
        xacrt_memcpy(end, from, text_len);
        xacrt_memset(end + text_len, '\0', 1);
        return to;
}

XACRT_WEAK char *xacrt_strcat(char *to, const char *from)
{
        if (are_elsewhere(to, from))
                return strcat(to, from);
        xacrt_strcpy(to + xacrt_strlen(to), from);
        return to;
}

XACRT_WEAK char *xacrt_strndup(const char *text, size_t len)
{
        len = xacrt_strnlen(text, len);
        char *copy = malloc(len + 1);
        if (!copy)
                return NULL;
        /* The program may have a malloc() that gives memory in a view. */
        xacrt_memset(copy + len, '\0', 1);
        return xacrt_memcpy(copy, text, len);
}

XACRT_WEAK char *xacrt_strdup(const char *text)
{
        return xacrt_strndup(text, xacrt_strlen(text));
}

/* ---- pieces of a text, one after the other ---- */

static char *pointer_at(char *const *place)
{
        char *pointer;
        xacrt_memcpy(&pointer, place, sizeof(pointer));
        return pointer;
}

static void set_pointer(char **place, char *pointer)
{
        xacrt_memcpy(place, &pointer, sizeof(pointer));
}

XACRT_WEAK char *xacrt_strsep(char **text, const char *set)
{
        char *begin = pointer_at(text);
        if (!begin)
                return NULL;
        char *end = begin + xacrt_strcspn(begin, set);
        if (byte_at(end)) {
                xacrt_memset(end, '\0', 1);
                set_pointer(text, end + 1);
        } else {
                set_pointer(text, NULL);
        }
        return begin;
}

XACRT_WEAK char *xacrt_strtok_r(char *text, const char *set, char **rest)
{
        if (!text)
                text = pointer_at(rest);
        if (!text)
                return NULL;
        text += xacrt_strspn(text, set);
        char *end = text + xacrt_strcspn(text, set);
        const char last = byte_at(end);
        if (last)
                xacrt_memset(end, '\0', 1);
        set_pointer(rest, last ? end + 1 : end);
        return end > text ? text : NULL;
}

/* The C library's is one for all threads. */
XACRT_WEAK char *xacrt_strtok(char *text, const char *set)
{
        static _Thread_local char *rest;
        return xacrt_strtok_r(text, set, &rest);
}
