/* SPDX-License-Identifier: MIT */
#ifndef TOOLS_XAC_STAT_JSON_H
#define TOOLS_XAC_STAT_JSON_H

/*
 * `xac stat --json`: what stat.c has found, for programs. Each field is there in each case, null where it is not known.
 * xac(1) has the fields.
 */

#include "tools/xac/live.h"
#include "tools/xac/place.h"

struct stat_log {
        uint64_t commits;  /* beyond the checkpoint */
        uint64_t byte_len; /* of them */
        uint64_t newest;   /* commit */
        int err;           /* why it could not be read, or not to its end */
        bool is_read;      /* up to there */
        bool is_known;     /* that is all of it */
};

struct stat_look {
        const char *path;
        struct place *place;           /* NULL: it could not be opened, or has no manifest */
        struct inspection *inspection; /* NULL: there is no shared memory, or it cannot be seen */
        int in_use;                    /* place_is_in_use's */
        struct stat_log log;           /* of one at rest */
        uint64_t log_files, log_files_bytes;
};

/* The status, or TOOL_FAILED: the directory says that it is a backup, and cannot be read as one. */
enum tool_exit stat_json_print(const struct stat_look *look, enum tool_exit status);

#endif
