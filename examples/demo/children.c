/* SPDX-License-Identifier: MIT */
#include "examples/demo/children.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* In the child: ends with the parent, and leaves Ctrl-C to the parent. */
static void run_child(const struct demo *demo, int number)
{
        signal(SIGINT, SIG_IGN);
        signal(SIGTERM, SIG_DFL);
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        if (number == demo->workers)
                _exit(job_audit(demo->directory, demo->tally));
        _exit(job_work(demo->directory, number, text_part(demo->text, number, demo->workers), demo->acks_fd,
                       demo->tally));
}

int children_start(struct demo *demo)
{
        for (int i = 0; i <= demo->workers; i++) {
                demo->child[i] = fork();
                if (demo->child[i] == 0)
                        run_child(demo, i);
                if (demo->child[i] < 0) {
                        demo->child[i] = 0;
                        return -errno;
                }
        }
        return 0;
}

int children_running(struct demo *demo)
{
        int running = 0, status;

        for (int i = 0; i <= demo->workers; i++) {
                if (demo->child[i] > 0 && waitpid(demo->child[i], &status, WNOHANG) == demo->child[i]) {
                        demo->child[i] = 0;
                        if (status != 0)
                                return -1;
                }
                running += i < demo->workers && demo->child[i] > 0;
        }
        return running;
}

int children_end_audit(struct demo *demo)
{
        int status = 0;
        atomic_store(&demo->tally->is_over, 1);
        pid_t auditor = demo->child[demo->workers];
        if (auditor > 0 && waitpid(auditor, &status, 0) != auditor)
                status = -1;
        demo->child[demo->workers] = 0;
        return status == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

void children_kill(struct demo *demo, int signal_number)
{
        for (int i = 0; i <= demo->workers; i++)
                if (demo->child[i] > 0)
                        kill(demo->child[i], signal_number);
        for (int i = 0; i <= demo->workers; i++) {
                if (demo->child[i] > 0)
                        waitpid(demo->child[i], NULL, 0);
                demo->child[i] = 0;
        }
}
