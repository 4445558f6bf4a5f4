/* SPDX-License-Identifier: MIT */
#ifndef TOOLS_XAC_MAPS_H
#define TOOLS_XAC_MAPS_H

/*
 * How many kernel mappings a process uses for an environment, from /proc/PID/maps: every page of a view
 * that is not next to its neighbour is one, and the kernel grants a process so many.
 */

#include <stdbool.h>

#include "libxac/care/inspect.h"
#include "tools/xac/place.h"

/* Does the process of this number, as it counts here, have the environment's memory mapped? */
bool maps_have_memory(const struct inspection *inspection, uint32_t pid);
/* Continues the line about a process. */
void maps_print(const struct place *place, const struct inspection *inspection, uint32_t pid);

#endif
