/* SPDX-License-Identifier: MIT */

/*
 * A and B are processes, with two pipes between A and the test: A says by the first that it stands before its n-th
 * step, and goes on when the second is closed. While A stands, only B runs, so that what they note needs no lock.
 */

#include "labs/grader/steps.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "labs/grader/access.h"
#include "labs/grader/grader.h"
#include "labs/grader/worker.h"

enum { NOTES = 400, STAND_MS = 20, SLEEP_MS = 200 };

struct note {
        char who; /* 'A' or 'B' */
        bool is_write, has_value;
        size_t offset;
        int64_t value;
};

static struct steps {
        int count;
        struct note note[NOTES];
        int stopped_at; /* so many notes there were when A was stopped */
        bool was_killed;
} * steps;

static int patience_ms = 1000;
static bool has_passed, has_slept_on;
static char role; /* of this process */
static int step_no, stop_at;
static int said[2], go[2];
static const char *watched;
static bool watched_is_plain;

static void await_go(void)
{
        char byte = 0;
        steps->stopped_at = steps->count;
        if (write(said[1], "s", 1) == 1)
                while (read(go[0], &byte, 1) < 0 && errno == EINTR)
                        continue;
}

/* What this process has written last; it is there by now, and nobody else has run. */
static void complete_write(void)
{
        if (!watched_is_plain || steps->count == 0)
                return;
        struct note *last = &steps->note[steps->count - 1];
        if (last->who == role && last->is_write && !last->has_value) {
                memcpy(&last->value, watched + last->offset, sizeof(last->value));
                last->has_value = true;
        }
}

static void take_step(const void *addr, size_t byte_len, bool is_write)
{
        complete_write();
        if (role == 'A' && ++step_no == stop_at)
                await_go();
        if (steps->count == NOTES)
                return;
        struct note *note = &steps->note[steps->count++];
        *note = (struct note){ role, is_write, false, (size_t)((const char *)addr - watched), 0 };
        if (!is_write && byte_len == sizeof(note->value)) {
                memcpy(&note->value, addr, sizeof(note->value));
                note->has_value = true;
        }
}

void steps_watch(const void *start, size_t byte_len, bool is_plain)
{
        if (start == NULL)
                complete_write();
        watched = start;
        watched_is_plain = is_plain;
        access_watch(start, byte_len, start == NULL ? NULL : take_step);
}

struct task {
        char role;
        void (*run)(void *arg);
        void *arg;
};

static void run_task(void *arg)
{
        const struct task *task = arg;
        role = task->role;
        if (role == 'B')
                close(said[1]);
        close(go[1]);
        task->run(task->arg);
        if (watched != NULL)
                steps_watch(NULL, 0, false);
}

/* Starts A. What it says is read from said[0], and it goes on when go[1] is closed. */
static pid_t start_first(int n, void (*first)(void *arg), void *arg)
{
        if (steps == NULL)
                steps = mmap(NULL, sizeof(*steps), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        grader_check(steps != MAP_FAILED && pipe(said) == 0 && pipe(go) == 0, "no memory, no pipe: %s",
                     strerror(errno));
        memset(steps, 0, sizeof(*steps));
        step_no = 0;
        stop_at = n;
        pid_t pid = worker_start(1, run_task, &(struct task){ 'A', first, arg });
        close(said[1]);
        close(go[0]);
        return pid;
}

/* Waits until A stands or has ended. Returns whether it stands. */
static bool await_first(void)
{
        char byte;
        ssize_t got;
        while ((got = read(said[0], &byte, 1)) < 0 && errno == EINTR)
                continue;
        return got == 1;
}

/* Whether it has ended within so long, and longer on a busy machine. It is not reaped. */
static bool ends_within(pid_t pid, int idle_ms)
{
        int limit_ms = idle_ms * grader_patience();
        for (int ms = 0; ms < limit_ms; ms++) {
                if (worker_has_ended(pid))
                        return true;
                poll(NULL, 0, 1);
        }
        return false;
}

bool steps_passed(void)
{
        return has_passed;
}

void steps_patience(int ms)
{
        patience_ms = ms;
}

/* B runs now, and A goes on. */
static pid_t start_second(bool stands, void (*second)(void *arg), void *arg)
{
        pid_t b = worker_start(2, run_task, &(struct task){ 'B', second, arg });
        has_passed = stands && ends_within(b, patience_ms);
        close(go[1]);
        return b;
}

bool steps_meet(int n, void (*first)(void *arg), void (*second)(void *arg), void *arg)
{
        pid_t a = start_first(n, first, arg);
        bool stands = await_first();
        if (!stands)
                worker_join(a, "process A");
        pid_t b = start_second(stands, second, arg);
        if (stands)
                worker_join(a, "process A");
        worker_join(b, "process B");
        close(said[0]);
        return stands;
}

bool steps_meet_sleeper(int n, void (*first)(void *arg), void (*second)(void *arg), void *arg)
{
        pid_t a = start_first(n, first, arg);
        struct pollfd standing = { .fd = said[0], .events = POLLIN };
        while (poll(&standing, 1, STAND_MS) == 0 && !worker_await_sleep(a, SLEEP_MS))
                continue;
        bool stands = poll(&standing, 1, 0) == 1 && await_first();
        pid_t b = start_second(stands, second, arg);
        worker_join(b, "process B");

        /* What B did has woken A by now, or never will. */
        has_slept_on = false;
        while (!worker_has_ended(a) && !has_slept_on)
                has_slept_on = worker_await_sleep(a, SLEEP_MS);
        if (has_slept_on) {
                kill(a, SIGKILL);
                waitpid(a, NULL, 0);
        } else
                worker_join(a, "process A");
        close(said[0]);
        return stands;
}

bool steps_slept_on(void)
{
        return has_slept_on;
}

bool steps_kill(int n, void (*first)(void *arg), void *arg)
{
        pid_t a = start_first(n, first, arg);
        bool stands = await_first();
        if (stands) {
                steps->was_killed = true;
                kill(a, SIGKILL);
                waitpid(a, NULL, 0);
        } else
                worker_join(a, "process A");
        close(said[0]);
        close(go[1]);
        return stands;
}

void steps_show(char *text, size_t text_bytes, void (*name_of)(size_t offset, char *name, size_t name_bytes))
{
        size_t used = 0;
        char name[80], value[32];

        text[0] = '\0';
        for (int i = 0; i < steps->count && used < text_bytes; i++) {
                const struct note *note = &steps->note[i];
                name_of(note->offset, name, sizeof(name));
                value[0] = '\0';
                if (note->has_value)
                        snprintf(value, sizeof(value), ": %lld", (long long)note->value);
                used += (size_t)snprintf(text + used, text_bytes - used, "%s%c %s %s%s\n",
                                         note->who == 'A' ? "    " : "                                ", note->who,
                                         note->is_write ? "writes" : "reads ", name, value);
                if (steps->was_killed && i + 1 == steps->stopped_at && used < text_bytes)
                        used += (size_t)snprintf(text + used, text_bytes - used, "    A is killed here\n");
        }
}

bool steps_accessed(char who, bool is_write, size_t offset, size_t byte_len)
{
        for (int i = 0; i < steps->count; i++) {
                const struct note *note = &steps->note[i];
                if (note->who == who && note->is_write == is_write && note->offset - offset < byte_len)
                        return true;
        }
        return false;
}

static void stumble(const void *addr, size_t byte_len, bool is_write)
{
        (void)addr;
        (void)byte_len;
        (void)is_write;
        uint32_t chance = grader_random(16);
        if (chance == 0)
                nanosleep(&(struct timespec){ 0, 20000 + grader_random(100000) }, NULL);
        else if (chance == 1)
                sched_yield();
}

void steps_stumble(const void *start, size_t byte_len)
{
        access_watch(start, byte_len, start == NULL ? NULL : stumble);
}
