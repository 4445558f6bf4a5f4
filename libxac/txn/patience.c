/* SPDX-License-Identifier: MIT */
#include "libxac/txn/patience.h"

#include <sched.h>

#include "base/sys.h"
#include "libxac/store/exclusion.h"
#include "libxac/txn/tracing.h"

enum {
        YIELD_LOSSES = 3, /* after so many losses it no longer retries at once */
        BACK_OFF_MIN_NS = 1 << 10,
        BACK_OFF_MAX_NS = 1 << 20,
        FORGET_NS = 1000000000
};

void patience_init(struct patience *patience)
{
        *patience = (struct patience){ .random = (uint32_t)sys_monotonic_ns() | 1 };
}

static uint32_t next_random(struct patience *patience)
{
        /* xorshift (Marsaglia 2003) */
        patience->random ^= patience->random << 13;
        patience->random ^= patience->random >> 17;
        patience->random ^= patience->random << 5;
        return patience->random;
}

void patience_back_off(struct patience *patience, uint32_t losses)
{
        if (losses <= YIELD_LOSSES) {
                sched_yield();
                return;
        }
        uint32_t doublings = losses < PATIENCE_LOSSES_MAX ? losses - YIELD_LOSSES : PATIENCE_LOSSES_MAX;
        uint64_t most = (uint64_t)BACK_OFF_MIN_NS << doublings;
        sys_sleep_ns(next_random(patience) % (most < BACK_OFF_MAX_NS ? most : BACK_OFF_MAX_NS));
}

void patience_begin(struct patience *patience, struct participant *self)
{
        const uint64_t begin_ticks = tracing_ticks(self);
        const bool is_exclusive = patience->losses >= PATIENCE_LOSSES_MAX;
        if (sys_monotonic_ns() - patience->lost_ns > FORGET_NS)
                patience->losses = 0;
        else if (!is_exclusive)
                patience_back_off(patience, patience->losses);
        else
                (void)exclusion_begin(self); /* else it tries like everybody else, and its commit says what is wrong */
        tracing_pause(self, patience->losses, is_exclusive, begin_ticks);
}

void patience_lose(struct patience *patience, struct participant *self)
{
        exclusion_end(self);
        if (patience->losses < PATIENCE_LOSSES_MAX)
                patience->losses++;
        patience->lost_ns = sys_monotonic_ns();
}

void patience_forget(struct patience *patience, struct participant *self)
{
        exclusion_end(self);
        patience->losses = 0;
}
