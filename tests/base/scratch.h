/* SPDX-License-Identifier: MIT */
#ifndef TESTS_UNIT_SCRATCH_H
#define TESTS_UNIT_SCRATCH_H

/*
 * What most unit tests need: cmocka with the headers it wants before it, an empty directory
 * that is removed again, memory that forked children share, and failures injected by number.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/sys.h"
#include "tests/support/places.h"

/* ---- Directories ---- */

/* A descriptor of a new directory; *state is for scratch_remove. */
static inline int scratch_make(void **state)
{
        char *name = NULL;

        if (asprintf(&name, "%s/xac-unit-XXXXXX", places_files()) < 0 || !mkdtemp(name))
                return -1;
        *state = name;
        return open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static inline void scratch_empty(int directory)
{
        DIR *entries = fdopendir(openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        struct dirent *entry;

        assert_non_null(entries);
        while ((entry = readdir(entries)) != NULL)
                if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
                        (void)unlinkat(directory, entry->d_name, 0);
        closedir(entries);
}

static inline void scratch_remove(int directory, void **state)
{
        scratch_empty(directory);
        close(directory);
        (void)rmdir(*state);
        free(*state);
}

/* ---- Memory and children ---- */

static inline void *scratch_shared(size_t byte_len)
{
        void *memory = mmap(NULL, byte_len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

        assert_ptr_not_equal(memory, MAP_FAILED);
        return memory;
}

/* Only coverage builds have it. */
extern void __gcov_dump(void) __attribute__((weak));

/* Ends a child: its coverage is written, no exit handlers of the parent run. */
static inline _Noreturn void scratch_exit(int status)
{
        if (__gcov_dump)
                __gcov_dump();
        _exit(status);
}

/* Runs body in a child, whose exit status it is; the parent goes on with the child's pid. The
 * child does not outlive the test, however that ends. */
static inline pid_t scratch_fork(int (*body)(void *arg), void *arg)
{
        pid_t child;

        fflush(NULL);
        child = fork();
        if (child == 0) {
                prctl(PR_SET_PDEATHSIG, SIGKILL);
                scratch_exit(body(arg));
        }
        assert_true(child > 0);
        return child;
}

static inline void scratch_kill(pid_t child)
{
        int status;

        assert_int_equal(kill(child, SIGKILL), 0);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

static inline void scratch_expect_exit(pid_t child, int expected)
{
        int status;

        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), expected);
}

/* ---- Failures ---- */

/* The fail_nth-th call from now on (1 and up) fails with fail_with, and also all later ones
 * when fail_for_good. */
static int fail_nth, fail_with, fail_for_good, fail_calls;

static inline int scratch_failure(enum sys_call call, int fd, uint64_t offset, size_t byte_len)
{
        (void)call, (void)fd, (void)offset, (void)byte_len;
        fail_calls++;
        return fail_calls == fail_nth || (fail_for_good && fail_calls > fail_nth) ? fail_with : 0;
}

static inline void scratch_fail(int nth, int with, int for_good)
{
        fail_nth = nth;
        fail_with = with;
        fail_for_good = for_good;
        fail_calls = 0;
        sys_fail = scratch_failure;
}

/* Did it come to the failing call? */
static inline int scratch_failed(void)
{
        sys_fail = NULL;
        return fail_calls >= fail_nth;
}

#endif
