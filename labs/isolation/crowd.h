/* SPDX-License-Identifier: MIT */
#ifndef LABS_ISOLATION_CROWD_H
#define LABS_ISOLATION_CROWD_H

/* Several doctors begin their transactions at the same moment. Then they leave, one after the other, in an order that
 * is drawn, and who loses tries again. Whatever they have noted, one of them is on call in the end. */

#include "labs/isolation/recorder.h"

/* All doctors of the set, bit i: doctor i, are on call, and nobody else is. Fails the test if not one of them is left,
 * or if the checker finds a cycle. */
void crowd_leaves(enum duty leave, int flags, unsigned doctors);

#endif
