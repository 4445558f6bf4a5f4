/* SPDX-License-Identifier: MIT */
#ifndef TOOLS_XAC_LIVE_H
#define TOOLS_XAC_LIVE_H

/*
 * The part of `xac stat` that is about shared memory: of an environment in use, or of one whose
 * processes ended without xac_close.
 */

#include "libxac/care/inspect.h"
#include "tools/xac/place.h"

/* 0, -ENOENT: there is none; other errors: it cannot be looked at. */
int live_take(struct place *place, struct inspection **inspection);
void live_print(const struct place *place, const struct inspection *inspection);

#endif
