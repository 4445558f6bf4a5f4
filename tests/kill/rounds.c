/* SPDX-License-Identifier: MIT */

/*
 * Rounds in which all processes are killed at once (SIGKILL), under load, and the environment is opened again.
 *
 * While the machine stays up nothing is lost in any mode, and nothing is replayed: once somebody has opened it the
 * shared memory is there, and whoever opens attaches to it. In the modes called "machine" the shared memory is
 * removed as well after every other round or so, which is a power cut that spares what the kernel had yet to write:
 * what was promised comes back by replay. After every round, by a process that is alone:
 *
 *      - each account holds exactly what the committed operations add up to, and each teller's number is what it
 *        was told, or one more; in "machine" modes at least what it was promised (tally.h);
 *      - every slot, row, list and lock is accounted for (audit.h);
 *      - often it is the last one to leave, and the plain files are right.
 *
 * A round ends when the tellers have got on by as much as was drawn for it, or some time after it began,
 * so that deaths while opening, recovering and closing come too.
 *
 *      rounds [--rounds N | --seconds S] [--only MODE] [--seed X] [--disk] [--verbose]
 *
 * N rounds, or as many as S seconds have room for, in all modes together.
 *
 * The scratch directory is in shared memory, where syncs are cheap, unless --disk is given.
 */

#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/kill/audit.h"
#include "tests/kill/tally.h"
#include "tests/kill/worker.h"
#include "tests/support/chance.h"
#include "tests/support/check.h"
#include "tests/support/crew.h"
#include "tests/support/leeway.h"
#include "tests/support/program.h"
#include "tests/support/scratch.h"

enum {
        SEATS = 4, /* worker processes: with 1, 2, 3 and 1 tellers */
        PATIENCE_MS = 30000,
        PARTS = 3, /* of the shared memory */
        SMALL_LOG = 256 << 10,
        LARGE_POOL = 24 << 20,
        OPERATIONS_MAX = 200, /* of all tellers together, in a round */
        CUT_SHORT_PERCENT = 20,
        LEAVE_PERCENT = 30, /* of the auditors go in good order */
        DOWN_PERCENT = 60,  /* of the rounds of a machine that goes down */
        ROUNDS_DEFAULT = 70
};

/* `has_checkpoints`: a log so small that the library's own threads always have one to do, and the tellers ask for more;
 * else nothing goes home before the last close. */
struct mode {
        const char *name;
        int open_flags;
        unsigned nosync_percent;
        bool has_checkpoints;
        bool is_machine; /* goes down as well, now and then */
};

static const struct mode modes[] = {
        { .name = "durable", .has_checkpoints = true },
        { .name = "durable-bare" },
        { .name = "nosync", .open_flags = XAC_NOSYNC, .has_checkpoints = true },
        { .name = "nosync-bare", .open_flags = XAC_NOSYNC },
        { .name = "nosync-commits", .nosync_percent = 60, .has_checkpoints = true },
        { .name = "volatile", .open_flags = XAC_VOLATILE, .has_checkpoints = true },
        { .name = "volatile-bare", .open_flags = XAC_VOLATILE },
        { .name = "machine", .has_checkpoints = true, .is_machine = true },
        { .name = "machine-bare", .is_machine = true },
        { .name = "machine-nosync-commits", .nosync_percent = 60, .has_checkpoints = true, .is_machine = true },
        { .name = "machine-nosync", .open_flags = XAC_NOSYNC, .has_checkpoints = true, .is_machine = true },
};

enum { MODES = sizeof(modes) / sizeof(modes[0]) };

static struct {
        uint64_t rounds;
        uint64_t seconds;
        const char *only;
        uint64_t page_bytes;
        bool is_on_disk;
        bool is_verbose;
} options = { .rounds = ROUNDS_DEFAULT, .page_bytes = TALLY_PAGE_BYTES };

static struct tally *tally;
static const struct mode *mode;
static const char *dir;
static struct chance chance;
static uint64_t *checkpoints; /* that the last auditor knew of: since somebody first opened it */
static struct {
        uint64_t checkpoints, leaves;
} count; /* of the mode */

/* ---- processes ---- */

struct inspection {
        bool was_down;
        bool leaves; /* or ends as if it were killed */
};

static void audit_main(int unused, void *inspection_)
{
        const struct inspection *inspection = inspection_;
        struct tally_desk desk = { .is_declared = chance_percent(&chance, 50) };
        xac_stats stats;

        (void)unused;
        crew_limit_s(PATIENCE_MS / 1000);
        tally_open(&desk, tally, dir);
        tally_map(&desk);
        if (inspection->was_down)
                tally_accept_losses(&desk);
        tally_check(&desk);
        check_equal(audit_shared(desk.env, true), 0);
        check_ok(xac_stat(desk.env, &stats));
        *checkpoints = stats.checkpoints;
        if (!inspection->leaves)
                return;
        atomic_store(&tally->is_up, 0);
        check_ok(xac_close(desk.env));
}

static uint64_t operations(void)
{
        uint64_t sum = 0;

        for (unsigned i = 0; i < TALLY_TELLERS; i++)
                sum += atomic_load(&tally->teller[i].told);
        return sum;
}

/* ---- a round ---- */

/* A worker may have left in good order, which is all it may do by itself. */
static void check_leaver(int status)
{
        if (status != 0)
                check_failed(__FILE__, __LINE__, "%s: a worker failed (status %x)", mode->name, status);
}

static void replace_leavers(pid_t pid[SEATS])
{
        struct worker_orders orders = { tally, dir };

        for (int seat = 0; seat < SEATS; seat++) {
                int status;

                if (waitpid(pid[seat], &status, WNOHANG) == 0)
                        continue;
                check_leaver(status);
                pid[seat] = crew_fork(worker_main, seat, &orders);
        }
}

static void run_for_evidence(const char *command)
{
        if (system(command))
                fprintf(stderr, "failed: %s\n", command);
}

/* Who holds what, and where each thread stands: when they are gone nobody can ask any more. */
_Noreturn static void nobody_gets_on(const pid_t pid[SEATS], uint64_t began)
{
        const char *builddir = getenv("builddir");
        char command[PATH_MAX + 256];

        fprintf(stderr, "%s: %" PRIu64 " operations in %d s\n", mode->name, operations() - began, PATIENCE_MS / 1000);
        snprintf(command, sizeof(command), "%s/tools/xac/xac stat '%s' >&2", builddir ? builddir : ".", dir);
        run_for_evidence(command);
        for (int seat = 0; seat < SEATS; seat++) {
                snprintf(command, sizeof(command), "grep '' /proc/%d/task/*/syscall >&2", (int)pid[seat]);
                run_for_evidence(command);
                snprintf(command, sizeof(command), "gdb -batch -p %d -ex 'thread apply all bt 12' >&2 2>/dev/null",
                         (int)pid[seat]);
                run_for_evidence(command);
        }
        check_failed(__FILE__, __LINE__, "%s: nobody gets on", mode->name);
}

static void let_them_work(pid_t pid[SEATS])
{
        const uint64_t began = operations();
        uint64_t until = began + chance_below(&chance, OPERATIONS_MAX);
        bool is_cut_short = chance_percent(&chance, CUT_SHORT_PERCENT);
        uint64_t end_ns = crew_clock_ns() + chance_below(&chance, 12) * 1000000;
        struct leeway left = leeway_of(PATIENCE_MS);

        while (operations() < until) {
                if (crew_clock_ns() >= end_ns && is_cut_short)
                        return;
                if (!leeway_is_left(&left))
                        nobody_gets_on(pid, began);
                replace_leavers(pid);
                usleep(300);
        }
}

static void kill_all(const pid_t pid[SEATS])
{
        for (int seat = 0; seat < SEATS; seat++)
                kill(pid[seat], SIGKILL);
        for (int seat = 0; seat < SEATS; seat++) {
                int status = crew_status(pid[seat]);

                if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
                        check_leaver(status);
        }
}

static void play_round(void)
{
        struct worker_orders orders = { tally, dir };
        struct inspection inspection = { mode->is_machine && chance_percent(&chance, DOWN_PERCENT),
                                         chance_percent(&chance, LEAVE_PERCENT) };
        pid_t pid[SEATS];

        for (int seat = 0; seat < SEATS; seat++)
                pid[seat] = crew_fork(worker_main, seat, &orders);
        let_them_work(pid);
        kill_all(pid);
        if (inspection.was_down) {
                audit_remove_shared_memory(dir);
                atomic_store(&tally->is_up, 0);
        }
        crew_join(crew_fork(audit_main, 0, &inspection));
        check_equal(scratch_shared_memory_of(dir), inspection.leaves ? 0 : PARTS);
        check_equal(atomic_load(&tally->needless), 0);
        if (!inspection.leaves)
                return;
        tally_check_files(tally, dir);
        count.checkpoints += *checkpoints;
        count.leaves++;
}

/* ---- a mode ---- */

static void set_up(void)
{
        memset(&count, 0, sizeof(count));
        dir = scratch_path(mode->name);
        tally = crew_shared(sizeof(*tally));
        tally_start(tally, chance_next(&chance));
        tally->open_flags = mode->open_flags;
        tally->nosync_percent = mode->nosync_percent;
        tally->log_bytes = mode->has_checkpoints ? SMALL_LOG : 0;
        if (!mode->has_checkpoints) {
                tally->pool_bytes = LARGE_POOL;
                tally->checkpoint_permille = 0;
        }
        tally_set_page_bytes(tally, options.page_bytes);
}

/* The last one leaves; so all that was committed is in the plain files. */
static void finish(void)
{
        struct inspection inspection = { .leaves = true };

        crew_join(crew_fork(audit_main, 0, &inspection));
        tally_check_files(tally, dir);
}

/* Plays so many rounds, or, if there are `ns`, for so long. Returns how many. */
static uint64_t play_mode(uint64_t rounds_wanted, uint64_t ns)
{
        uint64_t begun_ns = crew_clock_ns(), rounds = 0;

        set_up();
        tally_begin(tally, dir);
        while (ns ? crew_clock_ns() < begun_ns + ns : rounds < rounds_wanted) {
                play_round();
                rounds++;
                if (options.is_verbose && rounds % 50 == 0)
                        printf("  %s: %" PRIu64 " rounds, %" PRIu64 " operations\n", mode->name, rounds, operations());
        }
        finish();
        if (mode->is_machine && rounds >= 20)
                check(atomic_load(&tally->replays) > 0);
        printf("%-22s %5" PRIu64 " rounds, %7" PRIu64 " operations are there, %5" PRIu64 " checkpoints, %4" PRIu64
               " times closed, told %4" PRIu64 " times of replay and %4" PRIu64 " of restoring, %.1f s\n",
               mode->name, rounds, operations(), count.checkpoints, count.leaves, atomic_load(&tally->replays),
               atomic_load(&tally->restores), (double)(crew_clock_ns() - begun_ns) / 1e9);
        munmap(tally, sizeof(*tally));
        return rounds;
}

static void play(int unused, void *unused_arg)
{
        unsigned wanted = 0, played = 0;
        uint64_t rounds = 0;

        (void)unused, (void)unused_arg;
        for (unsigned i = 0; i < MODES; i++)
                wanted += !options.only || strcmp(options.only, modes[i].name) == 0;
        check(wanted > 0);
        checkpoints = crew_shared(sizeof(*checkpoints));
        for (unsigned i = 0; i < MODES; i++) {
                if (options.only && strcmp(options.only, modes[i].name) != 0)
                        continue;
                mode = &modes[i];
                rounds += play_mode(options.rounds * (played + 1) / wanted - options.rounds * played / wanted,
                                    options.seconds * 1000000000 / wanted);
                played++;
        }
        printf("%" PRIu64 " rounds, everything acknowledged is there\n", rounds);
}

/* ---- the run ---- */

static const struct program_option known[] = {
        { "rounds", .number = &options.rounds },
        { "seconds", .number = &options.seconds },
        { "only", .text = &options.only },
        { "disk", .flag = &options.is_on_disk },
        { "page-bytes", .number = &options.page_bytes },
        { "verbose", .flag = &options.is_verbose },
        { 0 },
};

int main(int argc, char **argv)
{
        program_options(argc, argv, known);
        program_begin(!options.is_on_disk);
        chance.state = chance_seed();
        return program_run(play, NULL);
}
