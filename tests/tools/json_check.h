/* SPDX-License-Identifier: MIT */
#ifndef TESTS_TOOLS_JSON_CHECK_H
#define TESTS_TOOLS_JSON_CHECK_H

#include <stdbool.h>
#include <stddef.h>

/* Is the text one value of JSON, and nothing else? Not more is looked at than its grammar, and that it is UTF-8 as far
 * as control characters go. */
bool json_check(const char *text, size_t byte_len);

/* What stands at a place of a text that json_check() accepts: '{', '[', '"', '0' (a number), 't' (true or false), 'n'
 * (null), or 0: there is no such place. A place is keys and indexes with dots between them: "files.0.name". *at, if not
 * NULL, is where it begins. */
char json_kind(const char *bytes, size_t byte_len, const char *place, const char **at);
/* How many items the array or object there has. */
size_t json_count(const char *bytes, size_t byte_len, const char *place);

#endif
