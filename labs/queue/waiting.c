/* SPDX-License-Identifier: MIT */

#include "labs/queue/waiting.h"

#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "labs/grader/grader.h"
#include "labs/grader/host.h"
#include "labs/grader/steps.h"
#include "labs/grader/stops.h"
#include "labs/grader/worker.h"
#include "labs/queue/office.h"

enum {
        STEPS_MOST = 24, /* of an A that never sleeps, and so loses no wake-up */
        STEPS_OF_SLEEPER = 64,
        AWAKE_MS = 1500, /* so long A may look, and is still one that sleeps */
        SHOWN_BYTES = 2000,
        WINDOW_MS = 300,
        WINDOWS = 3,
        QUIET_MS = 1500,
        START_MS = 5000,
        CREW_MOST = 8
};

/* What A does, and what B: one of these. */
static const struct meeting *meeting;

struct meeting {
        const char *a, *b;
        void (*first)(void);
        void (*second)(void);
        int tasks;           /* in the queue at first */
        void (*check)(void); /* what is left */
};

static void act(void (*what)(void))
{
        office_open();
        office_watch(WATCH_STEPS);
        what();
        office_watch(WATCH_NONE);
        office_close();
}

static void act_a(void *arg)
{
        (void)arg;
        act(meeting->first);
}

static void act_b(void *arg)
{
        (void)arg;
        act(meeting->second);
}

/* Returns whether A stood before its n-th step. */
static bool meet_at(int n)
{
        office_begin(meeting->tasks);
        bool stands = steps_meet_sleeper(n, act_a, act_b, NULL);
        grader_check(stands || n > 1, "A: %s: it never touched the queue", meeting->a);
        if (steps_slept_on()) {
                char steps[SHOWN_BYTES];
                steps_show(steps, sizeof(steps), field_name);
                grader_fail("A: %s; B: %s\n%sB has ended, and A sleeps: a wake-up is lost", meeting->a, meeting->b,
                            steps);
        }
        meeting->check();
        return stands;
}

/* Does A sleep in the end, with nobody there? Whoever takes is asked once in a test, and whoever puts. */
static bool sleeps_alone(const struct meeting *held)
{
        static enum { NOT_ASKED, SLEEPS, LOOKS } found[2];
        const bool is_full = held->tasks > 0;
        meeting = held;
        if (found[is_full] == NOT_ASKED) {
                office_begin(held->tasks);
                found[is_full] = steps_sleeps(act_a, NULL, AWAKE_MS) ? SLEEPS : LOOKS;
        }
        return found[is_full] == SLEEPS;
}

/* All meetings of the two. Who looks again and again has steps without end; who sleeps has one that is the last. */
static void meet(const struct meeting *held)
{
        char what[80];
        const bool sleeps = sleeps_alone(held);
        const int most = sleeps ? STEPS_OF_SLEEPER : STEPS_MOST;
        bool stands = true;
        for (int n = 1; stands && n <= most; n++)
                stands = meet_at(n);
        snprintf(what, sizeof(what), "A: %s: it sleeps, and before that", meeting->a);
        steps_require_end(stands && sleeps, most, what);
}

/* Takes what is left, and compares. */
static void check_left(int first, int last)
{
        office_shut();
        for (int number = first; number <= last; number++) {
                int taken = office_take();
                grader_check(taken == number,
                             "A: %s; B: %s\nnow task %d is the oldest, and queue_take() returned %d (0: the end)",
                             meeting->a, meeting->b, number, taken);
                office_done(number);
        }
        grader_check(office_take() == 0, "A: %s; B: %s\nthe queue is closed, and all is done: no QUEUE_END", meeting->a,
                     meeting->b);
}

/* ------------------------------------------------------------------ an empty queue */

static void take_first(void)
{
        int number = office_take();
        grader_check(number == 1, "A took task %d, only task 1 was put (0: it was told QUEUE_END)", number);
        office_done(number);
}

static void put_first(void)
{
        office_put(1);
}

static void check_none(void)
{
        check_left(1, 0);
}

static const struct meeting by_put = {
        "takes from an empty queue", "puts a task", take_first, put_first, 0, check_none
};

void wake_by_put(void)
{
        meet(&by_put);
}

static void take_end(void)
{
        int number = office_take();
        grader_check(number == 0, "A took task %d; no task was put", number);
}

void wake_by_close(void)
{
        meet(&(struct meeting){ "takes from an empty queue", "closes it", take_end, office_shut, 0, check_none });
}

/* ------------------------------------------------------------------ a full queue */

static void put_more(void)
{
        office_put(SLOTS + 1);
}

static void make_room(void)
{
        int number = office_take();
        grader_check(number == 1, "task 1 is the oldest, and B took task %d", number);
        office_done(number);
}

static void check_rest(void)
{
        check_left(2, SLOTS + 1);
}

static const struct meeting by_done = {
        "puts into a full queue", "takes a task and does it", put_more, make_room, SLOTS, check_rest
};

void wake_by_done(void)
{
        meet(&by_done);
}

static void put_too_late(void)
{
        int err = office_try_put(SLOTS + 1);
        grader_check(err == QUEUE_END,
                     "queue_put() into a full queue that was closed returned %d, should return QUEUE_END", err);
}

static void check_full(void)
{
        check_left(1, SLOTS);
}

void wake_putter_by_close(void)
{
        meet(&(struct meeting){ "puts into a full queue", "closes it", put_too_late, office_shut, SLOTS, check_full });
}

/* ------------------------------------------------------------------ asleep */

bool sleeps_when_met(void)
{
        return sleeps_alone(&by_put) && sleeps_alone(&by_done);
}

static void sleep_watched(void (*wait)(void))
{
        office_open();
        office_watch(WATCH_COUNT);
        wait();
        office_close();
}

static void sleep_taking(void *arg)
{
        (void)arg;
        sleep_watched(take_first);
}

static void sleep_putting(void *arg)
{
        (void)arg;
        sleep_watched(put_more);
}

/* Nothing changes: A looks once or twice, and then no more. It is given some time in which it may still look. */
static void require_sleep(pid_t a, const char *what)
{
        long before, after = 0;
        int limit_ms = START_MS * grader_patience();
        for (int ms = 0; stops_counted() == 0 && ms < limit_ms && !worker_has_ended(a); ms++)
                poll(NULL, 0, 1);
        if (worker_has_ended(a))
                worker_join(a, "A");
        grader_check(stops_counted() > 0, "A: %s: it never touched the queue", what);
        worker_await_sleep(a, WINDOW_MS);
        grader_check(!worker_has_ended(a), "A: %s: it did not wait", what);
        for (int window = 0; window < WINDOWS; window++) {
                before = stops_counted();
                poll(NULL, 0, WINDOW_MS);
                after = stops_counted();
                if (after == before && worker_await_sleep(a, WINDOW_MS))
                        return;
        }
        grader_fail("A: %s\nnothing changes, and A has looked at the queue %ld times in %d ms; it should sleep", what,
                    after - before, WINDOW_MS);
}

/* Nobody works who could die, so A has nothing to wake for. More than once, as a busy machine may wake it late. This
 * process has the queue open, too, with the threads that libxac has for it in the background. */
static void require_quiet(pid_t a, const char *what)
{
        const int threads = worker_threads(a), usual = worker_threads(getpid());
        grader_check(threads <= usual, "A: %s: meanwhile it has %d threads more than a process that has the queue open",
                     what, threads - usual);
        for (int window = 0; window < WINDOWS; window++) {
                long before = worker_sleeps(a);
                uint64_t set = worker_thread_set(a); /* a thread that has ended has taken its count with it */
                poll(NULL, 0, QUIET_MS);
                if (before >= 0 && worker_sleeps(a) == before && worker_thread_set(a) == set)
                        return;
        }
        grader_fail("A: %s\nnothing changes, nobody works who could die, and A wakes in each %d ms", what, QUIET_MS);
}

void sleep_in_take(void)
{
        static const char what[] = "takes from an empty queue";
        office_begin(0);
        host_count(true);
        pid_t a = worker_start(1, sleep_taking, NULL);
        host_count(false);
        require_sleep(a, what);
        require_quiet(a, what);
        office_put(1);
        worker_join(a, "A, who takes");
}

void sleep_in_put(void)
{
        static const char what[] = "puts into a full queue";
        office_begin(SLOTS);
        host_count(true);
        pid_t a = worker_start(1, sleep_putting, NULL);
        host_count(false);
        require_sleep(a, what);
        require_quiet(a, what);
        int number = office_take();
        grader_check(number == 1, "task 1 is the oldest, and queue_take() returned %d", number);
        worker_await_sleep(a, START_MS / 4); /* that has changed the queue, and made no room */
        office_done(number);
        worker_join(a, "A, who puts");
}

/* ------------------------------------------------------------------ many */

static void work(void *arg)
{
        (void)arg;
        office_open();
        office_work(NULL);
        office_close();
}

static void take_one(void *arg)
{
        (void)arg;
        office_open();
        int number = office_take();
        if (number != 0)
                office_done(number);
        office_close();
}

void wake_many(int workers)
{
        pid_t pids[CREW_MOST];
        office_begin(0);
        for (int i = 0; i < workers; i++)
                pids[i] = worker_start(i + 1, take_one, NULL);
        for (int i = 0; i < workers; i++)
                worker_await_sleep(pids[i], WINDOW_MS / 2);
        for (int i = 0; i < workers; i++)
                office_put(i + 1);
        for (int i = 0; i < workers; i++)
                office_join(pids[i], "a worker", "though as many tasks were put as there are workers");
        check_all_done(workers);
}

struct crew {
        int producers, tasks_each;
};

static void produce_or_work(void *arg)
{
        const struct crew *crew = arg;
        int number = worker_number();
        if (number > crew->producers) {
                work(NULL);
                return;
        }
        office_open();
        office_watch(WATCH_STUMBLE);
        for (int i = 0; i < crew->tasks_each; i++)
                office_put(1 + (number - 1) * crew->tasks_each + i);
        office_watch(WATCH_NONE);
        diary->flag++;
        while (number == 1 && diary->flag < crew->producers)
                poll(NULL, 0, 1);
        if (number == 1)
                office_shut();
        office_close();
}

void crew_run(int producers, int tasks_each, int workers)
{
        office_begin(0);
        worker_crew(producers + workers, produce_or_work, &(struct crew){ producers, tasks_each });
        check_all_done(producers * tasks_each);
        grader_check(diary->ended == workers, "%d of %d workers were told QUEUE_END", diary->ended, workers);
}
