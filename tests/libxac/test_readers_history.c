/* SPDX-License-Identifier: MIT */

/*
 * Random histories of who reads much: threads of several processes scan a stamped file in read-only transactions, look
 * at some pages of it, read what is durable, change it in the same view, store where they may not, and give up. What
 * they see must be right to the byte, and no older than what had been committed when they began (P1). Half of the
 * rounds kill processes at random.
 *
 * XAC_STRESS_SECONDS says for how long; by default some seconds.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/libxac/snapshot_stand.h"
#include "tests/support/chance.h"
#include "tests/support/crew.h"
#include "tests/support/isolate.h"

enum { PROCESSES_MAX = 4, THREADS_MAX = 3, ROUND_MS = 900, DEFAULT_SECONDS = 6 };

/* What all processes of a round know. */
struct round {
        struct stand stand;
        unsigned processes, threads;
        bool is_killing;
        _Atomic bool is_over;
        _Atomic uint64_t newest;  /* a change whose commit has returned */
        _Atomic uint64_t durable; /* the same, on disk */
        _Atomic uint64_t scans, looks, durables, commits, stores;
};

/* A thread at work. */
struct worker {
        struct round *round;
        struct stand stand; /* the environment as it opened it, its view, its model */
        struct chance chance;
        uint64_t seed; /* of its process */
};

static uint64_t draw(struct worker *worker, uint64_t below)
{
        return chance_below(&worker->chance, below);
}

static void raise_to(_Atomic uint64_t *number, uint64_t to)
{
        uint64_t now = atomic_load(number);

        while (now < to && !atomic_compare_exchange_weak(number, &now, to))
                ;
}

/* ---- Reading ---- */

static uint64_t look_at_some(struct worker *worker, uint32_t pages)
{
        const struct stamped *stamped = &worker->stand.stamped;
        uint32_t count = pages < stamped->pages ? pages : stamped->pages;
        uint32_t first = (uint32_t)draw(worker, stamped->pages - count + 1);

        (void)((const volatile char *)worker->stand.view)[(size_t)first * stamped->page_bytes]; /* the first touch */
        return stamped_check_pages(&worker->stand.model, worker->stand.view, first, count);
}

/* In the open transaction; all that it sees is of one commit. */
static uint64_t look_around(struct worker *worker)
{
        uint64_t number;

        if (draw(worker, 2)) {
                number = look_at_some(worker, 1);
                for (uint64_t left = draw(worker, 6); left > 0; left--)
                        check_equal(look_at_some(worker, 1 + (uint32_t)draw(worker, 3)), number);
                worker->round->looks++;
                return number;
        }
        number = draw(worker, 2) ? look_at_some(worker, 600) : stamped_check(&worker->stand.model, worker->stand.view);
        if (draw(worker, 4) == 0)
                check_equal(stamped_check(&worker->stand.model, worker->stand.view), number);
        worker->round->scans++;
        return number;
}

static void read_newest(struct worker *worker)
{
        uint64_t newest = worker->round->newest;

        check_ok(xbegin(worker->stand.env, XAC_RDONLY));
        check(look_around(worker) >= newest);
        check_ok(xend(worker->stand.env));
}

static void read_durable(struct worker *worker)
{
        uint64_t durable = worker->round->durable;

        check_ok(xbegin(worker->stand.env, XAC_RDONLY | XAC_DURABLE));
        check(look_around(worker) >= durable);
        check_ok(xend(worker->stand.env));
        worker->round->durables++;
}

/* It is told at the end, and nobody sees what was stored. */
static void store_where_one_may_not(struct worker *worker)
{
        struct stand *stand = &worker->stand;
        size_t offset = (size_t)draw(worker, stamped_byte_len(&stand->stamped) / 8) * 8;
        volatile uint64_t *word = (volatile uint64_t *)(stand->view + offset);

        check_ok(xbegin(stand->env, XAC_RDONLY));
        if (draw(worker, 2))
                look_around(worker);
        *word += 1;
        check_code(xend(stand->env), XAC_WROTE);
        worker->round->stores++;
}

/* ---- Changing ---- */

/* As a reader's: one snapshot, also when it is lost; it has read what it looked at before it changes the file. */
static void change_what_was_read(struct worker *worker)
{
        struct stand *stand = &worker->stand;
        uint64_t number;
        int outcome, is_lost;

        check_ok(xbegin(stand->env, XAC_NOSYNC));
        number = look_around(worker);
        is_lost = stamped_change(&stand->stamped, stand->env, stand->view, stand->way);
        if (!is_lost && draw(worker, 2))
                check_equal(look_around(worker), number + 1);
        outcome = draw(worker, 4) ? xend(stand->env) : xabort(stand->env);
        if (outcome != XAC_CONFLICT)
                check_ok(outcome);
}

static void change_file(struct worker *worker)
{
        struct stand *stand = &worker->stand;
        int flags = draw(worker, 8) ? XAC_NOSYNC : 0;
        uint64_t number;

        check_ok(stamped_commit(&stand->stamped, stand->env, stand->view, stand->way, flags, &number));
        raise_to(&worker->round->newest, number);
        if (flags == 0)
                raise_to(&worker->round->durable, number);
        worker->round->commits++;
}

static void sync_all(struct worker *worker)
{
        uint64_t newest = worker->round->newest;

        check_ok(draw(worker, 2) ? xac_sync(worker->stand.env) : xac_checkpoint(worker->stand.env));
        raise_to(&worker->round->durable, newest);
}

/* ---- Processes and threads ---- */

/* Of each hundred. */
static void do_something(struct worker *worker)
{
        uint64_t what = draw(worker, 100);

        if (what < 40)
                read_newest(worker);
        else if (what < 50 && seat_is_durable())
                read_durable(worker);
        else if (what < 54)
                store_where_one_may_not(worker);
        else if (what < 64)
                change_what_was_read(worker);
        else if (what < 97)
                change_file(worker);
        else
                sync_all(worker);
}

static void open_mine(struct worker *worker)
{
        static const int ways[] = { 0, 0, 0, WAY_DECLARED, WAY_TRACK };

        worker->stand = worker->round->stand;
        worker->stand.flags = chance_mix(worker->seed) % 4 == 0 ? XAC_STRICT : 0;
        worker->stand.way = ways[chance_mix(worker->seed + 1) % 5];
        stand_open(&worker->stand);
}

static void thread_main(int index, void *worker_)
{
        struct worker worker = *(struct worker *)worker_;

        worker.chance.state = worker.seed + (uint64_t)index;
        open_mine(&worker);
        while (!worker.round->is_over)
                do_something(&worker);
        stand_close(&worker.stand);
}

static void process_main(int index, void *worker_)
{
        struct worker worker = *(struct worker *)worker_;

        worker.seed += chance_mix((uint64_t)index);
        crew_threads((int)worker.round->threads, thread_main, &worker);
}

/* Some are killed, and others come in their place. */
static void run_processes(struct round *round, struct chance *chance)
{
        struct worker first = { .round = round, .seed = chance_next(chance) };
        uint64_t end_ns = crew_clock_ns() + ROUND_MS * UINT64_C(1000000);
        pid_t pids[PROCESSES_MAX];
        int count = 0;

        for (; count < (int)round->processes; count++)
                pids[count] = crew_fork(process_main, count, &first);
        while (crew_clock_ns() < end_ns) {
                uint64_t victim = chance_below(chance, round->processes);

                crew_sleep_ms(1 + (unsigned)chance_below(chance, 80));
                if (!round->is_killing)
                        continue;
                crew_kill(pids[victim]);
                pids[victim] = crew_fork(process_main, count++, &first);
        }
        round->is_over = true;
        for (unsigned i = 0; i < round->processes; i++)
                crew_join(pids[i]);
}

static struct stamped random_file(struct chance *chance)
{
        static const uint32_t page_bytes[] = { 4096, 4096, 16384, 65536 };
        static const uint32_t lengths[] = { 1 << 20, 2 << 20, 3 << 20, 5 << 20, 9 << 20 };
        struct stamped stamped = { chance_next(chance), page_bytes[chance_below(chance, 4)], 0 };

        stamped.pages = lengths[chance_below(chance, 5)] / stamped.page_bytes + 2 + (uint32_t)chance_below(chance, 3);
        return stamped;
}

static void round_run(struct round *round, struct chance *chance)
{
        memset(round, 0, sizeof(*round));
        round->stand.stamped = random_file(chance);
        round->stand.scan_bytes = chance_percent(chance, 30); /* as little as there may be, or as always */
        round->processes = 1 + (unsigned)chance_below(chance, PROCESSES_MAX);
        round->threads = 1 + (unsigned)chance_below(chance, THREADS_MAX);
        round->is_killing = chance_percent(chance, 50);
        stand_open(&round->stand);
        stand_commits(&round->stand, 20);
        run_processes(round, chance);
        check_ok(xbegin(round->stand.env, XAC_RDONLY));
        check(stamped_check(&round->stand.model, round->stand.view) >= round->newest);
        check_ok(xend(round->stand.env));
        stand_close(&round->stand);
        scratch_clear();
}

static void round_print(const struct round *round)
{
        printf("%u processes of %u threads%s, %u pages of %u bytes: %llu commits, %llu scans, %llu looks, %llu "
               "durable, "
               "%llu stores\n",
               round->processes, round->threads, round->is_killing ? ", killed" : "", round->stand.stamped.pages,
               round->stand.stamped.page_bytes, (unsigned long long)round->commits, (unsigned long long)round->scans,
               (unsigned long long)round->looks, (unsigned long long)round->durables,
               (unsigned long long)round->stores);
        fflush(stdout);
}

static unsigned stress_seconds(void)
{
        const char *chosen = getenv("XAC_STRESS_SECONDS");

        return chosen != NULL ? (unsigned)atoi(chosen) : DEFAULT_SECONDS;
}

static void whatever_happens_readers_are_right(void)
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
                isolated_timed(whatever_happens_readers_are_right, 30 + stress_seconds()),
        };
        return cmocka_run_group_tests_name("readers_history", tests, NULL, NULL);
}
