/* SPDX-License-Identifier: MIT */
#ifndef TOOLS_XAC_REPAIR_DOUBLE_WRITE_H
#define TOOLS_XAC_REPAIR_DOUBLE_WRITE_H

/*
 * xac repair, the double-write buffer of an environment that needs recovery: a page that is damaged there, and is not
 * at home as the buffer's table says, comes from the backup if it is the same there. It goes home, where recovery finds
 * it (CP13).
 */

#include "tools/xac/repair_file.h"

/* 0 also if something is left. *is_known: what the buffer has; else nothing may be done to any page. */
int repair_double_write(struct repair *repair, bool *is_known);

#endif
