/* SPDX-License-Identifier: MIT */
#include "tests/tools/json_check.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

struct json_text {
        const char *at;
        const char *end;
        int depth;
};

static bool take(struct json_text *text, const char *word)
{
        size_t len = strlen(word);

        if ((size_t)(text->end - text->at) < len || memcmp(text->at, word, len) != 0)
                return false;
        text->at += len;
        return true;
}

static void skip_space(struct json_text *text)
{
        while (text->at < text->end && memchr(" \t\r\n", *text->at, 4))
                text->at++;
}

static bool take_escape(struct json_text *text)
{
        if (text->at == text->end || !memchr("\"\\/bfnrtu", *text->at, 9))
                return false;
        if (*text->at++ != 'u')
                return true;
        for (int i = 0; i < 4; i++, text->at++)
                if (text->at == text->end || !isxdigit((unsigned char)*text->at))
                        return false;
        return true;
}

static bool take_string(struct json_text *text)
{
        if (!take(text, "\""))
                return false;
        while (text->at < text->end && *text->at != '"') {
                unsigned char byte = (unsigned char)*text->at++;

                if (byte < 0x20 || (byte == '\\' && !take_escape(text)))
                        return false;
        }
        return take(text, "\"");
}

static bool take_digits(struct json_text *text)
{
        const char *begin = text->at;

        while (text->at < text->end && isdigit((unsigned char)*text->at))
                text->at++;
        return text->at > begin;
}

static bool take_number(struct json_text *text)
{
        const char *begin;

        (void)take(text, "-");
        begin = text->at;
        if (!take_digits(text) || (*begin == '0' && text->at > begin + 1))
                return false;
        return !take(text, ".") || take_digits(text);
}

static bool take_value(struct json_text *text);

static bool take_items(struct json_text *text, const char *close, bool has_keys)
{
        skip_space(text);
        if (take(text, close))
                return true;
        do {
                skip_space(text);
                if (has_keys) {
                        if (!take_string(text))
                                return false;
                        skip_space(text);
                        if (!take(text, ":"))
                                return false;
                }
                if (!take_value(text))
                        return false;
                skip_space(text);
        } while (take(text, ","));
        return take(text, close);
}

static bool take_value(struct json_text *text)
{
        bool is_value;

        if (++text->depth > 100)
                return false;
        skip_space(text);
        if (take(text, "{"))
                is_value = take_items(text, "}", true);
        else if (take(text, "["))
                is_value = take_items(text, "]", false);
        else if (text->at < text->end && *text->at == '"')
                is_value = take_string(text);
        else
                is_value = take(text, "true") || take(text, "false") || take(text, "null") || take_number(text);
        text->depth--;
        return is_value;
}

bool json_check(const char *bytes, size_t byte_len)
{
        struct json_text text = { .at = bytes, .end = bytes + byte_len };

        if (!take_value(&text))
                return false;
        skip_space(&text);
        return text.at == text.end;
}

/* ---- Looking into it ---- */

/* At the first item of what begins here, or at its end. */
static bool enter(struct json_text *text)
{
        if (!take(text, "{") && !take(text, "["))
                return false;
        skip_space(text);
        return true;
}

/* Past a key: it is the wanted one? An item of an array has none. */
static bool is_wanted(struct json_text *text, bool has_keys, size_t index, const char *wanted, size_t wanted_len)
{
        const char *key = text->at;
        char number[24];
        int length;

        if (!has_keys) {
                length = snprintf(number, sizeof(number), "%zu", index);
                return (size_t)length == wanted_len && memcmp(number, wanted, wanted_len) == 0;
        }
        (void)take_string(text);
        const bool is_same = (size_t)(text->at - key) == wanted_len + 2 && memcmp(key + 1, wanted, wanted_len) == 0;
        skip_space(text);
        (void)take(text, ":");
        skip_space(text);
        return is_same;
}

/* Goes to an item of the value that begins here; with `wanted` NULL past all of them. How many it has passed. */
static bool go_to(struct json_text *text, const char *wanted, size_t wanted_len, size_t *passed)
{
        const bool has_keys = *text->at == '{';

        *passed = 0;
        if (!enter(text))
                return false;
        while (*text->at != '}' && *text->at != ']') {
                if (is_wanted(text, has_keys, *passed, wanted ? wanted : "", wanted_len) && wanted)
                        return true;
                (void)take_value(text);
                ++*passed;
                skip_space(text);
                (void)take(text, ",");
                skip_space(text);
        }
        return false;
}

static bool find(struct json_text *text, const char *place)
{
        size_t passed;

        skip_space(text);
        while (*place) {
                const size_t length = strcspn(place, ".");

                if (!go_to(text, place, length, &passed))
                        return false;
                place += length + (place[length] == '.');
        }
        return true;
}

char json_kind(const char *bytes, size_t byte_len, const char *place, const char **at)
{
        struct json_text text = { .at = bytes, .end = bytes + byte_len };

        if (!json_check(bytes, byte_len) || !find(&text, place))
                return 0;
        if (at)
                *at = text.at;
        switch (*text.at) {
        case '{':
        case '[':
        case '"':
        case 'n':
                return *text.at;
        case 't':
        case 'f':
                return 't';
        default:
                return '0';
        }
}

size_t json_count(const char *bytes, size_t byte_len, const char *place)
{
        struct json_text text = { .at = bytes, .end = bytes + byte_len };
        size_t passed = 0;

        if (json_check(bytes, byte_len) && find(&text, place))
                (void)go_to(&text, NULL, 0, &passed);
        return passed;
}
