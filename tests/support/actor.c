/* SPDX-License-Identifier: MIT */
#include "tests/support/actor.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/check.h"
#include "tests/support/crew.h"

/* In shared memory. `asked` and `answered` count; they are equal when it is idle. */
struct actor {
        struct crew_turn asked;
        struct crew_turn answered;
        actor_action action; /* NULL: end */
        uint64_t arg;
        long long result;
        pid_t pid; /* 0: a thread */
        pthread_t thread;
};

static void actor_main(int index, void *actor_)
{
        struct actor *actor = actor_;

        (void)index;
        for (uint32_t turn = 1;; turn++) {
                crew_turn_await(&actor->asked, turn);
                if (actor->action == NULL)
                        break;
                actor->result = actor->action(actor->arg);
                crew_turn_pass(&actor->answered);
        }
}

static void *actor_thread_main(void *actor)
{
        actor_main(0, actor);
        return NULL;
}

struct actor *actor_start(int way)
{
        struct actor *actor = crew_shared(sizeof(*actor));

        if (way & WAY_PROCESS)
                actor->pid = crew_fork(actor_main, 0, actor);
        else
                check_equal(pthread_create(&actor->thread, NULL, actor_thread_main, actor), 0);
        return actor;
}

void actor_send(struct actor *actor, actor_action action, uint64_t arg)
{
        check(actor_is_done(actor));
        actor->action = action;
        actor->arg = arg;
        crew_turn_pass(&actor->asked);
}

int actor_is_done(struct actor *actor)
{
        return atomic_load(&actor->answered.number) == atomic_load(&actor->asked.number);
}

/* A process that failed never answers: look after it while waiting. */
static void actor_await(struct actor *actor)
{
        while (!crew_turn_await_ms(&actor->answered, atomic_load(&actor->asked.number), 100)) {
                siginfo_t info = { 0 };

                if (actor->pid != 0 && waitid(P_PID, (id_t)actor->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
                    info.si_pid != 0)
                        check_failed(__FILE__, __LINE__, "the other process ended (status %d)", info.si_status);
        }
}

long long actor_result(struct actor *actor)
{
        actor_await(actor);
        return actor->result;
}

long long actor_do(struct actor *actor, actor_action action, uint64_t arg)
{
        actor_send(actor, action, arg);
        return actor_result(actor);
}

void actor_stop(struct actor *actor)
{
        actor_send(actor, NULL, 0);
        if (actor->pid != 0)
                crew_join(actor->pid);
        else
                check_equal(pthread_join(actor->thread, NULL), 0);
        munmap(actor, sizeof(*actor));
}

void actor_kill(struct actor *actor)
{
        check(actor->pid != 0);
        crew_kill(actor->pid);
        munmap(actor, sizeof(*actor));
}
