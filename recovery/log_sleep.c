/* SPDX-License-Identifier: MIT */
#include "recovery/log_sleep.h"

#include "base/sys.h"

static void wake(_Atomic uint32_t *word, _Atomic uint32_t *sleepers, int count)
{
        atomic_fetch_add(word, 1);
        /* Who counts itself among the sleepers only after this sees the new word, and stays awake. */
        if (atomic_load(sleepers))
                sys_futex_wake((const uint32_t *)word, count);
}

void log_sleep_on(_Atomic uint32_t *word, uint32_t seen, _Atomic uint32_t *sleepers, uint64_t timeout_ns)
{
        atomic_fetch_add(sleepers, 1);
        sys_futex_wait((const uint32_t *)word, seen, timeout_ns);
        atomic_fetch_sub(sleepers, 1);
}

void log_wake_class(struct log_shared *shared, uint32_t parity, int count)
{
        wake(&shared->word[parity], &shared->sleepers[parity], count);
}

void log_wake_for_room(struct log_shared *shared)
{
        wake(&shared->room, &shared->room_sleepers, INT32_MAX);
}

void log_wake_everybody(struct log_shared *shared)
{
        log_wake_class(shared, 0, INT32_MAX);
        log_wake_class(shared, 1, INT32_MAX);
        log_wake_for_room(shared);
}

void log_set_poison(struct log *log, int why)
{
        int none = 0;

        atomic_compare_exchange_strong(&log->shared->poison, &none, why);
        log_wake_everybody(log->shared);
}
