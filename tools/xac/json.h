/* SPDX-License-Identifier: MIT */
#ifndef TOOLS_XAC_JSON_H
#define TOOLS_XAC_JSON_H

/*
 * Writes JSON: commas, line breaks and escapes. Within an array the keys are NULL.
 */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct json {
        FILE *to;
        int depth;
        bool has_items; /* at this depth */
        bool is_line;   /* all of it in one line, and without blanks */
};

void json_open(struct json *json, const char *key, char bracket); /* '{' or '[' */
void json_close(struct json *json, char bracket);                 /* '}' or ']' */
void json_number(struct json *json, const char *key, uint64_t number);
void json_signed(struct json *json, const char *key, int64_t number);
void json_fraction(struct json *json, const char *key, double number, int places); /* behind the point */
void json_bool(struct json *json, const char *key, bool is_so);
void json_text(struct json *json, const char *key, const char *text); /* UTF-8; NULL: null */
void json_null(struct json *json, const char *key);
/* The number, or null where it is not known. */
void json_number_if(struct json *json, const char *key, bool is_known, uint64_t number);

/* The text with its quotation marks. Bytes that are no UTF-8 become U+FFFD. Control characters and "<" are escaped, so
 * that it may stand on a terminal, and in a script of a page. */
void json_quote(FILE *to, const char *text);

#endif
