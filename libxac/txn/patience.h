/* SPDX-License-Identifier: MIT */
#ifndef LIBXAC_TXN_PATIENCE_H
#define LIBXAC_TXN_PATIENCE_H

/*
 * What a participant remembers of the races that it lost, one after another: the next transaction that may write waits
 * a random time, which grows with each loss, and from PATIENCE_LOSSES_MAX on it is exclusive (exclusion.h). So neither
 * a loop around xbegin and xend starves nor xac_run, whose loop it is as well.
 *
 * Forgotten when a transaction ends in any other way, or when none has begun for a second. Readers take no part: a
 * transaction that is XAC_RDONLY neither waits, nor makes others wait, nor forgets (P3).
 */

#include "libxac/ground/participant.h"

enum { PATIENCE_LOSSES_MAX = 16 };

struct patience {
        uint32_t losses; /* in a row; PATIENCE_LOSSES_MAX at most */
        uint32_t random;
        uint64_t lost_ns; /* when the last one was */
};

void patience_init(struct patience *patience);
/* A random time, the longer the more losses. */
void patience_back_off(struct patience *patience, uint32_t losses);

/* After losses, before the next transaction begins; it returns when that is to begin, exclusively perhaps. */
void patience_begin(struct patience *patience, struct participant *self);
/* That transaction has ended: lost, or in any other way. It is exclusive no longer. */
void patience_lose(struct patience *patience, struct participant *self);
void patience_forget(struct patience *patience, struct participant *self);

#endif
