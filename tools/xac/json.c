/* SPDX-License-Identifier: MIT */
#include "tools/xac/json.h"

#include <inttypes.h>

void json_quote(FILE *to, const char *text)
{
        putc('"', to);
        for (; *text; text++) {
                if (*text == '"' || *text == '\\')
                        putc('\\', to);
                if ((unsigned char)*text < 0x20 || *text == '<')
                        fprintf(to, "\\u%04x", (unsigned)*text);
                else
                        putc(*text, to);
        }
        putc('"', to);
}

static void begin_item(struct json *json, const char *key)
{
        if (json->depth)
                fprintf(json->to, "%s\n%*s", json->has_items ? "," : "", json->depth * 2, "");
        if (key) {
                json_quote(json->to, key);
                fputs(": ", json->to);
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
        if (json->has_items)
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
