/* SPDX-License-Identifier: MIT */
#include "tests/support/crash.h"

#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/check.h"

struct crashing {
        crew_body body;
        void *arg;
        int said; /* the writing end of the pipe that becomes stderr */
};

static void crashing_main(int index, void *crashing_)
{
        const struct crashing *crashing = crashing_;
        const struct rlimit no_core = { 0, 0 };

        setrlimit(RLIMIT_CORE, &no_core);
        dup2(crashing->said, STDERR_FILENO);
        close(crashing->said);
        crashing->body(index, crashing->arg);
}

void crash_run(crew_body body, int index, void *arg, struct crash *crash)
{
        struct crashing crashing = { .body = body, .arg = arg };
        size_t used = 0;
        ssize_t part;
        int ends[2];
        pid_t pid;
        int status;

        check_equal(pipe(ends), 0);
        crashing.said = ends[1];
        pid = crew_fork(crashing_main, index, &crashing);
        close(ends[1]);
        while (used < sizeof(crash->said) - 1 &&
               (part = read(ends[0], crash->said + used, sizeof(crash->said) - 1 - used)) > 0)
                used += (size_t)part;
        crash->said[used] = '\0';
        close(ends[0]);
        status = crew_status(pid);
        crash->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
        crash->status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int crash_lines(const struct crash *crash)
{
        int lines = 0;

        for (const char *at = crash->said; (at = strchr(at, '\n')) != NULL; at++)
                lines++;
        return lines;
}
