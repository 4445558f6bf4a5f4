/* SPDX-License-Identifier: MIT */
#ifndef TRACE_TICKS_H
#define TRACE_TICKS_H

/*
 * Time as a trace counts it: a register of the processor that counts evenly, or else
 * nanoseconds. How long a tick is, a trace says itself (struct trace_header).
 */

#include <stdint.h>

#include "base/sys.h"

static inline uint64_t ticks_now(void)
{
#if defined(__x86_64__)
        return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
        uint64_t ticks;
        __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
        return ticks;
#else
        return sys_monotonic_ns();
#endif
}

/* About 50 us: so short a time is not asked about twice. Reading the clock of a thread takes up to a fiftieth of it. */
static inline uint64_t ticks_moment(void)
{
#if defined(__x86_64__)
        return UINT64_C(1) << 17; /* 2 to 4 ticks in a ns */
#elif defined(__aarch64__)
        uint64_t per_second;
        __asm__ volatile("mrs %0, cntfrq_el0" : "=r"(per_second));
        return per_second / 20000;
#else
        return 50000;
#endif
}

#endif
