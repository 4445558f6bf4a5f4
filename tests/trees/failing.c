/* SPDX-License-Identifier: MIT */
#include "tests/trees/failing.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/sys.h"

enum { FAIL_ALLOCATION = SYS_CALL_KINDS, FAIL_OPEN, FAIL_FSTAT, FAIL_FTRUNCATE, FAIL_MMAP, FAIL_MPROTECT, FAIL_KINDS };

enum { LASTING = 30 };

static const struct {
        const char *name;
        int errors[3];
} facts[FAIL_KINDS] = {
        [SYS_OPEN] = { "library's open", { -EMFILE } },
        [SYS_STAT] = { "library's stat", { -EIO } },
        [SYS_MKDIR] = { "mkdir", { -ENOSPC } },
        [SYS_LINK] = { "link", { -ENOSPC } },
        [SYS_RENAME] = { "rename", { -ENOSPC } },
        [SYS_LIST] = { "getdents", { -EIO } },
        [SYS_UNLINK] = { "unlink", { -EIO } },
        [SYS_CHMOD] = { "chmod", { -EPERM } },
        [SYS_TRUNCATE] = { "library's truncate", { -ENOSPC, -EIO } },
        [SYS_ALLOCATE] = { "fallocate", { -ENOSPC } },
        [SYS_PUNCH] = { "punch", { -EOPNOTSUPP } },
        [SYS_SEEK] = { "lseek", { -EIO } },
        [SYS_PREAD] = { "pread", { -EIO } },
        [SYS_PWRITE] = { "pwrite", { -ENOSPC, -EIO } },
        [SYS_SYNC] = { "sync", { -EIO } },
        [SYS_LOCK] = { "lock", { 0 } }, /* the library waits for whom it cannot ask about */
        [SYS_MMAP] = { "library's mmap", { -ENOMEM } },
        [SYS_MUNMAP] = { "munmap", { -ENOMEM } },
        [SYS_MPROTECT] = { "library's mprotect", { -ENOMEM } },
        [SYS_MREMAP] = { "mremap", { -ENOMEM } },
        [SYS_MADVISE] = { "madvise", { -ENOMEM } },
        [SYS_RANDOM] = { "getrandom", { -ENOSYS } },
        [FAIL_ALLOCATION] = { "allocation", { -ENOMEM } },
        [FAIL_OPEN] = { "open", { -EMFILE, -EACCES } },
        [FAIL_FSTAT] = { "fstat", { -EIO } },
        [FAIL_FTRUNCATE] = { "ftruncate", { -ENOSPC } },
        [FAIL_MMAP] = { "mmap", { -ENOMEM } },
        [FAIL_MPROTECT] = { "mprotect", { -ENOMEM } },
};

static struct failing_plan plan;
static bool is_armed;
static int calls;
static int failing;
static int failed;
static uint8_t kinds[FAILING_MAX + 1];
static _Thread_local volatile bool is_mine __attribute__((tls_model("initial-exec")));
static _Thread_local volatile bool is_counted __attribute__((tls_model("initial-exec"))); /* as the library's */

/* 0, or what this call is to fail with. */
static int fail_next(int kind)
{
        if (!is_mine)
                return 0;
        if (++calls <= FAILING_MAX)
                kinds[calls] = (uint8_t)kind;
        if (calls == plan.nth)
                failing = kind;
        else if (!plan.is_lasting || kind != failing || failed >= LASTING)
                return 0;
        failed++;
        return plan.with;
}

/* The library tells of each call just before it makes it. */
static int fail_in_library(enum sys_call call, int fd, uint64_t offset, size_t byte_len)
{
        (void)fd, (void)offset, (void)byte_len;
        int err = fail_next((int)call);
        is_counted = is_mine && !err;
        return err;
}

/* A call that trees make themselves. */
static int fail_in_trees(int kind)
{
        if (is_counted) {
                is_counted = false;
                return 0;
        }
        int err = fail_next(kind);
        if (err)
                errno = -err;
        return err;
}

void failing_start(const struct failing_plan *wanted)
{
        plan = *wanted;
        calls = 0;
        failing = -1;
        failed = 0;
        is_armed = true;
        sys_fail = fail_in_library;
}

void failing_go_on(void)
{
        is_mine = is_armed;
}

void failing_pause(void)
{
        is_mine = is_counted = false;
}

int failing_stop(void)
{
        sys_fail = NULL;
        is_armed = false;
        failing_pause();
        return calls;
}

int failing_kind(int i)
{
        return kinds[i];
}

const char *failing_name(int kind)
{
        return facts[kind].name;
}

const int *failing_errors(int kind)
{
        return facts[kind].errors;
}

/* ---- the linker sends calls here (--wrap) ---- */

void *__real_malloc(size_t byte_len);
void *__real_calloc(size_t count, size_t byte_len);
void *__real_realloc(void *bytes, size_t byte_len);
void *__real_reallocarray(void *bytes, size_t count, size_t byte_len);
char *__real_strdup(const char *text);
int __real_open(const char *path, int flags, ...);
int __real_fstat(int fd, struct stat *st);
int __real_ftruncate(int fd, off_t byte_len);
void *__real_mmap(void *addr, size_t byte_len, int prot, int flags, int fd, off_t offset);
int __real_mprotect(void *addr, size_t byte_len, int prot);

void *__wrap_malloc(size_t byte_len);
void *__wrap_calloc(size_t count, size_t byte_len);
void *__wrap_realloc(void *bytes, size_t byte_len);
void *__wrap_reallocarray(void *bytes, size_t count, size_t byte_len);
char *__wrap_strdup(const char *text);
int __wrap_open(const char *path, int flags, ...);
int __wrap_fstat(int fd, struct stat *st);
int __wrap_ftruncate(int fd, off_t byte_len);
void *__wrap_mmap(void *addr, size_t byte_len, int prot, int flags, int fd, off_t offset);
int __wrap_mprotect(void *addr, size_t byte_len, int prot);

void *__wrap_malloc(size_t byte_len)
{
        return fail_next(FAIL_ALLOCATION) ? NULL : __real_malloc(byte_len);
}

void *__wrap_calloc(size_t count, size_t byte_len)
{
        return fail_next(FAIL_ALLOCATION) ? NULL : __real_calloc(count, byte_len);
}

void *__wrap_realloc(void *bytes, size_t byte_len)
{
        return fail_next(FAIL_ALLOCATION) ? NULL : __real_realloc(bytes, byte_len);
}

void *__wrap_reallocarray(void *bytes, size_t count, size_t byte_len)
{
        return fail_next(FAIL_ALLOCATION) ? NULL : __real_reallocarray(bytes, count, byte_len);
}

char *__wrap_strdup(const char *text)
{
        return fail_next(FAIL_ALLOCATION) ? NULL : __real_strdup(text);
}

int __wrap_open(const char *path, int flags, ...)
{
        va_list args;

        if (fail_in_trees(FAIL_OPEN))
                return -1;
        va_start(args, flags);
        mode_t mode = flags & O_CREAT ? va_arg(args, mode_t) : 0;
        va_end(args);
        return __real_open(path, flags, mode);
}

int __wrap_fstat(int fd, struct stat *st)
{
        return fail_in_trees(FAIL_FSTAT) ? -1 : __real_fstat(fd, st);
}

int __wrap_ftruncate(int fd, off_t byte_len)
{
        return fail_in_trees(FAIL_FTRUNCATE) ? -1 : __real_ftruncate(fd, byte_len);
}

void *__wrap_mmap(void *addr, size_t byte_len, int prot, int flags, int fd, off_t offset)
{
        return fail_in_trees(FAIL_MMAP) ? MAP_FAILED : __real_mmap(addr, byte_len, prot, flags, fd, offset);
}

int __wrap_mprotect(void *addr, size_t byte_len, int prot)
{
        return fail_in_trees(FAIL_MPROTECT) ? -1 : __real_mprotect(addr, byte_len, prot);
}
