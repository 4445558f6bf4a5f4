/* SPDX-License-Identifier: MIT */

/*
 * Linked into programs that are compiled by xac-cc (-Wl,--wrap=xac_mmap,--wrap=xac_close). All threads of a process
 * have their views at one address, where nothing but translated access may touch them while there are several. And
 * whoever closes the environment ends with status 3 if anybody, living or dead, has taken a page fault in a view since
 * it was opened first.
 */

#include <stdio.h>
#include <unistd.h>

#include <xac/xac.h>

/* The linker's names. NOLINTBEGIN(bugprone-reserved-identifier) */
void *__real_xac_mmap(xac_env *env, const char *name, size_t byte_len, int flags);
int __real_xac_close(xac_env *env);
void *__wrap_xac_mmap(xac_env *env, const char *name, size_t byte_len, int flags);
int __wrap_xac_close(xac_env *env);
/* NOLINTEND(bugprone-reserved-identifier) */

/* NOLINTNEXTLINE(bugprone-reserved-identifier) */
void *__wrap_xac_mmap(xac_env *env, const char *name, size_t byte_len, int flags)
{
        return __real_xac_mmap(env, name, byte_len, flags | XAC_SHARED);
}

/* NOLINTNEXTLINE(bugprone-reserved-identifier) */
int __wrap_xac_close(xac_env *env)
{
        xac_stats stats;

        if (xac_stat(env, &stats))
                return __real_xac_close(env);
        if (stats.read_faults + stats.write_faults > 0) {
                fprintf(stderr, "%llu read faults, %llu write faults in compiled code\n",
                        (unsigned long long)stats.read_faults, (unsigned long long)stats.write_faults);
                _exit(3);
        }
        return __real_xac_close(env);
}
