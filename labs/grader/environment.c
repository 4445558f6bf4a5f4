/* SPDX-License-Identifier: MIT */

#include "labs/grader/environment.h"

#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "labs/grader/grader.h"

enum { POOL_BYTES = 16 << 20, LOG_BYTES = 4 << 20 };

static const xac_options small = { .pool_bytes = POOL_BYTES, .log_bytes = LOG_BYTES };

/* What this process has open, for a test and the acts of a lab may both ask for it. A child has its own. */
static struct {
        char name[32];
        pid_t process;
        xac_env *env;
        void *view;
        int users;
} opened;

void *environment_open(const char *name, size_t byte_len, int flags, xac_env **env)
{
        if (opened.users == 0 || opened.process != getpid() || strcmp(opened.name, name) != 0) {
                opened.users = 0;
                opened.process = getpid();
                snprintf(opened.name, sizeof(opened.name), "%s", name);
                int err = xac_open(name, (flags & ~XAC_ANYWHERE) | XAC_CREATE, &small, &opened.env);
                if (err == -EPERM) /* a host finds it there, and may make nothing (calls.h) */
                        err = xac_open(name, flags & ~XAC_ANYWHERE, &small, &opened.env);
                grader_check(err == 0, "xac_open: %s", xac_strerror(err));
                opened.view = xac_mmap(opened.env, "data", byte_len, flags & XAC_ANYWHERE);
                grader_check(opened.view != MAP_FAILED, "xac_mmap: %s", strerror(errno));
        }
        opened.users++;
        *env = opened.env;
        return opened.view;
}

void environment_close(xac_env *env)
{
        if (opened.process == getpid() && opened.env == env && --opened.users > 0)
                return;
        int err = xac_close(env);
        grader_check(err == 0, "xac_close: %s", xac_strerror(err));
}

/* Whoever opens takes over what the dead have left, and the last who closes gives it back. */
void environment_clean(void)
{
        glob_t found;
        xac_env *env;
        if (glob("*.xac", GLOB_NOSORT, NULL, &found) != 0)
                return;
        for (size_t i = 0; i < found.gl_pathc; i++) {
                if (xac_open(found.gl_pathv[i], 0, &small, &env) == 0)
                        xac_close(env);
        }
        globfree(&found);
}
