/* SPDX-License-Identifier: MIT */
#ifndef TOOLS_XAC_ARCHIVE_CHECK_H
#define TOOLS_XAC_ARCHIVE_CHECK_H

/*
 * Reads all that an archive has, as a restore would: headers, the packed bytes and their checksums, and every record.
 */

#include <stdbool.h>

#include "tools/xac/tool.h"

/* Prints what is damaged or missing, and of which commits that was. */
enum tool_exit archive_check_run(const char *path, bool is_quiet);

#endif
