/* SPDX-License-Identifier: MIT */

/*
 * Who is dead and who is not, in the cases where pids and process states would tell it wrongly
 * (R16): exec keeps the pid, a process without its main thread looks like a zombie, a stopped
 * one does not answer, one in another pid namespace has a number that means somebody else here.
 * The dead are taken back, from the living nothing is ever taken: no lock, and in a durable environment not the lead
 * of the log and no checkpoint that has begun. An environment is durable where a test is about that.
 */

#include "tests/support/isolate.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/sys.h"
#include "libxac/process/thread.h"
#include "libxac/store/env.h"
#include "libxac/version/publish.h"
#include "tests/kill/stage.h"
#include "tests/support/check.h"
#include "tests/support/crew.h"
#include "tests/support/fd.h"
#include "tests/support/leeway.h"

enum {
        NOT_PERMITTED = 3,
        WHILE_MS = 400,         /* so long does somebody wait who is to wait */
        LOG_FULL_COMMITS = 200, /* more than half of log_bytes: a checkpoint is wanted */
        CHECKPOINT_PATIENCE_MS = 5000
};

static struct stage stage;

/* What a victim and its director say to each other, made before the fork. */
static struct crew_turn *said;

static void set_the_stage(void)
{
        said = crew_shared(sizeof(*said));
        stage_set(&stage, "env");
}

static struct thread *own_thread(void)
{
        struct thread *thread;

        check_ok(thread_of(stage_seat.env, &thread));
        return thread;
}

static void begin_and_add(void)
{
        stage_enter(true);
        check_ok(xbegin(stage_seat.env, 0));
        check_ok(stage_add(STAGE_VICTIMS));
}

static void visit_main(int unused, void *unused_arg)
{
        (void)unused, (void)unused_arg;
        stage_enter(true);
        stage_leave();
}

/* Everybody who opens takes back what the dead held. */
static void let_a_visitor_look_for_the_dead(void)
{
        crew_join(crew_fork(visit_main, 0, NULL));
}

static void kill_by_force(pid_t pid)
{
        kill(pid, SIGKILL);
        crew_status(pid);
}

/* ---- exec ---- */

struct exec {
        bool also_decide;
        int ready[2]; /* a pipe */
};

static void exec_main(int unused, void *arg)
{
        struct exec *exec = arg;
        struct control *control;

        (void)unused;
        begin_and_add();
        if (exec->also_decide) {
                control = stage_seat.env->shared.control;
                txn_pages_intend(&own_thread()->txn.pages);
                check_ok(publish_lock(&stage_seat.env->shared, own_thread()->self.owner));
                atomic_store(&control->committer, own_thread()->self.row_no);
                atomic_store(&control->decided, atomic_load(&control->sequence) + 1);
        }
        dup2(exec->ready[1], STDOUT_FILENO);
        execlp("sh", "sh", "-c", "echo; exec sleep 1000 >/dev/null", (char *)NULL);
        _exit(1);
}

/*
 * The new program has the same pid and start time. Its descriptors of the environment are closed when it says its first
 * word, and not before: the kernel lets go of their locks on the way back from exec.
 */
static void exec_ends_a_transaction(bool also_decide)
{
        struct exec exec = { .also_decide = also_decide };
        char word;

        set_the_stage();
        check_ok(pipe2(exec.ready, O_CLOEXEC));
        pid_t pid = crew_fork(exec_main, 0, &exec);

        close(exec.ready[1]);
        check_equal(read(exec.ready[0], &word, 1), 1);
        close(exec.ready[0]);
        if (also_decide)
                atomic_fetch_add(&stage_told->count[STAGE_VICTIMS], 1);
        stage_check(&stage, 0, 0);
        kill_by_force(pid);
        stage_strike(&stage);
}

static void exec_in_a_transaction_aborts_it(void)
{
        exec_ends_a_transaction(false);
}

static void exec_in_a_decided_commit_commits_it(void)
{
        exec_ends_a_transaction(true);
}

/* ---- stopped ---- */

/* It stops while it holds the commit lock. */
static void stop_main(int unused, void *unused_arg)
{
        (void)unused, (void)unused_arg;
        begin_and_add();
        check_ok(publish_lock(&stage_seat.env->shared, own_thread()->self.owner));
        crew_turn_pass(said);
        raise(SIGSTOP);
        publish_unlock(&stage_seat.env->shared);
        xabort(stage_seat.env);
        stage_commit(STAGE_VICTIMS);
        stage_leave();
}

static long long commit_action(uint64_t unused)
{
        (void)unused;
        stage_commit(STAGE_SURVIVORS);
        return 0;
}

/* The survivor waits for the lock, and goes on waiting: nothing is taken from a stopped owner. */
static pid_t start_stopped_owner(void)
{
        set_the_stage();
        pid_t pid = crew_fork(stop_main, 0, NULL);

        crew_turn_await(said, 1);
        actor_send(stage.survivor, commit_action, 0);
        crew_sleep_ms(WHILE_MS);
        check(!actor_is_done(stage.survivor));
        return pid;
}

static void a_stopped_owner_is_waited_for(void)
{
        pid_t pid = start_stopped_owner();

        kill(pid, SIGCONT);
        actor_result(stage.survivor);
        crew_join(pid);
        check_equal(atomic_load(&stage_told->count[STAGE_VICTIMS]), 1);
        stage_check(&stage, 0, 0);
        stage_strike(&stage);
}

static void a_stopped_owner_that_is_killed_is_not(void)
{
        pid_t pid = start_stopped_owner();
        uint64_t begun_ns = crew_clock_ns();

        kill_by_force(pid);
        actor_result(stage.survivor);
        check((crew_clock_ns() - begun_ns) / 1000000 <= leeway_ms(STAGE_PATIENCE_MS));
        stage_check(&stage, 0, 0);
        stage_strike(&stage);
}

/* ---- stopped in the middle of the disk's work ---- */

/* The name of the file before whose writing it stops. */
static const char *stop_at;

static int stop_before_write(enum sys_call call, int fd, uint64_t offset, size_t byte_len)
{
        (void)offset, (void)byte_len;
        if (call != SYS_PWRITE || !fd_is_named(fd, stop_at))
                return 0;
        sys_fail = NULL;
        raise(SIGSTOP);
        return 0;
}

static void lead_main(int unused, void *unused_arg)
{
        (void)unused, (void)unused_arg;
        stage_enter(true);
        stage_commit(STAGE_VICTIMS);
        stop_at = "xac.log.";
        sys_fail = stop_before_write;
        stage_commit(STAGE_VICTIMS);
        stage_leave();
}

static void checkpoint_main(int unused, void *unused_arg)
{
        (void)unused, (void)unused_arg;
        stage_enter(true);
        stage_commit(STAGE_VICTIMS);
        stop_at = "xac.area.";
        sys_fail = stop_before_write;
        check_ok(xac_checkpoint(stage_seat.env));
        stage_leave();
}

static void idle_main(int unused, void *unused_arg)
{
        (void)unused, (void)unused_arg;
        stage_enter(true);
        raise(SIGSTOP);
        stage_leave();
}

static char state_of(pid_t pid)
{
        char name[64], line[256] = "";
        FILE *stat;

        snprintf(name, sizeof(name), "/proc/%d/stat", (int)pid);
        stat = fopen(name, "re");
        check(stat != NULL);
        check(fgets(line, sizeof(line), stat) != NULL);
        fclose(stat);
        check(strrchr(line, ')') != NULL);
        return strrchr(line, ')')[2];
}

static pid_t start_and_await_stop(crew_body body)
{
        stage_make_durable(true);
        set_the_stage();
        pid_t pid = crew_fork(body, 0, NULL);

        while (state_of(pid) != 'T')
                crew_sleep_ms(1);
        return pid;
}

/* The survivor's commit is on disk although a leader does not write (R30, R31). */
static pid_t start_stopped_leader(void)
{
        pid_t pid = start_and_await_stop(lead_main);

        actor_do(stage.survivor, commit_action, 0);
        check_equal(state_of(pid), 'T');
        return pid;
}

static void a_stopped_leader_of_the_log_stops_nobody(void)
{
        pid_t pid = start_stopped_leader();

        kill(pid, SIGCONT);
        crew_join(pid);
        check_equal(atomic_load(&stage_told->count[STAGE_VICTIMS]), 2);
        stage_check(&stage, 0, 0);
        stage_strike(&stage);
}

static void nor_does_one_that_is_killed(void)
{
        pid_t pid = start_stopped_leader();

        kill_by_force(pid);
        stage_check(&stage, 0, 1);
        stage_strike(&stage);
}

static long long checkpoint_action(uint64_t unused)
{
        (void)unused;
        check_ok(xac_checkpoint(stage_seat.env));
        return 0;
}

/* Commits go on meanwhile; another checkpoint waits. */
static pid_t start_stopped_checkpointer(void)
{
        pid_t pid = start_and_await_stop(checkpoint_main);

        stage_survivor_commits(&stage);
        actor_send(stage.auditor, checkpoint_action, 0);
        crew_sleep_ms(WHILE_MS);
        check(!actor_is_done(stage.auditor));
        stage_survivor_commits(&stage);
        return pid;
}

static void a_stopped_checkpointer_is_waited_for(void)
{
        pid_t pid = start_stopped_checkpointer();

        kill(pid, SIGCONT);
        actor_result(stage.auditor);
        crew_join(pid);
        stage_check(&stage, 0, 0);
        stage_strike(&stage);
}

static void a_stopped_checkpointer_that_is_killed_is_not(void)
{
        pid_t pid = start_stopped_checkpointer();
        uint64_t begun_ns = crew_clock_ns();

        kill_by_force(pid);
        actor_result(stage.auditor);
        check((crew_clock_ns() - begun_ns) / 1000000 <= leeway_ms(STAGE_PATIENCE_MS));
        stage_check(&stage, 0, 0);
        stage_strike(&stage);
}

static long long count_checkpoints(uint64_t unused)
{
        xac_stats stats;

        (void)unused;
        check_ok(xac_stat(stage_seat.env, &stats));
        return (long long)stats.checkpoints;
}

/* Whoever was elected by being woken may be stopped while it has nothing in hand: others do the work. */
static void a_stopped_process_without_a_checkpoint_keeps_nobody_from_one(void)
{
        pid_t pid = start_and_await_stop(idle_main);
        long long before = actor_do(stage.survivor, count_checkpoints, 0);

        for (int i = 0; i < LOG_FULL_COMMITS; i++)
                stage_survivor_commits(&stage);
        for (struct leeway left = leeway_of(CHECKPOINT_PATIENCE_MS);
             actor_do(stage.survivor, count_checkpoints, 0) == before;)
                check(leeway_pause(&left));
        actor_do(stage.auditor, checkpoint_action, 0);
        kill(pid, SIGCONT);
        crew_join(pid);
        stage_check(&stage, 0, 0);
        stage_strike(&stage);
}

/* ---- no main thread ---- */

static void *outlive_main(void *unused)
{
        (void)unused;
        begin_and_add();
        crew_turn_pass(said);
        crew_turn_await(said, 2);
        check_ok(xend(stage_seat.env));
        atomic_fetch_add(&stage_told->count[STAGE_VICTIMS], 1);
        stage_leave();
        _exit(0); /* without its main thread a process cannot be searched for leaks */
}

static void leave_main_thread(int unused, void *unused_arg)
{
        pthread_t thread;

        (void)unused, (void)unused_arg;
        check_equal(pthread_create(&thread, NULL, outlive_main, NULL), 0);
        pthread_exit(NULL);
}

static void a_process_without_its_main_thread_lives(void)
{
        set_the_stage();
        pid_t pid = crew_fork(leave_main_thread, 0, NULL);

        crew_turn_await(said, 1);
        while (state_of(pid) != 'Z')
                crew_sleep_ms(1);
        let_a_visitor_look_for_the_dead();
        crew_turn_pass(said);
        crew_join(pid);
        check_equal(atomic_load(&stage_told->count[STAGE_VICTIMS]), 1);
        stage_check(&stage, 0, 0);
        stage_strike(&stage);
}

/* ---- pid namespaces ---- */

static void work_as_pid_1(void)
{
        begin_and_add();
        crew_turn_pass(said);
        crew_turn_await(said, 2);
        check_ok(xend(stage_seat.env));
        atomic_fetch_add(&stage_told->count[STAGE_VICTIMS], 1);
        check_ok(xbegin(stage_seat.env, 0));
        check_ok(stage_add(STAGE_VICTIMS));
        crew_turn_pass(said);
        pause();
}

static void enter_namespace(int unused, void *is_refused)
{
        (void)unused;
        if (unshare(CLONE_NEWPID) != 0) {
                *(_Atomic bool *)is_refused = true;
                crew_turn_pass(said);
                _exit(NOT_PERMITTED);
        }
        /* getppid() is 0 across the border, so crew_fork would think that its parent has died. */
        pid_t pid = fork();

        check(pid >= 0);
        if (pid == 0) {
                prctl(PR_SET_PDEATHSIG, SIGKILL);
                work_as_pid_1();
        }
        crew_turn_await(said, 4);
        kill_by_force(pid);
        _exit(0); /* nor can one whose next child would be in the namespace */
}

static void a_process_in_another_pid_namespace_lives_until_it_dies(void)
{
        _Atomic bool *is_refused = crew_shared(sizeof(*is_refused));

        set_the_stage();
        pid_t pid = crew_fork(enter_namespace, 0, is_refused);

        crew_turn_await(said, 1);
        if (*is_refused) {
                stage_strike(&stage);
                isolate_skip("pid namespaces are not permitted here");
        }
        let_a_visitor_look_for_the_dead();
        crew_turn_pass(said); /* 2: commit */
        crew_turn_await(said, 3);
        crew_turn_pass(said); /* 4: be killed */
        crew_join(pid);
        check_equal(atomic_load(&stage_told->count[STAGE_VICTIMS]), 1);
        stage_check(&stage, 0, 0);
        stage_strike(&stage);
}

/* ---- threads ---- */

static void end_in_transaction(int unused, void *env)
{
        (void)unused;
        stage_seat.env = env;
        stage_seat.is_declared = true;
        stage_map();
        check_ok(xbegin(stage_seat.env, 0));
        check_ok(stage_add(STAGE_VICTIMS));
}

static long long lose_threads(uint64_t count)
{
        crew_threads((int)count, end_in_transaction, stage_seat.env);
        return 0;
}

static long long count_participants(uint64_t unused)
{
        xac_stats stats;

        (void)unused;
        check_ok(xac_stat(stage_seat.env, &stats));
        return (long long)stats.participants;
}

static void a_thread_that_ends_in_a_living_process_leaves_nothing(void)
{
        set_the_stage();
        long long before = actor_do(stage.survivor, count_participants, 0);

        actor_do(stage.survivor, lose_threads, 5);
        check_equal(actor_do(stage.survivor, count_participants, 0), before);
        stage_check(&stage, 0, 0);
        stage_strike(&stage);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_test(exec_in_a_transaction_aborts_it),
                isolated_test(exec_in_a_decided_commit_commits_it),
                isolated_test(a_stopped_owner_is_waited_for),
                isolated_test(a_stopped_owner_that_is_killed_is_not),
                isolated_test(a_stopped_leader_of_the_log_stops_nobody),
                isolated_test(nor_does_one_that_is_killed),
                isolated_test(a_stopped_checkpointer_is_waited_for),
                isolated_test(a_stopped_checkpointer_that_is_killed_is_not),
                isolated_test(a_stopped_process_without_a_checkpoint_keeps_nobody_from_one),
                isolated_test(a_process_without_its_main_thread_lives),
                isolated_test(a_process_in_another_pid_namespace_lives_until_it_dies),
                isolated_test(a_thread_that_ends_in_a_living_process_leaves_nothing),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
