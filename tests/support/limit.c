/* SPDX-License-Identifier: MIT */

/*
 * A test that hangs fails, by its name, and the rest of the run goes on:
 *
 *      limit TEST [ARGUMENT...]
 *
 * After XAC_TEST_LIMIT seconds (1,200) it says where each process of the test stands, if gdb is there, and kills them.
 * Exit status is the test's, as the shell gives it.
 */

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { LIMIT_S = 1200, PROCESSES_MAX = 256, LINE_ROOM = 320, CANNOT_RUN = 127, BY_SIGNAL = 128 };

/* ---- The processes of a test ---- */

static pid_t found[PROCESSES_MAX];
static unsigned found_count;

static void find_below(pid_t pid);

/* What one of its threads has started. */
static void find_children(pid_t pid, const char *thread)
{
        char path[LINE_ROOM];
        FILE *children;
        int child;

        snprintf(path, sizeof(path), "/proc/%d/task/%s/children", (int)pid, thread);
        children = fopen(path, "re");
        if (!children)
                return;
        while (fscanf(children, "%d", &child) == 1)
                find_below(child);
        fclose(children);
}

static void find_below(pid_t pid)
{
        char path[LINE_ROOM];
        DIR *threads;

        if (found_count == PROCESSES_MAX)
                return;
        found[found_count++] = pid;
        snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
        threads = opendir(path);
        if (!threads)
                return;
        for (const struct dirent *entry; (entry = readdir(threads)) != NULL;)
                find_children(pid, entry->d_name);
        closedir(threads);
}

#define STACKS                                                            \
        "command -v gdb >/dev/null && timeout 60 gdb -nx -batch -p $pid " \
        "-ex 'thread apply all backtrace 24' 2>/dev/null | grep '^[T#]'"

static void show(pid_t pid)
{
        char command[LINE_ROOM];

        snprintf(command, sizeof(command),
                 "pid=%d; echo \"-- process $pid: $(tr '\\0' ' ' </proc/$pid/cmdline | cut -c 1-160)\"; " STACKS,
                 (int)pid);
        if (system(command) == -1)
                perror("limit: system");
}

static void end_test(pid_t test, long limit_s)
{
        printf("FAILED: it has not ended in %ld s (XAC_TEST_LIMIT); its processes:\n", limit_s);
        fflush(stdout);
        find_below(test);
        for (unsigned i = 0; i < found_count; i++)
                show(found[i]);
        for (unsigned i = 0; i < found_count; i++)
                kill(found[i], SIGKILL);
}

/* ---- Waiting ---- */

/* Signals that are waited for: the end of the test, and what asks for it, which the test is handed on. */
static sigset_t awaited(void)
{
        sigset_t set;

        sigemptyset(&set);
        sigaddset(&set, SIGCHLD);
        sigaddset(&set, SIGHUP);
        sigaddset(&set, SIGTERM);
        return set;
}

static long seconds_now(void)
{
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return (long)now.tv_sec;
}

static int status_of(pid_t test, const sigset_t *set, long limit_s)
{
        const long end = seconds_now() + limit_s;
        int status;

        while (waitpid(test, &status, WNOHANG) == 0) {
                const long left = end - seconds_now();
                const struct timespec wait = { .tv_sec = left > 0 ? left : 0 };
                const int signal = sigtimedwait(set, NULL, &wait);

                if (signal < 0 && errno == EAGAIN) {
                        end_test(test, limit_s);
                        waitpid(test, &status, 0);
                        break;
                }
                if (signal > 0 && signal != SIGCHLD)
                        kill(test, signal);
        }
        return WIFSIGNALED(status) ? BY_SIGNAL + WTERMSIG(status) : WEXITSTATUS(status);
}

int main(int argc, char **argv)
{
        const char *limit = getenv("XAC_TEST_LIMIT");
        const sigset_t set = awaited();
        sigset_t before;
        pid_t test;

        if (argc < 2) {
                fprintf(stderr, "usage: limit TEST [ARGUMENT...]\n");
                return 2;
        }
        sigprocmask(SIG_BLOCK, &set, &before);
        test = fork();
        if (test < 0) {
                perror("limit: fork");
                return CANNOT_RUN;
        }
        if (test == 0) {
                sigprocmask(SIG_SETMASK, &before, NULL);
                execvp(argv[1], argv + 1);
                perror(argv[1]);
                _exit(CANNOT_RUN);
        }
        signal(SIGINT, SIG_IGN); /* the terminal gives it to the test too */
        return status_of(test, &set, limit ? atol(limit) : LIMIT_S);
}
