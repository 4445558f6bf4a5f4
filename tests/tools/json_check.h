/* SPDX-License-Identifier: MIT */
#ifndef TESTS_TOOLS_JSON_CHECK_H
#define TESTS_TOOLS_JSON_CHECK_H

#include <stdbool.h>
#include <stddef.h>

/* Is the text one value of JSON, and nothing else? Not more is looked at than its grammar, and that it is UTF-8 as far
 * as control characters go. */
bool json_check(const char *text, size_t byte_len);

#endif
