/* SPDX-License-Identifier: MIT */

/*
 * Processes that work on the same trees are killed (SIGKILL) at random moments, single ones, several, and now and then
 * all at once. Shown by an auditor, which is a process too:
 *
 *      - the deeds of each worker (deeds.h) are there up to the last one that it was told of, or one more, and none
 *        in part: all trees hold exactly that, and xac_tree_check finds nothing;
 *      - the survivors go on, a newcomer can open at any time;
 *      - once all are dead, every slot, row, list and lock is accounted for (tests/kill/audit.h).
 *
 * In the modes called "machine" the shared memory goes as well when all are killed, which is a power cut that spares
 * what the kernel had yet to write: then what was promised to be durable is there, and nothing in part.
 *
 *      killed [--kills N] [--seconds S] [--tree bptree|cobtree] [--only MODE] [--seed X] [--verbose]
 *                                                      N kills, or S seconds, in each mode on each kind of tree
 */

#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/kill/audit.h"
#include "tests/support/chance.h"
#include "tests/support/check.h"
#include "tests/support/crew.h"
#include "tests/support/leeway.h"
#include "tests/support/scratch.h"
#include "tests/trees/deeds.h"

enum {
        SEATS = 4, /* worker processes, with one lane and two by turns */
        LANES = 6,
        PATIENCE_MS = 20000,
        AUDIT_EVERY = 12, /* kills */
        ALL_PERMILLE = 40,
        SEVERAL_PERMILLE = 80,
        SMALL_LOG = 256 << 10,
        SMALL_POOL = 16 << 20,
        WORTH_MS = 600 /* of each mode, unless told otherwise */
};

struct mode {
        const char *name;
        int open_flags;
        unsigned nosync_percent;
        bool is_machine;
};

static const struct mode modes[] = {
        { .name = "volatile", .open_flags = XAC_VOLATILE },
        { .name = "durable" },
        { .name = "machine", .is_machine = true },
        { .name = "machine-mixed", .is_machine = true, .nosync_percent = 50 },
        { .name = "nosync", .open_flags = XAC_NOSYNC, .is_machine = true },
};

static struct {
        uint64_t kills;
        double seconds;
        const char *only;
        const char *tree; /* NULL: each */
        bool is_verbose;
} options = { .seconds = WORTH_MS / 1000.0 };

/* In memory that processes share. */
static struct ledger {
        struct deeds deeds;
        struct {
                _Atomic uint64_t told;     /* it knows that they are done */
                _Atomic uint64_t promised; /* and durable */
        } lane[DEEDS_LANES_MAX];
        uint64_t found[DEEDS_LANES_MAX]; /* by the last auditor */
        _Atomic uint64_t deeds_done, leaves;
} * ledger;

static const struct mode *mode;
static const char *directory;
static struct chance chance;
static struct deeds_state state; /* as the last auditor found it */
static pid_t seat_pid[SEATS];
static struct {
        uint64_t kills, all, audits;
} count;

static unsigned seat_lanes(unsigned seat)
{
        return 1 + seat % 2;
}

static unsigned first_lane(unsigned seat)
{
        return seat / 2 * 3 + seat % 2;
}

static xac_env *open_env(void)
{
        const xac_options env_options = { .pool_bytes = SMALL_POOL, .log_bytes = SMALL_LOG };
        xac_env *env;

        check_ok(xac_open(directory, XAC_CREATE | mode->open_flags, &env_options, &env));
        return env;
}

/* ---- workers ---- */

struct job {
        xac_env *env;
        unsigned lane;
        struct deeds_desk desk;
        struct chance chance; /* for what need not be replayed: the order of things, not the deeds */
};

static void tell(struct job *job, uint64_t k, bool is_durable)
{
        atomic_store(&ledger->lane[job->lane].told, k);
        if (is_durable)
                atomic_store(&ledger->lane[job->lane].promised, k);
        atomic_fetch_add_explicit(&ledger->deeds_done, 1, memory_order_relaxed);
}

/* What it was told before it died holds, or one more. */
static void resume(struct job *job)
{
        uint64_t told = atomic_load(&ledger->lane[job->lane].told), k = 0;

        check_ok(deeds_counter(&job->desk, job->lane, &k));
        if (k != told && k != told + 1)
                check_failed(__FILE__, __LINE__, "lane %u was told %" PRIu64 ", but has %" PRIu64, job->lane, told, k);
        atomic_store(&ledger->lane[job->lane].told, k);
}

/* Is it in the trees, or did only this transaction see it? */
static void say_what_is_damaged(struct job *job)
{
        for (int i = 0; i < 2; i++) {
                xac_tree_report report = { 0 };
                const int err = xac_tree_check(job->desk.arena, &report);

                fprintf(stderr, "process %d, lane %u, check %d: %d, page %" PRIu64 ": %s\n", getpid(), job->lane, i,
                        err, report.page_no, report.message);
        }
}

static void do_deed(struct job *job)
{
        int flags = chance_percent(&job->chance, mode->nosync_percent) ? XAC_NOSYNC : 0;
        uint64_t k = 0;

        int err = deeds_commit(&job->desk, job->lane, UINT64_MAX, flags, NULL, NULL, &k);
        if (err == XAC_CORRUPT)
                say_what_is_damaged(job);
        check_ok(err);
        check_equal(k, atomic_load(&ledger->lane[job->lane].told) + 1);
        tell(job, k, !flags && !mode->open_flags);
}

static void do_something_else(struct job *job)
{
        uint64_t draw = chance_below(&job->chance, 1000);
        xtree_stats stats;

        if (draw < 8)
                check_ok(xac_checkpoint(job->env));
        else if (draw < 16)
                check_ok(xtree_stat(job->desk.trees[draw % 2 ? DEEDS_NUMBERS : DEEDS_WORDS], &stats));
        else if (draw < 24 && !(mode->open_flags & XAC_VOLATILE)) {
                check_ok(xac_sync(job->env));
                tell(job, atomic_load(&ledger->lane[job->lane].told), true);
        }
}

static void work(int index, void *first_)
{
        const struct job *first = first_;
        struct job job = *first;
        uint64_t deeds = 5 + chance_below(&job.chance, 400);

        job.lane += (unsigned)index;
        job.chance.state = chance_mix(job.chance.state + (uint64_t)index);
        check_ok(deeds_open(&job.desk, &ledger->deeds, job.env,
                            chance_percent(&job.chance, 30) ? XAC_ARENA_VIEW : XAC_ARENA_DECLARED));
        resume(&job);
        for (uint64_t i = 0; i < deeds; i++) {
                do_deed(&job);
                do_something_else(&job);
        }
        check_ok(deeds_close(&job.desk));
}

static void worker_main(int seat, void *unused)
{
        struct job job = { .lane = first_lane((unsigned)seat),
                           .chance = { crew_clock_ns() ^ (uint64_t)getpid() << 40 } };

        (void)unused;
        job.env = open_env();
        do {
                if (seat_lanes((unsigned)seat) > 1)
                        crew_threads((int)seat_lanes((unsigned)seat), work, &job);
                else
                        work(0, &job);
                job.chance.state = chance_next(&job.chance);
        } while (chance_percent(&job.chance, 60));
        check_ok(xac_close(job.env));
        atomic_fetch_add(&ledger->leaves, 1);
}

static void start_worker(int seat)
{
        seat_pid[seat] = crew_fork(worker_main, seat, NULL);
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
        else if (status)
                check_failed(__FILE__, __LINE__, "a worker failed (status %x)", status);
}

/* Who has left in good order is followed by another one. */
static void replace_leavers(void)
{
        for (int seat = 0; seat < SEATS; seat++) {
                int status;

                if (seat_pid[seat] && waitpid(seat_pid[seat], &status, WNOHANG) == 0)
                        continue;
                if (seat_pid[seat] && status)
                        check_failed(__FILE__, __LINE__, "a worker failed (status %x)", status);
                start_worker(seat);
        }
}

/* ---- auditors ---- */

struct inspection {
        bool is_alone; /* nobody else has it open */
        bool was_down; /* the machine was, and nobody has opened it since */
};

/* What was promised is there, and what was lost has not been told. */
static void accept_losses(unsigned lane, uint64_t found)
{
        uint64_t promised = atomic_load(&ledger->lane[lane].promised), told = atomic_load(&ledger->lane[lane].told);

        if (found < promised || found > told + 1)
                check_failed(__FILE__, __LINE__,
                             "lane %u was promised %" PRIu64 " and told %" PRIu64 ", but has %" PRIu64, lane, promised,
                             told, found);
        atomic_store(&ledger->lane[lane].told, found);
}

static void compare_counters(struct deeds_desk *desk, const struct inspection *inspection, const uint64_t *told_before)
{
        for (unsigned lane = 0; lane < LANES; lane++) {
                uint64_t found;

                check_ok(deeds_counter(desk, lane, &found));
                if (inspection->was_down)
                        accept_losses(lane, found);
                else if (found < told_before[lane] || found > atomic_load(&ledger->lane[lane].told) + 1)
                        check_failed(__FILE__, __LINE__, "lane %u was told %" PRIu64 ", but has %" PRIu64, lane,
                                     told_before[lane], found);
                ledger->found[lane] = found;
        }
}

static void audit_main(int unused, void *inspection_)
{
        const struct inspection *inspection = inspection_;
        struct deeds_desk desk;
        uint64_t told[LANES];
        char text[512];

        (void)unused;
        crew_limit_s(PATIENCE_MS / 1000);
        xac_env *env = open_env();
        check_ok(deeds_open(&desk, &ledger->deeds, env, count.audits % 2 ? XAC_ARENA_VIEW : XAC_ARENA_DECLARED));
        for (unsigned lane = 0; lane < LANES; lane++)
                told[lane] = atomic_load(&ledger->lane[lane].told);
        check_ok(xbegin(env, XAC_RDONLY));
        check_ok(deeds_refresh(&desk));
        compare_counters(&desk, inspection, told);
        deeds_go_to(&state, &ledger->deeds, ledger->found);
        if (!deeds_are_done(&state, &desk, text, sizeof(text)))
                check_failed(__FILE__, __LINE__, "%s", text);
        check_ok(xend(env));
        check_ok(deeds_close(&desk));
        if (inspection->is_alone)
                check_equal(audit_shared(env, true), 0);
        check_ok(xac_close(env));
        deeds_forget(&state);
}

static void inspect(const struct inspection *inspection)
{
        crew_join(crew_fork(audit_main, 0, (void *)(uintptr_t)inspection));
        deeds_go_to(&state, &ledger->deeds, ledger->found);
        count.audits++;
}

/* ---- deaths ---- */

static void kill_all(void)
{
        struct inspection inspection = { .is_alone = true };

        for (int seat = 0; seat < SEATS; seat++)
                kill(seat_pid[seat], SIGKILL);
        for (int seat = 0; seat < SEATS; seat++)
                kill_worker(seat);
        count.all++;
        inspection.was_down = mode->is_machine && chance_percent(&chance, 60);
        if (inspection.was_down)
                audit_remove_shared_memory(directory);
        if (inspection.was_down || chance_percent(&chance, 60))
                inspect(&inspection);
}

static void kill_somebody(void)
{
        uint64_t permille = chance_below(&chance, 1000);
        uint64_t victims = permille < SEVERAL_PERMILLE ? 2 + chance_below(&chance, SEATS - 2) : 1;

        if (permille < ALL_PERMILLE) {
                kill_all();
                for (int seat = 0; seat < SEATS; seat++)
                        start_worker(seat);
                return;
        }
        for (uint64_t i = 0; i < victims; i++) {
                int seat = (int)chance_below(&chance, SEATS);

                kill_worker(seat);
                start_worker(seat);
        }
}

/* Mostly soon, sometimes after a while in which everybody gets to work. */
static void wait_a_moment(void)
{
        usleep((useconds_t)chance_below(&chance, chance_percent(&chance, 15) ? 40000 : 8000));
}

/* Fails when nobody has got on for too long. */
static void look_after_all(void)
{
        static uint64_t seen = UINT64_MAX;
        static struct leeway left;
        uint64_t done = atomic_load(&ledger->deeds_done);

        if (done != seen) {
                seen = done;
                left = leeway_of(PATIENCE_MS);
        }
        if (!leeway_is_left(&left))
                check_failed(__FILE__, __LINE__, "nobody gets on");
}

/* ---- the run ---- */

static void run(void)
{
        uint64_t end_ns = crew_clock_ns() + (uint64_t)(options.seconds * 1e9), next_audit = AUDIT_EVERY;

        while (options.kills ? count.kills < options.kills : crew_clock_ns() < end_ns) {
                wait_a_moment();
                replace_leavers();
                look_after_all();
                kill_somebody();
                if (count.kills < next_audit)
                        continue;
                inspect(&(struct inspection){ .is_alone = false });
                next_audit = count.kills + AUDIT_EVERY;
                if (options.is_verbose)
                        printf("%" PRIu64 " kills, %" PRIu64 " audits\n", count.kills, count.audits);
        }
}

static void play(int unused, void *unused_arg)
{
        const struct inspection alone = { .is_alone = true };
        uint64_t started_ns = crew_clock_ns();

        (void)unused, (void)unused_arg;
        inspect(&alone); /* makes all that there is */
        for (int seat = 0; seat < SEATS; seat++)
                start_worker(seat);
        run();
        kill_all();
        inspect(&alone);
        inspect(&alone); /* whoever was alone was the last to close it */
        deeds_forget(&state);
        printf("%s, %s: %" PRIu64 " kills in %.1f s (%" PRIu64 " times everybody), %" PRIu64 " deeds done, %" PRIu64
               " left in good order, %" PRIu64 " audits\n",
               xtree_names[ledger->deeds.kind], mode->name, count.kills, (double)(crew_clock_ns() - started_ns) / 1e9,
               count.all, atomic_load(&ledger->deeds_done), atomic_load(&ledger->leaves), count.audits);
        fflush(stdout);
}

/* In a process of its own, so that whatever happens the scratch directory is removed. */
static bool try_mode(const struct mode *chosen, enum xtree_kind kind)
{
        int status, left;

        mode = chosen;
        ledger = crew_shared(sizeof(*ledger));
        ledger->deeds = (struct deeds){ .kind = kind,
                                        .seed = chance_next(&chance),
                                        .lanes = LANES,
                                        .keys = 60,
                                        .period = 400,
                                        .large_permille = 30 };
        if (kind == XTREE_COBTREE) { /* pages move in larger trees only */
                ledger->deeds.keys = 400;
                ledger->deeds.bulk_permille = 40;
        }
        check_equal(scratch_make(1), 0);
        directory = scratch_path("env");
        status = crew_status(crew_fork(play, 0, NULL));
        left = scratch_shared_memory_left(1);
        scratch_remove();
        if (status || left)
                printf("FAILED: %s, %s (status %x, shared memory left: %d)\n", xtree_names[kind], mode->name, status,
                       left);
        return !status && !left;
}

static void parse(int argc, char **argv)
{
        static const struct option known[] = {
                { "kills", required_argument, NULL, 'k' },
                { "seconds", required_argument, NULL, 's' },
                { "only", required_argument, NULL, 'o' },
                { "tree", required_argument, NULL, 't' },
                { "seed", required_argument, NULL, 'x' },
                { "verbose", no_argument, NULL, 'v' },
                { NULL, 0, NULL, 0 },
        };
        for (int c; (c = getopt_long(argc, argv, "", known, NULL)) != -1;) {
                switch (c) {
                case 'k':
                        options.kills = strtoull(optarg, NULL, 0);
                        break;
                case 's':
                        options.seconds = strtod(optarg, NULL);
                        break;
                case 'o':
                        options.only = optarg;
                        break;
                case 't':
                        options.tree = optarg;
                        break;
                case 'x':
                        setenv("XAC_TEST_SEED", optarg, 1);
                        break;
                case 'v':
                        options.is_verbose = true;
                        break;
                default:
                        exit(2);
                }
        }
}

/* Returns how many were tried; -1: one went wrong. */
static int try_modes(enum xtree_kind kind)
{
        int tried = 0;

        if (options.tree && strcmp(options.tree, xtree_names[kind]) != 0)
                return 0;
        for (unsigned i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
                if (options.only && strcmp(options.only, modes[i].name) != 0)
                        continue;
                if (!try_mode(&modes[i], kind))
                        return -1;
                tried++;
        }
        return tried;
}

int main(int argc, char **argv)
{
        int tried = 0;

        parse(argc, argv);
        setvbuf(stdout, NULL, _IOLBF, 0);
        chance.state = chance_seed();
        for (int kind = 0; kind < XTREE_KINDS; kind++) {
                int more = try_modes((enum xtree_kind)kind);

                if (more < 0)
                        return 1;
                tried += more;
        }
        return !tried;
}
