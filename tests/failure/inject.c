/* SPDX-License-Identifier: MIT */
#include "tests/failure/inject.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/chance.h"

static struct inject_plan plan;
static int calls;
static int failing_kind;
static int failed[INJECT_KINDS];
static uint8_t kinds[INJECT_LIST_MAX + 1];
static _Thread_local volatile bool is_mine __attribute__((tls_model("initial-exec")));

/* While the kernel does not tell whether the owner of a lock lives, waiting for it is right. So
 * that this ends, failures for good do too where liveness is asked for. */
enum { LOCKS_FAIL_MAX = 12 };
static int locks_failed;

/* Is it the chosen call, or one of those that fail with it? */
static bool is_chosen(int kind)
{
        if (calls == plan.nth)
                failing_kind = kind;
        else if (plan.mode == INJECT_ONCE || kind != failing_kind)
                return false;
        return kind != SYS_LOCK || locks_failed++ < LOCKS_FAIL_MAX;
}

static int fail_next(int kind)
{
        if (!is_mine)
                return 0;
        if (++calls <= INJECT_LIST_MAX)
                kinds[calls] = (uint8_t)kind;
        if (!is_chosen(kind))
                return 0;
        failed[kind]++;
        return plan.with;
}

int inject_failed(int kind)
{
        return failed[kind];
}

static int fail_system_call(enum sys_call call, int fd, uint64_t offset, size_t byte_len)
{
        (void)fd, (void)offset, (void)byte_len;
        return fail_next((int)call);
}

void inject_start(const struct inject_plan *wanted)
{
        plan = *wanted;
        calls = 0;
        failing_kind = -1;
        locks_failed = 0;
        memset(failed, 0, sizeof(failed));
        is_mine = true;
        sys_fail = fail_system_call;
}

int inject_stop(void)
{
        sys_fail = NULL;
        is_mine = false;
        return calls;
}

int inject_kind_of(int i)
{
        return kinds[i];
}

/* ---- What may go wrong ---- */

static const struct {
        const char *name;
        int errors[4];
} facts[INJECT_KINDS] = {
        [SYS_OPEN] = { "open", { -EMFILE, -EACCES, -ENOMEM } },
        [SYS_STAT] = { "stat", { -EIO } },
        [SYS_MKDIR] = { "mkdir", { -ENOSPC, -EACCES } },
        [SYS_LINK] = { "link", { -ENOSPC, -EIO } },
        [SYS_RENAME] = { "rename", { -ENOSPC, -EIO } },
        [SYS_LIST] = { "getdents", { -EIO, -ENOMEM } },
        [SYS_UNLINK] = { "unlink", { -EIO, -EACCES } },
        [SYS_CHMOD] = { "chmod", { -EPERM } },
        [SYS_TRUNCATE] = { "truncate", { -ENOSPC, -EIO } },
        [SYS_ALLOCATE] = { "fallocate", { -ENOSPC, -ENOMEM } },
        [SYS_PUNCH] = { "punch", { -EOPNOTSUPP, -ENOSPC, -EIO } },
        [SYS_SEEK] = { "lseek", { -EIO } },
        [SYS_PREAD] = { "pread", { -EIO, -ENOMEM } },
        [SYS_PWRITE] = { "pwrite", { -ENOSPC, -EIO } },
        [SYS_SYNC] = { "sync", { -EIO, -ENOSPC } },
        [SYS_LOCK] = { "lock", { -EAGAIN, -ENOLCK } },
        [SYS_MMAP] = { "mmap", { -ENOMEM } },
        [SYS_MUNMAP] = { "munmap", { -ENOMEM } },
        [SYS_MPROTECT] = { "mprotect", { -ENOMEM } },
        [SYS_MREMAP] = { "mremap", { -ENOMEM } },
        [SYS_MADVISE] = { "madvise", { -ENOMEM } },
        [SYS_RANDOM] = { "getrandom", { -ENOSYS } },
        [INJECT_MALLOC] = { "malloc", { -ENOMEM } },
};

const int *inject_errors(int kind)
{
        return facts[kind].errors;
}

const char *inject_kind_name(int kind)
{
        return facts[kind].name;
}

/* ---- Storms ---- */

static _Atomic uint64_t storm_calls;
static uint64_t storm_seed;
static unsigned storm_permille;

/* A view that nothing can be mapped into, and a lock that may not be asked about, are other tests' matter. */
static bool is_stormy(int kind)
{
        return storm_permille && kind < SYS_LOCK;
}

static int fail_in_storm(enum sys_call call, int fd, uint64_t offset, size_t byte_len)
{
        const int *errors = facts[call].errors;
        struct chance chance = { storm_seed + atomic_fetch_add(&storm_calls, 1) };
        int count = 0;

        (void)fd, (void)offset, (void)byte_len;
        while (count < 4 && errors[count])
                count++;
        if (!is_stormy((int)call) || !count || chance_below(&chance, 1000) >= storm_permille)
                return 0;
        return errors[chance_below(&chance, (uint64_t)count)];
}

void inject_storm(uint64_t seed, unsigned permille)
{
        storm_seed = seed;
        storm_permille = permille;
        sys_fail = permille ? fail_in_storm : NULL;
}

/* ---- Allocation ---- */

/* The linker sends calls of malloc and calloc here (--wrap). */
void *__real_malloc(size_t byte_len);
void *__real_calloc(size_t count, size_t byte_len);
void *__wrap_malloc(size_t byte_len);
void *__wrap_calloc(size_t count, size_t byte_len);

void *__wrap_malloc(size_t byte_len)
{
        return fail_next(INJECT_MALLOC) ? NULL : __real_malloc(byte_len);
}

void *__wrap_calloc(size_t count, size_t byte_len)
{
        return fail_next(INJECT_MALLOC) ? NULL : __real_calloc(count, byte_len);
}
