/* SPDX-License-Identifier: MIT */
#ifndef LIBXAC_TAKEOVER_H
#define LIBXAC_TAKEOVER_H

/*
 * Takes back what dead processes held: their commit lock and decided commit, their snapshots,
 * slots and rows. Whoever needs something does it; every step can be repeated by a successor
 * that finds it half done (I6).
 */

#include "libxac/shared.h"

/* `owner` is who takes locks: a participant's or this process's owner number. */
void takeover_dead(struct shared *shared, uint32_t owner);

#endif
