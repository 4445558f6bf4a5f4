/* SPDX-License-Identifier: MIT */

/*
 * Threads of one process: each with its own view and transaction, coming and going.
 */

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/time.h>

#include <xac/xac.h>

#include "tests/support/actor.h"
#include "tests/support/bank.h"
#include "tests/support/chance.h"
#include "tests/support/check.h"
#include "tests/support/isolate.h"
#include "tests/support/scratch.h"
#include "tests/support/seat.h"

static void transfers_keep_the_total(int way)
{
        struct bank *bank = crew_shared(sizeof(*bank));

        bank->way = way;
        bank->tellers = 3;
        bank->transfers = way & WAY_DECLARED ? 5000 : 800;
        bank->seed = chance_seed();
        bank_fill(way);
        crew_threads(4, bank_member, bank);
        bank_check(bank);
}

/* The library is handed one env by its opener; the others only map. */
static void use_only(int index, void *env)
{
        seat.env = env;
        seat.way = index % 2 ? WAY_DECLARED : 0;
        seat.words = xac_mmap(seat.env, "words", SEAT_PAGES * 4096, 0);
        check(seat.words != MAP_FAILED);
        for (int i = 0; i < 50; i++)
                seat_commit_add(seat_word(index % 8, 0));
        /* Half of them end without unmapping: their end releases the view. */
        if (index % 4 < 2)
                check_ok(xac_munmap(seat.env, seat.words));
}

static void threads_come_and_go(void)
{
        uint64_t total = 0;
        uint64_t participants;

        seat_take(0);
        seat_commit_add(seat_word(9, 0));
        participants = seat_stat(participants);
        for (int i = 0; i < 25; i++)
                crew_threads(8, use_only, seat.env);
        check_equal(seat_stat(participants), participants);
        for (unsigned i = 0; i < 8; i++)
                total += (uint64_t)seat_commit_get(seat_word(i, 0));
        check_equal(total, 25 * 8 * 50);
        seat_leave(0);
}

/* It ends in the middle: its writes are nowhere, its snapshot holds nothing up. */
static void end_inside(int index, void *env)
{
        seat.env = env;
        seat.way = index % 2 ? WAY_DECLARED : 0;
        seat.words = xac_mmap(seat.env, "words", SEAT_PAGES * 4096, 0);
        check(seat.words != MAP_FAILED);
        check_ok(xbegin(seat.env, 0));
        seat_add(0);
        check_ok(xbegin(seat.env, 0));
        seat_add(seat_word(1, 0));
}

static void a_thread_that_ends_inside_a_transaction_has_aborted(void)
{
        uint64_t used;

        seat_take(0);
        seat_commit_add(5);
        for (int i = 0; i < 5; i++)
                crew_threads(2, end_inside, seat.env);
        used = seat_stat(pool_bytes_used);
        for (int i = 0; i < 20; i++)
                crew_threads(4, end_inside, seat.env);
        check_equal(seat_commit_get(0) + seat_commit_get(seat_word(1, 0)), 0);
        check_equal(seat_commit_add(0), 1);
        check(seat_stat(pool_bytes_used) <= used + 64 * 4096);
        check_equal(seat_stat(participants), 1);
        seat_leave(0);
}

/* Opening and closing in every thread at once, counted. */
static void open_and_close(int index, void *unused)
{
        (void)unused;
        for (int i = 0; i < 30; i++) {
                seat_take(index % 2 ? WAY_DECLARED : 0);
                seat_commit_add(0);
                check_ok(xac_munmap(seat.env, seat.words));
                /* The close of a count that is not the last; else another may be inside. */
                check_ok(xac_close(seat.env));
        }
}

static void threads_may_open_and_close_at_once(void)
{
        seat_take(0);
        crew_threads(6, open_and_close, NULL);
        check_equal(seat_commit_get(0), 6 * 30);
        seat_leave(0);
}

/* Nobody holds it open beside them: the environment itself comes and goes. */
static void open_use_close(int index, void *busy_)
{
        _Atomic int *busy = busy_;
        int code;

        for (int i = 0; i < 20; i++) {
                seat_take(index % 2 ? WAY_DECLARED : 0);
                seat_commit_add(0);
                while ((code = xac_close(seat.env)) == -EBUSY)
                        atomic_fetch_add(busy, 1);
                check_ok(code);
        }
}

static void the_environment_may_come_and_go_under_threads(void)
{
        _Atomic int busy = 0;

        crew_threads(4, open_use_close, &busy);
        seat_take(0);
        check_equal(seat_commit_get(0), 4 * 20);
        seat_leave(0);
}

/* Two environments, one thread inside both. */
static void a_thread_may_be_in_two_environments(void)
{
        xac_env *second;
        uint64_t *words;

        seat_take(0);
        check_ok(xac_open(scratch_path("second"), XAC_CREATE | XAC_VOLATILE, NULL, &second));
        words = xac_mmap(second, "words", 4096, 0);
        check(words != MAP_FAILED);
        check_ok(xbegin(seat.env, 0));
        check_ok(xbegin(second, XAC_RDONLY));
        seat_add(0);
        check_equal(words[0], 0);
        check_ok(xbegin(seat.env, 0));
        seat_add(0);
        check_ok(xend(second));
        check_ok(xabort(seat.env));
        check_ok(xend(seat.env));
        check_equal(seat_commit_get(0), 1);
        check_ok(xac_close(second));
        seat_leave(0);
}

/* Signals that interrupt system calls, thousands a second. */
static _Atomic int signals_taken;

static void count_signal(int number)
{
        (void)number;
        signals_taken++;
}

static void interruptions_change_nothing(int way)
{
        const struct sigaction action = { .sa_handler = count_signal };
        const struct itimerval often = { { 0, 300 }, { 0, 300 } };
        const struct itimerval never = { { 0, 0 }, { 0, 0 } };
        struct bank *bank = crew_shared(sizeof(*bank));

        bank->way = way;
        bank->tellers = 2;
        bank->transfers = 500;
        bank->seed = chance_seed();
        bank_fill(way);
        check_equal(sigaction(SIGALRM, &action, NULL), 0);
        check_equal(setitimer(ITIMER_REAL, &often, NULL), 0);
        crew_threads(3, bank_member, bank);
        for (int i = 0; i < 10; i++) {
                seat_take((uint64_t)way);
                seat_commit_add(seat_word(SEAT_PAGES - 1, 0));
                check_ok(xac_checkpoint(seat.env));
                seat_leave(0);
        }
        check_equal(setitimer(ITIMER_REAL, &never, NULL), 0);
        check(signals_taken > 0);
        bank_check(bank);
}

/* Cancelled at whatever point of its work: it must not take a lock with it. */
static void *work_until_cancelled(void *way)
{
        seat_take((uint64_t)(uintptr_t)way);
        for (unsigned i = 0;; i++) {
                seat_commit_add(seat_word(i % 8, 3));
                if (i % 5 == 0)
                        check_ok(xac_checkpoint(seat.env));
                pthread_testcancel();
        }
        return NULL;
}

static void cancelled_threads_leave_in_order(int way)
{
        struct chance chance = { chance_seed() };
        pthread_t threads[3];
        void *result;

        seat_take((uint64_t)way);
        for (int round = 0; round < 10; round++) {
                for (int i = 0; i < 3; i++)
                        check_equal(pthread_create(&threads[i], NULL, work_until_cancelled, (void *)(uintptr_t)way), 0);
                crew_sleep_ms(3 + (unsigned)chance_below(&chance, 10));
                for (int i = 0; i < 3; i++)
                        check_equal(pthread_cancel(threads[i]), 0);
                for (int i = 0; i < 3; i++) {
                        check_equal(pthread_join(threads[i], &result), 0);
                        check(result == PTHREAD_CANCELED);
                }
                check_equal(seat_commit_add(0), round + 1);
                check_ok(xac_checkpoint(seat.env));
                check_equal(seat_stat(participants), 1);
        }
        /* The cancelled ones' openings are still counted: undo them. */
        for (int i = 0; i < 30; i++)
                check_ok(xac_close(seat.env));
        seat_leave(0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_by_access(transfers_keep_the_total),
                isolated_test(threads_come_and_go),
                isolated_test(a_thread_that_ends_inside_a_transaction_has_aborted),
                isolated_test(threads_may_open_and_close_at_once),
                isolated_test(the_environment_may_come_and_go_under_threads),
                isolated_test(a_thread_may_be_in_two_environments),
                isolated_by_access(interruptions_change_nothing),
                isolated_by_access(cancelled_threads_leave_in_order),
        };
        return cmocka_run_group_tests_name("threads", tests, NULL, NULL);
}
