/* SPDX-License-Identifier: MIT */

/*
 * A program that installs its own handler of SIGSEGV or SIGBUS after it has opened the environment: first touches go to
 * the library all the same, and faults outside of views to the program's handler.
 */

#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <xac/xac.h>

#include "tests/support/check.h"
#include "tests/support/crash.h"
#include "tests/support/crew.h"
#include "tests/support/isolate.h"
#include "tests/support/leeway.h"
#include "tests/support/scratch.h"
#include "tests/support/seat.h"

static sigjmp_buf escape;
static volatile sig_atomic_t calls;

static void jump_out(int signal_no)
{
        (void)signal_no;
        calls++;
        siglongjmp(escape, 1);
}

static void jump_out_with_info(int signal_no, siginfo_t *info, void *context)
{
        (void)context;
        check(info->si_addr != NULL);
        jump_out(signal_no);
}

enum by { BY_SIGNAL, BY_SIGACTION };

static void install(int signal_no, enum by by)
{
        const struct sigaction action = { .sa_sigaction = jump_out_with_info, .sa_flags = SA_SIGINFO };

        if (by == BY_SIGNAL)
                check(signal(signal_no, jump_out) != SIG_ERR);
        else
                check_equal(sigaction(signal_no, &action, NULL), 0);
}

/* A fault of the program's own reaches its handler. */
static void check_own_fault_is_the_programs(void)
{
        char *foreign = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        int before = calls;

        check(foreign != MAP_FAILED);
        if (sigsetjmp(escape, 1) == 0)
                *(volatile char *)foreign = 1;
        check_equal(calls, before + 1);
        munmap(foreign, 4096);
}

/* So many transactions that the library no longer looks at each of them. */
static void make_it_run_smoothly(void)
{
        for (int i = 0; i < 200; i++)
                seat_commit_add(0);
}

static void a_handler_installed_after_xac_mmap(int by)
{
        seat_take(0);
        install(SIGSEGV, (enum by)by);
        for (int i = 1; i <= 3; i++) {
                check_equal(seat_commit_add(seat_word(3, 0)), i);
                check_equal(seat_commit_add(seat_word(3 + i, 0)), 1);
                check_equal(calls, i - 1);
                check_own_fault_is_the_programs();
        }
        seat_leave(0);
}

static void a_handler_installed_by_signal(void)
{
        a_handler_installed_after_xac_mmap(BY_SIGNAL);
}

static void a_handler_installed_by_sigaction(void)
{
        a_handler_installed_after_xac_mmap(BY_SIGACTION);
}

static void a_handler_installed_before_xac_mmap(void)
{
        xac_env *env;
        volatile uint64_t *words;

        seat_take(0);
        make_it_run_smoothly();
        install(SIGSEGV, BY_SIGACTION);
        check_ok(xac_open(scratch_path("second"), XAC_CREATE | XAC_VOLATILE, NULL, &env));
        words = xac_mmap(env, "words", 4096, 0);
        check(words != MAP_FAILED);
        check_ok(xbegin(env, 0));
        *words = 1;
        check_ok(xend(env));
        check_ok(xac_close(env));
        check_equal(seat_commit_add(seat_word(3, 0)), 1);
        check_equal(calls, 0);
        seat_leave(0);
}

static bool is_ours_in_place(void)
{
        struct sigaction now;

        check_equal(sigaction(SIGSEGV, NULL, &now), 0);
        return now.sa_sigaction == jump_out_with_info;
}

/* A second is promised; five times as often it looks when the machine has time. */
static void a_handler_installed_while_it_runs(void)
{
        seat_take(0);
        make_it_run_smoothly();
        install(SIGSEGV, BY_SIGACTION);
        for (struct leeway left = leeway_of(1000); is_ours_in_place() && leeway_pause(&left);)
                ;
        check_equal(seat_commit_add(seat_word(3, 0)), 1);
        check_equal(calls, 0);
        check_own_fault_is_the_programs();
        seat_leave(0);
}

static void xac_stat_looks(void)
{
        seat_take(0);
        make_it_run_smoothly();
        install(SIGSEGV, BY_SIGNAL);
        check_equal(seat_stat(participants), 1);
        check_equal(seat_commit_add(seat_word(3, 0)), 1);
        check_equal(calls, 0);
        seat_leave(0);
}

static void a_strict_begin_looks(void)
{
        xac_env *env;

        check_ok(xac_open(scratch_path("env"), seat_open_flags(0) | XAC_STRICT, NULL, &env));
        seat.env = env;
        seat.words = xac_mmap(env, "words", SEAT_PAGES * SEAT_PAGE_BYTES, 0);
        check(seat.words != MAP_FAILED);
        make_it_run_smoothly();
        for (int i = 1; i <= 20; i++) {
                install(SIGSEGV, BY_SIGACTION);
                check_equal(seat_commit_add(seat_word(i, 0)), 1);
        }
        check_equal(calls, 0);
        seat_leave(0);
}

/* The file was cut off: that is SIGBUS, and the library's. */
static void a_handler_of_sigbus(void)
{
        volatile uint64_t *words;

        seat_take(0);
        check_equal(seat_commit_add(seat_word(30, 0)), 1);
        seat_leave(0);
        seat_take(0);
        words = seat.words;
        install(SIGBUS, BY_SIGNAL);
        check_equal(truncate(scratch_path("env/words"), 4096), 0);
        check_ok(xbegin(seat.env, 0));
        check_equal(words[seat_word(30, 0)], 0);
        check_code(xend(seat.env), XAC_CORRUPT);
        check_equal(calls, 0);
        seat_leave(0);
}

/* ---- A crash reporter ---- */

static struct sigaction before_reporter;

/* As Python's faulthandler: puts back what it found, and sends the signal again. */
static void report(int signal_no)
{
        if (write(STDERR_FILENO, "report\n", 7) != 7)
                _exit(3);
        sigaction(signal_no, &before_reporter, NULL);
        raise(signal_no);
}

static void crash_under_reporter(int index, void *unused)
{
        const struct sigaction action = { .sa_handler = report, .sa_flags = (int)SA_NODEFER };
        char *foreign = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        (void)unused;
        seat_take(0);
        check_equal(sigaction(SIGSEGV, &action, &before_reporter), 0);
        check_equal(seat_commit_add(seat_word(3, 0)), index + 1);
        *(volatile char *)foreign = 1;
}

static void a_crash_reporter_reports_and_it_ends(void)
{
        for (int i = 0; i < 2; i++) {
                struct crash crash;

                crash_run(crash_under_reporter, i, NULL, &crash);
                check_equal(crash.signal, SIGSEGV);
                check(strcmp(crash.said, "report\n") == 0);
        }
        seat_take(0);
        check_equal(seat_commit_get(seat_word(3, 0)), 2);
        seat_leave(0);
}

/* ---- Threads ---- */

enum { THREADS = 4, ROUNDS = 300 };

/* One installs handlers all the time, the others begin, touch, and look. */
static void install_or_commit(int index, void *is_over_)
{
        _Atomic int *is_over = is_over_;

        seat_take(WAY_DECLARED);
        if (index == 0) {
                do {
                        install(SIGSEGV, BY_SIGACTION);
                        check(seat_stat(participants) > 0);
                        crew_sleep_ms(1);
                } while (*is_over < THREADS - 1);
                seat_leave(0);
                return;
        }
        for (int i = 0; i < ROUNDS; i++) {
                check_equal(seat_commit_add(seat_word(index, 0)), i + 1);
                (void)seat_stat(participants);
        }
        seat_leave(0);
        *is_over += 1;
}

static void handlers_may_change_under_busy_threads(void)
{
        static _Atomic int is_over;
        char *foreign = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        xac_env *env;

        check_ok(xac_open(scratch_path("env"), seat_open_flags(0), NULL, &env));
        seat.env = env;
        crew_threads(THREADS, install_or_commit, (void *)&is_over);
        (void)seat_stat(participants);
        if (sigsetjmp(escape, 1) == 0)
                *(volatile char *)foreign = 1;
        check_equal(calls, 1);
        check_ok(xac_close(env));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                isolated_test(a_handler_installed_by_signal),
                isolated_test(a_handler_installed_by_sigaction),
                isolated_test(a_handler_installed_before_xac_mmap),
                isolated_test(a_handler_installed_while_it_runs),
                isolated_test(xac_stat_looks),
                isolated_test(a_strict_begin_looks),
                isolated_test(a_handler_of_sigbus),
                isolated_test(a_crash_reporter_reports_and_it_ends),
                isolated_test(handlers_may_change_under_busy_threads),
        };
        return cmocka_run_group_tests_name("late handler", tests, NULL, NULL);
}
