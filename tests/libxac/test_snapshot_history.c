/* SPDX-License-Identifier: MIT */

/*
 * Random histories: several processes of several threads change a stamped file, and look at it in snapshots which they
 * open, refresh, join by their numbers and close, and in transactions. Whatever they see must be right to the byte for
 * the commit that it claims to be of. Half of the rounds kill processes at random; what they had is taken back.
 *
 * XAC_STRESS_SECONDS says for how long; by default some seconds.
 */

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/libxac/snapshot_stand.h"
#include "tests/support/chance.h"
#include "tests/support/crew.h"
#include "tests/support/isolate.h"
#include "tests/support/leeway.h"

enum {
        SLOTS = 5,      /* snapshots that the threads of a process share */
        ANNOUNCED = 16, /* numbers that one may try to join */
        PROCESSES_MAX = 4,
        THREADS_MAX = 4,
        ROUND_MS = 900,
        DEFAULT_SECONDS = 6
};

/* What all processes of a round know. */
struct round {
        struct stand stand;
        unsigned processes, threads;
        bool is_killing;
        uint64_t base; /* a commit's sequence less its number */
        _Atomic bool is_over;
        _Atomic uint64_t announced[ANNOUNCED];
        _Atomic uint64_t commits, scans, snapshots, joins;
};

struct slot {
        pthread_rwlock_t lock;
        xac_snapshot *snapshot; /* NULL: none */
};

static struct slot slots[SLOTS];

/* A thread at work. */
struct worker {
        struct round *round;
        struct stand stand; /* the environment as it opened it, its view, its model */
        struct chance chance;
};

static uint64_t draw(struct worker *worker, uint64_t below)
{
        return chance_below(&worker->chance, below);
}

/* ---- Looking ---- */

static void look_at(struct worker *worker, const char *bytes, uint64_t expected)
{
        const struct stamped *stamped = &worker->stand.stamped;

        if (draw(worker, 3) == 0) {
                check_equal(stamped_check(&worker->stand.model, bytes), expected);
        } else {
                uint32_t pages = 1 + (uint32_t)draw(worker, stamped->pages < 50 ? stamped->pages : 50);
                uint32_t first = (uint32_t)draw(worker, stamped->pages - pages + 1);

                (void)((const volatile char *)bytes)[(size_t)first * stamped->page_bytes]; /* the first touch */
                check_equal(stamped_check_pages(&worker->stand.model, bytes, first, pages), expected);
        }
        worker->round->scans++;
}

static void look_at_slot(struct worker *worker)
{
        struct slot *slot = &slots[draw(worker, SLOTS)];

        pthread_rwlock_rdlock(&slot->lock);
        if (slot->snapshot != NULL)
                look_at(worker, stand_map(&worker->stand, slot->snapshot),
                        xac_snapshot_sequence(slot->snapshot) - worker->round->base);
        pthread_rwlock_unlock(&slot->lock);
}

static void look_in_transaction(struct worker *worker)
{
        struct stand *stand = &worker->stand;
        int flags = XAC_RDONLY | (seat_is_durable() && draw(worker, 4) == 0 ? XAC_DURABLE : 0);

        if (stand->way == WAY_COMPILED) /* several threads' views at one address show no page (R25) */
                return;
        check_ok(xbegin(stand->env, flags));
        look_at(worker, stand->view, stamped_number(stand->view));
        check_ok(xend(stand->env));
}

/* ---- Snapshots ---- */

static int join_announced(struct worker *worker, xac_snapshot **out)
{
        uint64_t sequence = worker->round->announced[draw(worker, ANNOUNCED)];
        int outcome;

        if (sequence == 0)
                return -ESTALE;
        outcome = xac_snapshot_open_at(worker->stand.env, sequence, out);
        check(outcome == 0 || outcome == -ESTALE);
        if (outcome == 0) {
                check_equal(xac_snapshot_sequence(*out), sequence);
                worker->round->joins++;
        }
        return outcome;
}

/* From another slot of the process, if there is a snapshot that nobody is about to close. */
static int refresh_another(struct worker *worker, xac_snapshot **out)
{
        struct slot *slot = &slots[draw(worker, SLOTS)];
        int outcome = -ESTALE;

        if (pthread_rwlock_tryrdlock(&slot->lock) != 0)
                return outcome;
        if (slot->snapshot != NULL) {
                outcome = xac_snapshot_refresh(slot->snapshot, out);
                check_ok(outcome);
                check(xac_snapshot_sequence(*out) >= xac_snapshot_sequence(slot->snapshot));
        }
        pthread_rwlock_unlock(&slot->lock);
        return outcome;
}

static int open_one(struct worker *worker, xac_snapshot **out)
{
        switch (draw(worker, 4)) {
        case 0:
                return join_announced(worker, out);
        case 1:
                return refresh_another(worker, out);
        case 2:
                return xac_snapshot_open(worker->stand.env, seat_is_durable() ? XAC_DURABLE : 0, out);
        default:
                return xac_snapshot_open(worker->stand.env, 0, out);
        }
}

/* It is exchanged for another one, or only closed or opened. */
static void change_slot(struct worker *worker, bool is_filled)
{
        struct slot *slot = &slots[draw(worker, SLOTS)];
        xac_snapshot *fresh = NULL;

        if (is_filled && open_one(worker, &fresh) != 0)
                return;
        pthread_rwlock_wrlock(&slot->lock);
        if (slot->snapshot != NULL)
                check_ok(xac_snapshot_close(slot->snapshot));
        slot->snapshot = fresh;
        if (fresh != NULL) {
                worker->round->announced[draw(worker, ANNOUNCED)] = xac_snapshot_sequence(fresh);
                worker->round->snapshots++;
        }
        pthread_rwlock_unlock(&slot->lock);
}

/* ---- Changes ---- */

static void change_file(struct worker *worker)
{
        struct stand *stand = &worker->stand;
        uint64_t number;
        int flags = draw(worker, 8) != 0 ? XAC_NOSYNC : 0;
        int outcome = stamped_commit(&stand->stamped, stand->env, stand->view, stand->way, flags, &number);

        if (outcome == XAC_FULL) { /* snapshots fill the pool */
                change_slot(worker, false);
                return;
        }
        check_ok(outcome);
        worker->round->commits++;
}

static void give_up(struct worker *worker)
{
        struct stand *stand = &worker->stand;

        check_ok(xbegin(stand->env, 0));
        (void)stamped_change(&stand->stamped, stand->env, stand->view, stand->way);
        check_ok(xabort(stand->env));
}

/* ---- Processes and threads ---- */

static void do_something(struct worker *worker)
{
        uint64_t what = draw(worker, 100);

        if (what < 45)
                change_file(worker);
        else if (what < 48)
                give_up(worker);
        else if (what < 70)
                look_at_slot(worker);
        else if (what < 80)
                look_in_transaction(worker);
        else if (what < 97)
                change_slot(worker, what < 93);
        else if (what < 99)
                check_ok(xac_checkpoint(worker->stand.env));
        else
                check_ok(xac_sync(worker->stand.env));
}

/* All threads of a process run as compiled code does, at one address, or none. */
static int random_way(struct worker *worker, uint64_t seed)
{
        if (chance_mix(seed) % 4 == 0)
                return WAY_COMPILED;
        return draw(worker, 2) ? WAY_DECLARED : 0;
}

struct process {
        struct round *round;
        uint64_t seed;
};

static void thread_main(int index, void *process_)
{
        const struct process *process = process_;
        struct worker worker = { process->round, process->round->stand, { process->seed + (uint64_t)index } };

        worker.stand.way = random_way(&worker, process->seed);
        stand_open(&worker.stand);
        while (!process->round->is_over)
                do_something(&worker);
        stand_close(&worker.stand);
}

static void process_main(int index, void *process_)
{
        struct process process = *(struct process *)process_;

        process.seed += chance_mix((uint64_t)index);
        for (int i = 0; i < SLOTS; i++)
                check_equal(pthread_rwlock_init(&slots[i].lock, NULL), 0);
        crew_threads((int)process.round->threads, thread_main, &process);
        for (int i = 0; i < SLOTS; i++)
                if (slots[i].snapshot != NULL)
                        check_ok(xac_snapshot_close(slots[i].snapshot));
}

/* ---- Rounds ---- */

/* Some are killed, and others come in their place. */
static void run_processes(struct round *round, struct chance *chance)
{
        struct process process = { round, chance_next(chance) };
        uint64_t end_ns = crew_clock_ns() + ROUND_MS * UINT64_C(1000000);
        pid_t pids[PROCESSES_MAX];
        int count = 0;

        while (count < (int)round->processes) {
                pids[count] = crew_fork(process_main, count, &process);
                count++;
        }
        while (crew_clock_ns() < end_ns) {
                uint64_t victim = chance_below(chance, round->processes);

                crew_sleep_ms(1 + (unsigned)chance_below(chance, 60));
                if (!round->is_killing)
                        continue;
                crew_kill(pids[victim]);
                pids[victim] = crew_fork(process_main, count++, &process);
        }
        round->is_over = true;
        for (unsigned i = 0; i < round->processes; i++)
                crew_join(pids[i]);
}

/* A change of most pages needs nearly all of the smallest pool, and what is not at home needs it, too. */
static void commit_alone(struct stand *stand, unsigned count)
{
        for (unsigned i = 0; i < count; i++) {
                check_ok(xac_checkpoint(stand->env));
                stand_commit(stand);
        }
}

static uint64_t used_when_quiet(struct stand *stand)
{
        commit_alone(stand, 3);
        check_ok(xac_checkpoint(stand->env));
        return stand_stats(stand).pool_bytes_used;
}

/* All of the others are gone: of what they had nothing is left. */
static void check_given_back(struct stand *stand, uint64_t used)
{
        struct leeway left = leeway_of(10000);
        uint64_t now;

        while ((now = used_when_quiet(stand)) > used) {
                if (!leeway_is_left(&left))
                        check_failed(__FILE__, __LINE__, "%llu bytes of the pool are used, %llu were before",
                                     (unsigned long long)now, (unsigned long long)used);
                crew_sleep_ms(20);
        }
        check_equal(stand_stats(stand).participants, 1);
}

static struct stamped random_file(struct chance *chance)
{
        static const uint32_t page_bytes[] = { 4096, 4096, 16384, 65536 };
        static const uint32_t lengths[] = { 0, 1 << 20, 2 << 20, 3 << 20, 4 << 20, 7 << 20 };
        struct stamped stamped = { chance_next(chance), page_bytes[chance_below(chance, 4)], 0 };

        stamped.pages = lengths[chance_below(chance, 6)] / stamped.page_bytes + 2 + (uint32_t)chance_below(chance, 3);
        return stamped;
}

static void round_run(struct round *round, struct chance *chance)
{
        static const uint64_t pools[] = { 0, 0, 32 << 20, 8 << 20 };
        uint64_t used;

        memset(round, 0, sizeof(*round));
        round->stand.stamped = random_file(chance);
        round->stand.pool_bytes = pools[chance_below(chance, 4)];
        round->stand.scan_bytes = chance_percent(chance, 30); /* as little as there may be, or as always */
        round->processes = 1 + (unsigned)chance_below(chance, PROCESSES_MAX);
        round->threads = 1 + (unsigned)chance_below(chance, THREADS_MAX);
        round->is_killing = chance_percent(chance, 50);
        stand_open(&round->stand);
        round->base = stand_stats(&round->stand).sequence;
        commit_alone(&round->stand, 20);
        used = used_when_quiet(&round->stand);
        run_processes(round, chance);
        check_given_back(&round->stand, used);
        check_ok(xbegin(round->stand.env, XAC_RDONLY));
        stand_check(&round->stand, round->stand.view, stand_stats(&round->stand).sequence - round->base);
        check_ok(xend(round->stand.env));
        stand_close(&round->stand);
        scratch_clear();
}

static void round_print(const struct round *round)
{
        printf("%u processes of %u threads%s, %u pages of %u bytes, pool %llu MiB: %llu commits, %llu snapshots (%llu "
               "joined), %llu looks\n",
               round->processes, round->threads, round->is_killing ? ", killed" : "", round->stand.stamped.pages,
               round->stand.stamped.page_bytes, (unsigned long long)round->stand.pool_bytes >> 20,
               (unsigned long long)round->commits, (unsigned long long)round->snapshots,
               (unsigned long long)round->joins, (unsigned long long)round->scans);
        fflush(stdout);
}

static unsigned stress_seconds(void)
{
        const char *chosen = getenv("XAC_STRESS_SECONDS");

        return chosen != NULL ? (unsigned)atoi(chosen) : DEFAULT_SECONDS;
}

static void whatever_happens_snapshots_are_right(void)
{
        struct round *round = crew_shared(sizeof(*round));
        struct chance chance = { chance_seed() };
        uint64_t end_ns = crew_clock_ns() + stress_seconds() * UINT64_C(1000000000);

        do {
                round_run(round, &chance);
                round_print(round);
        } while (crew_clock_ns() < end_ns);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_timed(whatever_happens_snapshots_are_right, 30 + stress_seconds()),
        };
        return cmocka_run_group_tests_name("snapshot_history", tests, NULL, NULL);
}
