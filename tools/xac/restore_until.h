/* SPDX-License-Identifier: MIT */
#ifndef TOOLS_XAC_RESTORE_UNTIL_H
#define TOOLS_XAC_RESTORE_UNTIL_H

/*
 * An environment that nobody has open, brought on to a moment by an archive (recovery/restore_until.h).
 */

#include "recovery/restore_until.h"
#include "tools/xac/moment.h"
#include "tools/xac/tool.h"

/* An environment that nobody else has, as far as these functions know: of which one its files are, and how far it is to
 * go. */
struct restore_further {
        const char *path; /* for people */
        const char *archive;
        const struct moment *moment;
        bool is_quiet;
        struct restore_until restore; /* uuid, history, session and time of the base; then the results */
};

/* Complains if it fails. */
enum tool_exit restore_further_run(struct restore_further *further);
void restore_further_report(const struct restore_further *further);
/* Says, however quiet it is to be, if commits of before that time may be missing: nobody else will. */
void restore_further_warn(const struct restore_further *further);

/* The same for a directory at rest, of which its own manifest tells. */
enum tool_exit restore_until_moment(const char *path, const char *archive, const struct moment *moment, bool is_quiet);

#endif
