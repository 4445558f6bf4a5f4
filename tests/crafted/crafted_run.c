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

/* xac's: its parts are linked into this program, whose own is __wrap_main().
 * NOLINTNEXTLINE(bugprone-reserved-identifier) */
int __real_main(int argc, char **argv);

static char program[PATH_MAX];
static bool executes = true;

void crafted_execute(bool on)
{
        executes = on;
}

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

/* xac finds the process as an execve() leaves it: no descriptor but three, nothing read of the command line, nothing in
 * the buffers. */
_Noreturn static void call(int argc, char **argv)
{
        check_equal(close_range(STDERR_FILENO + 1, ~0U, 0), 0);
        setvbuf(stdout, NULL, _IOFBF, BUFSIZ);
        optind = 1;
        exit(__real_main(argc, argv));
}

static pid_t start(const char *const *args, int to)
{
        char *argv[CRAFTED_ARGS + 2] = { program };
        int argc = 1;

        fflush(stdout);
        const pid_t pid = fork();
        check(pid >= 0);
        if (pid)
                return pid;
        while (args[argc - 1]) {
                argv[argc] = (char *)(uintptr_t)args[argc - 1];
                argc++;
        }
        dup2(to, STDOUT_FILENO);
        dup2(to, STDERR_FILENO);
        close(STDIN_FILENO);
        (void)open("/dev/null", O_RDONLY);
        if (!executes)
                call(argc, argv);
        execv(program, argv);
        _exit(127);
}

/* How busy the machine is costs more to ask than many a tool: not before a tool has run for long. */
static bool is_too_late(uint64_t begun_ns)
{
        const uint64_t now_ns = crew_clock_ns();

        return now_ns >= begun_ns + CRAFTED_SECONDS * UINT64_C(1000000000) &&
               now_ns >= begun_ns + leeway_ms(CRAFTED_SECONDS * 1000) * 1000000;
}

/* What it says, until it closes its end, or its time is up. */
static bool read_until(struct crafted_run *run, int from)
{
        char rest[4096];

        for (;;) {
                struct pollfd ready = { .fd = from, .events = POLLIN };
                const bool is_full = run->said_len == sizeof(run->said) - 1;

                if (is_too_late(run->begun_ns))
                        return false;
                if (poll(&ready, 1, 1000) == 0)
                        continue;
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

        run->hung = !read_until(run, run->from);
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
        while (access(file, F_OK) != 0 && !has_ended(run) && !is_too_late(run->begun_ns))
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
