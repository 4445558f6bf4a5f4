/* SPDX-License-Identifier: MIT */

/* str... of <string.h>. Where text ends is found first, page by page; the rest is done by mem... */

#include "compiler/runtime/runtime.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

size_t xacrt_strnlen(const char *text, size_t len)
{
        const char *end = xacrt_memchr(text, '\0', len);
        return end ? (size_t)(end - text) : len;
}

size_t xacrt_strlen(const char *text)
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

int xacrt_strncmp(const char *a, const char *b, size_t len)
{
        return compare(a, b, len, strncmp);
}

int xacrt_strcmp(const char *a, const char *b)
{
        if (!xac_in_window(a) && !xac_in_window(b))
                return strcmp(a, b);
        return compare(a, b, SIZE_MAX, strncmp);
}

int xacrt_strncasecmp(const char *a, const char *b, size_t len)
{
        return compare(a, b, len, strncasecmp);
}

int xacrt_strcasecmp(const char *a, const char *b)
{
        return compare(a, b, SIZE_MAX, strncasecmp);
}

char *xacrt_stpcpy(char *to, const char *from)
{
        const size_t len = xacrt_strlen(from);
        xacrt_memcpy(to, from, len + 1);
        return to + len;
}

char *xacrt_strcpy(char *to, const char *from)
{
        xacrt_stpcpy(to, from);
        return to;
}

char *xacrt_stpncpy(char *to, const char *from, size_t len)
{
        const size_t text_len = xacrt_strnlen(from, len);
        xacrt_memcpy(to, from, text_len);
        xacrt_memset(to + text_len, '\0', len - text_len);
        return to + text_len;
}

char *xacrt_strncpy(char *to, const char *from, size_t len)
{
        xacrt_stpncpy(to, from, len);
        return to;
}

char *xacrt_strncat(char *to, const char *from, size_t len)
{
        char *end = to + xacrt_strlen(to);
        const size_t text_len = xacrt_strnlen(from, len);
        xacrt_memcpy(end, from, text_len);
        xacrt_memset(end + text_len, '\0', 1);
        return to;
}

char *xacrt_strcat(char *to, const char *from)
{
        xacrt_strcpy(to + xacrt_strlen(to), from);
        return to;
}

char *xacrt_strchr(const char *text, int byte)
{
        if (!xac_in_window(text))
                return strchr(text, byte);
        return xacrt_memchr(text, byte, xacrt_strlen(text) + 1);
}

char *xacrt_strrchr(const char *text, int byte)
{
        if (!xac_in_window(text))
                return strrchr(text, byte);
        return xacrt_memrchr(text, byte, xacrt_strlen(text) + 1);
}

char *xacrt_strchrnul(const char *text, int byte)
{
        if (!xac_in_window(text))
                return strchrnul(text, byte);
        const size_t len = xacrt_strlen(text);
        char *found = xacrt_memchr(text, byte, len);
        return found ? found : (char *)(uintptr_t)text + len;
}

char *xacrt_strstr(const char *text, const char *part)
{
        const size_t part_len = xacrt_strlen(part);
        const char first = byte_at(part);
        if (!part_len)
                return (char *)(uintptr_t)text;
        for (; (text = xacrt_strchr(text, first)); text++)
                if (!xacrt_strncmp(text, part, part_len))
                        return (char *)(uintptr_t)text;
        return NULL;
}

char *xacrt_strcasestr(const char *text, const char *part)
{
        const size_t part_len = xacrt_strlen(part);
        for (;; text++) {
                if (!xacrt_strncasecmp(text, part, part_len))
                        return (char *)(uintptr_t)text;
                if (!byte_at(text))
                        return NULL;
        }
}

/* The length of what begins the text and is (not) in the set. */
static size_t span(const char *text, const char *set, int is_in)
{
        size_t len = 0;
        for (char byte; (byte = byte_at(text + len)) != '\0'; len++)
                if ((xacrt_strchr(set, byte) != NULL) != is_in)
                        break;
        return len;
}

size_t xacrt_strspn(const char *text, const char *set)
{
        return span(text, set, 1);
}

size_t xacrt_strcspn(const char *text, const char *set)
{
        return span(text, set, 0);
}

char *xacrt_strpbrk(const char *text, const char *set)
{
        text += span(text, set, 0);
        return byte_at(text) ? (char *)(uintptr_t)text : NULL;
}

char *xacrt_strndup(const char *text, size_t len)
{
        len = xacrt_strnlen(text, len);
        char *copy = malloc(len + 1);
        if (!copy)
                return NULL;
        copy[len] = '\0';
        return xacrt_memcpy(copy, text, len);
}

char *xacrt_strdup(const char *text)
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

char *xacrt_strsep(char **text, const char *set)
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

char *xacrt_strtok_r(char *text, const char *set, char **rest)
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
char *xacrt_strtok(char *text, const char *set)
{
        static _Thread_local char *rest;
        return xacrt_strtok_r(text, set, &rest);
}
