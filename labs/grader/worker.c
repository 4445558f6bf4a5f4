/* SPDX-License-Identifier: MIT */

#include "labs/grader/worker.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "labs/grader/grader.h"

enum { CREW_MOST = 64 };

static int own_number;

int worker_number(void)
{
        return own_number;
}

pid_t worker_start(int number, void (*run)(void *arg), void *arg)
{
        fflush(NULL);
        pid_t pid = fork();
        grader_check(pid >= 0, "fork: %s", strerror(errno));
        if (pid != 0)
                return pid;
        own_number = number;
        grader_random_stream((uint32_t)number);
        run(arg);
        fflush(NULL);
        _exit(EXIT_SUCCESS);
}

void worker_join(pid_t worker, const char *what)
{
        int status;
        while (waitpid(worker, &status, 0) < 0)
                grader_check(errno == EINTR, "waitpid: %s", strerror(errno));
        if (WIFSIGNALED(status))
                grader_fail("%s was ended by signal %d (%s)", what, WTERMSIG(status), strsignal(WTERMSIG(status)));
        grader_check(WEXITSTATUS(status) == 0, "%s ended with status %d", what, WEXITSTATUS(status));
}

void worker_crew(int count, void (*run)(void *arg), void *arg)
{
        pid_t pids[CREW_MOST];
        char what[32];

        grader_check(count <= CREW_MOST, "at most %d workers", CREW_MOST);
        for (int i = 0; i < count; i++)
                pids[i] = worker_start(i + 1, run, arg);
        for (int i = 0; i < count; i++) {
                snprintf(what, sizeof(what), "worker %d", i + 1);
                worker_join(pids[i], what);
        }
}
