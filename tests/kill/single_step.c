/* SPDX-License-Identifier: MIT */

/*
 * A process dies after the k-th instruction (P6, I6): of a commit by declared access, one that somebody waits for, a
 * commit through views, a wait, a pass of reclaim that unlinks, a view synchronisation, a begin, first touches in
 * views, an open, a takeover, a checkpoint, a close, and of logging a backlog; for each k, or every N-th.
 *
 * For each k a victim is forked, prepares, and raises SIGSTOP where the region begins; it is
 * run to instruction k (trace.h) and killed with SIGKILL. Then the survivors check (stage.h): a
 * commit within a second, the victim's transaction there as a whole or not at all, nothing
 * leaked. A system call counts as one instruction. Where there is a log (the backlog's region) the machine goes down
 * as well after every fourth death: at once, or when a survivor has waited for the disk.
 *
 *      single_step [--stride N | --samples N | --seconds S] [--only REGION] [--verbose]
 *
 * With --samples about N instructions of each region are taken (25 unless something else is asked for), with --seconds
 * as many as there is time for; the seed says which. The open, which takes long to record, is tried only with --only
 * open.
 */

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libxac/care/duty.h"
#include "libxac/process/thread.h"
#include "libxac/store/env.h"
#include "libxac/store/reclaim.h"
#include "libxac/store/takeover.h"
#include "libxac/txn/backlog.h"
#include "tests/kill/stage.h"
#include "tests/kill/trace.h"
#include "tests/support/chance.h"
#include "tests/support/check.h"
#include "tests/support/crew.h"
#include "tests/support/program.h"
#include "tests/support/scratch.h"

enum {
        SAMPLES = 25,
        SKIPPED = 77,
        RETIRING_COMMITS = 4, /* each supersedes three versions */
        UNLOGGED_COMMITS = 5,
        FALL_EVERY = 4, /* deaths */
        LOOP_VISITS = 40,
        WATCHDOG_S = 60
};

static struct {
        uint64_t stride;
        uint64_t samples;
        uint64_t seconds;
        const char *only;
        bool is_verbose;
} options = { .samples = SAMPLES };

/* ---- regions ---- */

/* What a victim does before the region (nothing: it has not even opened) and in it; what the
 * director does while the victim waits for that, and after its death; how many commits it leaves
 * untold, at most. */
struct code_region {
        const char *name;
        bool is_declared;
        void (*prepare)(void);
        void (*before)(struct stage *stage);
        void (*run)(void);
        void (*after)(struct stage *stage);
        uint64_t untold;
        bool is_durable;
        bool is_watched;     /* somebody sleeps until it has happened */
        bool is_slow;        /* its record alone takes seconds: only when asked for by name */
        uint32_t visits_max; /* in loops over all rows only so many visits; 0: all */
};

static struct thread *own_thread(void)
{
        struct thread *thread;

        check_ok(thread_of(stage_seat.env, &thread));
        return thread;
}

/* The first commit of a process also looks for the dead: that is the takeover's region. */
static void begin_and_add(void)
{
        stage_commit(STAGE_VICTIMS);
        check_ok(xbegin(stage_seat.env, 0));
        check_ok(stage_add(STAGE_VICTIMS));
}

static void begin_only(void)
{
        stage_commit(STAGE_VICTIMS);
        check_ok(xbegin(stage_seat.env, 0));
}

/* The third time that the pages are written by the same thread they have frames. */
static void begin_framed(void)
{
        stage_commit(STAGE_VICTIMS);
        stage_commit(STAGE_VICTIMS);
        check_ok(xbegin(stage_seat.env, 0));
        check(atomic_load(&own_thread()->self.row->frames) > 0);
}

/* Through the views: each page faults, is copied, and is mapped writable. */
static void touch(void)
{
        check_ok(stage_add(STAGE_VICTIMS));
}

static void undo(void)
{
        check_ok(xabort(stage_seat.env));
}

static void open_and_map(void)
{
        stage_enter(true);
}

static void end(void)
{
        check_ok(xend(stage_seat.env));
}

/* The holder's snapshot lies below all that is retired here: so it has to be unlinked. */
static void retire(void)
{
        check_ok(xbegin(stage_seat.env, 0));
        own_thread()->self.retired_limit = UINT32_MAX; /* not before the region */
        check_ok(xabort(stage_seat.env));
        for (int i = 0; i < RETIRING_COMMITS; i++)
                stage_commit(STAGE_VICTIMS);
        own_thread()->self.retired_limit = 0;
}

static void reclaim(void)
{
        struct participant *self = &own_thread()->self;
        uint32_t looks = self->looks;

        reclaim_after_commit(self);
        check_equal(self->looks, looks + 1);
}

static void read_all(void)
{
        check_ok(xbegin(stage_seat.env, XAC_RDONLY));
        stage_number(STAGE_VICTIMS);
        check_ok(xend(stage_seat.env));
}

static void begin(void)
{
        check_ok(xbegin(stage_seat.env, 0));
}

static void die_before(struct stage *stage)
{
        (void)stage;
        stage_die_decided();
}

static void take_over(void)
{
        takeover_dead(&stage_seat.env->shared, control_owner_of_process(stage_seat.env->shared.process_no));
}

static void commit_some(void)
{
        stage_commit(STAGE_VICTIMS);
        stage_commit(STAGE_VICTIMS);
}

/* It enters its row, and leaves it. */
static void wait_in_vain(void)
{
        const struct timespec at_once = { 0, 0 };

        check_code(xac_wait(stage_seat.env, &at_once), -ETIMEDOUT);
}

static void checkpoint(void)
{
        check_ok(xac_checkpoint(stage_seat.env));
}

/* Nobody else logs it before the region: the survivors' library rests, and the victim's does. */
static void begin_backlog(void)
{
        atomic_store(&stage_seat.env->shared.control->backlog_pause, 0);
        for (int i = 0; i < UNLOGGED_COMMITS; i++) {
                check_ok(xbegin(stage_seat.env, XAC_NOSYNC));
                check_ok(stage_add(STAGE_VICTIMS));
                check_ok(xend(stage_seat.env));
                stage_tell();
        }
        check(backlog_exists(&stage_seat.env->shared));
}

static void log_backlog(void)
{
        check_ok(backlog_log(&own_thread()->self, &stage_seat.env->files));
}

static const struct code_region regions[] = {
        { .name = "commit-declared", .is_declared = true, .prepare = begin_and_add, .run = end, .untold = 1 },
        { .name = "commit-view",
          .prepare = begin_and_add,
          .run = end,
          .untold = 1,
          .visits_max = LOOP_VISITS }, /* copies frames */
        { .name = "commit-watched",
          .is_declared = true,
          .prepare = begin_and_add,
          .run = end,
          .untold = 1,
          .is_watched = true,
          .visits_max = LOOP_VISITS },
        { .name = "wait",
          .is_declared = true,
          .prepare = begin_and_add,
          .run = wait_in_vain,
          .visits_max = LOOP_VISITS },
        { .name = "reclaim", .is_declared = true, .prepare = retire, .run = reclaim, .after = stage_release },
        { .name = "view-sync", .prepare = read_all, .before = stage_survivor_commits, .run = begin },
        { .name = "begin", .is_declared = true, .prepare = read_all, .run = begin },
        { .name = "touch", .prepare = begin_only, .run = touch, .visits_max = LOOP_VISITS },
        { .name = "touch-framed", .prepare = begin_framed, .run = touch, .visits_max = LOOP_VISITS },
        { .name = "touch-declared",
          .is_declared = true,
          .prepare = begin_only,
          .run = touch,
          .visits_max = LOOP_VISITS },
        { .name = "abort", .is_declared = true, .prepare = begin_and_add, .run = undo },
        { .name = "open", .run = open_and_map, .visits_max = LOOP_VISITS, .is_slow = true },
        { .name = "takeover",
          .is_declared = true,
          .prepare = read_all,
          .before = die_before,
          .run = take_over,
          .visits_max = LOOP_VISITS },
        { .name = "checkpoint",
          .is_declared = true,
          .prepare = commit_some,
          .before = stage_survivor_scatters,
          .run = checkpoint,
          .visits_max = LOOP_VISITS },
        { .name = "close", .is_declared = true, .prepare = commit_some, .run = stage_leave, .visits_max = LOOP_VISITS },
        { .name = "backlog",
          .is_declared = true,
          .is_durable = true,
          .prepare = begin_backlog,
          .run = log_backlog,
          .visits_max = LOOP_VISITS },
};

enum { REGIONS = sizeof(regions) / sizeof(regions[0]) };

static void victim_main(int region_no, void *unused)
{
        const struct code_region *region = &regions[region_no];

        (void)unused;
        if (!trace_me())
                _exit(SKIPPED);
        if (region->prepare) {
                stage_enter(region->is_declared);
                duty_stop(stage_seat.env); /* nobody traces it: it must not come to a breakpoint */
                region->prepare();
        }
        raise(SIGSTOP); /* prepared */
        raise(SIGSTOP); /* the region begins */
        region->run();
        raise(SIGSTOP); /* and ends */
        _exit(0);
}

/* ---- one death ---- */

/* A victim that stands where the region begins. */
static pid_t start_victim(struct stage *stage, int region_no)
{
        const struct code_region *region = &regions[region_no];
        int status;
        pid_t victim;

        crew_limit_s(WATCHDOG_S);
        if (region->after == stage_release)
                stage_hold(stage);
        victim = crew_fork(victim_main, region_no, NULL);
        if (!trace_await_marker(victim, &status)) {
                if (WIFEXITED(status) && WEXITSTATUS(status) == SKIPPED)
                        _exit(SKIPPED);
                check_failed(__FILE__, __LINE__, "%s: the victim failed before its time (status %x)", region->name,
                             status);
        }
        if (region->before)
                region->before(stage);
        check(trace_to_marker(victim, &status));
        return victim;
}

static void set_stage(struct stage *stage, const struct code_region *region)
{
        stage_make_durable(region->is_durable);
        stage_set(stage, region->name);
        if (region->is_durable)
                stage_rest(stage);
        if (region->is_watched)
                stage_watch(stage);
}

/* On a stage of its own goes the next one. */
static void fall(struct stage *stage, const struct code_region *region, bool is_at_once)
{
        const unsigned longest_ms = stage->longest_ms;

        for (int i = 0; i < 2 && !is_at_once; i++)
                stage_survivor_commits(stage);
        stage_fall(stage, region->untold);
        scratch_clear();
        set_stage(stage, region);
        if (stage->longest_ms < longest_ms)
                stage->longest_ms = longest_ms;
}

/* One that has ended was killed by its own second thread, which came to the breakpoint after all (in "open"). */
static void end_victim(struct stage *stage, const struct code_region *region, pid_t victim, enum trace_stop stop,
                       unsigned turn)
{
        if (stop != TRACE_ENDED) {
                kill(victim, SIGKILL);
                crew_status(victim);
        }
        if (region->is_durable && turn % FALL_EVERY == FALL_EVERY - 1) {
                fall(stage, region, turn / FALL_EVERY % 2);
                return;
        }
        if (region->is_watched)
                stage_check_watcher(stage);
        stage_check(stage, turn, region->untold);
        if (region->after) {
                region->after(stage);
                stage_check(stage, turn, 0);
        }
}

static uint32_t strays; /* that went another way than the recorded one */

static void die_at(struct stage *stage, int region_no, const struct trace_path *path, uint32_t k, uint32_t turn)
{
        const struct code_region *region = &regions[region_no];
        pid_t victim = start_victim(stage, region_no);
        enum trace_stop stop = trace_go_to(victim, path, k);

        if (stop != TRACE_THERE) {
                strays++;
                end_victim(stage, region, victim, stop, turn);
                victim = start_victim(stage, region_no);
                stop = trace_step_to(victim, k);
        }
        end_victim(stage, region, victim, stop, turn);
}

/* ---- a region ---- */

static void record(struct stage *stage, int region_no, struct trace_path *path)
{
        pid_t victim = start_victim(stage, region_no);

        trace_record(victim, path);
        end_victim(stage, &regions[region_no], victim, TRACE_MARKER, 0);
}

static void show_progress(const struct code_region *region, uint32_t k, const struct trace_path *path)
{
        static uint64_t shown_ns;

        if (!options.is_verbose || crew_clock_ns() - shown_ns < UINT64_C(2000000000))
                return;
        shown_ns = crew_clock_ns();
        printf("  %s: instruction %" PRIu32 " of %" PRIu32 "\n", region->name, k, path->count);
}

/* Not the later visits of a loop over all rows, where nothing new happens. */
static bool is_wanted(const struct code_region *region, const struct trace_path *path, uint32_t k)
{
        return !region->visits_max || path->visit[k] <= region->visits_max;
}

static uint32_t choose_stride(const struct code_region *region, const struct trace_path *path)
{
        uint32_t wanted = 0;

        if (options.stride)
                return (uint32_t)options.stride;
        for (uint32_t k = 0; k < path->count; k++)
                wanted += is_wanted(region, path, k);
        return wanted / (uint32_t)options.samples + 1;
}

/* Every stride-th instruction of those that are wanted, from a random one on. Returns how many. */
static uint32_t die_along(struct stage *stage, int region_no, const struct trace_path *path, struct chance *chance)
{
        uint32_t stride = choose_stride(&regions[region_no], path);
        uint64_t left = chance_below(chance, stride);
        uint32_t deaths = 0;

        for (uint32_t k = 0; k < path->count; k++) {
                if (!is_wanted(&regions[region_no], path, k) || left-- > 0)
                        continue;
                left = stride - 1;
                die_at(stage, region_no, path, k, deaths++);
                show_progress(&regions[region_no], k, path);
        }
        return deaths;
}

/* Instructions drawn at random from those that are wanted, for so long. Returns how many. */
static uint32_t die_for(struct stage *stage, int region_no, const struct trace_path *path, struct chance *chance,
                        uint64_t ns)
{
        uint64_t end_ns = crew_clock_ns() + ns;
        uint32_t deaths = 0;

        while (crew_clock_ns() < end_ns) {
                uint32_t k = (uint32_t)chance_below(chance, path->count);

                if (!is_wanted(&regions[region_no], path, k))
                        continue;
                die_at(stage, region_no, path, k, deaths++);
                show_progress(&regions[region_no], k, path);
        }
        return deaths;
}

static bool is_asked_for(const struct code_region *region)
{
        return options.only ? strcmp(options.only, region->name) == 0 : !region->is_slow;
}

/* Of the seconds that all regions have together. */
static uint64_t share_ns(void)
{
        uint64_t regions_wanted = 0;

        for (int i = 0; i < REGIONS; i++)
                regions_wanted += is_asked_for(&regions[i]);
        return options.seconds * 1000000000 / regions_wanted;
}

/* The first one is warmed up: what is allocated once and stays is no part of the record. */
static void die_everywhere(struct stage *stage, int region_no, struct chance *chance)
{
        struct trace_path path;
        uint32_t deaths;
        uint64_t begun_ns = crew_clock_ns();

        record(stage, region_no, &path);
        trace_free(&path);
        record(stage, region_no, &path);
        strays = 0;
        stage->longest_ms = 0;
        deaths = options.seconds ? die_for(stage, region_no, &path, chance, share_ns())
                                 : die_along(stage, region_no, &path, chance);
        printf("%-16s %6" PRIu32 " instructions, %6" PRIu32 " deaths (%" PRIu32
               " by another way), commits within %u ms, %.1f s\n",
               regions[region_no].name, path.count, deaths, strays, stage->longest_ms,
               (double)(crew_clock_ns() - begun_ns) / 1e9);
        trace_free(&path);
}

static void direct(int seed_high, void *seed)
{
        struct chance chance = { *(uint64_t *)seed };

        (void)seed_high;
        int done = 0;
        for (int i = 0; i < REGIONS; i++) {
                struct stage stage;

                if (!is_asked_for(&regions[i]))
                        continue;
                set_stage(&stage, &regions[i]);
                die_everywhere(&stage, i, &chance);
                stage_strike(&stage);
                done++;
        }
        if (!done)
                check_failed(__FILE__, __LINE__, "no region is called %s", options.only);
}

static const struct program_option known[] = {
        { "stride", .number = &options.stride },    { "samples", .number = &options.samples },
        { "seconds", .number = &options.seconds },  { "only", .text = &options.only },
        { "verbose", .flag = &options.is_verbose }, { 0 },
};

int main(int argc, char **argv)
{
        uint64_t seed;
        int status;

        program_options(argc, argv, known);
        check(options.samples > 0);
        program_begin(true);
        seed = chance_seed();
        status = program_run(direct, &seed);
        if (status == SKIPPED)
                puts("skipped: ptrace is not permitted here");
        return status;
}
