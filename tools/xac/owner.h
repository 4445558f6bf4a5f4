/* SPDX-License-Identifier: MIT */
#ifndef TOOLS_XAC_OWNER_H
#define TOOLS_XAC_OWNER_H

#include <stdbool.h>

#include "backup/partial.h"

/* "USER" or "USER:GROUP", names or numbers; without a group that of the user. False, after a complaint. */
bool owner_parse(const char *text, struct partial_owner *owner);

#endif
