/* SPDX-License-Identifier: MIT */
#ifndef TOOLS_XAC_MEMORY_H
#define TOOLS_XAC_MEMORY_H

/*
 * What memory the processes of an environment have taken, and may still take (R44): by /proc, and by the control group
 * of each. A process that is of another namespace, or of a user who does not show it, is left out.
 */

#include "libxac/care/inspect.h"
#include "tools/xac/json.h"

/* Lines: how much more the pool may get, and what says so: /dev/shm or the group that leaves least. */
void memory_print(const struct inspection *inspection);
/* Continues the lines about a process. */
void memory_print_process(uint32_t pid);

/* "memory": what memory_print() says. */
void memory_put(struct json *json, const struct inspection *inspection);
/* Members of the object of a process; 0: nobody can say which it is. */
void memory_put_process(struct json *json, uint32_t pid);

#endif
