/* SPDX-License-Identifier: MIT */

/*
 * Processes that trade in one environment are killed (SIGKILL) at random moments, thousands of
 * them (P6). Shown:
 *
 *      - the survivors go on: none that is at work stands still for longer than a second;
 *      - at every audit each account holds exactly what the committed operations add up to,
 *        and each teller's number is what it was told, or one more if it died untold;
 *      - a newcomer can open at any time, also after all have been killed at once;
 *      - whenever nobody moves, every slot, row, list and lock is accounted for (audit.h).
 *
 * The controller never opens the environment: it forks workers (worker.c), kills them, watches
 * their pulse, and lets auditors, which are processes too, look from time to time.
 *
 * In a durable one (--durable) the library has threads of its own, which are stopped with their process
 * wherever they are: the slots are looked at only when everybody is dead.
 *
 *      random [--kills N] [--seconds S] [--seed X] [--patience MS] [--durable] [--verbose]
 */

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/kill/audit.h"
#include "tests/kill/tally.h"
#include "tests/kill/watch.h"
#include "tests/kill/worker.h"
#include "tests/support/chance.h"
#include "tests/support/check.h"
#include "tests/support/crew.h"
#include "tests/support/program.h"
#include "tests/support/scratch.h"

enum {
        PATIENCE_MS = 1000, /* with whoever is at work */
        AUDIT_EVERY = 50,   /* kills */
        PAUSE_EVERY = 250,
        SMALL_LOG = 256 << 10, /* so small that there is always a checkpoint */
        ALL_PERMILLE = 4,      /* of the kills hit everybody at once, */
        SEVERAL_PERMILLE = 60  /* or several */
};

static struct {
        uint64_t kills_wanted;
        uint64_t seconds;
        uint64_t patience_ms;
        uint64_t page_bytes;
        bool is_durable;
        bool is_verbose;
} options = { .kills_wanted = UINT64_MAX, .patience_ms = PATIENCE_MS, .page_bytes = TALLY_PAGE_BYTES };

static struct tally *tally;
static const char *dir;
static struct chance chance;
static pid_t seat_pid[TALLY_SEATS];
static struct {
        uint64_t kills, all, audits, quiet_audits, openings;
} count;

/* ---- workers ---- */

static void start_worker(int seat)
{
        struct worker_orders orders = { tally, dir };

        for (unsigned i = 0; i < TALLY_THREADS; i++)
                atomic_store(&tally->teller[seat * TALLY_THREADS + i].state, TALLY_AWAY);
        seat_pid[seat] = crew_fork(worker_main, seat, &orders);
        count.openings++;
}

static void kill_worker(int seat)
{
        int status;

        kill(seat_pid[seat], SIGKILL);
        status = crew_status(seat_pid[seat]);
        seat_pid[seat] = 0;
        /* It may have failed, or left, by itself just before. */
        if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
                count.kills++;
        else if (WIFSIGNALED(status) || WEXITSTATUS(status) != 0)
                check_failed(__FILE__, __LINE__, "a worker failed (status %x)", status);
}

/* Who has left in good order is followed by another one. */
static void replace_leavers(void)
{
        for (int seat = 0; seat < TALLY_SEATS; seat++) {
                int status;

                if (seat_pid[seat] != 0 && waitpid(seat_pid[seat], &status, WNOHANG) == 0)
                        continue;
                if (seat_pid[seat] != 0 && status != 0)
                        check_failed(__FILE__, __LINE__, "a worker failed (status %x)", status);
                start_worker(seat);
        }
}

/* ---- auditors ---- */

struct inspection {
        bool is_quiet; /* nobody moves */
        bool is_alone; /* nobody else has it open */
};

static void audit_main(int unused, void *inspection_)
{
        const struct inspection *inspection = inspection_;
        struct tally_desk desk = { .is_declared = count.audits % 2 };

        (void)unused;
        crew_limit_s(20);
        tally_open(&desk, tally, dir);
        tally_map(&desk);
        tally_check(&desk);
        if (inspection->is_quiet)
                check_equal(audit_shared(desk.env, inspection->is_alone), 0);
        check_ok(xac_close(desk.env));
}

static void inspect(bool is_quiet, bool is_alone)
{
        struct inspection inspection = { is_quiet, is_alone };

        crew_join(crew_fork(audit_main, 0, &inspection));
        count.audits++;
        count.quiet_audits += is_quiet;
}

/* ---- who gets on ---- */

static void explain_main(int unused, void *unused_arg)
{
        struct tally_desk desk = { .tally = tally };

        (void)unused, (void)unused_arg;
        crew_limit_s(5);
        tally_open(&desk, tally, dir);
        audit_print(desk.env);
        _exit(0);
}

/* The workers are stopped first, so that a debugger finds them as they were. */
static _Noreturn void fail_stuck(unsigned teller)
{
        pid_t pid = seat_pid[teller / TALLY_THREADS];

        fprintf(stderr, "teller %u (process %d) has stood still for %.0f ms, %s\n", teller, (int)pid,
                watch_still_ms(teller), watch_state(teller));
        crew_status(crew_fork(explain_main, 0, NULL));
        if (getenv("XAC_KILL_DEBUG") != NULL) {
                for (int seat = 0; seat < TALLY_SEATS; seat++)
                        kill(seat_pid[seat], SIGSTOP);
                fprintf(stderr, "everybody is stopped for a debugger; end process %d when done\n", (int)getpid());
                pause();
        }
        check_failed(__FILE__, __LINE__, "a survivor is stuck");
}

static void look_after_all(void)
{
        int stuck = watch_look();

        if (stuck >= 0)
                fail_stuck((unsigned)stuck);
}

/* ---- deaths ---- */

static void kill_and_replace(int seat)
{
        kill_worker(seat);
        watch_forget(seat);
        start_worker(seat);
}

/* The next opener finds everything, alone; sometimes it is the last one out as well. */
static void kill_all(void)
{
        for (int seat = 0; seat < TALLY_SEATS; seat++)
                kill(seat_pid[seat], SIGKILL);
        for (int seat = 0; seat < TALLY_SEATS; seat++) {
                kill_worker(seat);
                watch_forget(seat);
        }
        count.all++;
        if (chance_percent(&chance, 60))
                inspect(true, true);
        for (int seat = 0; seat < TALLY_SEATS; seat++)
                start_worker(seat);
}

static void kill_somebody(void)
{
        uint64_t permille = chance_below(&chance, 1000);
        uint64_t victims = permille < SEVERAL_PERMILLE ? 2 + chance_below(&chance, TALLY_SEATS - 2) : 1;

        if (permille < ALL_PERMILLE) {
                kill_all();
                return;
        }
        for (uint64_t i = 0; i < victims; i++)
                kill_and_replace((int)chance_below(&chance, TALLY_SEATS));
}

/* Mostly soon, sometimes after a while in which everybody gets to work. */
static void wait_a_moment(void)
{
        uint64_t us = chance_percent(&chance, 10) ? chance_below(&chance, 60000) : chance_below(&chance, 12000);

        usleep((useconds_t)us);
}

static bool is_anybody_moving(void)
{
        for (unsigned i = 0; i < TALLY_TELLERS; i++) {
                enum tally_state state = atomic_load(&tally->teller[i].state);

                if (state != TALLY_AWAY && state != TALLY_PAUSED)
                        return true;
        }
        return false;
}

/* All tellers stand between two operations, alive, and the shared memory is looked at. Who is
 * away may yet be starting: so they are all waited for. */
static void pause_and_inspect(void)
{
        atomic_store(&tally->is_paused, 1);
        do {
                crew_sleep_ms(2);
                look_after_all();
        } while (is_anybody_moving());
        for (int seat = 0; seat < TALLY_SEATS; seat++)
                kill(seat_pid[seat], SIGSTOP);
        if (!is_anybody_moving() && !options.is_durable)
                inspect(true, false);
        for (int seat = 0; seat < TALLY_SEATS; seat++)
                kill(seat_pid[seat], SIGCONT);
        atomic_store(&tally->is_paused, 0);
}

/* ---- the run ---- */

static void run(void)
{
        uint64_t end_ns = options.seconds ? crew_clock_ns() + options.seconds * 1000000000 : UINT64_MAX;
        uint64_t next_audit = AUDIT_EVERY, next_pause = PAUSE_EVERY;

        watch_start(tally, options.patience_ms);
        while (count.kills < options.kills_wanted && crew_clock_ns() < end_ns) {
                wait_a_moment();
                replace_leavers();
                look_after_all();
                kill_somebody();
                if (count.kills >= next_audit) {
                        inspect(false, false);
                        next_audit = count.kills + AUDIT_EVERY;
                }
                if (count.kills >= next_pause) {
                        pause_and_inspect();
                        next_pause = count.kills + PAUSE_EVERY;
                        if (options.is_verbose)
                                printf("%" PRIu64 " kills, %" PRIu64 " audits, longest standstill %.0f ms\n",
                                       count.kills, count.audits, watch_longest_ms());
                }
        }
}

static void summarise(double seconds)
{
        uint64_t operations = 0;

        for (unsigned i = 0; i < TALLY_TELLERS; i++)
                operations += tally->counted[i];
        printf("%" PRIu64 " kills in %.1f s (%.0f a second; %" PRIu64 " times everybody at once), pool %" PRIu64
               " MiB\n"
               "%" PRIu64 " operations committed, %" PRIu64 " conflicts, %" PRIu64 " exclusive, %" PRIu64
               " checkpoints, %" PRIu64 " growths\n"
               "%" PRIu64 " workers opened, %" PRIu64 " left in good order\n"
               "%" PRIu64 " exact audits (%" PRIu64 " of them with the pool), %" PRIu64 " sums by the tellers\n"
               "longest standstill of a survivor at work: %.0f ms\n",
               count.kills, seconds, (double)count.kills / seconds, count.all, tally->pool_bytes >> 20, operations,
               atomic_load(&tally->conflicts), atomic_load(&tally->exclusive), atomic_load(&tally->checkpoints),
               atomic_load(&tally->growths), count.openings, atomic_load(&tally->leaves), count.audits,
               count.quiet_audits, atomic_load(&tally->audits), watch_longest_ms());
}

static void play(int unused, void *unused_arg)
{
        uint64_t started_ns = crew_clock_ns();

        (void)unused, (void)unused_arg;
        tally_begin(tally, dir);
        for (int seat = 0; seat < TALLY_SEATS; seat++)
                start_worker(seat);
        run();
        for (int seat = 0; seat < TALLY_SEATS; seat++)
                kill_worker(seat);
        inspect(true, true);
        tally_check_files(tally, dir);
        summarise((double)(crew_clock_ns() - started_ns) / 1e9);
}

static const struct program_option known[] = {
        { "kills", .number = &options.kills_wanted },
        { "seconds", .number = &options.seconds },
        { "patience", .number = &options.patience_ms },
        { "durable", .flag = &options.is_durable },
        { "page-bytes", .number = &options.page_bytes },
        { "verbose", .flag = &options.is_verbose },
        { 0 },
};

int main(int argc, char **argv)
{
        program_options(argc, argv, known);
        if (options.kills_wanted == UINT64_MAX && options.seconds == 0)
                options.seconds = 5;
        program_begin(true);
        chance.state = chance_seed();
        dir = scratch_path("env");
        tally = crew_shared(sizeof(*tally));
        tally_start(tally, chance_next(&chance));
        tally_set_page_bytes(tally, options.page_bytes);
        if (options.is_durable) {
                tally->open_flags = 0;
                tally->log_bytes = SMALL_LOG;
                tally->nosync_percent = 50;
        }
        return program_run(play, NULL);
}
