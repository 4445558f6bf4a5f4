/* SPDX-License-Identifier: MIT */
#ifndef TRACE_COLLECTOR_H
#define TRACE_COLLECTOR_H

/*
 * Writes what is in the rings to the file (TR1, TR2, TR3). One at a time: the caller holds RINGS_COLLECTOR_BYTE.
 */

#include <stdbool.h>
#include <stdint.h>

#include "trace/rings.h"

enum { COLLECTOR_BYTES = 1 << 20 /* written at once */ };

struct collector {
        struct rings *rings;
        uint64_t attachment; /* whose tracks need not be asked whether they live; 0: nobody's */
        uint32_t used;
        struct collected {
                uint64_t drained;
                uint32_t ring_no;
                bool is_end;
        } collected[RINGS_MAX]; /* what stands in `bytes` */
        uint32_t count;
        _Alignas(8) char bytes[COLLECTOR_BYTES];
};

/* One round through all rings. Says how full the fullest was, in events. */
uint32_t collector_drain(struct collector *collector);
/* Whether that has anything left to do for this attachment's tracks, or for those of the dead. */
bool collector_is_done(const struct collector *collector);

#endif
