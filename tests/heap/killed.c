/* SPDX-License-Identifier: MIT */

/*
 * Eight processes allocate and free at random in one heap, with aborts, and are killed (SIGKILL) at random moments, one
 * by one or all at once. Shown after each round, while the others work: every byte of the heap is accounted for, what
 * lives there is what a model says after as many deeds of each (deeds.h), byte by byte and nothing else, and no
 * transaction that a worker was told of is missing. In the mode "machine" the shared memory goes as well when all are
 * killed: what was promised to be durable is there, and nothing in part.
 *
 *      killed [--seconds S | --operations N] [--only MODE]      S seconds, or until there were so many calls, in each
 *                                                               mode; XAC_TEST_SEED replays the draws
 */

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/heap/deeds.h"
#include "tests/kill/audit.h"
#include "tests/support/check.h"
#include "tests/support/crew.h"
#include "tests/support/scratch.h"

enum {
        WORKERS = 8,
        CHANGES = 30,
        LARGE = 60000,
        ROUND_MS = 150,
        ALL_PERCENT = 20,
        LOG_BYTES = 1 << 20,
        OPERATIONS_PER_ROUND = 5000
};

static const struct mode {
        const char *name;
        int flags;
        bool is_machine;
} modes[] = { { "volatile", XAC_VOLATILE, false }, { "durable", 0, false }, { "machine", 0, true } };

/* In memory that processes share. */
static struct {
        _Atomic uint64_t told[WORKERS]; /* deeds that each knows of */
        _Atomic uint64_t operations;
        struct heap_lane lane[WORKERS]; /* as the last audit saw them; theirs */
} * ledger;

static struct heap_deeds deeds = { .lanes = WORKERS, .changes = CHANGES, .size_max = LARGE };
static const struct mode *mode;
static struct chance chance;
static uint64_t rounds, kills;

static void open_heap(struct heap_desk *desk)
{
        const xac_options options = { .log_bytes = LOG_BYTES };
        xac_env *env;

        check_ok(xac_open(scratch_path(mode->name), XAC_CREATE | mode->flags, &options, &env));
        check_ok(heap_deeds_open(desk, &deeds, env, XAC_CREATE));
}

/* ---- workers ---- */

/* So many are there: what was told, or one more, which its worker did not live to hear of. */
static void hold_to(int index, uint64_t done)
{
        const uint64_t told = atomic_load(&ledger->told[index]);

        if (done != told && done != told + 1)
                check_failed(__FILE__, __LINE__,
                             "worker %d was told of %" PRIu64 " deeds, of which %" PRIu64 " are there", index, told,
                             done);
        atomic_store(&ledger->told[index], done);
}

/* The next deed of its lane; what it is thrown away for now and then is done again. */
static void do_next(struct heap_desk *desk, int index, bool is_aborted)
{
        const uint64_t before = desk->operations;
        uint64_t k;

        check_ok(xbegin(desk->env, 0));
        check_ok(heap_deeds_do(desk, (unsigned)index, UINT64_MAX, &k));
        int err = is_aborted ? xabort(desk->env) : xend(desk->env);
        check(!err || err == XAC_CONFLICT);
        if (!err && !is_aborted)
                atomic_store(&ledger->told[index], k);
        atomic_fetch_add(&ledger->operations, desk->operations - before);
}

static void work(int index, void *seed)
{
        struct chance own = { chance_mix(*(uint64_t *)seed + (uint64_t)index) };
        struct heap_desk desk;

        open_heap(&desk);
        hold_to(index,
                table_changes(desk.env, desk.tables[index])); /* whoever was here before died in the last, perhaps */
        for (;;)
                do_next(&desk, index, chance_percent(&own, 10));
}

/* ---- audits ---- */

/* What a snapshot has, while others go on. */
static void compare(struct heap_desk *desk, uint64_t done[WORKERS])
{
        char text[400];

        check_ok(xbegin(desk->env, XAC_RDONLY));
        for (unsigned i = 0; i < WORKERS; i++) {
                done[i] = heap_deeds_counter(desk, i);
                heap_deeds_go_to(&ledger->lane[i], &deeds, i, done[i]);
        }
        if (!heap_deeds_are_done(ledger->lane, desk, text, sizeof(text)))
                check_failed(__FILE__, __LINE__, "%s", text);
        check_ok(xend(desk->env));
}

/* `is_quiet`: nobody works, so that nobody can be further than he was told but by the one he died in. */
static void audit(bool is_quiet)
{
        struct heap_desk desk;
        uint64_t told[WORKERS], done[WORKERS];

        for (int i = 0; i < WORKERS; i++)
                told[i] = atomic_load(&ledger->told[i]);
        open_heap(&desk);
        compare(&desk, done);
        for (int i = 0; i < WORKERS; i++) {
                check(done[i] >= told[i]);
                if (is_quiet)
                        hold_to(i, done[i]);
        }
        check_ok(heap_deeds_close(&desk));
        if (is_quiet)
                check_equal(audit_shared(desk.env, true), 0);
        check_ok(xac_close(desk.env));
}

static void audit_in_a_process(int is_quiet, void *unused)
{
        (void)unused;
        audit(is_quiet);
}

static void kill_all(pid_t worker[])
{
        for (int i = 0; i < WORKERS; i++) {
                crew_kill(worker[i]);
                kills++;
        }
        if (mode->is_machine)
                audit_remove_shared_memory(scratch_path(mode->name));
        crew_join(crew_fork(audit_in_a_process, true, NULL));
}

static void start(pid_t worker[], int i)
{
        uint64_t *seed = crew_shared(sizeof(*seed));

        *seed = chance_next(&chance);
        worker[i] = crew_fork(work, i, seed);
}

static void kill_one(pid_t worker[])
{
        int i = (int)chance_below(&chance, WORKERS);

        crew_kill(worker[i]);
        kills++;
        crew_join(crew_fork(audit_in_a_process, false, NULL));
        start(worker, i);
}

/* Whether there were so many operations, and rounds enough for so many. */
static bool is_enough(uint64_t operations)
{
        return atomic_load(&ledger->operations) >= operations && rounds >= operations / OPERATIONS_PER_ROUND;
}

/* For so long; or until there were so many operations. */
static void run_rounds(uint64_t seconds, uint64_t operations)
{
        const uint64_t end = crew_clock_ns() + seconds * 1000000000u;
        pid_t worker[WORKERS];

        for (int i = 0; i < WORKERS; i++)
                start(worker, i);
        for (; operations ? !is_enough(operations) : crew_clock_ns() < end; rounds++) {
                crew_sleep_ms((unsigned)chance_below(&chance, ROUND_MS));
                if (!chance_percent(&chance, ALL_PERCENT)) {
                        kill_one(worker);
                        continue;
                }
                kill_all(worker);
                for (int i = 0; i < WORKERS; i++)
                        start(worker, i);
        }
        kill_all(worker);
}

static void run_mode(uint64_t seconds, uint64_t operations)
{
        ledger = crew_shared(sizeof(*ledger));
        deeds.seed = chance_next(&chance);
        rounds = kills = 0;
        run_rounds(seconds, operations);
        check_equal(scratch_shared_memory_of(scratch_path(mode->name)), 0);
        printf("heap, %s: %" PRIu64 " kills in %" PRIu64 " rounds, %" PRIu64 " operations: every byte accounted for\n",
               mode->name, kills, rounds + 1, atomic_load(&ledger->operations));
        fflush(stdout);
}

int main(int argc, char **argv)
{
        static const struct option known[] = { { "seconds", required_argument, NULL, 's' },
                                               { "operations", required_argument, NULL, 'n' },
                                               { "only", required_argument, NULL, 'o' },
                                               { 0 } };
        uint64_t seconds = 2, operations = 0;
        const char *only = NULL;

        for (int option; (option = getopt_long(argc, argv, "", known, NULL)) != -1;) {
                if (option == '?')
                        return 2;
                if (option == 's')
                        seconds = strtoull(optarg, NULL, 10);
                else if (option == 'n')
                        operations = strtoull(optarg, NULL, 10);
                else
                        only = optarg;
        }
        setpgid(0, 0);
        check_ok(scratch_make(0));
        chance.state = chance_seed();
        for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
                mode = &modes[i];
                if (!only || !strcmp(only, mode->name))
                        run_mode(seconds, operations);
        }
        scratch_remove();
        return 0;
}
