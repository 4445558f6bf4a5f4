/* SPDX-License-Identifier: MIT */
#include "libxac/ground/waiters.h"

#include "base/hook.h"
#include "base/sys.h"

enum { WORD_BITS = 64, FILTER_WORDS = WAIT_FILTER_BYTES / sizeof(uint64_t), FILTER_BITS_LOG2 = 17 };
_Static_assert(FILTER_WORDS *WORD_BITS == 1 << FILTER_BITS_LOG2, "the hash has as many bits as the filter");

static _Atomic uint64_t *filter_of(const struct shared *shared, const struct row *row)
{
        uint64_t row_no = (uint64_t)(row - shared->rows);
        return (_Atomic uint64_t *)((char *)shared->control + shared->layout.filters + row_no * WAIT_FILTER_BYTES);
}

/* Neighbours, which the odd factor spreads well, seldom share a bit. */
static uint32_t bit_of(uint64_t page, uint64_t salt)
{
        return (uint32_t)(page * (salt | 1) >> (WORD_BITS - FILTER_BITS_LOG2));
}

int waiters_prepare(struct participant *self)
{
        struct shared *shared = self->shared;
        if (atomic_load_explicit(&self->row->has_filter, memory_order_relaxed))
                return 0;
        int err = sys_allocate(shared->control_fd, shared->layout.filters + self->row_no * (uint64_t)WAIT_FILTER_BYTES,
                               WAIT_FILTER_BYTES);
        if (!err)
                atomic_store(&self->row->has_filter, 1);
        return err;
}

void waiters_fill(struct participant *self, const uint64_t *pages, uint32_t count, uint64_t salt)
{
        _Atomic uint64_t *filter = filter_of(self->shared, self->row);
        for (uint32_t i = 0; i < FILTER_WORDS; i++)
                atomic_store_explicit(&filter[i], 0, memory_order_relaxed);
        for (uint32_t i = 0; i < count; i++) {
                uint32_t bit = bit_of(pages[i], salt);
                uint64_t word = atomic_load_explicit(&filter[bit / WORD_BITS], memory_order_relaxed);
                word |= UINT64_C(1) << bit % WORD_BITS;
                atomic_store_explicit(&filter[bit / WORD_BITS], word, memory_order_relaxed);
        }
        atomic_store_explicit(&self->row->filter_salt, salt, memory_order_relaxed);
}

void waiters_enter_locked(struct participant *self)
{
        shlock_assert_held(&self->shared->control->commit_lock);
        struct control *control = self->shared->control;
        atomic_store(&self->row->waiter, WAITER_WAITING);
        hook_step(HOOK_WAITER_ENTERED);
        atomic_store(&control->waiters, atomic_load_explicit(&control->waiters, memory_order_relaxed) | WAITERS_SOME);
}

bool waiters_leave(struct row *row)
{
        return atomic_exchange(&row->waiter, WAITER_AWAKE) == WAITER_MARKED;
}

void waiters_sleep(struct row *row, uint64_t timeout_ns)
{
        sys_futex_wait_cancellable((const uint32_t *)&row->waiter, WAITER_WAITING, timeout_ns);
}

static bool waits_for(struct shared *shared, const struct row *row, uint32_t first_slot)
{
        _Atomic uint64_t *filter = filter_of(shared, row);
        uint64_t salt = atomic_load_explicit(&row->filter_salt, memory_order_relaxed);
        for (uint32_t no = first_slot; no;) {
                uint32_t bit = bit_of(atomic_load_explicit(&shared->slots[no].page, memory_order_relaxed), salt);
                uint64_t word = atomic_load_explicit(&filter[bit / WORD_BITS], memory_order_relaxed);
                if (word >> bit % WORD_BITS & 1)
                        return true;
                no = atomic_load_explicit(&shared->slots[no].next, memory_order_relaxed);
        }
        return false;
}

/* It may have left meanwhile: then it stays awake. */
static bool mark(struct row *row)
{
        uint32_t waiting = WAITER_WAITING;
        return atomic_compare_exchange_strong(&row->waiter, &waiting, WAITER_MARKED);
}

void waiters_mark_locked(struct shared *shared, uint32_t first_slot)
{
        shlock_assert_held(&shared->control->commit_lock);
        struct control *control = shared->control;
        uint32_t flags = atomic_load_explicit(&control->waiters, memory_order_relaxed) & ~(uint32_t)WAITERS_SOME;
        uint32_t rows_used = atomic_load_explicit(&control->rows_used, memory_order_acquire);
        for (uint32_t i = 0; i < rows_used; i++) {
                struct row *row = &shared->rows[i];
                if (atomic_load_explicit(&row->waiter, memory_order_acquire) == WAITER_AWAKE)
                        continue;
                flags |= WAITERS_SOME; /* also if it is marked: perhaps nobody has woken it (duty.c) */
                if (waiters_is_waiting(row) && waits_for(shared, row, first_slot) && mark(row))
                        flags |= WAITERS_MARKED;
        }
        hook_step(HOOK_WAITERS_MARKED);
        atomic_store(&control->waiters, flags);
}

void waiters_wake(struct shared *shared)
{
        uint32_t rows_used = atomic_load(&shared->control->rows_used);
        for (uint32_t i = 0; i < rows_used; i++)
                if (atomic_load(&shared->rows[i].waiter) == WAITER_MARKED)
                        sys_futex_wake((const uint32_t *)&shared->rows[i].waiter, 1);
}

void waiters_wake_all(struct shared *shared)
{
        uint32_t rows_used = atomic_load(&shared->control->rows_used);
        for (uint32_t i = 0; i < rows_used; i++)
                (void)mark(&shared->rows[i]);
        waiters_wake(shared);
}
