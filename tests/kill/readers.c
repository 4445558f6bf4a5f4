/* SPDX-License-Identifier: MIT */

/*
 * Readers wait for nobody (P3): others stand still and hold every lock that there is; or the log is overdue for a
 * checkpoint, which whoever commits waits for. A reader who waited would be ended by the time limit.
 */

#include "tests/support/isolate.h"

#include <signal.h>
#include <sys/wait.h>

#include "libxac/process/thread.h"
#include "libxac/store/env.h"
#include "libxac/store/pool.h"
#include "libxac/version/publish.h"
#include "tests/kill/stage.h"
#include "tests/support/check.h"
#include "tests/support/crew.h"

enum { OVERDUE_COMMITS = 256, MANY_COMMITS = 600 }; /* each takes a block of the log, which is overdue at 4 * 256 KiB */

static struct stage stage;

/* ---- Readers ---- */

/* Afterwards it takes part, but its views show nothing yet. */
static long long take_a_seat(uint64_t is_declared)
{
        stage_enter(is_declared != 0);
        check_ok(xbegin(stage_seat.env, XAC_RDONLY));
        check_ok(xend(stage_seat.env));
        return 0;
}

/* Newest, then durable; each twice, as the first time is another matter. */
static long long read_numbers(uint64_t least)
{
        for (int i = 0; i < 4; i++) {
                int flags = i >= 2 && stage_is_durable() ? XAC_RDONLY | XAC_DURABLE : XAC_RDONLY;

                check_ok(xbegin(stage_seat.env, flags));
                check(stage_number(STAGE_SURVIVORS) >= least);
                check_ok(xend(stage_seat.env));
        }
        return 0;
}

static long long leave_seat(uint64_t unused)
{
        (void)unused;
        stage_leave();
        return 0;
}

enum { VIEWER, DECLARER, READERS };

static struct actor *reader[READERS];

static void set_the_stage(int is_durable)
{
        stage_make_durable(is_durable);
        stage_set(&stage, "env");
        for (int i = 0; i < READERS; i++) {
                reader[i] = actor_start(WAY_PROCESS);
                actor_do(reader[i], take_a_seat, i == DECLARER);
        }
        stage_survivor_commits(&stage);
}

static uint64_t commits_told(void)
{
        return atomic_load(&stage_told->count[STAGE_SURVIVORS]);
}

static void let_them_read(void)
{
        for (int i = 0; i < READERS; i++)
                actor_do(reader[i], read_numbers, commits_told());
}

static void strike_the_stage(void)
{
        for (int i = 0; i < READERS; i++) {
                actor_do(reader[i], leave_seat, 0);
                actor_stop(reader[i]);
        }
        stage_check(&stage, 0, 0);
        stage_strike(&stage);
}

/* ---- Those who stand still ---- */

static void await_stop(pid_t pid)
{
        int status;

        check_equal(waitpid(pid, &status, WUNTRACED), pid);
        check(WIFSTOPPED(status));
}

static void let_go_on(pid_t pid)
{
        kill(pid, SIGCONT);
        crew_join(pid);
}

static void lock_everything(int unused, void *unused_arg)
{
        struct thread *thread;

        (void)unused, (void)unused_arg;
        stage_enter(true);
        check_ok(thread_of(stage_seat.env, &thread));
        struct shared *shared = &stage_seat.env->shared;
        struct control *control = shared->control;
        uint32_t owner = thread->self.owner;
        shared_lock_as_process(shared, &control->participant_lock);
        shlock_lock(&control->checkpoint_lock, owner, &shared->liveness);
        shared_lock_as_process(shared, &control->file_lock);
        pool_lock(shared, owner);
        check_ok(publish_lock(shared, owner));
        raise(SIGSTOP);
        publish_unlock(shared);
        pool_unlock(shared);
        shared_unlock_as_process(shared, &control->file_lock);
        shlock_unlock(&control->checkpoint_lock);
        shared_unlock_as_process(shared, &control->participant_lock);
        stage_leave();
}

static void a_reader_needs_no_lock(int is_durable)
{
        set_the_stage(is_durable);
        pid_t pid = crew_fork(lock_everything, 0, NULL);

        await_stop(pid);
        let_them_read();
        let_go_on(pid);
        strike_the_stage();
}

static void lock_checkpoints(int unused, void *unused_arg)
{
        struct thread *thread;

        (void)unused, (void)unused_arg;
        stage_enter(true);
        check_ok(thread_of(stage_seat.env, &thread));
        struct shared *shared = &stage_seat.env->shared;
        shlock_lock(&shared->control->checkpoint_lock, thread->self.owner, &shared->liveness);
        raise(SIGSTOP);
        shlock_unlock(&shared->control->checkpoint_lock);
        stage_leave();
}

static long long commit_often(uint64_t count)
{
        while (count-- > 0)
                stage_commit(STAGE_SURVIVORS);
        return 0;
}

/* The survivor waits in the end of a commit that is durable and seen, and not told yet. */
static void await_that_it_waits(void)
{
        uint64_t before;

        do {
                before = commits_told();
                crew_sleep_ms(200);
        } while (commits_told() != before || before < OVERDUE_COMMITS);
        check(!actor_is_done(stage.survivor));
}

static void a_reader_waits_for_no_checkpoint(void)
{
        set_the_stage(true);
        pid_t pid = crew_fork(lock_checkpoints, 0, NULL);

        await_stop(pid);
        actor_send(stage.survivor, commit_often, MANY_COMMITS);
        await_that_it_waits();
        let_them_read();
        kill(pid, SIGCONT);
        actor_result(stage.survivor);
        crew_join(pid);
        strike_the_stage();
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_way(a_reader_needs_no_lock, 0, "volatile"),
                isolated_way(a_reader_needs_no_lock, 1, "durable"),
                isolated_test(a_reader_waits_for_no_checkpoint),
        };

        return cmocka_run_group_tests_name("readers", tests, NULL, NULL);
}
