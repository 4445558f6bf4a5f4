/* SPDX-License-Identifier: MIT */

#include "labs/grader/worker.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "labs/grader/grader.h"

enum { CREW_MOST = 64, LOOK_MS = 5, ASLEEP_LOOKS = 20 };

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

bool worker_has_ended(pid_t worker)
{
        siginfo_t info = { .si_pid = 0 };
        return waitid(P_PID, (id_t)worker, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == worker;
}

/* The thread's state, and how often it has given up the processor by itself; '?': it is no more. */
static char look_at_thread(pid_t worker, const char *thread, long *sleeps)
{
        char name[64], line[200], state = '?';

        snprintf(name, sizeof(name), "/proc/%d/task/%.20s/status", (int)worker, thread);
        FILE *file = fopen(name, "re");
        if (file == NULL)
                return state;
        while (fgets(line, sizeof(line), file) != NULL) {
                sscanf(line, "State: %c", &state);
                if (strncmp(line, "voluntary_ctxt_switches:", strlen("voluntary_ctxt_switches:")) == 0)
                        *sleeps = strtol(strchr(line, ':') + 1, NULL, 10);
        }
        fclose(file);
        return state;
}

/* For who has the file's lock, who will give it up: a close or an open, which a slow disk may hold up. */
static bool waits_for_lock(pid_t worker)
{
        char name[64];
        long call = -1;

        snprintf(name, sizeof(name), "/proc/%d/syscall", (int)worker);
        FILE *file = fopen(name, "re");
        if (file == NULL)
                return false;
        if (fscanf(file, "%ld", &call) != 1)
                call = -1;
        fclose(file);
        return call == SYS_fcntl;
}

/* Who is asleep may wait for another of its threads, which waits for a processor or a disk. */
static bool waits_for_thread(pid_t worker)
{
        char name[64];
        bool is_any = false;
        long unused;

        snprintf(name, sizeof(name), "/proc/%d/task", (int)worker);
        DIR *threads = opendir(name);
        if (threads == NULL)
                return false;
        for (struct dirent *entry; (entry = readdir(threads)) != NULL;) {
                const char state = look_at_thread(worker, entry->d_name, &unused);

                is_any |= state == 'R' || state == 'D';
        }
        closedir(threads);
        return is_any;
}

/* How often it has given up the processor by itself; -1: it could run, will soon, or is no more. */
static long sleeps(pid_t worker)
{
        char name[24];
        long count = -1;

        snprintf(name, sizeof(name), "%d", (int)worker);
        if (look_at_thread(worker, name, &count) != 'S' || waits_for_thread(worker) || waits_for_lock(worker))
                return -1;
        return count;
}

bool worker_await_sleep(pid_t worker, int limit_ms)
{
        long before = -1;
        int same = 0;
        for (int ms = 0; ms < limit_ms && same < ASLEEP_LOOKS; ms += LOOK_MS) {
                if (worker_has_ended(worker))
                        return false;
                long now = sleeps(worker);
                same = now >= 0 && now == before ? same + 1 : 0;
                before = now;
                poll(NULL, 0, LOOK_MS);
        }
        return same == ASLEEP_LOOKS;
}
