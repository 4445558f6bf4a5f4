/* SPDX-License-Identifier: MIT */
#include "libxac/txn/checkpoint_due.h"

#include "libxac/store/pool.h"
#include "libxac/store/pool_memory.h"
#include "libxac/txn/redo.h"
#include "libxac/version/moves.h"

enum {
        LOG_OVERDUE = 4 /* so many times log_bytes, and committers wait for a checkpoint of their own */
};

uint64_t checkpoint_log_used(const struct shared *shared)
{
        if (!shared_is_durable(shared))
                return 0;
        return log_end(&shared->log) - atomic_load_explicit(&shared->control->redo_position, memory_order_relaxed);
}

static uint64_t log_since(const struct shared *shared)
{
        uint64_t position = atomic_load_explicit(&shared->control->checkpoint_position, memory_order_relaxed);
        return log_end(&shared->log) - position;
}

bool checkpoint_is_wanted(const struct shared *shared)
{
        return moves_are_many(shared) || pool_is_nearly_full(shared) ||
               log_since(shared) > shared->control->log_bytes / 2;
}

bool checkpoint_is_due(struct shared *shared)
{
        if (!shared_is_durable(shared))
                return pool_is_nearly_full(shared);
        if (checkpoint_is_wanted(shared) || log_wants_segment(&shared->log) || redo_wants_push(shared))
                shared_call_for_duty(shared);
        return log_since(shared) > LOG_OVERDUE * shared->control->log_bytes || pool_is_exhausted(shared);
}
