/* SPDX-License-Identifier: MIT */
#ifndef TOOLS_XAC_RESTORE_UNTIL_H
#define TOOLS_XAC_RESTORE_UNTIL_H

/*
 * An environment that nobody has open, brought on to a moment by an archive (recovery/restore_until.h).
 */

#include "tools/xac/moment.h"
#include "tools/xac/tool.h"

/* Of which environment the files in a directory are; NULL in place of it: as their own manifest says. */
struct restore_source {
        uint8_t uuid[16];
        uint32_t history;
        uint64_t session_ns;
        uint64_t time_ns; /* not before the commit that they stand at; 0: not known */
};

/* Reports what was done, or complains. */
enum tool_exit restore_until_moment(const char *path, const struct restore_source *source, const char *archive,
                                    const struct moment *moment);

#endif
