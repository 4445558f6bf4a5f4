/* SPDX-License-Identifier: MIT */
#include "tools/xac/text.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* How many bytes a character has by its first; 0: none begins so. */
static size_t length_by(unsigned char byte)
{
        if (byte < 0x80)
                return 1;
        if (byte >= 0xc2 && byte < 0xe0)
                return 2;
        if (byte >= 0xe0 && byte < 0xf0)
                return 3;
        return byte >= 0xf0 && byte < 0xf5 ? 4 : 0;
}

/* Written with too many bytes, half of a pair, or beyond the last one; and control characters. */
static int is_forbidden(uint32_t character, size_t len)
{
        return character < 0x20 || (character >= 0x7f && character < 0xa0) || (len == 3 && character < 0x800) ||
               (len == 4 && character < 0x10000) || (character >= 0xd800 && character < 0xe000) || character > 0x10ffff;
}

/* Of the character that begins there; 0: none does. */
static size_t character_len(const unsigned char *text, size_t left)
{
        size_t len = length_by(text[0]);
        uint32_t character;

        if (len == 0 || len > left)
                return 0;
        character = len == 1 ? text[0] : text[0] & (0x7fU >> len);
        for (size_t i = 1; i < len; i++) {
                if ((text[i] & 0xc0) != 0x80)
                        return 0;
                character = character << 6 | (text[i] & 0x3fU);
        }
        return is_forbidden(character, len) ? 0 : len;
}

char *text_copy(const char *bytes, size_t byte_len)
{
        char *text = strndup(bytes, byte_len);
        size_t len = text ? strlen(text) : 0;

        for (size_t at = 0; at < len;) {
                size_t character = character_len((const unsigned char *)text + at, len - at);

                if (!character)
                        text[at] = '?';
                at += character ? character : 1;
        }
        return text;
}
