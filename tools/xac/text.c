/* SPDX-License-Identifier: MIT */
#include "tools/xac/text.h"

#include <stdlib.h>
#include <string.h>

#include "base/safe_text.h"

char *text_copy(const char *bytes, size_t byte_len)
{
        const size_t len = strnlen(bytes, byte_len);
        const char *const end = bytes + len;
        char *text = malloc(SAFE_TEXT_MAX * len + 1);
        char *to = text;

        while (text && bytes < end)
                to += safe_text_next(&bytes, end, to);
        if (text)
                *to = '\0';
        return text;
}
