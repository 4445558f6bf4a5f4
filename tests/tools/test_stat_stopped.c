/* SPDX-License-Identifier: MIT */

/*
 * xac stat: a process that is stopped where others have to wait for it is told, with what they wait for; and once it is
 * continued all go on. Who writes the log is told, and overtaken by others who wait.
 */

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/sys.h"
#include "libxac/process/thread.h"
#include "tests/tools/tool.h"

/* ---- Who stops, and who waits ---- */

static _Thread_local bool stops_in_write;

/* Of this thread: the background thread writes segments of the log. */
static void stop_in_write(const struct sys_change *change)
{
        if (!stops_in_write || change->call != SYS_PWRITE || change->is_done)
                return;
        stops_in_write = false;
        raise(SIGSTOP);
}

static void stop_as_leader(int unused, void *unused_too)
{
        xac_env *env;
        uint64_t *words = tool_open(0, &env);

        (void)unused, (void)unused_too;
        tool_commit(env, words, 0, 0);
        sys_record = stop_in_write;
        stops_in_write = true;
        tool_commit(env, words, 1, 0);
        check(!stops_in_write);
        check_ok(xac_close(env));
}

static void stop_with_commit_lock(int unused, void *unused_too)
{
        xac_env *env;
        uint64_t *words = tool_open(XAC_VOLATILE, &env);
        struct shlock *lock = &env->shared.control->commit_lock;

        (void)unused, (void)unused_too;
        tool_commit(env, words, 0, 0);
        check_ok(xbegin(env, XAC_RDONLY));
        check_equal(shlock_lock(lock, thread_list->self.owner, NULL), SHLOCK_TAKEN);
        raise(SIGSTOP);
        shlock_unlock(lock);
        check_ok(xend(env));
        tool_commit(env, words, 1, 0);
        check_ok(xac_close(env));
}

static void commit_in_its_place(int unused, void *unused_too)
{
        xac_env *env;
        uint64_t *words = tool_open(0, &env);

        (void)unused, (void)unused_too;
        tool_commit(env, words, 2, 0);
        check_ok(xac_close(env));
}

static void commit_behind_it(int flags, void *turn_)
{
        const struct crew_turn *turn = turn_;
        xac_env *env;
        uint64_t *words = tool_open(flags, &env);

        tool_commit(env, words, 2, 0);
        check(turn->number > 0); /* not while the other one stood still */
        check_ok(xac_close(env));
}

static void await_stop(pid_t pid)
{
        int status;

        check_equal(waitpid(pid, &status, WUNTRACED), pid);
        check(WIFSTOPPED(status));
}

static void continue_all(pid_t stopped, pid_t waiter, struct crew_turn *turn)
{
        crew_turn_pass(turn);
        check_equal(kill(stopped, SIGCONT), 0);
        crew_join(stopped);
        crew_join(waiter);
        check_equal(tool_sum(), 3);
}

/* ---- What is told ---- */

static double seconds_told(void)
{
        static const char before[] = "is writing the log since ";
        const char *at = strstr(tool.said, before);

        check(at != NULL);
        return atof(at + sizeof(before) - 1);
}

static void a_stopped_leader_is_told(void)
{
        pid_t leader = crew_fork(stop_as_leader, 0, NULL);
        char process[80];
        double seconds;

        await_stop(leader);
        check_xac(0, "stat", TOOL_ENV);
        seconds = seconds_told();
        check(seconds < 60);
        crew_sleep_ms(1200);
        check_xac(0, "stat", TOOL_ENV);
        check(seconds_told() >= seconds + 1);
        check(strstr(strstr(tool.said, "is writing the log since "), " s, stopped\n") != NULL);
        snprintf(process, sizeof(process), "pid %d  alive, stopped  1 participant", (int)leader);
        check_said(process);
        check_equal(tool_count_said("stopped"), 2);
        crew_join(crew_fork(commit_in_its_place, 0, NULL)); /* who waits takes its turn */
        check_xac(0, "stat", TOOL_ENV);
        check_not_said("is writing the log");
        check_said(process);
        check_equal(kill(leader, SIGCONT), 0);
        crew_join(leader);
        check_equal(tool_sum(), 3);
}

static void a_stopped_holder_of_the_commit_lock_is_told(void)
{
        struct crew_turn *turn = crew_shared(sizeof(*turn));
        pid_t holder = crew_fork(stop_with_commit_lock, 0, NULL), waiter;

        await_stop(holder);
        waiter = crew_fork(commit_behind_it, XAC_VOLATILE, turn);
        crew_sleep_ms(200);
        check_xac(0, "stat", TOOL_ENV);
        check_said("snapshot 2, 0 commits behind; holds the commit lock, stopped\n");
        check_not_said("is writing the log");
        continue_all(holder, waiter, turn);
}

static void who_runs_and_holds_nothing_is_told_as_before(void)
{
        xac_env *env;
        uint64_t *words = tool_open(0, &env);

        tool_commit(env, words, 0, 0);
        check_xac(0, "stat", TOOL_ENV);
        check_said("in no transaction\n");
        check_not_said("stopped");
        check_not_said("holds the commit lock");
        check_ok(xac_close(env));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_test(a_stopped_leader_is_told),
                isolated_test(a_stopped_holder_of_the_commit_lock_is_told),
                isolated_test(who_runs_and_holds_nothing_is_told_as_before),
        };
        return cmocka_run_group_tests_name("xac stat, stopped", tests, NULL, NULL);
}
