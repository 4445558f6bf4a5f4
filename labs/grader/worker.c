/* SPDX-License-Identifier: MIT */

#include "labs/grader/worker.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "labs/grader/grader.h"
#include "labs/grader/host_start.h"
#include "labs/grader/memory.h"

enum { CREW_MOST = 64, SEATS = 256, LOOK_MS = 5, ASLEEP_LOOKS = 20 };

/* Of each worker that goes on, its host. The test and its workers share it, and no host does. */
static struct seat {
        pid_t worker, host;
} * seats, *own_seat;

static int own_number;

static struct seat *seat_of(pid_t worker)
{
        for (int i = 0; seats != NULL && i < SEATS; i++)
                if (seats[i].worker == worker)
                        return &seats[i];
        return NULL;
}

static struct seat *take_seat(void)
{
        if (seats == NULL)
                seats = mmap(NULL, SEATS * sizeof(*seats), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        grader_check(seats != MAP_FAILED, "mmap: %s", strerror(errno));
        struct seat *seat = seat_of(0);
        if (seat != NULL) {
                seat->host = 0;
                return seat;
        }
        grader_fail("more than %d workers at once", SEATS);
}

void worker_has_host(pid_t host)
{
        if (own_seat != NULL)
                own_seat->host = host;
}

static pid_t host_of(pid_t worker)
{
        const struct seat *seat = seat_of(worker);
        return seat == NULL ? 0 : seat->host;
}

/* The worker has ended, and was waited for. What is left of its host is ours, as the test is a subreaper. */
static void leave_seat(pid_t worker)
{
        struct seat *seat = seat_of(worker);
        if (seat == NULL)
                return;
        if (seat->host != 0 && kill(seat->host, SIGKILL) == 0)
                while (waitpid(seat->host, NULL, 0) < 0 && errno == EINTR)
                        continue;
        *seat = (struct seat){ 0, 0 };
}

int worker_number(void)
{
        return own_number;
}

pid_t worker_start(int number, void (*run)(void *arg), void *arg)
{
        struct seat *seat = take_seat();
        memory_prepare();
        fflush(NULL);
        pid_t pid = fork();
        grader_check(pid >= 0, "fork: %s", strerror(errno));
        if (pid != 0) {
                seat->worker = pid;
                return pid;
        }
        own_number = number;
        own_seat = seat;
        grader_random_stream((uint32_t)number);
        run(arg);
        host_end();
        fflush(NULL);
        _exit(EXIT_SUCCESS);
}

void worker_join(pid_t worker, const char *what)
{
        int status;
        while (waitpid(worker, &status, 0) < 0)
                grader_check(errno == EINTR, "waitpid: %s", strerror(errno));
        leave_seat(worker);
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

void worker_signal(pid_t worker, int number)
{
        pid_t host = host_of(worker);
        kill(worker, number);
        if (host != 0)
                kill(host, number);
}

void worker_kill(pid_t worker)
{
        worker_signal(worker, SIGKILL);
        while (waitpid(worker, NULL, 0) < 0 && errno == EINTR)
                continue;
        leave_seat(worker);
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

/* Could one of its threads still do something by itself? */
static bool moves(pid_t pid)
{
        char name[64];
        bool is_moving = false;

        snprintf(name, sizeof(name), "/proc/%d/task", (int)pid);
        DIR *threads = opendir(name);
        if (threads == NULL)
                return false;
        for (struct dirent *entry; !is_moving && (entry = readdir(threads)) != NULL;) {
                long unused;
                is_moving = strchr("RS", look_at_thread(pid, entry->d_name, &unused)) != NULL;
        }
        closedir(threads);
        return is_moving;
}

/* A worker that was told something is about to run, and no longer once it waits for more, or has ended. */
static bool runs(pid_t worker)
{
        char name[24];
        long unused;

        snprintf(name, sizeof(name), "%d", (int)worker);
        return look_at_thread(worker, name, &unused) == 'R';
}

void worker_hold(pid_t worker)
{
        const struct timespec pause = { 0, 20000 };
        const pid_t host = host_of(worker);

        if (host == 0 || kill(host, SIGSTOP) != 0)
                return;
        while (moves(host) || runs(worker))
                nanosleep(&pause, NULL);
}

void worker_let_go(pid_t worker)
{
        const pid_t host = host_of(worker);
        if (host != 0)
                kill(host, SIGCONT);
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

/* How often its threads have given up the processor by themselves, one that only looks now and then among them; -1:
 * one of them runs, or waits for a processor or a disk. */
static long sleeps_of_threads(pid_t worker)
{
        char name[64];
        long sum = 0;

        snprintf(name, sizeof(name), "/proc/%d/task", (int)worker);
        DIR *threads = opendir(name);
        if (threads == NULL)
                return -1;
        for (struct dirent *entry; sum >= 0 && (entry = readdir(threads)) != NULL;) {
                long count = 0;
                const char state = look_at_thread(worker, entry->d_name, &count);

                sum = state == 'R' || state == 'D' ? -1 : sum + count;
        }
        closedir(threads);
        return sum;
}

/* How often it has given up the processor by itself; -1: it could run, will soon, or is no more. */
static long sleeps_of_process(pid_t pid)
{
        char name[24];
        long unused;

        snprintf(name, sizeof(name), "%d", (int)pid);
        if (look_at_thread(pid, name, &unused) != 'S' || waits_for_lock(pid))
                return -1;
        return sleeps_of_threads(pid);
}

/* The same, of the worker and its host: both are asleep only if what the worker has asked for is. */
static long sleeps(pid_t worker)
{
        pid_t host = host_of(worker);
        long count = sleeps_of_process(worker), more = host == 0 ? 0 : sleeps_of_process(host);

        return count < 0 || more < 0 ? -1 : count + more;
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

long worker_sleeps(pid_t worker)
{
        const pid_t host = host_of(worker), process = host == 0 ? worker : host;
        char thread[24];
        long count = -1;

        snprintf(thread, sizeof(thread), "%d", (int)process);
        return look_at_thread(process, thread, &count) == 'S' ? count : -1;
}

/* Each thread of its host, or of itself, if it has none, to visit(). */
static void each_thread(pid_t worker, void (*visit)(const char *thread, uint64_t *result), uint64_t *result)
{
        const pid_t host = host_of(worker);
        char name[40];

        snprintf(name, sizeof(name), "/proc/%d/task", (int)(host == 0 ? worker : host));
        DIR *threads = opendir(name);
        if (threads == NULL)
                return;
        for (struct dirent *entry; (entry = readdir(threads)) != NULL;)
                if (entry->d_name[0] != '.')
                        visit(entry->d_name, result);
        closedir(threads);
}

static void count_one(const char *thread, uint64_t *result)
{
        (void)thread;
        ++*result;
}

int worker_threads(pid_t worker)
{
        uint64_t count = 0;
        each_thread(worker, count_one, &count);
        return (int)count;
}

/* In whatever order they come. */
static void add_one(const char *thread, uint64_t *result)
{
        *result += ((uint64_t)strtol(thread, NULL, 10) + 1) * UINT64_C(0x9e3779b97f4a7c15);
}

uint64_t worker_thread_set(pid_t worker)
{
        uint64_t sum = 0;
        each_thread(worker, add_one, &sum);
        return sum;
}
