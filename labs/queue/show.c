/* SPDX-License-Identifier: MIT */

/* `make show`: workers wait, tasks come, one dies with a task in its hands. */

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

#include "labs/grader/environment.h"
#include "labs/grader/scratch.h"
#include "labs/grader/stops.h"
#include "labs/grader/worker.h"
#include "labs/queue/office.h"

enum { WORKERS = 3, WATCH_MS = 500, PATIENCE_MS = 2000, WORK_MS = 800 };

/* The last that happened, in memory that all share. */
static struct event {
        atomic_int count, worker;
        _Atomic double ms;
} * taken;

static double now_ms(void)
{
        struct timespec time;
        clock_gettime(CLOCK_MONOTONIC, &time);
        return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

static void work(void *arg)
{
        (void)arg;
        office_open();
        office_watch(WATCH_COUNT);
        for (int number; (number = office_take()) != 0;) {
                taken->ms = now_ms();
                taken->worker = worker_number();
                taken->count++;
                poll(NULL, 0, WORK_MS);
                office_done(number);
        }
        office_close();
}

/* Who has taken a task since `count`, and how long after `begin_ms`. Returns 0: nobody. */
static int show_taken(int count, double begin_ms)
{
        for (int ms = 0; taken->count == count && ms < PATIENCE_MS; ms++)
                poll(NULL, 0, 1);
        if (taken->count == count) {
                printf(" nobody has it after %d ms\n", PATIENCE_MS);
                return 0;
        }
        printf(" worker %d has it %.1f ms later\n", taken->worker, taken->ms - begin_ms);
        return taken->worker;
}

static void show_looks(const char *who)
{
        long before = stops_counted();
        poll(NULL, 0, WATCH_MS);
        printf("%s for %d ms: they read and write the queue %ld times\n", who, WATCH_MS, stops_counted() - before);
}

static void show_workers(void)
{
        pid_t pids[WORKERS];
        for (int i = 0; i < WORKERS; i++)
                pids[i] = worker_start(i + 1, work, NULL);
        for (int i = 0; i < WORKERS; i++)
                worker_await_sleep(pids[i], WATCH_MS);
        show_looks("Three workers wait at an empty queue");

        double begin_ms = now_ms();
        office_put(1);
        printf("Task 1 is put:");
        int first = show_taken(0, begin_ms);
        show_looks("The other two wait, as that one works and may die,");
        office_put(2);
        poll(NULL, 0, WORK_MS / 3);
        int second = taken->worker, count = taken->count;
        if (first != 0 && second != 0) {
                begin_ms = now_ms();
                worker_kill(pids[second - 1]);
                printf("Worker %d is killed with task 2 in its hands:", second);
                show_taken(count, begin_ms);
        }
        poll(NULL, 0, 2 * WORK_MS);
        office_shut();
        for (int i = 0; i < WORKERS; i++) {
                if (i + 1 == second)
                        continue;
                poll(NULL, 0, WORK_MS);
                if (!worker_has_ended(pids[i])) {
                        printf("Worker %d was not told QUEUE_END\n", i + 1);
                }
                worker_kill(pids[i]);
        }
        printf("Of two tasks %d are done.\n", diary->done[1] + diary->done[2]);
}

/* One task goes in and comes out. */
static bool is_begun(void)
{
        long number = 0;
        return queue_put(queue_env, queue, 7) == 0 && queue_take(queue_env, queue, &number) == 0 && number == 7;
}

int main(void)
{
        int err = scratch_enter(environment_clean);
        if (err) {
                fprintf(stderr, "no folder for files: %s\n", strerror(-err));
                return EXIT_FAILURE;
        }
        setvbuf(stdout, NULL, _IONBF, 0);
        taken = mmap(NULL, sizeof(*taken), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        office_open();
        office_begin(0);
        if (taken == MAP_FAILED || !is_begun())
                printf("queue_put() puts a task, and queue_take() does not return it: part 1 comes first.\n");
        else {
                office_begin(0);
                show_workers();
        }
        office_close();
        return EXIT_SUCCESS;
}
