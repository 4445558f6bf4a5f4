/* SPDX-License-Identifier: MIT */
#ifndef BASE_SAFE_TEXT_H
#define BASE_SAFE_TEXT_H

/*
 * Makes another user's text, as a file's name, safe to print on a terminal.
 *
 * safe_text_next() writes control characters, characters that change the direction of writing, and bytes that are no
 * UTF-8 as \xNN, byte by byte. So a name cannot move the cursor or begin a line. All other bytes stay as they are, so
 * a second call changes nothing. The fault handler may call these functions.
 */

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { SAFE_TEXT_MAX = 4 }; /* bytes of one character, on both sides */

/* The first character from `text` on, which does not lie behind `end`; 0: no UTF-8. */
static inline uint32_t safe_text_decode(const unsigned char *text, const unsigned char *end, size_t *byte_len)
{
        static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
        const unsigned char lead = text[0];
        const size_t len = lead < 0x80 ? 1 : lead >> 5 == 6 ? 2 : lead >> 4 == 14 ? 3 : lead >> 3 == 30 ? 4 : 0;
        uint32_t code = len == 1 ? lead : lead & 0x7fU >> len;

        *byte_len = len;
        if (!len || (size_t)(end - text) < len)
                return 0;
        for (size_t i = 1; i < len; i++) {
                if (text[i] >> 6 != 2)
                        return 0;
                code = code << 6 | (text[i] & 0x3f);
        }
        return code < least[len] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff) ? 0 : code;
}

static inline int safe_text_is_plain(uint32_t code)
{
        if (code < 0x20 || (code >= 0x7f && code < 0xa0))
                return 0;
        return !(code == 0x061c || code == 0x200e || code == 0x200f || (code >= 0x2028 && code <= 0x202e) ||
                 (code >= 0x2066 && code <= 0x2069));
}

/* Writes the next character, or the next byte of what is none, and moves *text behind it. Returns how many bytes it
 * has written. */
static inline size_t safe_text_next(const char **text, const char *end, char written[SAFE_TEXT_MAX])
{
        static const char digits[] = "0123456789abcdef";
        const unsigned char byte = (unsigned char)**text;
        size_t byte_len;

        if (safe_text_is_plain(safe_text_decode((const unsigned char *)*text, (const unsigned char *)end, &byte_len))) {
                memcpy(written, *text, byte_len);
                *text += byte_len;
                return byte_len;
        }
        written[0] = '\\';
        written[1] = 'x';
        written[2] = digits[byte >> 4];
        written[3] = digits[byte & 15];
        ++*text;
        return SAFE_TEXT_MAX;
}

/* All of `text`, as far as there is room for whole characters. `to` ends with a NUL. */
static inline void safe_text_copy(char *to, size_t byte_len, const char *text)
{
        const char *const end = text + strlen(text);
        char written[SAFE_TEXT_MAX];
        size_t len = 0;

        while (text < end) {
                const size_t written_len = safe_text_next(&text, end, written);

                if (written_len >= byte_len - len)
                        break;
                memcpy(to + len, written, written_len);
                len += written_len;
        }
        to[len] = '\0';
}

#endif
