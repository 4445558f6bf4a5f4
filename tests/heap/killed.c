/* SPDX-License-Identifier: MIT */

/*
 * Eight processes allocate and free at random in one heap, with aborts, and are killed (SIGKILL) at random moments, one
 * by one or all at once. Shown after each round, while the others work: every byte of the heap is accounted for, what
 * the tables lead to is all that lives, and no transaction that a worker was told of is missing. In the mode "machine"
 * the shared memory goes as well when all are killed: what was promised to be durable is there, and nothing in part.
 *
 *      killed [--seconds S] [--only MODE]                 S seconds in each mode; XAC_TEST_SEED replays the draws
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

#include "tests/heap/tables.h"
#include "tests/kill/audit.h"
#include "tests/support/check.h"
#include "tests/support/crew.h"
#include "tests/support/scratch.h"

enum { WORKERS = 8, OPERATIONS = 30, LARGE = 60000, ROUND_MS = 150, ALL_PERCENT = 20, LOG_BYTES = 1 << 20 };

static const struct mode {
        const char *name;
        int flags;
        bool is_machine;
} modes[] = { { "volatile", XAC_VOLATILE, false }, { "durable", 0, false }, { "machine", 0, true } };

/* In memory that processes share. */
static struct {
        _Atomic uint64_t told; /* changes of its table that it knows of */
} * ledger;

static const struct mode *mode;
static struct chance chance;
static uint64_t rounds, kills;

static void open_heap(xac_env **env, xac_heap **heap)
{
        const xac_options options = { .log_bytes = LOG_BYTES };

        check_ok(xac_open(scratch_path(mode->name), XAC_CREATE | mode->flags, &options, env));
        check_ok(xac_heap_open(*env, "heap", XAC_CREATE, heap));
}

/* ---- workers ---- */

/* So many are there: what was told, or one more, which its worker did not live to hear of. */
static void hold_to(int index, uint64_t changes)
{
        const uint64_t told = atomic_load(&ledger[index].told);

        if (changes != told && changes != told + 1)
                check_failed(__FILE__, __LINE__,
                             "worker %d was told of %" PRIu64 " changes, of which %" PRIu64 " are there", index, told,
                             changes);
        atomic_store(&ledger[index].told, changes);
}

static void work(int index, void *seed)
{
        struct chance own = { chance_mix(*(uint64_t *)seed + (uint64_t)index) };
        xac_env *env;
        xac_heap *heap;

        open_heap(&env, &heap);
        struct table *table = table_open(heap, index);
        hold_to(index, table_changes(env, table)); /* whoever was here before died in the last, perhaps */
        for (;;) {
                check_ok(xbegin(env, 0));
                for (uint64_t n = chance_below(&own, OPERATIONS); n--;)
                        table_change(heap, table, &own, LARGE);
                uint64_t told = table_count(table);
                const bool is_aborted = chance_percent(&own, 10);
                int err = is_aborted ? xabort(env) : xend(env);
                check(!err || err == XAC_CONFLICT);
                if (!err && !is_aborted)
                        atomic_store(&ledger[index].told, told);
        }
}

/* ---- audits ---- */

/* `is_quiet`: nobody works, so that nobody can be further than he was told but by the one he died in. */
static void audit(bool is_quiet)
{
        xac_env *env;
        xac_heap *heap;
        uint64_t told[WORKERS];

        for (int i = 0; i < WORKERS; i++)
                told[i] = atomic_load(&ledger[i].told);
        open_heap(&env, &heap);
        tables_check(env, heap);
        for (int i = 0; i < WORKERS; i++) {
                uint64_t changes = table_changes(env, table_open(heap, i));
                check(changes >= told[i]);
                if (is_quiet)
                        hold_to(i, changes);
        }
        check_ok(xac_heap_close(heap));
        if (is_quiet)
                check_equal(audit_shared(env, true), 0);
        check_ok(xac_close(env));
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

static void run_rounds(uint64_t seconds)
{
        const uint64_t end = crew_clock_ns() + seconds * 1000000000u;
        pid_t worker[WORKERS];

        for (int i = 0; i < WORKERS; i++)
                start(worker, i);
        for (; crew_clock_ns() < end; rounds++) {
                crew_sleep_ms((unsigned)chance_below(&chance, ROUND_MS));
                if (chance_percent(&chance, ALL_PERCENT)) {
                        kill_all(worker);
                        for (int i = 0; i < WORKERS; i++)
                                start(worker, i);
                        continue;
                }
                int i = (int)chance_below(&chance, WORKERS);
                crew_kill(worker[i]);
                kills++;
                crew_join(crew_fork(audit_in_a_process, false, NULL));
                start(worker, i);
        }
        kill_all(worker);
}

int main(int argc, char **argv)
{
        static const struct option known[] = { { "seconds", required_argument, NULL, 's' },
                                               { "only", required_argument, NULL, 'o' },
                                               { 0 } };
        uint64_t seconds = 2;
        const char *only = NULL;

        for (int option; (option = getopt_long(argc, argv, "", known, NULL)) != -1;) {
                if (option == '?')
                        return 2;
                if (option == 's')
                        seconds = strtoull(optarg, NULL, 10);
                else
                        only = optarg;
        }
        setpgid(0, 0);
        check_ok(scratch_make(0));
        chance.state = chance_seed();
        for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
                mode = &modes[i];
                if (only && strcmp(only, mode->name))
                        continue;
                ledger = crew_shared(WORKERS * sizeof(*ledger));
                rounds = kills = 0;
                run_rounds(seconds);
                check_equal(scratch_shared_memory_of(scratch_path(mode->name)), 0);
                printf("%s: %" PRIu64 " rounds, %" PRIu64 " kills: every byte accounted for\n", mode->name, rounds,
                       kills);
                fflush(stdout);
        }
        scratch_remove();
        return 0;
}
