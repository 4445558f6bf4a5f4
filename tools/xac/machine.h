/* SPDX-License-Identifier: MIT */
#ifndef TOOLS_XAC_MACHINE_H
#define TOOLS_XAC_MACHINE_H

/* `xac stat` without a directory: the shared memory that there is on this machine, whose it is, and how full /dev/shm
 * is. */

#include "libxac/leftover.h"
#include "tools/xac/tool.h"

enum tool_exit machine_print(void);
/* Goes on in a line: its directory as far as it is known, and its size. Others may have chosen the name: no control
 * characters reach the terminal. */
void machine_print_name(const struct leftover *leftover);
/* What it is, in words. */
const char *machine_explain(const struct leftover *leftover);
/* A line: how large /dev/shm is, and what is free. */
void machine_print_room(void);

#endif
