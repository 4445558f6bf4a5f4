/* SPDX-License-Identifier: MIT */
#ifndef TOOLS_XAC_TEXT_H
#define TOOLS_XAC_TEXT_H

#include <stddef.h>

/* A copy of the bytes up to a NUL, at most byte_len, to be freed; NULL: no memory. It is as base/safe_text.h says. */
char *text_copy(const char *bytes, size_t byte_len);

#endif
