/* SPDX-License-Identifier: MIT */
#ifndef TOOLS_XAC_CHECK_JSON_H
#define TOOLS_XAC_CHECK_JSON_H

/*
 * `xac check --json`: what check.c has found, for programs. Each field is there in each case, null where it was not
 * looked at. xac(1) has the fields.
 */

#include "recovery/recover.h"
#include "tools/xac/json.h"
#include "tools/xac/place.h"

struct check {
        const char *path;
        bool is_forced, is_strict, is_json;
        struct place *place; /* NULL: it could not be opened */
        bool has_manifest;   /* a sound one */
        bool has_remains;    /* shared memory that the next open goes on with */
        bool has_recovery;   /* nothing is damaged: recovery says what it would do */
        struct recovery recovery;
};

/* Up to the list of what is found, which check_damage() and check_note() fill. */
void check_json_begin(struct json *json, const struct check *check);
void check_json_end(struct json *json, const struct check *check, enum tool_exit status);

#endif
