/* SPDX-License-Identifier: MIT */
#include "tests/support/isolate.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/crew.h"
#include "tests/support/leeway.h"
#include "tests/support/scratch.h"

enum { ISOLATE_SECONDS = 40, ISOLATE_SKIPPED = 77, LOOK_EVERY_MS = 250 };

/* XAC_TEST_ONLY=pattern runs the tests whose names match it. */
__attribute__((constructor)) static void filter_tests(void)
{
        if (getenv("XAC_TEST_ONLY") != NULL)
                cmocka_set_test_filter(getenv("XAC_TEST_ONLY"));
}

void isolate_skip(const char *why)
{
        dprintf(STDERR_FILENO, "skipped: %s\n", why);
        _exit(ISOLATE_SKIPPED);
}

/* cmocka catches the first of these to report a crash of its own process; here the crash is reported by the parent, and
 * the library must find the disposition a plain program has. The others are ignored in what a shell started in the
 * background, or nohup. */
static void signals_restore(void)
{
        static const int signals[] = { SIGSEGV, SIGBUS, SIGFPE,  SIGILL,  SIGSYS,
                                       SIGHUP,  SIGINT, SIGQUIT, SIGTERM, SIGPIPE };

        for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
                signal(signals[i], SIG_DFL);
}

static _Noreturn void isolated_main(const struct isolated *test)
{
        setpgid(0, 0);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        signals_restore();
        if (test->once != NULL)
                test->once();
        else
                test->each(test->way);
        crew_exit(0);
}

/* Waits; 0 when the time was up (the test has then been ended): `seconds` of an idle machine. The group is ended in any
 * case: whatever a failed test left running. */
static int wait_limited(pid_t pid, unsigned seconds, int *status)
{
        int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
        struct pollfd end = { .fd = pidfd, .events = POLLIN };
        struct leeway left = leeway_of((uint64_t)seconds * 1000);
        int ready;

        do
                ready = poll(&end, 1, LOOK_EVERY_MS);
        while (ready <= 0 && leeway_is_left(&left));
        kill(-pid, SIGKILL);
        waitpid(pid, status, 0);
        close(pidfd);
        return ready > 0;
}

void isolate_run(void **state)
{
        const struct isolated *test = *state;
        unsigned limit_s = test->seconds != 0 ? test->seconds : ISOLATE_SECONDS;
        int status = 0;
        int in_time, left;
        pid_t pid;

        assert_int_equal(scratch_make(test->in_memory), 0);
        fflush(NULL);
        pid = fork();
        assert_true(pid >= 0);
        if (pid == 0)
                isolated_main(test);
        in_time = wait_limited(pid, limit_s, &status);
        left = scratch_shared_memory_left(1);
        scratch_remove();

        if (!in_time)
                fail_msg("it hung: ended after %u s, each as long as this machine is busy", limit_s);
        if (WIFSIGNALED(status))
                fail_msg("it was ended by signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
        if (WEXITSTATUS(status) == ISOLATE_SKIPPED)
                skip();
        if (WEXITSTATUS(status) != 0)
                fail_msg("it failed (status %d)", WEXITSTATUS(status));
        if (left != 0)
                fail_msg("it left shared memory behind (%d files)", left);
}
