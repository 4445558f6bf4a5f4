/* SPDX-License-Identifier: MIT */

/*
 * xac_self and xac_alive: names that are never given twice, and that say at once when their bearer is gone, however it
 * went.
 */

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <xac/xac.h>

#include "tests/support/check.h"
#include "tests/support/crew.h"
#include "tests/support/isolate.h"
#include "tests/support/leeway.h"
#include "tests/support/scratch.h"

/* ---- The stage: one environment, and processes that say their names ---- */

struct meeting {
        struct crew_turn turn;
        _Atomic uint64_t name[64];
        int flags;
};

static struct meeting *meeting;

static xac_env *open_env(int flags)
{
        const xac_options options = { .pool_bytes = 4 << 20 };
        xac_env *env;

        check_ok(xac_open(scratch_path("env"), XAC_CREATE | flags, &options, &env));
        return env;
}

static uint64_t *map_words(xac_env *env)
{
        uint64_t *words = xac_mmap(env, "words", 1 << 16, 0);

        check(words != MAP_FAILED);
        return words;
}

static void meet(void)
{
        meeting = crew_shared(sizeof(*meeting));
}

static void say_name_and_wait(int index, void *unused)
{
        xac_env *env = open_env(meeting->flags);

        (void)unused;
        meeting->name[index] = xac_self(env);
        crew_turn_pass(&meeting->turn);
        for (;;)
                pause();
}

/* A process that waits to be killed, once it has said its name. */
static pid_t invite(int index, int flags)
{
        uint32_t arrived = meeting->turn.number;
        pid_t pid;

        meeting->flags = flags;
        pid = crew_fork(say_name_and_wait, index, NULL);
        crew_turn_await(&meeting->turn, arrived + 1);
        check(meeting->name[index] != 0);
        return pid;
}

static void check_all_differ(const uint64_t *names, unsigned count)
{
        for (unsigned i = 0; i < count; i++) {
                check(names[i] != 0);
                for (unsigned j = 0; j < i; j++)
                        check(names[i] != names[j]);
        }
}

/* ---- A name ---- */

static void a_thread_keeps_its_name(void)
{
        xac_env *env = open_env(0);
        uint64_t *words = map_words(env);
        uint64_t name = xac_self(env);

        check(name != 0);
        check_equal(xac_alive(env, name), 1);
        for (int i = 0; i < 3; i++) {
                check_ok(xbegin(env, 0));
                check_equal(xac_self(env), name);
                check_equal(xac_alive(env, name), 1);
                words[0] = name;
                check_ok(xend(env));
        }
        check_ok(xbegin(env, XAC_RDONLY));
        check_equal(words[0], name);
        check_equal(xac_alive(env, words[0]), 1);
        check_ok(xabort(env));
        check_equal(xac_self(env), name);
        check_ok(xac_close(env));
}

static void a_name_may_be_asked_for_first_in_a_transaction_that_is_undone(void)
{
        xac_env *env = open_env(0);
        uint64_t name;

        check_ok(xbegin(env, 0));
        name = xac_self(env);
        check_ok(xabort(env));
        check_equal(xac_self(env), name);
        check_equal(xac_alive(env, name), 1);
        check_ok(xac_close(env));
}

static void what_is_no_name_is_nobodys(void)
{
        xac_env *env = open_env(0);
        uint64_t name = xac_self(env);

        check_code(xac_alive(env, 0), -EINVAL);
        check_code(xac_alive(NULL, name), -EINVAL);
        check_equal(xac_self(NULL), 0);
        check_equal(xac_alive(env, UINT64_MAX), 0);
        for (uint64_t i = 1; i < 1000; i++) {
                check_equal(xac_alive(env, name + i), 0);
                check_equal(xac_alive(env, name - i), 0);
        }
        check_ok(xac_close(env));
}

static void names_of_another_environment_are_nobodys(void)
{
        xac_env *env = open_env(0), *other;

        check_ok(xac_open(scratch_path("other"), XAC_CREATE, NULL, &other));
        check(xac_self(env) != xac_self(other));
        check_equal(xac_alive(env, xac_self(other)), 0);
        check_equal(xac_alive(other, xac_self(env)), 0);
        check_ok(xac_close(other));
        check_ok(xac_close(env));
}

/* ---- Its bearer goes ---- */

struct visitor {
        xac_env *env;
        uint64_t name;
};

static void visit(int index, void *visitors)
{
        struct visitor *self = (struct visitor *)visitors + index;

        self->name = xac_self(self->env);
        check_equal(xac_alive(self->env, self->name), 1);
}

static void a_thread_that_ended_is_gone(void)
{
        enum { THREADS = 8 };
        xac_env *env = open_env(0);
        struct visitor visitors[THREADS] = { 0 };
        uint64_t names[THREADS + 1];

        for (int i = 0; i < THREADS; i++)
                visitors[i].env = env;
        crew_threads(THREADS, visit, visitors);
        for (int i = 0; i < THREADS; i++) {
                names[i] = visitors[i].name;
                check_equal(xac_alive(env, names[i]), 0);
        }
        names[THREADS] = xac_self(env);
        check_all_differ(names, THREADS + 1);
        check_ok(xac_close(env));
}

/* Nobody has taken over from it yet, and its pid is still there: a zombie. */
static void the_killed_are_gone_at_once(void)
{
        xac_env *env = open_env(0);
        siginfo_t info;
        pid_t pid;

        meet();
        pid = invite(0, 0);
        check_equal(xac_alive(env, meeting->name[0]), 1);
        check_equal(kill(pid, SIGKILL), 0);
        check_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
        check_equal(kill(pid, 0), 0);
        check_equal(xac_alive(env, meeting->name[0]), 0);
        crew_kill(pid);
        check_equal(xac_alive(env, meeting->name[0]), 0);
        check_ok(xac_close(env));
}

static void the_stopped_are_there(void)
{
        xac_env *env = open_env(0);
        int status;
        pid_t pid;

        meet();
        pid = invite(0, 0);
        check_equal(kill(pid, SIGSTOP), 0);
        check_equal(waitpid(pid, &status, WUNTRACED), pid);
        check_equal(xac_alive(env, meeting->name[0]), 1);
        crew_kill(pid);
        check_equal(xac_alive(env, meeting->name[0]), 0);
        check_ok(xac_close(env));
}

static void become_another_program(int unused, void *ends)
{
        const int *end = ends;
        xac_env *env = open_env(0);
        char *const args[] = { (char *)(uintptr_t) "cat", NULL };

        (void)unused;
        meeting->name[0] = xac_self(env);
        crew_turn_pass(&meeting->turn);
        close(end[1]);
        dup2(end[0], STDIN_FILENO);
        execvp(args[0], args);
        _exit(127);
}

/* The program goes on, and says so when its input ends. */
static void who_became_another_program_is_gone(void)
{
        xac_env *env = open_env(0);
        int ends[2];
        pid_t pid;

        meet();
        check_equal(pipe(ends), 0);
        pid = crew_fork(become_another_program, 0, ends);
        crew_turn_await(&meeting->turn, 1);
        for (struct leeway left = leeway_of(10000); xac_alive(env, meeting->name[0]) && leeway_pause(&left);)
                ;
        check_equal(xac_alive(env, meeting->name[0]), 0);
        check_equal(kill(pid, 0), 0);
        close(ends[0]);
        close(ends[1]);
        check_equal(crew_status(pid), 0);
        check_ok(xac_close(env));
}

static void open_and_close(int index, void *unused)
{
        xac_env *env = open_env(0);

        (void)unused;
        meeting->name[2 * index] = xac_self(env);
        check_ok(xac_close(env));
        env = open_env(0);
        meeting->name[2 * index + 1] = xac_self(env);
        check_ok(xac_close(env));
}

static void who_closed_is_gone(void)
{
        enum { VISITS = 8 };
        xac_env *env = open_env(0);
        uint64_t names[2 * VISITS];

        meet();
        crew_processes(VISITS, open_and_close, NULL);
        for (int i = 0; i < 2 * VISITS; i++) {
                names[i] = meeting->name[i];
                check_equal(xac_alive(env, names[i]), 0);
        }
        check_all_differ(names, 2 * VISITS);
        check_ok(xac_close(env));
}

/* It opens for itself, and has a name of its own then. */
static void reopen_in_child(int unused, void *parents)
{
        xac_env *env;
        uint64_t *name = parents;

        (void)unused;
        env = open_env(0);
        check(xac_self(env) != *name);
        check_equal(xac_alive(env, *name), 1);
        check_ok(xac_close(env));
}

static void a_child_has_a_name_of_its_own(void)
{
        xac_env *env = open_env(0);
        uint64_t name = xac_self(env);

        crew_join(crew_fork(reopen_in_child, 0, &name));
        check_equal(xac_alive(env, name), 1);
        check_ok(xac_close(env));
}

/* ---- Everybody goes ---- */

static void remove_shared_memory(void)
{
        static const char *const parts[] = { "control", "heads", "pool" };
        struct stat st;
        char name[128];

        check_equal(stat(scratch_path("env"), &st), 0);
        for (int i = 0; i < 3; i++) {
                snprintf(name, sizeof(name), "/dev/shm/xac.%llx.%llx.%s", (unsigned long long)st.st_dev,
                         (unsigned long long)st.st_ino, parts[i]);
                check_equal(unlink(name), 0);
        }
}

enum { LIVES = 12 };

/* Closed as the last, killed and taken over, killed and gone with the machine: in turn. */
static void live_and_go(int life, int flags, uint64_t *name)
{
        xac_env *env;
        pid_t pid;

        if (life % 3 == 0) {
                env = open_env(flags);
                *name = xac_self(env);
                check_ok(xac_close(env));
                return;
        }
        pid = invite(0, flags);
        *name = meeting->name[0];
        crew_kill(pid);
        if (life % 3 == 2)
                remove_shared_memory();
}

static void names_never_come_back(int flags)
{
        uint64_t names[LIVES + 1];
        xac_env *env;

        meet();
        for (int life = 0; life < LIVES; life++)
                live_and_go(life, flags, &names[life]);
        env = open_env(flags);
        names[LIVES] = xac_self(env);
        check_all_differ(names, LIVES + 1);
        for (int life = 0; life < LIVES; life++)
                check_equal(xac_alive(env, names[life]), 0);
        check_equal(xac_alive(env, names[LIVES]), 1);
        check_ok(xac_close(env));
}

static void names_never_come_back_durable(void)
{
        names_never_come_back(0);
}

static void names_never_come_back_nosync(void)
{
        names_never_come_back(XAC_NOSYNC);
}

static void names_never_come_back_volatile(void)
{
        names_never_come_back(XAC_VOLATILE);
}

/* ---- Rows change hands ---- */

struct house {
        xac_env *env;
        _Atomic uint64_t gone[4]; /* names of threads that have ended, by host */
        _Atomic uint64_t there;   /* of one that stays */
        _Atomic bool is_over;
};

/* One guest after the other, all in the same few rows. */
static void entertain(struct house *house, int host)
{
        for (int i = 0; i < 300; i++) {
                struct visitor guest = { .env = house->env };

                crew_threads(1, visit, &guest);
                house->gone[host] = guest.name;
        }
}

static void watch(struct house *house)
{
        while (!house->is_over) {
                for (int host = 0; host < 4; host++) {
                        uint64_t name = house->gone[host];

                        check(!name || xac_alive(house->env, name) == 0);
                }
                check_equal(xac_alive(house->env, house->there), 1);
        }
}

static void host_or_watch(int index, void *house_)
{
        struct house *house = house_;

        if (index < 4)
                entertain(house, index);
        else
                watch(house);
}

static void keep_open_house(int unused, void *house)
{
        (void)unused;
        crew_threads(4, host_or_watch, house);
        ((struct house *)house)->is_over = true;
}

static void be_a_watcher(int unused, void *house)
{
        (void)unused;
        host_or_watch(4, house);
}

static void either(int index, void *house)
{
        (index ? be_a_watcher : keep_open_house)(index, house);
}

static void a_rows_next_owner_is_not_taken_for_the_last(void)
{
        static struct house house;

        house.env = open_env(0);
        house.there = xac_self(house.env);
        crew_threads(3, either, &house);
        check_ok(xac_close(house.env));
}

/* The same with processes, whose rows and bytes of the lock file change hands too. */
static void a_processes_next_row_owner_is_not_taken_for_the_last(void)
{
        enum { LIVES_OF_MANY = 24 };
        xac_env *env = open_env(XAC_VOLATILE);
        uint64_t names[LIVES_OF_MANY];

        meet();
        for (int i = 0; i < LIVES_OF_MANY; i++) {
                pid_t pid = invite(0, XAC_VOLATILE);

                names[i] = meeting->name[0];
                check_equal(xac_alive(env, names[i]), 1);
                for (int j = 0; j < i; j++)
                        check_equal(xac_alive(env, names[j]), 0);
                crew_kill(pid);
        }
        check_all_differ(names, LIVES_OF_MANY);
        check_ok(xac_close(env));
}

/* ---- What it is for ---- */

enum { TASKS = 24, WORKERS = 4, ROUNDS_KILLED = 10 };

struct task {
        uint64_t worker;
        uint64_t done; /* how often */
        char rest_of_page[4096 - 16];
};

struct job {
        xac_env *env;
        struct task *tasks;
        int taken;
};

/* The first task that is not done, and that nobody alive has taken. */
static int take(void *job_)
{
        struct job *job = job_;

        job->taken = -1;
        for (int i = 0; i < TASKS && job->taken < 0; i++) {
                struct task *task = &job->tasks[i];

                if (task->done || (task->worker && xac_alive(job->env, task->worker)))
                        continue;
                task->worker = xac_self(job->env);
                job->taken = i;
        }
        return 0;
}

static int finish(void *job_)
{
        struct job *job = job_;
        struct task *task = &job->tasks[job->taken];

        check_equal(task->worker, xac_self(job->env));
        task->done++;
        return 0;
}

static void work_off(int unused, void *unused_arg)
{
        struct job job = { .env = open_env(XAC_NOSYNC) };

        (void)unused;
        (void)unused_arg;
        job.tasks = xac_mmap(job.env, "tasks", TASKS * sizeof(struct task), 0);
        check(job.tasks != MAP_FAILED);
        for (;;) {
                check_ok(xac_run(job.env, 0, take, &job));
                if (job.taken < 0)
                        break;
                crew_sleep_ms(5);
                check_ok(xac_run(job.env, 0, finish, &job));
        }
        check_ok(xac_close(job.env));
}

/* A worker that finds nothing to take leaves, although others, who may die, have tasks: the last one takes those. */
static void tasks_of_the_dead_are_done_once(void)
{
        xac_env *env = open_env(XAC_NOSYNC);
        struct task *tasks = xac_mmap(env, "tasks", TASKS * sizeof(struct task), 0);

        check(tasks != MAP_FAILED);
        for (int i = 0; i < ROUNDS_KILLED; i++) {
                pid_t pid = crew_fork(work_off, 0, NULL);

                crew_sleep_ms(8);
                crew_kill(pid);
        }
        crew_processes(WORKERS, work_off, NULL);
        check_ok(xbegin(env, XAC_RDONLY));
        for (int i = 0; i < TASKS; i++)
                check_equal(tasks[i].done, 1);
        check_ok(xend(env));
        check_ok(xac_close(env));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_test(a_thread_keeps_its_name),
                isolated_test(a_name_may_be_asked_for_first_in_a_transaction_that_is_undone),
                isolated_test(what_is_no_name_is_nobodys),
                isolated_test(names_of_another_environment_are_nobodys),
                isolated_test(a_thread_that_ended_is_gone),
                isolated_test(the_killed_are_gone_at_once),
                isolated_test(the_stopped_are_there),
                isolated_test(who_became_another_program_is_gone),
                isolated_test(who_closed_is_gone),
                isolated_test(a_child_has_a_name_of_its_own),
                isolated_timed(names_never_come_back_durable, 120),
                isolated_timed(names_never_come_back_nosync, 120),
                isolated_timed(names_never_come_back_volatile, 120),
                isolated_timed(a_rows_next_owner_is_not_taken_for_the_last, 120),
                isolated_timed(a_processes_next_row_owner_is_not_taken_for_the_last, 120),
                isolated_timed(tasks_of_the_dead_are_done_once, 120),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
