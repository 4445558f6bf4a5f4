/* SPDX-License-Identifier: MIT */

/*
 * A and B are processes. A asks the test for each of its steps, and the test counts them: A does not know before which
 * one it is to stand. It goes on freely when the test has closed its end. While A stands, only B runs, so that what
 * they note needs no lock.
 */

#include "labs/grader/steps.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "labs/grader/grader.h"
#include "labs/grader/memory.h"
#include "labs/grader/stops.h"
#include "labs/grader/worker.h"

enum { STAND_MS = 20, SLEEP_MS = 200 };

static int patience_ms = 1000;
static bool has_passed, has_slept_on, was_killed;
static int said[2], go[2]; /* a pipe, and a pair of sockets, which no dead reader makes a signal of */

struct task {
        char who;
        void (*run)(void *arg);
        void *arg;
};

static void run_task(void *arg)
{
        const struct task *task = arg;
        stops_role = (struct stops_role){ task->who, said[1], go[0] };
        if (task->who == 'B')
                close(said[1]);
        close(go[1]);
        task->run(task->arg);
}

/* Starts A. What it says is read from said[0], and it goes on when go[1] is closed. */
static pid_t start_first(void (*first)(void *arg), void *arg)
{
        grader_check(pipe2(said, O_CLOEXEC) == 0 && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, go) == 0,
                     "no pipe: %s", strerror(errno));
        memset(memory_stops(), 0, sizeof(struct stops));
        was_killed = false;
        pid_t pid = worker_start(1, run_task, &(struct task){ 'A', first, arg });
        close(said[1]);
        close(go[0]);
        return pid;
}

enum first { FIRST_ENDED, FIRST_STANDS, FIRST_WENT_ON };

/* The next step that A asks for. It stands if that is the last of `left`, of its writes if n < 0; else it may take it.
 */
static enum first answer_first(int n, int *left)
{
        char kind;
        ssize_t got;
        while ((got = read(said[0], &kind, 1)) < 0 && errno == EINTR)
                continue;
        if (got != 1)
                return FIRST_ENDED;
        *left -= n > 0 || kind == STOPS_WRITE;
        if (*left == 0)
                return FIRST_STANDS;
        return send(go[1], "g", 1, MSG_NOSIGNAL) == 1 ? FIRST_WENT_ON : FIRST_ENDED;
}

/* Waits until A stands or has ended. Returns whether it stands. */
static bool await_first(int n)
{
        int left = n < 0 ? -n : n;
        enum first first = FIRST_WENT_ON;
        while (first == FIRST_WENT_ON)
                first = answer_first(n, &left);
        return first == FIRST_STANDS;
}

/* The same for an A that may fall asleep: it is then asleep, and does not ask. */
static bool await_sleeper(pid_t a, int n)
{
        int left = n < 0 ? -n : n;
        struct pollfd asking = { .fd = said[0], .events = POLLIN };
        enum first first = FIRST_WENT_ON;
        while (first == FIRST_WENT_ON) {
                if (poll(&asking, 1, STAND_MS) > 0)
                        first = answer_first(n, &left);
                else if (worker_await_sleep(a, SLEEP_MS) && poll(&asking, 1, 0) == 0)
                        break;
        }
        return first == FIRST_STANDS;
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

/* A stands, and would, whatever the answer has put in the place of what A waits for: all of it is stopped. */
static void hold_first(pid_t a)
{
        const struct stops *stops = memory_stops();
        worker_hold(a);
        grader_check(!worker_has_ended(a) && stops->count == stops->asked_at,
                     "A was stopped before an access, and went on by itself");
}

/* B runs now, and A goes on. */
static pid_t start_second(pid_t a, bool stands, void (*second)(void *arg), void *arg)
{
        if (stands)
                hold_first(a);
        pid_t b = worker_start(2, run_task, &(struct task){ 'B', second, arg });
        has_passed = stands && ends_within(b, patience_ms);
        if (stands)
                worker_let_go(a);
        close(go[1]);
        return b;
}

/* A came to its end without a stop before its n-th step. It had fewer. */
static void check_end(int n)
{
        grader_check(steps_taken('A', n < 0) < (n < 0 ? -n : n),
                     "A was to stop before one of its accesses, and did not");
}

bool steps_meet(int n, void (*first)(void *arg), void (*second)(void *arg), void *arg)
{
        pid_t a = start_first(first, arg);
        bool stands = await_first(n);
        if (!stands) {
                worker_join(a, "process A");
                check_end(n);
        }
        pid_t b = start_second(a, stands, second, arg);
        if (stands)
                worker_join(a, "process A");
        worker_join(b, "process B");
        close(said[0]);
        return stands;
}

bool steps_meet_sleeper(int n, void (*first)(void *arg), void (*second)(void *arg), void *arg)
{
        pid_t a = start_first(first, arg);
        bool stands = await_sleeper(a, n);
        pid_t b = start_second(a, stands, second, arg);
        worker_join(b, "process B");

        /* What B did has woken A by now, or never will. */
        has_slept_on = false;
        while (!worker_has_ended(a) && !has_slept_on)
                has_slept_on = worker_await_sleep(a, SLEEP_MS);
        if (has_slept_on)
                worker_kill(a);
        else
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
        pid_t a = start_first(first, arg);
        bool stands = await_first(n);
        was_killed = stands;
        if (stands) {
                hold_first(a);
                worker_kill(a);
        } else {
                worker_join(a, "process A");
                check_end(n);
        }
        close(said[0]);
        close(go[1]);
        return stands;
}

bool steps_sleeps(void (*first)(void *arg), void *arg, int idle_ms)
{
        pid_t a = start_first(first, arg);
        close(go[1]); /* it stands nowhere */
        bool sleeps = worker_await_sleep(a, idle_ms * grader_patience());
        worker_kill(a);
        close(said[0]);
        return sleeps;
}

void steps_require_end(bool stands, int most, const char *what)
{
        grader_check(!stands,
                     "%s needs more than %d reads and writes, at each of which it is stopped once: fewer are enough",
                     what, most);
}

/* Notes lie in memory that hosts can write: there may be any number in them. */
static int notes(void)
{
        int count = memory_stops()->count;
        return count < 0 ? 0 : count < STOPS_NOTES ? count : STOPS_NOTES;
}

void steps_show(char *text, size_t text_bytes, void (*name_of)(size_t offset, char *name, size_t name_bytes))
{
        const struct stops *stops = memory_stops();
        size_t used = 0;
        char name[80], value[32];

        text[0] = '\0';
        for (int i = 0; i < notes() && used < text_bytes; i++) {
                const struct stops_note note = stops->note[i];
                name_of(note.offset, name, sizeof(name));
                value[0] = '\0';
                if (note.has_value)
                        snprintf(value, sizeof(value), ": %lld", (long long)note.value);
                used += (size_t)snprintf(text + used, text_bytes - used, "%s%c %s %s%s\n",
                                         note.who == 'A' ? "    " : "                                ",
                                         note.who == 'A' ? 'A' : 'B', note.is_write ? "writes" : "reads ", name, value);
                if (was_killed && i + 1 == stops->asked_at && used < text_bytes)
                        used += (size_t)snprintf(text + used, text_bytes - used, "    A is killed here\n");
        }
}

bool steps_accessed(char who, bool is_write, size_t offset, size_t byte_len)
{
        for (int i = 0; i < notes(); i++) {
                const struct stops_note *note = &memory_stops()->note[i];
                if (note->who == who && note->is_write == is_write && note->offset - offset < byte_len)
                        return true;
        }
        return false;
}

int steps_at(char who, size_t offset)
{
        int count = 0;
        for (int i = 0; i < notes(); i++)
                count += memory_stops()->note[i].who == who && memory_stops()->note[i].offset == offset;
        return count;
}

int steps_taken(char who, bool are_writes)
{
        int count = 0;
        for (int i = 0; i < notes(); i++) {
                const struct stops_note *note = &memory_stops()->note[i];
                count += note->who == who && (note->is_write || !are_writes);
        }
        return count;
}
