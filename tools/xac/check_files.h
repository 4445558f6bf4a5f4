/* SPDX-License-Identifier: MIT */
#ifndef TOOLS_XAC_CHECK_FILES_H
#define TOOLS_XAC_CHECK_FILES_H

/*
 * Names, kinds and permissions of an environment's files, and how `xac check` reports what it finds.
 */

#include <stdint.h>

#include "tools/xac/json.h"
#include "tools/xac/place.h"

void check_damage(const char *format, ...) __attribute__((format(printf, 1, 2)));
void check_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* From now on into the array that is open there, as objects, and not to the terminal. */
void check_findings_to(struct json *json);
/* How often check_damage was called. */
uint64_t check_damage_count(void);

/* Reports what is wrong. An error only if it could not look. */
int check_files(const struct place *place);

#endif
