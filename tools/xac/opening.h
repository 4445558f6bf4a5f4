/* SPDX-License-Identifier: MIT */
#ifndef TOOLS_XAC_OPENING_H
#define TOOLS_XAC_OPENING_H

/*
 * An environment that a subcommand opens as a program does, and changes nothing in: in the way in which those have it
 * open that use it, and with the archive that they named last. So it neither keeps them from opening it meanwhile, nor
 * gives up log that their archive does not have. What is not as it was closed is not taken as it is (XAC_UNCHANGED).
 */

#include <stdbool.h>

#include <xac/xac.h>

#include "tools/xac/tool.h"

/* `command`: for people. is_forced: although this is root, and the owner is not, who could not open files that are made
 * on the way. Complains if it fails. */
enum tool_exit opening_open(const char *path, const char *command, bool is_forced, xac_env **env);

#endif
