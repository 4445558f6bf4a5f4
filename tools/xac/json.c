/* SPDX-License-Identifier: MIT */
#include "tools/xac/json.h"

#include <inttypes.h>
#include <string.h>

#include "base/safe_text.h"

/* What terminals act on is escaped as well, and what would end a script in HTML. */
static void quote_character(FILE *to, const char *text, uint32_t code, size_t byte_len)
{
        if (!code)
                fputs("\\ufffd", to); /* a byte that is no UTF-8 */
        else if (!safe_text_is_plain(code) || code == '<')
                fprintf(to, "\\u%04" PRIx32, code);
        else if (code == '"' || code == '\\')
                fprintf(to, "\\%c", (int)code);
        else
                fwrite(text, 1, byte_len, to);
}

void json_quote(FILE *to, const char *text)
{
        const char *const end = text + strlen(text);

        putc('"', to);
        while (text < end) {
                size_t byte_len;
                const uint32_t code =
                        safe_text_decode((const unsigned char *)text, (const unsigned char *)end, &byte_len);

                quote_character(to, text, code, byte_len);
                text += code ? byte_len : 1;
        }
        putc('"', to);
}

static void begin_item(struct json *json, const char *key)
{
        if (json->depth && json->has_items)
                putc(',', json->to);
        if (json->depth && !json->is_line)
                fprintf(json->to, "\n%*s", json->depth * 2, "");
        if (key) {
                json_quote(json->to, key);
                fputs(json->is_line ? ":" : ": ", json->to);
        }
        json->has_items = true;
}

void json_open(struct json *json, const char *key, char bracket)
{
        begin_item(json, key);
        putc(bracket, json->to);
        json->depth++;
        json->has_items = false;
}

void json_close(struct json *json, char bracket)
{
        json->depth--;
        if (json->has_items && !json->is_line)
                fprintf(json->to, "\n%*s", json->depth * 2, "");
        putc(bracket, json->to);
        if (!json->depth)
                putc('\n', json->to);
        json->has_items = true;
}

void json_number(struct json *json, const char *key, uint64_t number)
{
        begin_item(json, key);
        fprintf(json->to, "%" PRIu64, number);
}

void json_signed(struct json *json, const char *key, int64_t number)
{
        begin_item(json, key);
        fprintf(json->to, "%" PRId64, number);
}

void json_fraction(struct json *json, const char *key, double number, int places)
{
        begin_item(json, key);
        fprintf(json->to, "%.*f", places, number);
}

void json_bool(struct json *json, const char *key, bool is_so)
{
        begin_item(json, key);
        fputs(is_so ? "true" : "false", json->to);
}

void json_text(struct json *json, const char *key, const char *text)
{
        begin_item(json, key);
        if (text)
                json_quote(json->to, text);
        else
                fputs("null", json->to);
}

void json_null(struct json *json, const char *key)
{
        json_text(json, key, NULL);
}

void json_number_if(struct json *json, const char *key, bool is_known, uint64_t number)
{
        if (is_known)
                json_number(json, key, number);
        else
                json_null(json, key);
}
