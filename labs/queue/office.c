/* SPDX-License-Identifier: MIT */

#include "labs/queue/office.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "labs/grader/environment.h"
#include "labs/grader/grader.h"
#include "labs/grader/host.h"
#include "labs/grader/stops.h"
#include "labs/grader/worker.h"

struct queue *queue;
xac_env *queue_env;
struct diary *diary;

enum { JOIN_MS = 6000 };

void office_open(void)
{
        if (worker_number() != 0)
                return; /* its host does, with the first act */
        queue = environment_open("queue.xac", sizeof(*queue), XAC_NOSYNC, &queue_env);
        if (diary == NULL)
                diary = mmap(NULL, sizeof(*diary), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        grader_check(diary != MAP_FAILED, "mmap: %s", strerror(errno));
}

void office_close(void)
{
        host_do(ACT_CLOSE, NULL, 0, NULL, 0);
        if (worker_number() == 0)
                environment_close(queue_env);
}

static int empty_body(void *arg)
{
        memset(arg, 0, sizeof(struct queue));
        return 0;
}

void office_begin(int tasks)
{
        int err = xac_run(queue_env, 0, empty_body, queue);
        grader_check(err == 0, "the queue cannot be emptied: %s", xac_strerror(err));
        memset(diary, 0, sizeof(*diary));
        stops_set_count(0);
        for (int number = 1; number <= tasks; number++)
                office_put(number);
}

void office_join(pid_t worker, const char *what, const char *waits)
{
        int limit_ms = JOIN_MS * grader_patience();
        for (int ms = 0; ms < limit_ms && !worker_has_ended(worker); ms++)
                poll(NULL, 0, 1);
        grader_check(worker_has_ended(worker), "%s still waits after %d s, %s", what, limit_ms / 1000, waits);
        worker_join(worker, what);
}

int office_try_put(int number)
{
        long task = number;
        int err;
        host_do(ACT_PUT, &task, sizeof(task), &err, sizeof(err));
        return err;
}

int office_try_done(int number)
{
        long task = number;
        int err;
        host_do(ACT_DONE, &task, sizeof(task), &err, sizeof(err));
        return err;
}

void office_put(int number)
{
        int err = office_try_put(number);
        grader_check(err == 0, "queue_put(%d) returned %d (%s)", number, err, xac_strerror(err));
}

int office_take(void)
{
        struct taken taken;
        host_do(ACT_TAKE, NULL, 0, &taken, sizeof(taken));
        if (taken.err == QUEUE_END)
                return 0;
        grader_check(taken.err == 0, "queue_take() returned %d (%s)", taken.err, xac_strerror(taken.err));
        grader_check(taken.number > 0 && taken.number < TASKS_MOST,
                     "queue_take() returned task %ld, which nobody has put", taken.number);
        diary->taken[taken.number]++;
        return (int)taken.number;
}

void office_done(int number)
{
        int err = office_try_done(number);
        grader_check(err == 0, "queue_done(%d), of a task that was taken, returned %d (%s)", number, err,
                     err == QUEUE_UNKNOWN ? "QUEUE_UNKNOWN" : xac_strerror(err));
        diary->done[number]++;
}

void office_shut(void)
{
        int err;
        host_do(ACT_SHUT, NULL, 0, &err, sizeof(err));
        grader_check(err == 0, "queue_close() returned %d (%s)", err, xac_strerror(err));
}

void office_work(void *arg)
{
        (void)arg;
        int first = 0;
        for (int number; (number = office_take()) != 0;) {
                if (first == 0)
                        diary->first = first = number;
                office_done(number);
        }
        diary->ended++;
}

void office_watch(enum watch watch)
{
        host_do(ACT_WATCH, &watch, sizeof(watch), NULL, 0);
}

void check_all_done(int tasks)
{
        for (int number = 1; number <= tasks; number++)
                grader_check(diary->done[number] == 1, "task %d was taken %d times and done %d times", number,
                             diary->taken[number], diary->done[number]);
}

void field_name(size_t offset, char *name, size_t name_bytes)
{
        size_t in_tasks = offset - offsetof(struct queue, task);
        if (offset < offsetof(struct queue, task)) {
                snprintf(name, name_bytes, "%s", offset < offsetof(struct queue, is_closed) ? "count" : "is_closed");
                return;
        }
        snprintf(name, name_bytes, "task[%zu].%s", in_tasks / sizeof(struct task),
                 in_tasks % sizeof(struct task) < offsetof(struct task, worker) ? "number" : "worker");
}
