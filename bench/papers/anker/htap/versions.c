/* SPDX-License-Identifier: MIT */
#include "bench/papers/anker/htap/versions.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

/* As in kernels.c: what is compared is compiled alike. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3")
#endif

int versioned_open(struct versioned *column, const int32_t *values, uint32_t rows, bool is_written)
{
        const size_t padded = (size_t)blocks_of(rows) * BLOCK_ROWS;

        *column = (struct versioned){ .rows = rows };
        column->value = aligned_alloc(BLOCK_ROWS * sizeof(int32_t), padded * sizeof(int32_t));
        if (is_written) {
                column->chain = calloc(padded, sizeof(*column->chain));
                column->hint = calloc(blocks_of(rows), sizeof(*column->hint));
        }
        if (!column->value || (is_written && (!column->chain || !column->hint))) {
                versioned_close(column);
                return -ENOMEM;
        }
        memcpy((void *)column->value, values, padded * sizeof(int32_t));
        for (uint32_t b = 0; is_written && b < blocks_of(rows); b++)
                atomic_init(&column->hint[b].span, SPAN_NONE);
        return 0;
}

void versioned_close(struct versioned *column)
{
        free((void *)column->value);
        free((void *)column->chain);
        free(column->hint);
        *column = (struct versioned){ 0 };
}

/* ---- reading ---- */

/* The value first, then the chain. */
static inline int32_t look(const struct versioned *column, uint32_t row, uint64_t snapshot)
{
        int32_t value = atomic_load_explicit(&column->value[row], memory_order_acquire);
        const struct version *version = atomic_load_explicit(&column->chain[row], memory_order_acquire);

        while (version && version->until > snapshot) {
                value = version->value;
                version = atomic_load_explicit(&version->next, memory_order_acquire);
        }
        return value;
}

int32_t versioned_get(const struct versioned *column, uint32_t row, uint64_t snapshot)
{
        return column->chain ? look(column, row, snapshot)
                             : atomic_load_explicit(&column->value[row], memory_order_relaxed);
}

static uint32_t await_even(const struct block_hint *hint)
{
        uint32_t sequence;
        for (unsigned looks = 0; (sequence = atomic_load_explicit(&hint->sequence, memory_order_acquire)) & 1;)
                if (++looks % 64 == 0)
                        sched_yield();
        return sequence;
}

/* The rows with a chain, if any is in the stretch. */
static uint32_t pin_block(const struct versioned *column, struct stretch stretch, struct block_pin *pin)
{
        pin->is_stable = !column->hint;
        if (!column->hint)
                return SPAN_NONE;
        const struct block_hint *hint = &column->hint[stretch.first / BLOCK_ROWS];
        pin->sequence = await_even(hint);
        return atomic_load_explicit(&hint->span, memory_order_relaxed);
}

const int32_t *versioned_in_place(const struct versioned *column, struct stretch stretch, struct block_pin *pin)
{
        const uint32_t span = pin_block(column, stretch, pin);
        const uint32_t base = stretch.first / BLOCK_ROWS * BLOCK_ROWS;
        const uint32_t first = base + (span >> 16), end = base + (span & 0xffff) + 1;

        if (first < end && first < stretch.end && stretch.first < end) {
                pin->is_stable = true;
                return NULL;
        }
        return (const int32_t *)column->value + stretch.first;
}

/* What the hint says in between, the rest as it stands. */
static void copy_stretch(const struct versioned *column, struct stretch stretch, struct stretch chained,
                         uint64_t snapshot, int32_t *copy)
{
        const int32_t *in_place = (const int32_t *)column->value;
        const uint32_t first = chained.first > stretch.first ? chained.first : stretch.first;
        const uint32_t end = chained.end < stretch.end ? chained.end : stretch.end;

        memcpy(copy, in_place + stretch.first, (first - stretch.first) * sizeof(*copy));
        for (uint32_t row = first; row < end; row++)
                copy[row - stretch.first] = look(column, row, snapshot);
        memcpy(copy + (end - stretch.first), in_place + end, (stretch.end - end) * sizeof(*copy));
}

const int32_t *versioned_block(const struct versioned *column, struct stretch stretch, uint64_t snapshot,
                               struct block_pin *pin)
{
        const uint32_t span = pin_block(column, stretch, pin);
        const uint32_t base = stretch.first / BLOCK_ROWS * BLOCK_ROWS;
        const struct stretch chained = { base + (span >> 16), base + (span & 0xffff) + 1 };

        if (chained.first >= chained.end || chained.first >= stretch.end || stretch.first >= chained.end)
                return (const int32_t *)column->value + stretch.first;
        copy_stretch(column, stretch, chained, snapshot, pin->copy);
        return pin->copy;
}

bool versioned_is_unchanged(const struct versioned *column, struct stretch stretch, const struct block_pin *pin)
{
        if (pin->is_stable)
                return true;
        atomic_thread_fence(memory_order_acquire);
        return atomic_load_explicit(&column->hint[stretch.first / BLOCK_ROWS].sequence, memory_order_relaxed) ==
               pin->sequence;
}

/* ---- writing ---- */

/* Against the collector and, for those who read in place, as long as it takes. */
static uint32_t lock_block(struct block_hint *hint)
{
        uint32_t even;
        do
                even = await_even(hint);
        while (!atomic_compare_exchange_weak_explicit(&hint->sequence, &even, even + 1, memory_order_acquire,
                                                      memory_order_relaxed));
        atomic_thread_fence(memory_order_release); /* nothing of what follows before the odd number */
        return even;
}

static void unlock_block(struct block_hint *hint, uint32_t even)
{
        atomic_store_explicit(&hint->sequence, even + 2, memory_order_release);
}

bool versioned_is_newer(const struct versioned *column, uint32_t row, uint64_t snapshot)
{
        const struct version *version = atomic_load_explicit(&column->chain[row], memory_order_acquire);
        return version && version->until > snapshot;
}

void versioned_install(struct versioned *column, uint32_t row, int32_t value, uint64_t commit, struct version *version)
{
        struct block_hint *hint = &column->hint[row / BLOCK_ROWS];
        const uint32_t i = row % BLOCK_ROWS;

        const uint32_t even = lock_block(hint);
        const uint32_t span = atomic_load_explicit(&hint->span, memory_order_relaxed);
        const uint32_t first = i < span >> 16 ? i : span >> 16, last = i > (span & 0xffff) ? i : span & 0xffff;
        version->value = atomic_load_explicit(&column->value[row], memory_order_relaxed);
        version->until = commit;
        atomic_store_explicit(&version->next, atomic_load_explicit(&column->chain[row], memory_order_relaxed),
                              memory_order_relaxed);
        atomic_store_explicit(&hint->span, first << 16 | last, memory_order_relaxed);
        atomic_store_explicit(&column->chain[row], version, memory_order_release);
        atomic_store_explicit(&column->value[row], value, memory_order_release);
        unlock_block(hint, even);
}

/* ---- collecting ---- */

static void drop_chain(struct version *version, struct version_list *dropped)
{
        while (version) {
                struct version *next = atomic_load_explicit(&version->next, memory_order_relaxed);
                atomic_store_explicit(&version->next, dropped->first, memory_order_relaxed);
                dropped->first = version;
                dropped->count++;
                version = next;
        }
}

/* Cuts the chain behind the last version that somebody may see; is anything left of it? Who is on the first that goes
 * looks at its commit only, and follows it no further: `next` may change at once, the rest once they have left. */
static bool cut_chain(struct version *_Atomic *link, uint64_t oldest, struct version **cut)
{
        bool is_left = false;
        struct version *version = atomic_load_explicit(link, memory_order_relaxed);

        while (version && version->until > oldest) {
                is_left = true;
                link = &version->next;
                version = atomic_load_explicit(link, memory_order_relaxed);
        }
        *cut = version;
        if (version)
                atomic_store_explicit(link, NULL, memory_order_release);
        return is_left;
}

static void collect_block(struct versioned *column, uint32_t block_no, uint64_t oldest, struct version_list *dropped)
{
        struct block_hint *hint = &column->hint[block_no];

        const uint32_t even = lock_block(hint);
        const uint32_t span = atomic_load_explicit(&hint->span, memory_order_relaxed);
        uint32_t left_first = BLOCK_ROWS - 1, left_last = 0;
        for (uint32_t i = span >> 16; i <= (span & 0xffff); i++) {
                struct version *cut;
                if (cut_chain(&column->chain[block_no * BLOCK_ROWS + i], oldest, &cut)) {
                        left_first = i < left_first ? i : left_first;
                        left_last = i;
                }
                drop_chain(cut, dropped);
        }
        atomic_store_explicit(&hint->span, left_first << 16 | left_last, memory_order_relaxed);
        unlock_block(hint, even);
}

uint64_t versioned_collect(struct versioned *column, uint64_t oldest, struct version_list *dropped)
{
        const uint64_t before = dropped->count;

        for (uint32_t b = 0; column->hint && b < blocks_of(column->rows); b++)
                if (atomic_load_explicit(&column->hint[b].span, memory_order_relaxed) != SPAN_NONE)
                        collect_block(column, b, oldest, dropped);
        return dropped->count - before;
}
