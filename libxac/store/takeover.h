/* SPDX-License-Identifier: MIT */
#ifndef LIBXAC_STORE_TAKEOVER_H
#define LIBXAC_STORE_TAKEOVER_H

/*
 * Takes back what dead processes held: their commit lock and decided commit, their snapshots,
 * slots and rows. Whoever needs something does it; every step can be repeated by a successor
 * that finds it half done (I6).
 */

#include "libxac/ground/shared.h"

/* `owner` is who takes locks: a participant's or this process's owner number. */
void takeover_dead(struct shared *shared, uint32_t owner);

/* For those who sleep until something changes: takes over from the dead, who may have decided it, and wakes those whom
 * the dead and the stopped have not woken (R21). */
void takeover_tend_waiters(struct shared *shared);

#endif
