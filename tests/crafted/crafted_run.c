/* SPDX-License-Identifier: MIT */
#include "tests/crafted/crafted_run.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/check.h"
#include "tests/support/crew.h"
#include "tests/support/leeway.h"

static char program[PATH_MAX];

void crafted_choose(const char *path)
{
        const char *builddir = getenv("builddir");
        char name[PATH_MAX];

        snprintf(name, sizeof(name), "%s/tools/xac/xac", builddir ? builddir : ".");
        check(realpath(path ? path : name, program) != NULL);
}

static void describe(struct crafted_run *run, const char *const *args)
{
        size_t len = 0;

        for (int i = 0; args[i] && len < sizeof(run->command); i++)
                len += (size_t)snprintf(run->command + len, sizeof(run->command) - len, "%s%s", i ? " " : "", args[i]);
}

static pid_t start(const char *const *args, int to)
{
        const char *argv[CRAFTED_ARGS + 2] = { program };
        const pid_t pid = fork();

        check(pid >= 0);
        if (pid)
                return pid;
        for (int i = 0; args[i]; i++)
                argv[i + 1] = args[i];
        dup2(to, STDOUT_FILENO);
        dup2(to, STDERR_FILENO);
        close(STDIN_FILENO);
        (void)open("/dev/null", O_RDONLY);
        execv(program, (char *const *)(uintptr_t)argv);
        _exit(127);
}

/* What it says, until it closes its end, or its time is up. */
static bool read_until(struct crafted_run *run, int from, uint64_t end_ns)
{
        char rest[4096];

        for (;;) {
                struct pollfd ready = { .fd = from, .events = POLLIN };
                const bool is_full = run->said_len == sizeof(run->said) - 1;
                const uint64_t now_ns = crew_clock_ns();

                if (now_ns >= end_ns || poll(&ready, 1, (int)((end_ns - now_ns) / 1000000) + 1) == 0)
                        return false;
                const ssize_t some =
                        is_full ? read(from, rest, sizeof(rest))
                                : read(from, run->said + run->said_len, sizeof(run->said) - 1 - run->said_len);
                if (some <= 0)
                        return true;
                run->said_len += is_full ? 0 : (size_t)some;
        }
}

static void begin(struct crafted_run *run, const char *const *args)
{
        int ends[2];

        memset(run, 0, offsetof(struct crafted_run, said));
        describe(run, args);
        check_equal(pipe2(ends, O_CLOEXEC), 0);
        run->begun_ns = crew_clock_ns();
        run->pid = start(args, ends[1]);
        run->from = ends[0];
        close(ends[1]);
}

static void end(struct crafted_run *run)
{
        struct rusage usage;
        int status;

        run->hung = !read_until(run, run->from, run->begun_ns + leeway_ms(CRAFTED_SECONDS * 1000) * 1000000);
        if (run->hung)
                kill(run->pid, SIGKILL);
        close(run->from);
        run->said[run->said_len] = '\0';
        check_equal(wait4(run->pid, &status, 0, &usage), run->pid);
        run->status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
        run->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
        run->memory_kb = usage.ru_maxrss;
        run->seconds = (double)(crew_clock_ns() - run->begun_ns) / 1e9;
}

void crafted_run(struct crafted_run *run, const char *const *args)
{
        begin(run, args);
        end(run);
}

static bool has_ended(const struct crafted_run *run)
{
        siginfo_t info = { .si_pid = 0 };

        return waitid(P_PID, (id_t)run->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0;
}

void crafted_begin(struct crafted_run *run, const char *const *args, const char *file)
{
        begin(run, args);
        while (access(file, F_OK) != 0 && !has_ended(run) &&
               crew_clock_ns() < run->begun_ns + leeway_ms(CRAFTED_SECONDS * 1000) * 1000000)
                usleep(1000);
}

void crafted_end(struct crafted_run *run)
{
        kill(run->pid, SIGTERM);
        run->begun_ns = crew_clock_ns();
        end(run);
}

const char *crafted_fault(const struct crafted_run *run)
{
        if (run->hung)
                return "it did not end";
        if (run->signal)
                return strsignal(run->signal);
        return run->memory_kb > CRAFTED_MEMORY / 1024 ? "it took too much memory" : NULL;
}
