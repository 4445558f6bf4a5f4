/* SPDX-License-Identifier: MIT */
#ifndef TOOLS_XAC_REMAINS_H
#define TOOLS_XAC_REMAINS_H

/*
 * Is there shared memory that the next open would go on with? Processes that end without xac_close leave it behind,
 * with every commit they made (P6); recovery from the log alone would lose those that were not on disk.
 */

#include <stdbool.h>

#include "tools/xac/place.h"

bool remains_are_there(struct place *place);

#endif
