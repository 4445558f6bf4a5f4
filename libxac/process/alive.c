/* SPDX-License-Identifier: MIT */
#include "libxac/process/alive.h"

#include <string.h>

#include "base/sys.h"

/* ---- Names ---- */

static uint64_t bits_of_environment(const struct control *control)
{
        uint64_t bits;
        memcpy(&bits, control->uuid, sizeof(bits));
        return bits;
}

/* As many numbers more as a generation stands for: none of an earlier one is left. */
static int reserve_more_locked(struct xac_env *env)
{
        shlock_assert_held(&env->shared.control->participant_lock);
        struct shared *shared = &env->shared;
        struct control *control = shared->control;
        struct manifest manifest;
        shared_lock_as_process(shared, &control->file_lock);
        int err = manifest_read_settled(env->directory, &manifest);
        if (!err)
                err = shared_write_manifest_locked(shared, env->directory, &manifest);
        shared_unlock_as_process(shared, &control->file_lock);
        if (!err)
                control->ids_end = shared_first_id(manifest.generation + 1);
        return err;
}

/* The number is used up before anybody bears it: an owner of the lock that dies here wastes one. */
static int draw_locked(struct xac_env *env, uint64_t *id)
{
        shlock_assert_held(&env->shared.control->participant_lock);
        struct control *control = env->shared.control;
        for (*id = 0; !*id;) { /* 0 is nobody's name */
                int err = control->next_id < control->ids_end ? 0 : reserve_more_locked(env);
                if (err)
                        return err;
                *id = control->next_id++ ^ bits_of_environment(control);
        }
        return 0;
}

int alive_name(struct thread *thread, uint64_t *id)
{
        struct shared *shared = &thread->env->shared;
        struct row *row = thread->self.row;
        *id = atomic_load_explicit(&row->id, memory_order_relaxed); /* nobody else writes it while we live */
        if (*id)
                return 0;
        shared_lock_as_process(shared, &shared->control->participant_lock);
        int err = draw_locked(thread->env, id);
        if (!err)
                atomic_store(&row->id, *id);
        shared_unlock_as_process(shared, &shared->control->participant_lock);
        return err;
}

/* ---- Their bearers ---- */

static int is_process_there(struct shared *shared, uint32_t process_no)
{
        return process_no == shared->process_no ? 1 : sys_is_byte_locked(shared->lock_fd, process_no + 1);
}

/*
 * The row may be taken back meanwhile, and both it and its process's row be used by others. The name goes first, and
 * never comes back: if it is still there after the kernel has been asked, process_no and the answer were its bearer's.
 */
static int is_bearer_there(struct shared *shared, const struct row *row, uint64_t id)
{
        int is_there = is_process_there(shared, atomic_load(&row->process_no));
        if (is_there <= 0)
                return is_there;
        return atomic_load(&row->id) == id;
}

int alive_find(struct shared *shared, uint64_t id)
{
        uint32_t rows_used = atomic_load(&shared->control->rows_used);
        for (uint32_t i = 0; i < rows_used; i++)
                if (atomic_load(&shared->rows[i].id) == id)
                        return is_bearer_there(shared, &shared->rows[i], id);
        return 0;
}
