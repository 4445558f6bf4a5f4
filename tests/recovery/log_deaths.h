/* SPDX-License-Identifier: MIT */
#ifndef TESTS_UNIT_LOG_DEATHS_H
#define TESTS_UNIT_LOG_DEATHS_H

/*
 * Children that die while they are at work with a log set up by hand (log_stand.h): in the n-th system call, or
 * before the n-th instruction (step.h). Their bodies return 0 when they died nowhere and 2 when they failed.
 */

#include "tests/base/step.h"
#include "tests/recovery/log_stand.h"

static int die_at;

static inline void die(void)
{
        scratch_exit(1);
}

static inline int die_at_call(enum sys_call call, int fd, uint64_t offset, size_t byte_len)
{
        (void)call, (void)fd, (void)offset, (void)byte_len;
        if (--die_at == 0)
                die();
        return 0;
}

/* In the n-th call from now on, 1 and up. */
static inline void die_in_call(int nth)
{
        die_at = nth;
        sys_fail = die_at_call;
}

struct stepping {
        int nth;
        void (*body)(void *arg);
};

/* The result of the child's body. */
static inline int step_to_death(const struct stepping *stepping, void *arg)
{
        return step_run(stepping->nth, die, stepping->body, arg) ? 2 : 0;
}

/* Did it die? From then on `owner`, by which it went, is dead. */
static inline bool child_died(uint32_t owner, int (*body)(void *arg), void *arg)
{
        int status;
        pid_t child;

        atomic_store(&arena->is_dead[owner], 0);
        child = scratch_fork(body, arg);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        assert_true(WEXITSTATUS(status) < 2);
        atomic_store(&arena->is_dead[owner], WEXITSTATUS(status));
        return WEXITSTATUS(status) == 1;
}

#endif
