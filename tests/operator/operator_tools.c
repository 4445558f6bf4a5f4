/* SPDX-License-Identifier: MIT */
#include "tests/operator/operator_tools.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/support/check.h"
#include "tests/support/crew.h"
#include "tests/support/leeway.h"

enum { LIMIT_MS = 30000 };

static char program[PATH_MAX];

void tools_choose(const char *path)
{
        const char *builddir = getenv("builddir");

        if (path)
                snprintf(program, sizeof(program), "%s", path);
        else
                snprintf(program, sizeof(program), "%s/tools/xac/xac", builddir ? builddir : ".");
        check(access(program, X_OK) == 0);
}

static void describe(struct tools_run *run, const char *const *args)
{
        size_t len = 0;

        for (int i = 0; args[i] && len < sizeof(run->command); i++) {
                const char *slash = strrchr(args[i], '/');
                const char *equals = strchr(args[i], '=');

                len += (size_t)snprintf(run->command + len, sizeof(run->command) - len, "%s%.*s%s", i ? " " : "",
                                        slash && equals ? (int)(equals + 1 - args[i]) : 0, args[i],
                                        slash ? slash + 1 : args[i]);
        }
}

static pid_t spawn(const char *const *args, int to)
{
        const char *argv[TOOLS_ARGS + 2] = { program };
        posix_spawn_file_actions_t actions;
        pid_t pid;

        for (int i = 0; args[i]; i++) {
                check(i < TOOLS_ARGS);
                argv[i + 1] = args[i];
        }
        check_equal(posix_spawn_file_actions_init(&actions), 0);
        check_equal(posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0), 0);
        check_equal(posix_spawn_file_actions_adddup2(&actions, to, STDOUT_FILENO), 0);
        check_equal(posix_spawn_file_actions_adddup2(&actions, to, STDERR_FILENO), 0);
        check_equal(posix_spawn(&pid, program, &actions, NULL, (char *const *)(uintptr_t)argv, environ), 0);
        posix_spawn_file_actions_destroy(&actions);
        return pid;
}

/* What it says, until it has said all, or its time is up. */
static bool read_until(struct tools_run *run, int from, uint64_t end_ns)
{
        struct pollfd ready = { .fd = from, .events = POLLIN };
        char rest[4096] = "";

        for (;;) {
                const bool is_full = run->said_len == sizeof(run->said) - 1;
                const uint64_t now_ns = crew_clock_ns();
                const struct timespec left = { (time_t)((end_ns - now_ns) / 1000000000u),
                                               (long)((end_ns - now_ns) % 1000000000u) };

                if (now_ns >= end_ns || ppoll(&ready, 1, &left, NULL) == 0)
                        return false;
                const ssize_t part = read(from, is_full ? rest : run->said + run->said_len,
                                          is_full ? sizeof(rest) : sizeof(run->said) - 1 - run->said_len);
                if (part <= 0)
                        return true;
                run->said_len += is_full ? 0 : (size_t)part;
        }
}

void tools_run(struct tools_run *run, const char *const *args, uint32_t after_us)
{
        const uint64_t begun_ns = crew_clock_ns();
        int ends[2], status;

        memset(run, 0, offsetof(struct tools_run, said));
        describe(run, args);
        check_equal(pipe2(ends, O_CLOEXEC), 0);
        const pid_t pid = spawn(args, ends[1]);
        close(ends[1]);
        if (after_us)
                run->is_killed = !read_until(run, ends[0], begun_ns + (uint64_t)after_us * 1000);
        else
                run->hung = !read_until(run, ends[0], begun_ns + leeway_ms(LIMIT_MS) * 1000000);
        if (run->is_killed || run->hung)
                kill(pid, SIGKILL);
        if (run->is_killed)
                read_until(run, ends[0], UINT64_MAX); /* it may have ended just before */
        close(ends[0]);
        run->said[run->said_len] = '\0';
        check_equal(waitpid(pid, &status, 0), pid);
        run->status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
        run->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
        run->is_killed = run->is_killed && run->signal == SIGKILL;
}

bool tools_said(const struct tools_run *run, const char *text)
{
        return strstr(run->said, text) != NULL;
}
