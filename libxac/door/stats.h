/* SPDX-License-Identifier: MIT */
#ifndef LIBXAC_DOOR_STATS_H
#define LIBXAC_DOOR_STATS_H

#include <xac/xac.h>

#include "libxac/ground/shared.h"

/* Sums the counters of all participants, those that have left included. */
void stats_collect(struct shared *shared, xac_stats *stats);

#endif
