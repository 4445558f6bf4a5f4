/* SPDX-License-Identifier: MIT */
#include "tests/limits/limits_cell.h"

#include <dirent.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/check.h"
#include "tests/support/crew.h"
#include "tests/support/leeway.h"

enum { CALL_MS = 1000, CELL_S = 20, SKIPPED = 77 };

/* Steps of caller and stage, in turns: 1 set, 2 is set, 3 lift, 4 is lifted. */
struct shared {
        struct ground_told told;
        struct crew_turn turn;
        struct cell_result result;
};

static struct shared *shared;
static const struct kinds_limit *limit;
static const struct calls_call *call;

/* What is known, and said in docs/RESTRICTIONS.md. */
static const struct known {
        const char *limit, *call, *what;
} all_known[] = {
        { "RLIMIT_NOFILE", "touched", "milliseconds:" }, /* a descriptor is waited for, two seconds */
        { "mlockall", "touched", "signal" },             /* no page of the view can be shown, nor a copy of it */
        { "disk full", "xac_close", "names" },           /* what did not go home is for the next open */
        { "NOFILE", "xac_close", "names" },
        { "read-only", "xac_close", "names" }, /* they could not be removed */
};

static bool is_known(const char *what)
{
        for (unsigned i = 0; i < sizeof(all_known) / sizeof(all_known[0]); i++)
                if (strstr(limit->name, all_known[i].limit) && strstr(call->name, all_known[i].call) &&
                    strncmp(what, all_known[i].what, strlen(all_known[i].what)) == 0)
                        return true;
        return false;
}

static void complain(const char *what, long long number)
{
        if (!is_known(what) && !shared->result.trouble[0])
                snprintf(shared->result.trouble, sizeof(shared->result.trouble), "%s %lld", what, number);
}

/* ---- What a process has ---- */

static unsigned count_entries(const char *directory)
{
        unsigned count = 0;
        DIR *all = opendir(directory);

        check(all != NULL);
        for (struct dirent *entry; (entry = readdir(all)) != NULL;)
                count += entry->d_name[0] != '.';
        closedir(all);
        return count;
}

static unsigned descriptors(void)
{
        return count_entries("/proc/self/fd");
}

/* Of shared memory and data files. */
static unsigned mappings(void)
{
        char line[512];
        unsigned count = 0;
        FILE *file = fopen("/proc/self/maps", "re");

        check(file != NULL);
        while (fgets(line, sizeof(line), file))
                count += strstr(line, GROUND_SHM "/xac.") != NULL || strstr(line, GROUND_ENV "/") != NULL;
        fclose(file);
        return count;
}

static void expect_participants(struct ground *ground)
{
        xac_stats stats;

        check_ok(xac_stat(ground->env, &stats));
        if (stats.participants > 2) /* its thread, and its snapshot */
                complain("participants:", stats.participants);
}

/* ---- The caller ---- */

static void ask_root(uint32_t step)
{
        crew_turn_pass(&shared->turn);
        crew_turn_await(&shared->turn, step + 1);
}

static void set_limit(void)
{
        if (limit->set)
                limit->set();
        if (limit->set_by_root)
                ask_root(1);
}

static void lift_limit(void)
{
        if (limit->lift)
                limit->lift();
        if (limit->lift_by_root)
                ask_root(3);
}

static int call_in_time(struct ground *ground)
{
        const uint64_t begun_ns = crew_clock_ns();
        const int code = call->make(ground);
        const uint64_t taken_ms = (crew_clock_ns() - begun_ns) / 1000000;

        if (taken_ms > leeway_ms(CALL_MS))
                complain("milliseconds:", (long long)taken_ms);
        return code;
}

/* With the limit lifted the same call succeeds, and all else. A poisoned environment serves reads. */
static void call_again(struct ground *ground, int code)
{
        if (limit->stays || call->ends)
                return;
        const int again = call->make(ground);
        if (code == XAC_POISONED || shared->told.doubtful) {
                complain("poisoned, after", code);
                return;
        }
        if (again)
                complain("when it was lifted:", again);
        if (call->needs == CALLS_NOTHING)
                return;
        const int counted = ground_count(ground, 0);
        if (counted)
                complain("a commit when it was lifted:", counted);
        ground_check(ground);
        expect_participants(ground);
}

static void close_ground(struct ground *ground)
{
        if (call->needs != CALLS_ALL || call->ends)
                return;
        ground_close_users(ground);
        const int err = xac_close(ground->env);
        if (err && !limit->stays)
                complain("xac_close():", err);
}

/* So that what is opened once and for all is open. */
static void warm_up(void)
{
        struct ground ground = { .told = &shared->told };

        ground_open(&ground);
        ground_close_users(&ground);
        check_ok(xac_close(ground.env));
}

static void prepare(struct ground *ground)
{
        if (call->needs != CALLS_ALL)
                return;
        ground_open(ground);
        check_ok(ground_count(ground, 0));
        check_ok(ground_count(ground, XAC_NOSYNC));
        if (call->ends)
                ground_close_users(ground);
}

static void *run_caller(void *unused)
{
        struct ground ground = { .told = &shared->told };

        if (call->needs == CALLS_ALL)
                warm_up();
        const unsigned before = descriptors();
        prepare(&ground);
        set_limit();
        shared->result.code = call_in_time(&ground);
        if (!limit->stays)
                lift_limit();
        if (!limit->stays && call->needs == CALLS_NOTHING && descriptors() != before)
                complain("descriptors left:", (long long)descriptors() - before);
        call_again(&ground, shared->result.code);
        close_ground(&ground);
        if (!limit->stays && descriptors() != before)
                complain("descriptors left:", (long long)descriptors() - before);
        if (mappings())
                complain("mappings left:", mappings());
        return unused;
}

/* The data of a thread lie in its stack; the tests have much. */
static int add_thread_data(struct dl_phdr_info *info, size_t unused, void *bytes)
{
        enum { ALIGNMENT = 64 };

        (void)unused;
        for (int i = 0; i < info->dlpi_phnum; i++)
                if (info->dlpi_phdr[i].p_type == PT_TLS)
                        *(size_t *)bytes += (info->dlpi_phdr[i].p_memsz + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
        return 0;
}

static void be_caller(int unused, void *unused_too)
{
        pthread_attr_t attributes;
        pthread_t thread;

        (void)unused, (void)unused_too;
        ground_become_user();
        if (limit->set_at_start)
                limit->set_at_start();
        if (!limit->stack_bytes) {
                run_caller(NULL);
                return;
        }
        check_equal(pthread_attr_init(&attributes), 0);
        size_t data_bytes = 0;
        dl_iterate_phdr(add_thread_data, &data_bytes);
        check_equal(pthread_attr_setstacksize(&attributes, limit->stack_bytes(call->name) + data_bytes), 0);
        check_equal(pthread_create(&thread, &attributes, run_caller, NULL), 0);
        check_equal(pthread_join(thread, NULL), 0);
}

/* ---- Those before and after ---- */

static void be_first(int is_killed, void *unused)
{
        struct ground ground = { .told = &shared->told };

        (void)unused;
        ground_become_user();
        ground_open(&ground);
        check_ok(ground_count(&ground, 0));
        if (is_killed)
                raise(SIGKILL);
        ground_close_users(&ground);
        check_ok(xac_close(ground.env));
}

static void be_prover(int unused, void *unused_too)
{
        struct ground ground = { .told = &shared->told };

        (void)unused, (void)unused_too;
        ground_become_user();
        ground_open(&ground);
        ground_check(&ground);
        check_ok(ground_count(&ground, 0));
        ground_close_users(&ground);
        check_ok(xac_close(ground.env));
}

/* ---- The stage ---- */

/* Does for the caller what only root can, until it has ended. */
static int serve(pid_t caller)
{
        bool is_set = false;
        int status;

        while (waitpid(caller, &status, WNOHANG) == 0) {
                if (!limit->set_by_root || !crew_turn_await_ms(&shared->turn, is_set ? 3 : 1, 1)) {
                        usleep(500);
                        continue;
                }
                if (is_set && shared->turn.number == 3)
                        limit->lift_by_root();
                else if (!is_set)
                        limit->set_by_root();
                else
                        continue;
                is_set = true;
                crew_turn_pass(&shared->turn);
        }
        return status;
}

static void be_stage(int unused, void *unused_too)
{
        (void)unused, (void)unused_too;
        if (!ground_make())
                crew_exit(SKIPPED);
        crew_join(crew_fork(be_first, 0, NULL));
        if (call->is_crashed)
                (void)crew_status(crew_fork(be_first, 1, NULL));
        const int status = serve(crew_fork(be_caller, 0, NULL));
        if (WIFSIGNALED(status)) {
                shared->result.signal = WTERMSIG(status);
                complain("signal", WTERMSIG(status));
        } else if (status) {
                complain("the caller ended with status", WEXITSTATUS(status));
        }
        if (limit->stays || status)
                return; /* what it has left is taken over */
        if (count_entries(GROUND_SHM))
                complain("names in /dev/shm:", count_entries(GROUND_SHM));
}

static void be_stage_and_prove(int unused, void *unused_too)
{
        be_stage(unused, unused_too);
        const int status = crew_status(crew_fork(be_prover, 0, NULL));
        if (status)
                complain("what is in it is wrong, status", status);
        if (count_entries(GROUND_SHM))
                complain("names in /dev/shm at the end:", count_entries(GROUND_SHM));
}

void cell_run(const struct kinds_limit *limit_, const struct calls_call *call_, struct cell_result *result)
{
        limit = limit_;
        call = call_;
        if (!shared)
                shared = crew_shared(sizeof(*shared));
        memset(shared, 0, sizeof(*shared));
        const pid_t stage = crew_fork(be_stage_and_prove, 0, NULL);
        int status = -1;
        pid_t ended = 0;
        for (struct leeway left = leeway_of(CELL_S * 1000ULL); ended == 0 && leeway_pause(&left);)
                ended = waitpid(stage, &status, WNOHANG);
        if (ended == 0) {
                crew_kill(stage);
                complain("seconds without an end:", CELL_S);
        } else if (WIFEXITED(status) && WEXITSTATUS(status) == SKIPPED) {
                shared->result.is_skipped = true;
        } else if (status) {
                complain("the stage ended with status", status);
        }
        *result = shared->result;
}
