/* SPDX-License-Identifier: MIT */
#include "tests/crash/workloads.h"

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/sys.h"
#include "libxac/store/env.h"
#include "tests/crash/recorder.h"
#include "tests/support/chance.h"
#include "tests/support/check.h"
#include "tests/support/crew.h"

struct run {
        const struct world *world;
        const char *directory;
        struct trace *trace;
        struct crew_barrier opened;
        _Atomic unsigned busy; /* workers that still commit */
};

/* Of a run, what one process has for itself. */
struct life {
        struct run *run;
        int index; /* of the process */
        xac_env *env;
};

static void open_env(struct life *life)
{
        const struct workload *workload = life->run->world->workload;
        xac_options options = workload_options(workload, life->run->directory);
        int flags = XAC_CREATE | (workload->is_nosync ? XAC_NOSYNC : 0);

        check_ok(xac_open(life->run->directory, flags, &options, &life->env));
        trace_required(life->run->trace, WORLD_CREATED, 1);
}

static int trim(const struct seat_of_world *seat)
{
        return seat->world->workload->is_heap ? xac_heap_trim(seat->heap_desk.heap, NULL, NULL, NULL)
                                              : xac_arena_trim(seat->desk.arena, NULL, NULL, NULL);
}

/* What a worker does after its commit k besides the next one. */
static void care(struct life *life, const struct seat_of_world *seat, unsigned lane, uint64_t k, uint64_t mine)
{
        const struct workload *workload = life->run->world->workload;

        if (workload->trim_every && mine % workload->trim_every == 0)
                check_ok(trim(seat));
        if (workload->sync_every && mine % workload->sync_every == 0) {
                check_ok(xac_sync(life->env));
                trace_required(life->run->trace, lane, k);
        }
        if (workload->checkpoint_every && mine % workload->checkpoint_every == 0) {
                check_ok(xac_checkpoint(life->env));
                trace_required(life->run->trace, lane, k);
        }
        if (workload->pause_us)
                crew_sleep_ms(workload->pause_us / 1000);
}

/* Most of the time as if nobody had waited lately: then commits that do not wait are logged together. */
static void forget_pause(struct life *life, struct chance *chance)
{
        if (life->run->world->workload->nosync_percent && chance_percent(chance, 30))
                atomic_store(&life->env->shared.control->backlog_pause, 0);
}

static void commit_all(int thread, struct life *life)
{
        struct run *run = life->run;
        const struct workload *workload = run->world->workload;
        int index = life->index * (int)workload->threads + thread;
        struct seat_of_world seat = { .world = run->world, .env = life->env };
        struct chance chance = { .state = run->world->seed + (uint64_t)index };
        unsigned lane = workload->lanes > 1 ? (unsigned)index : 0;
        uint64_t k = 0;

        for (unsigned other = 0; other < workload->lanes; other++)
                check_ok(workload_map(&seat, other, 1, run->trace));
        for (uint64_t mine = 1;; mine++) {
                int flags = chance_percent(&chance, workload->nosync_percent) ? XAC_NOSYNC : 0;

                forget_pause(life, &chance);
                check_ok(workload_commit(&seat, lane, workload->commits, flags, run->trace, &k));
                if (k == 0)
                        break;
                if (!flags && !workload->is_nosync)
                        trace_required(run->trace, lane, k);
                care(life, &seat, lane, k, mine);
        }
        check_ok(workload_leave(&seat));
}

static void work(int thread, void *arg)
{
        struct life *life = arg;

        commit_all(thread, life);
        atomic_fetch_sub(&life->run->busy, 1);
}

static void *checkpoint_all_the_time(void *arg)
{
        struct life *life = arg;

        while (atomic_load(&life->run->busy) > 0) {
                check_ok(xac_checkpoint(life->env));
                crew_sleep_ms(1);
        }
        return NULL;
}

/* Whatever a durable reader sees is promised from then on. */
static void *read_what_is_durable(void *arg)
{
        struct life *life = arg;
        struct seat_of_world seat = { .world = life->run->world, .env = life->env };

        check_ok(workload_map(&seat, 0, 1, life->run->trace));
        while (atomic_load(&life->run->busy) > 0) {
                uint64_t k = 0;

                check_ok(xbegin(life->env, XAC_RDONLY | XAC_DURABLE));
                check(workload_counter(&seat, 0, &k));
                check_ok(xend(life->env));
                trace_required(life->run->trace, 0, k);
                crew_sleep_ms(1);
        }
        check_ok(workload_leave(&seat));
        return NULL;
}

/* A snapshot is held for a while, and another one begun before it ends. */
static void *hold_snapshots(void *arg)
{
        struct life *life = arg;
        struct seat_of_world seat = { .world = life->run->world, .env = life->env };

        check_ok(workload_map(&seat, 0, 1, life->run->trace));
        while (atomic_load(&life->run->busy) > 0) {
                uint64_t k = 0, again = 0;

                check_ok(xbegin(life->env, XAC_RDONLY));
                check(workload_counter(&seat, 0, &k));
                crew_sleep_ms(4);
                check(workload_counter(&seat, 0, &again));
                check_equal(again, k);
                check_ok(xend(life->env));
        }
        check_ok(workload_leave(&seat));
        return NULL;
}

/* The first process has threads that do something else while the others commit. */
static unsigned start_others(struct life *life, pthread_t *others)
{
        const struct workload *workload = life->run->world->workload;
        unsigned count = 0;

        if (life->index > 0)
                return 0;
        if (workload->has_checkpointer)
                check_equal(pthread_create(&others[count++], NULL, checkpoint_all_the_time, life), 0);
        if (workload->has_durable_reader)
                check_equal(pthread_create(&others[count++], NULL, read_what_is_durable, life), 0);
        if (workload->has_old_reader)
                check_equal(pthread_create(&others[count++], NULL, hold_snapshots, life), 0);
        return count;
}

/* ---- Those that stand still ---- */

enum { STILL_MS = 180, WRITES_BETWEEN = 25, VICTIM_MS = 25 };

static sys_record_hook record_change;
static _Thread_local unsigned stops_left, writes_left;

/* As if the process were stopped before a write: mostly its own group's, and the descriptor is open by then. */
static void stand_still(const struct sys_change *change)
{
        if (change->call == SYS_PWRITE && !change->is_done && stops_left && writes_left-- == 0) {
                stops_left--;
                writes_left = WRITES_BETWEEN;
                crew_sleep_ms(STILL_MS);
        }
        record_change(change);
}

static void start_standing_still(const struct life *life)
{
        stops_left = life->run->world->workload->stops;
        writes_left = (unsigned)(life->run->world->seed + (uint64_t)life->index * 7) % WRITES_BETWEEN;
        if (!stops_left)
                return;
        record_change = sys_record;
        sys_record = stand_still;
}

static void run_process(int index, void *arg)
{
        struct life life = { .run = arg, .index = index };
        const struct workload *workload = life.run->world->workload;
        pthread_t others[3];
        unsigned count;

        open_env(&life);
        crew_barrier_wait(&life.run->opened, workload->processes);
        count = start_others(&life, others);
        start_standing_still(&life);
        if (workload->threads == 1)
                work(0, &life);
        else
                crew_threads((int)workload->threads, work, &life);
        for (unsigned i = 0; i < count; i++)
                pthread_join(others[i], NULL);
        check_ok(xac_close(life.env));
}

/* ---- Those that are killed ---- */

static void *die_soon(void *arg)
{
        struct life *life = arg;
        struct chance chance = { .state = life->run->world->seed * 31 + (uint64_t)life->index };

        crew_sleep_ms(1 +
                      (unsigned)chance_below(&chance, VICTIM_MS + life->run->world->workload->stops * STILL_MS / 2));
        recorder_die();
        return NULL;
}

static void run_victim(int index, void *arg)
{
        struct life life = { .run = arg, .index = index };
        pthread_t killer;

        atomic_fetch_add(&life.run->busy, 1);
        check_equal(pthread_create(&killer, NULL, die_soon, &life), 0);
        open_env(&life);
        commit_all(0, &life); /* busy until it is dead (kill_some) */
        for (;;)
                crew_sleep_ms(1000);
}

static void kill_some(struct run *run)
{
        const struct workload *workload = run->world->workload;

        for (unsigned i = 0; i < workload->kills && atomic_load(&run->busy) > 0; i++) {
                int status = crew_status(crew_fork(run_victim, (int)(workload->processes + i), run));

                check(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
                atomic_fetch_sub(&run->busy, 1);
        }
}

static void run_processes(struct run *run)
{
        enum { PROCESSES_MAX = 16 };
        unsigned processes = run->world->workload->processes;
        pid_t pids[PROCESSES_MAX];

        check(processes <= PROCESSES_MAX);
        for (unsigned i = 0; i < processes; i++)
                pids[i] = crew_fork(run_process, (int)i, run);
        kill_some(run);
        for (unsigned i = 0; i < processes; i++)
                crew_join(pids[i]);
}

void workload_remove_shared_memory(const char *directory)
{
        static const char *const parts[] = { "control", "heads", "pool" };
        struct stat st;
        char path[128];

        check_equal(stat(directory, &st), 0);
        for (unsigned i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
                snprintf(path, sizeof(path), "/dev/shm/xac.%" PRIxMAX ".%" PRIxMAX ".%s", (uintmax_t)st.st_dev,
                         (uintmax_t)st.st_ino, parts[i]);
                unlink(path);
        }
}

/* As long as they are to be, but for most of the last page. */
static void make_odd_file(const struct workload *workload, int directory, unsigned file)
{
        static const unsigned char zeros[WORLD_PAGES * WORLD_PAGE];
        char name[16];
        int fd;

        world_file_name(file, name);
        check_ok(sys_open(directory, name, O_RDWR | O_CREAT | O_EXCL, 0600, &fd));
        check_ok(sys_write_all(fd, zeros, (size_t)(workload->pages - 1) * WORLD_PAGE + 10, 0));
        check_ok(sys_sync(fd));
        sys_close(fd);
}

static void make_odd_files(const struct world *world, const char *path)
{
        int directory;

        check_ok(sys_open(AT_FDCWD, path, O_RDONLY | O_DIRECTORY, 0, &directory));
        for (unsigned file = 0; file < world_files(world->workload); file++)
                make_odd_file(world->workload, directory, file);
        check_ok(sys_sync(directory));
        sys_close(directory);
}

void workload_record(const struct world *world, const char *directory, struct trace *trace)
{
        const struct workload *workload = world->workload;
        struct run *run = crew_shared(sizeof(*run));

        trace_clear(trace);
        snprintf(trace->workload, sizeof(trace->workload), "%s", workload->name);
        trace->seed = world->seed;
        *run = (struct run){ .world = world, .directory = directory, .trace = trace };
        atomic_store(&run->busy, workload->processes * workload->threads);
        for (unsigned lane = 0; lane < workload->lanes; lane++)
                trace_allowed(trace, lane, 0);
        recorder_start(trace, directory);
        if (workload->is_odd)
                make_odd_files(world, directory);
        run_processes(run);
        recorder_stop();
        workload_remove_shared_memory(directory);
        for (unsigned lane = 0; lane < workload->lanes && !workload->kills; lane++) /* the last close has synced all */
                trace_required(trace, lane, workload->commits);
        check(!trace_is_full(trace));
        munmap(run, sizeof(*run));
}
