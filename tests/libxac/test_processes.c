/* SPDX-License-Identifier: MIT */

/*
 * Several processes, of one or more threads, in one environment: nothing is lost, nothing is
 * seen half, and one that is killed is done without (P6).
 */

#include <signal.h>
#include <sys/wait.h>

#include <xac/xac.h>

#include "tests/support/actor.h"
#include "tests/support/bank.h"
#include "tests/support/chance.h"
#include "tests/support/check.h"
#include "tests/support/isolate.h"
#include "tests/support/leeway.h"
#include "tests/support/scratch.h"
#include "tests/support/seat.h"

static struct bank *bank_new(int way, int tellers)
{
        struct bank *bank = crew_shared(sizeof(*bank));

        bank->way = way;
        bank->tellers = tellers;
        bank->transfers = way & WAY_DECLARED ? 4000 : 600;
        bank->seed = chance_seed();
        bank_fill(way);
        return bank;
}

static void transfers_keep_the_total(int way)
{
        struct bank *bank = bank_new(way, 3);

        crew_processes(4, bank_member, bank);
        bank_check(bank);
}

struct pair {
        struct bank *bank;
        int first;
};

static void pair_member(int index, void *pair_)
{
        const struct pair *pair = pair_;

        bank_member(pair->first + index, pair->bank);
}

static void two_threads(int index, void *bank)
{
        struct pair pair = { bank, 2 * index };

        crew_threads(2, pair_member, &pair);
}

/* Between taking the seats of one process, the environment is opened once more or left: the
 * threads share it. */
static void processes_of_threads_keep_the_total(int way)
{
        struct bank *bank = bank_new(way, 5);

        crew_processes(3, two_threads, bank);
        bank_check(bank);
}

static void add_and_leave(int index, void *way)
{
        for (int i = 0; i < 15; i++) {
                seat_take(*(uint64_t *)way);
                seat_commit_add(seat_word(index, 0));
                seat_commit_add(seat_word(40, 0));
                seat_leave(0);
        }
}

/* The last close and the first open race, again and again. */
static void the_environment_comes_and_goes_under_processes(int way)
{
        uint64_t way_ = (uint64_t)way;

        crew_processes(4, add_and_leave, &way_);
        seat_take(0);
        check_equal(seat_commit_get(seat_word(40, 0)), 60);
        for (unsigned i = 0; i < 4; i++)
                check_equal(seat_commit_get(seat_word(i, 0)), 15);
        seat_leave(0);
}

/* Killed inside a transaction: it never happened, and it holds nobody up. */
static void one_killed_inside_a_transaction_has_aborted(int way)
{
        uint64_t used = 0;

        seat_take((uint64_t)way);
        seat_commit_add(0);
        seat_leave(0);
        for (int i = 0; i < 6; i++) {
                struct actor *victim = actor_start(WAY_PROCESS);

                actor_do(victim, seat_take, (uint64_t)way);
                actor_do(victim, seat_begin, i % 2 ? XAC_SNAPSHOT_ISOLATION : 0);
                for (unsigned page = 0; page < SEAT_PAGES; page++)
                        actor_do(victim, seat_add, seat_word(page, 0));
                seat_take((uint64_t)way);
                check_equal(seat_commit_get(0), i + 1);
                actor_kill(victim);
                check_equal(seat_commit_get(0), i + 1);
                check_equal(seat_commit_add(0), i + 2);
                for (int j = 0; j < 300; j++)
                        seat_commit_add(seat_word(1 + j % 5, 1));
                if (i == 1)
                        used = seat_stat(pool_bytes_used);
                seat_leave(0);
        }
        seat_take((uint64_t)way);
        check(used == 0 || seat_stat(pool_bytes_used) <= used + 128 * 4096);
        check_equal(seat_stat(participants), 1);
        seat_leave(0);
}

/* What a dead reader's snapshot kept is given back while others go on. */
static void a_dead_readers_snapshot_is_taken_back(void)
{
        struct actor *reader = actor_start(WAY_PROCESS);
        struct leeway left;
        uint64_t used;

        seat_take(WAY_DECLARED);
        actor_do(reader, seat_take, WAY_DECLARED);
        actor_do(reader, seat_begin, XAC_RDONLY);
        actor_do(reader, seat_read, 0);
        for (unsigned page = 0; page < SEAT_PAGES; page++)
                seat_commit_add(seat_word(page, 0));
        actor_kill(reader);
        left = leeway_of(10000);
        do {
                for (unsigned page = 0; page < SEAT_PAGES; page++)
                        seat_commit_add(seat_word(page, 0));
                used = seat_stat(pool_bytes_used);
                check(leeway_is_left(&left));
        } while (seat_stat(participants) > 1);
        check(used <= 4 * SEAT_PAGES * 4096);
        seat_leave(0);
}

/* Killed at random moments, commits and openings included. Each adds to its own word and to
 * a common one in one transaction: whatever survives, they agree. */
enum { VICTIMS = 3 };

static void add_forever(int index, void *way)
{
        seat_take(*(uint64_t *)way);
        for (;;) {
                run_until_committed(seat.env, 0)
                {
                        seat_add(seat_word(50, 0));
                        seat_add(seat_word(51 + index, 0));
                }
        }
}

static void check_sums(void)
{
        uint64_t total = 0;

        check_ok(xbegin(seat.env, XAC_RDONLY));
        for (unsigned i = 0; i < VICTIMS; i++)
                total += seat_get(seat_word(51 + i, 0));
        check_equal(total, seat_get(seat_word(50, 0)));
        check_ok(xend(seat.env));
}

static void killing_at_random_moments_loses_nothing(int way)
{
        struct chance chance = { chance_seed() };
        uint64_t way_ = (uint64_t)way;
        uint64_t before = 0;
        struct leeway left = leeway_of(15000);

        /* Where so busy that nobody has come to a commit in eight rounds, there are more. */
        for (int round = 0; round < 8 || (!before && leeway_is_left(&left)); round++) {
                pid_t victims[VICTIMS];

                for (int i = 0; i < VICTIMS; i++)
                        victims[i] = crew_fork(add_forever, i, &way_);
                crew_sleep_ms(20 + (unsigned)chance_below(&chance, 40));
                for (int i = 0; i < VICTIMS; i++) {
                        crew_kill(victims[i]);
                        crew_sleep_ms((unsigned)chance_below(&chance, 3));
                }
                seat_take((uint64_t)way);
                check_sums();
                check((uint64_t)seat_commit_get(seat_word(50, 0)) >= before);
                before = (uint64_t)seat_commit_get(seat_word(50, 0));
                if (round % 3 == 1)
                        check_ok(xac_checkpoint(seat.env));
                seat_leave(0);
        }
        check(before > 0);
}

/*
 * P3: readers are not blocked by a writer that is stopped wherever it is, in a commit, a
 * checkpoint or while it grows a file.
 */

static void write_forever(int index, void *turn)
{
        (void)index;
        seat_take(WAY_DECLARED);
        for (uint64_t i = 0;; i++) {
                for (unsigned page = 0; page < SEAT_PAGES; page += 3)
                        seat_commit_add(seat_word(page, 0));
                if (i % 16 == 7)
                        check_ok(xac_checkpoint(seat.env));
                if (i % 16 == 3)
                        check(xac_mmap(seat.env, "words", (SEAT_PAGES + i) * 4096, 0) == seat.words);
                if (i == 3)
                        crew_turn_pass(turn);
        }
}

static void read_while_it_is_stopped(pid_t writer)
{
        uint64_t start;
        int status;

        check_equal(kill(writer, SIGSTOP), 0);
        check_equal(waitpid(writer, &status, WUNTRACED), writer);
        check(WIFSTOPPED(status));
        start = crew_clock_ns();
        for (int i = 0; i < 3; i++) {
                check_ok(xbegin(seat.env, XAC_RDONLY));
                for (unsigned page = 0; page < SEAT_PAGES; page++)
                        seat_get(seat_word(page, 0));
                check_ok(xend(seat.env));
        }
        /* Far more than it needs, far less than a timed wait that gives up. */
        check((crew_clock_ns() - start) / 1000000 < leeway_ms(3000));
        check_equal(kill(writer, SIGCONT), 0);
}

static void readers_are_not_blocked_by_a_stopped_writer(int way)
{
        struct chance chance = { chance_seed() };
        struct crew_turn *turn = crew_shared(sizeof(*turn));
        pid_t writer = crew_fork(write_forever, 0, turn);

        seat_take((uint64_t)way);
        crew_turn_await(turn, 1);
        for (int i = 0; i < 40; i++) {
                read_while_it_is_stopped(writer);
                for (uint64_t spin = chance_below(&chance, 300000); spin > 0; spin--)
                        __asm__ volatile("");
        }
        crew_kill(writer);
        check(seat_commit_add(0) > 0);
        seat_leave(0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_by_access(transfers_keep_the_total),
                isolated_way(processes_of_threads_keep_the_total, 0, "view"),
                isolated_way(processes_of_threads_keep_the_total, WAY_DECLARED, "declared"),
                isolated_by_access(the_environment_comes_and_goes_under_processes),
                isolated_by_access(one_killed_inside_a_transaction_has_aborted),
                isolated_test(a_dead_readers_snapshot_is_taken_back),
                isolated_by_access(killing_at_random_moments_loses_nothing),
                isolated_by_access(readers_are_not_blocked_by_a_stopped_writer),
        };
        return cmocka_run_group_tests_name("processes", tests, NULL, NULL);
}
