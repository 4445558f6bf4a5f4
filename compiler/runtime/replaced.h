/* SPDX-License-Identifier: MIT */
#ifndef XACRT_REPLACED_H
#define XACRT_REPLACED_H

/* Functions of <string.h>, on memory that may be in a view: what compiled code calls in the place of the C library's.
 */

#include <stddef.h>

#pragma GCC visibility push(hidden)

void *xacrt_memcpy(void *to, const void *from, size_t len);
void *xacrt_memmove(void *to, const void *from, size_t len);
void *xacrt_mempcpy(void *to, const void *from, size_t len);
void *xacrt_memset(void *to, int byte, size_t len);
void xacrt_bzero(void *to, size_t len);
int xacrt_memcmp(const void *a, const void *b, size_t len);
int xacrt_bcmp(const void *a, const void *b, size_t len);
void *xacrt_memchr(const void *bytes, int byte, size_t len);
void *xacrt_memrchr(const void *bytes, int byte, size_t len);
void *xacrt_rawmemchr(const void *bytes, int byte);
void *xacrt_memmem(const void *bytes, size_t len, const void *part, size_t part_len);
void *xacrt_memccpy(void *to, const void *from, int byte, size_t len);
void xacrt_bcopy(const void *from, void *to, size_t len);
void xacrt_explicit_bzero(void *to, size_t len);
size_t xacrt_strlen(const char *text);
size_t xacrt_strnlen(const char *text, size_t len);
int xacrt_strcmp(const char *a, const char *b);
int xacrt_strncmp(const char *a, const char *b, size_t len);
int xacrt_strcasecmp(const char *a, const char *b);
int xacrt_strncasecmp(const char *a, const char *b, size_t len);
char *xacrt_strcpy(char *to, const char *from);
char *xacrt_stpcpy(char *to, const char *from);
char *xacrt_strncpy(char *to, const char *from, size_t len);
char *xacrt_stpncpy(char *to, const char *from, size_t len);
char *xacrt_strcat(char *to, const char *from);
char *xacrt_strncat(char *to, const char *from, size_t len);
char *xacrt_strchr(const char *text, int byte);
char *xacrt_strrchr(const char *text, int byte);
char *xacrt_index(const char *text, int byte);
char *xacrt_rindex(const char *text, int byte);
char *xacrt_strchrnul(const char *text, int byte);
char *xacrt_strstr(const char *text, const char *part);
char *xacrt_strcasestr(const char *text, const char *part);
size_t xacrt_strspn(const char *text, const char *set);
size_t xacrt_strcspn(const char *text, const char *set);
char *xacrt_strpbrk(const char *text, const char *set);
/* Where they go on may be in a view, too. */
char *xacrt_strtok(char *text, const char *set);
char *xacrt_strtok_r(char *text, const char *set, char **rest);
char *xacrt_strsep(char **text, const char *set);
char *xacrt_strdup(const char *text);
char *xacrt_strndup(const char *text, size_t len);

#pragma GCC visibility pop

#endif
