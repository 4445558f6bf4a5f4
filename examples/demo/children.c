/* SPDX-License-Identifier: MIT */
#include "examples/demo/children.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* In the child: ends with the parent, and leaves Ctrl-C to the parent. */
static void run_child(const struct children *children, int number)
{
        signal(SIGINT, SIG_IGN);
        signal(SIGTERM, SIG_DFL);
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        _exit(children->job(children->demo, number));
}

int children_start(struct children *children)
{
        for (int i = 0; i <= children->workers; i++) {
                children->child[i] = fork();
                if (children->child[i] == 0)
                        run_child(children, i);
                if (children->child[i] < 0) {
                        children->child[i] = 0;
                        return -errno;
                }
        }
        return 0;
}

int children_running(struct children *children)
{
        int running = 0, status;

        for (int i = 0; i <= children->workers; i++) {
                pid_t *child = &children->child[i];
                if (*child > 0 && waitpid(*child, &status, WNOHANG) == *child) {
                        *child = 0;
                        if (status != 0)
                                return -1;
                }
                running += i<children->workers && * child> 0;
        }
        return running;
}

int children_end_audit(struct children *children)
{
        int status = 0;
        pid_t *auditor = &children->child[children->workers];
        atomic_store(&children->tally->is_over, 1);
        if (*auditor > 0 && waitpid(*auditor, &status, 0) != *auditor)
                status = -1;
        *auditor = 0;
        return status == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

void children_kill(struct children *children, int signal_number)
{
        for (int i = 0; i <= children->workers; i++)
                if (children->child[i] > 0)
                        kill(children->child[i], signal_number);
        for (int i = 0; i <= children->workers; i++) {
                if (children->child[i] > 0)
                        waitpid(children->child[i], NULL, 0);
                children->child[i] = 0;
        }
}
