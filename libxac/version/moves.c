/* SPDX-License-Identifier: MIT */
#include "libxac/version/moves.h"

#include <errno.h>

#include "base/invariant.h"
#include "base/sys.h"

static struct move_entry *entry_at(const struct shared *shared, uint64_t i)
{
        return shared_moves(shared) + i % MOVES_MAX;
}

void moves_give_memory(const struct shared *shared)
{
        _Atomic uint32_t *has_moves = &shared->control->has_moves;
        if (!atomic_load_explicit(has_moves, memory_order_relaxed) &&
            !sys_allocate(shared->control_fd, shared->layout.moves, MOVES_MAX * sizeof(struct move_entry)))
                atomic_store(has_moves, 1);
}

/* The checkpointer may raise the base meanwhile: then more counts as lost than is. */
static void lose(struct control *control, uint64_t sequence)
{
        if (atomic_load(&control->moves_lost) <= atomic_load(&control->checkpoint_sequence))
                atomic_store(&control->moves_lost_first, sequence);
        atomic_store(&control->moves_lost, sequence);
}

void moves_note_locked(struct shared *shared, uint64_t sequence, const struct vector *moves)
{
        shlock_assert_held(&shared->control->commit_lock);
        struct control *control = shared->control;
        uint64_t end = atomic_load_explicit(&control->moves_end, memory_order_relaxed);
        uint64_t begin = atomic_load_explicit(&control->moves_begin, memory_order_acquire);
        invariant(begin <= end && end - begin <= MOVES_MAX);
        if (!atomic_load(&control->has_moves) || moves->count > MOVES_MAX - (end - begin)) {
                lose(control, sequence);
                return;
        }
        for (uint32_t i = 0; i < moves->count; i++)
                *entry_at(shared, end++) =
                        (struct move_entry){ sequence, ((const struct batches_move *)moves->items)[i] };
        atomic_store_explicit(&control->moves_end, end, memory_order_release);
}

int moves_read(struct shared *shared, uint64_t until, struct vector *moves)
{
        const struct control *control = shared->control;
        uint64_t end = atomic_load_explicit(&control->moves_end, memory_order_acquire);
        uint64_t i = atomic_load_explicit(&control->moves_begin, memory_order_relaxed);
        if (atomic_load(&control->moves_lost) > atomic_load(&control->checkpoint_sequence) &&
            atomic_load(&control->moves_lost_first) <= until)
                return -EOVERFLOW;
        for (; i < end && entry_at(shared, i)->sequence <= until; i++) {
                int err = vector_reserve(moves, moves->count + 1, sizeof(struct batches_move));
                if (err)
                        return err;
                ((struct batches_move *)moves->items)[moves->count++] = entry_at(shared, i)->move;
        }
        return 0;
}

void moves_forget(struct shared *shared, uint64_t until)
{
        struct control *control = shared->control;
        uint64_t end = atomic_load_explicit(&control->moves_end, memory_order_acquire);
        uint64_t begin = atomic_load_explicit(&control->moves_begin, memory_order_relaxed);
        while (begin < end && entry_at(shared, begin)->sequence <= until)
                begin++;
        atomic_store_explicit(&control->moves_begin, begin, memory_order_release);
}

bool moves_are_many(const struct shared *shared)
{
        const struct control *control = shared->control;
        return atomic_load_explicit(&control->moves_end, memory_order_relaxed) -
                       atomic_load_explicit(&control->moves_begin, memory_order_relaxed) >
               MOVES_MAX / 2;
}
