/* SPDX-License-Identifier: MIT */

/*
 * A test is a process in a session of its own; the answer runs in others, which it starts (host.h). Whoever fails first
 * writes why into memory that the processes of the test share, and no process of the answer. A test that has returned
 * says so there, too.
 *
 * The grader is the subreaper of all of them. When a test has ended it ends whatever is left, also what has left the
 * session, until there is nobody.
 */

#include "labs/grader/attempt.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "labs/grader/confine.h"
#include "labs/grader/host_start.h"
#include "labs/grader/random.h"
#include "labs/grader/scratch.h"

struct verdict {
        atomic_flag is_taken; /* somebody says why */
        atomic_bool has_said;
        atomic_bool has_returned;
        _Atomic double measured;
        char said[ATTEMPT_SAID_BYTES];
};

static struct verdict *verdict;
static volatile sig_atomic_t session; /* of the test that runs now; 0: none */
static volatile sig_atomic_t interrupted_by;

/* ------------------------------------------------------------------ what a test calls */

static void note_failure(const char *format, va_list arguments)
{
        if (verdict == NULL) {
                vfprintf(stderr, format, arguments);
                fputc('\n', stderr);
        } else if (!atomic_flag_test_and_set(&verdict->is_taken)) {
                vsnprintf(verdict->said, sizeof(verdict->said), format, arguments);
                atomic_store(&verdict->has_said, true);
        }
}

static _Noreturn void end_failed(void)
{
        fflush(NULL);
        _exit(EXIT_FAILURE);
}

void grader_fail(const char *format, ...)
{
        va_list arguments;
        va_start(arguments, format);
        note_failure(format, arguments);
        va_end(arguments);
        end_failed();
}

void grader_check(int is_good, const char *format, ...)
{
        va_list arguments;
        if (is_good)
                return;
        va_start(arguments, format);
        note_failure(format, arguments);
        va_end(arguments);
        end_failed();
}

void grader_measured(double value)
{
        if (verdict == NULL)
                printf("measured: %.3f\n", value);
        else
                atomic_store(&verdict->measured, value);
}

/* ------------------------------------------------------------------ its process */

static double seconds_now(void)
{
        struct timespec time;
        clock_gettime(CLOCK_MONOTONIC, &time);
        return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* What its workers leave is its own to wait for. That it ends with the grader is said last: another user forgets it. */
static void become_test(const struct attempt_options *options, const char *folder, int output)
{
        setsid();
        setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
        if (output >= 0) {
                dup2(output, STDOUT_FILENO);
                dup2(output, STDERR_FILENO);
        }
        if (chdir(folder) != 0)
                grader_fail("%s: %s", folder, strerror(errno));
        int err = confine_become(options->user);
        grader_check(err == 0, "the test cannot become user %u: %s", options->user, strerror(-err));
        prctl(PR_SET_CHILD_SUBREAPER, 1);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
}

static _Noreturn void run_test(const struct grader_test *test, const struct attempt_options *options,
                               const char *folder, int output)
{
        become_test(options, folder, output);
        random_begin(options->seed, test->name);
        test->run();
        host_end();
        atomic_store(&verdict->has_returned, true);
        fflush(NULL);
        _exit(EXIT_SUCCESS);
}

/* ------------------------------------------------------------------ what it prints */

/* A test and its hosts print to a socket: it has no length, no place and no times by which one could tell another what
 * it has printed. The end of it is kept. */
static void keep_printed(int output, struct attempt *result)
{
        char more[ATTEMPT_SAID_BYTES - 1];
        ssize_t got;
        while (output >= 0 && (got = recv(output, more, sizeof(more), MSG_DONTWAIT)) > 0) {
                size_t there = strlen(result->printed), most = sizeof(result->printed) - 1;
                size_t kept = there + (size_t)got > most ? most - (size_t)got : there;
                memmove(result->printed, result->printed + there - kept, kept);
                memcpy(result->printed + kept, more, (size_t)got);
                result->printed[kept + (size_t)got] = '\0';
        }
}

/* Returns 0 when the process has ended by itself, or -ETIMEDOUT: then it is killed. */
static int wait_for(pid_t pid, double seconds, int *status, int output, struct attempt *result)
{
        struct pollfd printed = { .fd = output, .events = POLLIN };
        double end = seconds_now() + seconds;
        for (int pause_ms = 1; waitpid(pid, status, WNOHANG) != pid; pause_ms += pause_ms < 20) {
                if (seconds_now() > end) {
                        kill(pid, SIGKILL);
                        waitpid(pid, status, 0);
                        return -ETIMEDOUT;
                }
                poll(&printed, 1, pause_ms);
                keep_printed(output, result);
        }
        return 0;
}

int attempt_here(const struct grader_test *test, const struct attempt_options *options)
{
        int err = scratch_enter(options->clean);
        if (err)
                return err;
        random_begin(options->seed, test->name);
        test->run();
        return 0;
}

/* ------------------------------------------------------------------ how it ended */

static void judge(struct attempt *result, int err, int status, int seconds)
{
        result->passed = false;
        result->measured = atomic_load(&verdict->measured);
        if (atomic_load(&verdict->has_said))
                memcpy(result->said, verdict->said, sizeof(result->said));
        else if (err)
                snprintf(result->said, sizeof(result->said), "it still ran after %d s, and was ended", seconds);
        else if (WIFSIGNALED(status))
                snprintf(result->said, sizeof(result->said), "ended by signal %d (%s)", WTERMSIG(status),
                         strsignal(WTERMSIG(status)));
        else if (WEXITSTATUS(status) != 0 || !atomic_load(&verdict->has_returned))
                snprintf(result->said, sizeof(result->said), "the process ended itself, with status %d",
                         WEXITSTATUS(status));
        else
                result->passed = true;
}

/* The test is ended; attempt_run() cleans up behind it as always, and then ends the grader. */
static void end_on_signal(int number)
{
        interrupted_by = number;
        if (session > 0)
                kill(-session, SIGKILL);
}

static int prepare(void)
{
        if (verdict == NULL) {
                verdict = mmap(NULL, sizeof(*verdict), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
                if (verdict == MAP_FAILED)
                        return -errno;
                prctl(PR_SET_CHILD_SUBREAPER, 1);
                signal(SIGINT, end_on_signal);
                signal(SIGTERM, end_on_signal);
        }
        memset(verdict, 0, sizeof(*verdict));
        atomic_flag_clear(&verdict->is_taken);
        return 0;
}

int attempt_run(const struct grader_test *test, const struct attempt_options *options, struct attempt *result)
{
        char folder[SCRATCH_NAME_BYTES];
        int printed[2] = { -1, -1 }; /* here it is read, and there written */
        int status = 0;
        int err = prepare();
        if (err)
                return err;
        err = scratch_make(folder, options->user);
        if (err)
                return err;
        memset(result, 0, sizeof(*result));
        if (!options->is_loud && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, printed) != 0) {
                err = -errno;
                goto fail_socket;
        }
        fflush(NULL);

        double begin = seconds_now();
        pid_t pid = fork();
        if (pid == 0) {
                signal(SIGINT, SIG_DFL);
                signal(SIGTERM, SIG_DFL);
                run_test(test, options, folder, printed[1]);
        }
        if (pid < 0) {
                err = -errno;
                goto fail_fork;
        }
        session = pid;
        int late = wait_for(pid, options->seconds, &status, printed[0], result);
        confine_end_all(options->user);
        session = 0;
        result->seconds = seconds_now() - begin;
        judge(result, late, status, options->seconds);
        keep_printed(printed[0], result);
        scratch_clean(folder, options->user, options->clean);
fail_fork:
        if (!options->is_loud) {
                close(printed[0]);
                close(printed[1]);
        }
fail_socket:
        scratch_remove(folder);
        if (interrupted_by)
                _exit(128 + interrupted_by);
        return err;
}
