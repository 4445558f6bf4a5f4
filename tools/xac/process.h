/* SPDX-License-Identifier: MIT */
#ifndef TOOLS_XAC_PROCESS_H
#define TOOLS_XAC_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

/* Has a process been stopped, by SIGSTOP, Ctrl-Z or a debugger? False too where /proc does not tell. One that the
 * freezer of control groups holds does not look stopped. */
bool process_is_stopped(uint32_t pid);

#endif
