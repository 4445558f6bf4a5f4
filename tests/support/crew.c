/* SPDX-License-Identifier: MIT */
#include "tests/support/crew.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/support/check.h"
#include "tests/support/leeway.h"

enum { CREW_MAX = 2048 };

/* Only sanitizer and coverage builds have these. */
extern int __lsan_do_recoverable_leak_check(void) __attribute__((weak));
extern void __gcov_dump(void) __attribute__((weak));

/* A library that lives on SIGSEGV must be left the signal, also when a test program is run
 * by hand without the environment that `make check` sets. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
        return "allow_user_segv_handler=1:handle_segv=0:handle_sigbus=0";
}

/* What a parent's other threads own looks like a leak in its child, where they are not. */
static int leaks_can_be_told = 1;

static int thread_count(void)
{
        DIR *threads = opendir("/proc/self/task");
        int count = -2; /* "." and ".." */

        check(threads != NULL);
        while (readdir(threads) != NULL)
                count++;
        closedir(threads);
        return count;
}

void crew_exit(int status)
{
        if (status == 0 && leaks_can_be_told && __lsan_do_recoverable_leak_check != NULL &&
            __lsan_do_recoverable_leak_check() != 0)
                status = 1;
        if (__gcov_dump != NULL)
                __gcov_dump();
        _exit(status);
}

void crew_limit_s(unsigned seconds)
{
        static timer_t timer;
        static pid_t owner; /* children do not inherit timers */
        struct sigevent kill_me = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL };
        /* The machine may become busier than it is now: once more as long. */
        unsigned limit_s = seconds + (unsigned)(seconds * leeway_factor());
        const struct itimerspec limit = { .it_value.tv_sec = limit_s };

        if (owner != getpid())
                check_equal(timer_create(CLOCK_MONOTONIC, &kill_me, &timer), 0);
        owner = getpid();
        check_equal(timer_settime(timer, 0, &limit, NULL), 0);
}

pid_t crew_fork(crew_body body, int index, void *arg)
{
        int is_alone = thread_count() == 1;
        pid_t parent = getpid();
        pid_t pid = fork();

        check(pid >= 0);
        if (pid > 0)
                return pid;
        leaks_can_be_told = leaks_can_be_told && is_alone;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
                _exit(1);
        body(index, arg);
        crew_exit(0);
}

int crew_status(pid_t pid)
{
        int status;
        pid_t done;

        do
                done = waitpid(pid, &status, 0);
        while (done < 0 && errno == EINTR);
        check_equal(done, pid);
        return status;
}

void crew_join(pid_t pid)
{
        int status = crew_status(pid);

        if (WIFSIGNALED(status))
                check_failed(__FILE__, __LINE__, "process %d was ended by signal %d", (int)pid, WTERMSIG(status));
        if (WEXITSTATUS(status) != 0)
                check_failed(__FILE__, __LINE__, "process %d failed with status %d", (int)pid, WEXITSTATUS(status));
}

void crew_kill(pid_t pid)
{
        int status;

        check_equal(kill(pid, SIGKILL), 0);
        status = crew_status(pid);
        /* It may have failed by itself before: that must not pass for the kill. */
        check(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

void crew_processes(int count, crew_body body, void *arg)
{
        pid_t pids[CREW_MAX];

        check(count <= CREW_MAX);
        for (int i = 0; i < count; i++)
                pids[i] = crew_fork(body, i, arg);
        for (int i = 0; i < count; i++)
                crew_join(pids[i]);
}

struct crew_member {
        pthread_t thread;
        crew_body body;
        int index;
        void *arg;
};

static void *member_main(void *member_)
{
        struct crew_member *member = member_;

        member->body(member->index, member->arg);
        return NULL;
}

void crew_threads(int count, crew_body body, void *arg)
{
        struct crew_member members[CREW_MAX];

        check(count <= CREW_MAX);
        for (int i = 0; i < count; i++) {
                members[i] = (struct crew_member){ .body = body, .index = i, .arg = arg };
                check_equal(pthread_create(&members[i].thread, NULL, member_main, &members[i]), 0);
        }
        for (int i = 0; i < count; i++)
                check_equal(pthread_join(members[i].thread, NULL), 0);
}

void *crew_shared(size_t byte_len)
{
        void *memory = mmap(NULL, byte_len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

        check(memory != MAP_FAILED);
        return memory;
}

void crew_turn_pass(struct crew_turn *turn)
{
        atomic_fetch_add(&turn->number, 1);
        syscall(SYS_futex, &turn->number, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* Until the number has grown to that, or for a while. */
static int turn_sleep(struct crew_turn *turn, uint32_t number, unsigned ms)
{
        const struct timespec limit = { .tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000 };
        uint32_t now = atomic_load(&turn->number);

        if (now < number)
                syscall(SYS_futex, &turn->number, FUTEX_WAIT, now, &limit, NULL, 0);
        return atomic_load(&turn->number) >= number;
}

void crew_turn_await(struct crew_turn *turn, uint32_t number)
{
        while (!turn_sleep(turn, number, 50))
                ;
}

int crew_turn_await_ms(struct crew_turn *turn, uint32_t number, unsigned ms)
{
        uint64_t end = crew_clock_ns() + ms * UINT64_C(1000000);

        while (!turn_sleep(turn, number, ms < 50 ? ms : 50))
                if (crew_clock_ns() >= end)
                        return 0;
        return 1;
}

void crew_barrier_wait(struct crew_barrier *barrier, uint32_t count)
{
        uint32_t me = atomic_fetch_add(&barrier->arrivals.number, 1);

        syscall(SYS_futex, &barrier->arrivals.number, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
        crew_turn_await(&barrier->arrivals, me - me % count + count);
}

void crew_sleep_ms(unsigned ms)
{
        const struct timespec time = { .tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000 };

        nanosleep(&time, NULL);
}

uint64_t crew_clock_ns(void)
{
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}
